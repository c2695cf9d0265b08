"""The derived records in SQLite."""

import json
from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import asdict, replace

from ragforge.domain.derivations import (
    DERIVED,
    Derived,
    DerivedFilter,
    DerivedOwner,
    Underived,
    UnderivedFilter,
    as_kept,
    replaces,
)
from ragforge.store.json_text import storable
from ragforge.store.sqlite.abandonment import TURN_ABANDONED
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.rows import RecordTable, from_ms, key_of, one, project_key, to_ms

DERIVATIONS = RecordTable(DERIVED, joined={"project_id": "project.id"})

SELECT = f"SELECT {DERIVATIONS.select} FROM derived JOIN project ON project.key = derived.project"

ABANDONED = (
    f"(owner_kind = 'turn' AND {TURN_ABANDONED.format('(SELECT key FROM turn WHERE turn.id = owner)')})"
)

FITTING = f"""
{SELECT} WHERE kind = :kind {{within}} AND (:forgotten OR forgotten_at IS NULL)
    AND (:abandoned OR NOT {ABANDONED})
ORDER BY at DESC, derived.id LIMIT max(0, :limit)
"""
OF_PROJECT = "AND derived.project = (SELECT key FROM project WHERE id = :project_id)"
OF_OWNERS = "AND owner IN (SELECT value FROM json_each(:owners))"

# Each with its project and its last change. A condition on a project that may be null would use no index.
OF_HERE = "project = (SELECT key FROM project WHERE id = :project_id)"
OWNERS = {
    DerivedOwner.TURN: """
SELECT turn.id, session.project, turn.ended_at AS at FROM turn JOIN session ON session.key = turn.session
WHERE ended_at IS NOT NULL AND {here}
""",
    DerivedOwner.SESSION: "SELECT id, project, last_activity_at AS at FROM session WHERE {here} {state}",
    DerivedOwner.PROJECT: """
SELECT project.id, project.key AS project, max(last_activity_at) AS at
FROM project JOIN session ON session.project = project.key WHERE {here} GROUP BY project.key
""",
}
ARCHIVED = "AND archived_at IS NOT NULL"
UNTOUCHED = "AND last_activity_at < :untouched_since"

LACKING = """
SELECT source.id, project.id, source.at FROM ({owners}) AS source
CROSS JOIN project ON project.key = source.project
WHERE NOT EXISTS (
    SELECT 1 FROM derived
    WHERE derived.owner = source.id AND kind = :label AND owner_kind = :owner_kind AND (
        forgotten_at IS NOT NULL
        OR hash = :hash AND (:model IS NULL OR model = :model) AND derived.at >= source.at)
) ORDER BY source.at DESC, source.id LIMIT max(0, :limit)
"""


class SqliteDerived:
    """Implements `DerivedRecords`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, record: Derived) -> None:
        """Save it, replacing the one with its id. Raises Conflict, UsageError."""
        kept = as_kept(record)

        def write(connection: Connection) -> None:
            check_owner(connection, kept)
            found = derived_by_id(connection, kept.id)
            if found is None:
                put_derived(connection, kept)
            elif replaces(kept, found):
                put_derived(connection, replace(kept, forgotten_at=found.forgotten_at))

        await self._database.write(write)

    async def get(self, ids: Sequence[str]) -> list[Derived]:

        def read(connection: Connection) -> list[Derived]:
            found = (derived_by_id(connection, storable(identifier)) for identifier in dict.fromkeys(ids))
            return [record for record in found if record is not None]

        return await self._database.read(read)

    async def find(self, wanted: DerivedFilter) -> list[Derived]:

        def read(connection: Connection) -> list[Derived]:
            values = {**asdict(wanted), "owners": json.dumps(wanted.owners)}
            # Only the requested conditions, so that each query has its index.
            within = " ".join(
                condition
                for condition, asked in (
                    (OF_PROJECT, wanted.project_id is not None),
                    (OF_OWNERS, wanted.owners),
                )
                if asked
            )
            return [
                DERIVATIONS.record(row) for row in connection.execute(FITTING.format(within=within), values)
            ]

        return await self._database.read(read)

    async def lacking(self, wanted: UnderivedFilter) -> list[Underived]:
        """Return owners without a record of the kind by this model with the current recipe, newest first."""

        def read(connection: Connection) -> list[Underived]:
            kind = wanted.kind
            since = wanted.untouched_since
            values = {
                "label": kind.label,
                "owner_kind": kind.owner,
                "hash": kind.hash,
                "model": None if wanted.model is None else storable(wanted.model),
                "project_id": wanted.project_id,
                "untouched_since": None if since is None else to_ms(since),
                "limit": wanted.limit,
            }
            rows = connection.execute(LACKING.format(owners=_owners(wanted)), values)
            return [Underived(owner, project, from_ms(at)) for owner, project, at in rows]

        return await self._database.read(read)

    async def forget(self, ids: Sequence[str], at: datetime) -> None:
        """Forget them; those that are forgotten already keep their time."""
        await self._set_forgotten(ids, to_ms(at))

    async def restore(self, ids: Sequence[str]) -> None:
        await self._set_forgotten(ids, None)

    async def _set_forgotten(self, ids: Sequence[str], at: int | None) -> None:
        values = [(at, storable(identifier), at is not None) for identifier in ids]
        sql = "UPDATE derived SET forgotten_at = ? WHERE id = ? AND (forgotten_at IS NULL) = ?"
        await self._database.write(lambda connection: connection.executemany(sql, values))


def _owners(wanted: UnderivedFilter) -> str:
    """Return the part of the query that finds the owners, with only the requested conditions."""
    archived = ARCHIVED if wanted.archived else ""
    untouched = UNTOUCHED if wanted.untouched_since is not None else ""
    here = OF_HERE if wanted.project_id is not None else "true"
    if wanted.kind.owner is DerivedOwner.TURN:
        here = here.replace("project =", "session.project =")
    elif wanted.kind.owner is DerivedOwner.PROJECT:
        here = here.replace("project =", "project.key =")
    return OWNERS[wanted.kind.owner].format(here=here, state=f"{archived} {untouched}")


def derived_by_id(connection: Connection, identifier: str) -> Derived | None:
    """Return the record, or None."""
    row = one(connection, f"{SELECT} WHERE derived.id = ?", (identifier,))
    return None if row is None else DERIVATIONS.record(row)


def check_owner(connection: Connection, record: Derived) -> None:
    """Raise Conflict if its owner is not stored (any more)."""
    key_of(connection, record.owner_kind, record.owner)  # a table per kind of owner


def put_derived(connection: Connection, record: Derived) -> None:
    """Save it, replacing the one with its id. Raises Conflict if its project is not stored."""
    if record.owner_kind is DerivedOwner.PROJECT:
        project = key_of(connection, "project", record.project_id)
    else:
        project = project_key(connection, record.project_id)
    connection.execute(
        f"INSERT INTO derived (id, project, {DERIVATIONS.columns}) VALUES (?, ?, {DERIVATIONS.marks}) "
        f"ON CONFLICT (id) DO UPDATE SET project = excluded.project, {DERIVATIONS.excluded}",
        (record.id, project, *DERIVATIONS.values(record)),
    )


def load_derived(connection: Connection, record: Derived) -> bool:
    """Save a record of an archive; return whether it was new or newer. Raises Conflict, UsageError."""
    kept = as_kept(record)
    check_owner(connection, kept)
    stored = one(connection, "SELECT at FROM derived WHERE id = ?", (kept.id,))
    if stored is not None and stored[0] >= to_ms(kept.at):
        return False
    put_derived(connection, kept)
    return True
