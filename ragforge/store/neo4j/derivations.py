"""The derived records in the graph."""

from collections.abc import Sequence
from datetime import datetime

from ragforge.domain.derivations import (
    Derived,
    DerivedFilter,
    DerivedOwner,
    Underived,
    UnderivedFilter,
    as_kept,
    replaces,
)
from ragforge.domain.errors import StoreUnavailable
from ragforge.store.json_text import storable
from ragforge.store.neo4j.derivation_rows import OWNERS, derived_of, derived_row
from ragforge.store.neo4j.nodes import Nodes, fields, valid_ids
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, utc

WHOLE = f"RETURN {fields('n', Label.DERIVED)} AS n"

GET = f"MATCH (n:{Label.DERIVED}) WHERE n.id IN $ids {WHOLE}"

ABANDONED = f"(n.ownerKind = 'turn' AND EXISTS {{ MATCH (t:{Label.TURN} {{id: n.ownerId}}) WHERE t.left }})"


# Each with its project and its last change.
CHANGED = {
    DerivedOwner.TURN: f"""
MATCH (o:{Label.TURN}) WHERE o.endTime IS NOT NULL AND ($project IS NULL OR o.projectId = $project)
WITH o.id AS id, o.projectId AS project, o.endTime AS at
""",
    DerivedOwner.PROJECT: f"""
MATCH (o:{Label.SESSION}) WHERE $project IS NULL OR o.projectId = $project
WITH o.projectId AS id, o.projectId AS project, max(o.lastActivity) AS at
""",
}
SOME_CHANGED = f"""
MATCH (o:{Label.SESSION}) WHERE {{conditions}}
WITH o.sessionId AS id, o.projectId AS project, o.lastActivity AS at
"""

LACKING = f"""
WHERE NOT EXISTS {{
  MATCH (n:{Label.DERIVED} {{ownerId: id}}) WHERE n.kind = $kind AND n.ownerKind = $owner AND (
    n.forgottenAt IS NOT NULL
    OR n.hash = $hash AND ($model IS NULL OR n.model = $model) AND n.timestamp >= at)
}}
RETURN id, project, at ORDER BY at DESC, id LIMIT $limit
"""


class Neo4jDerived:
    """Implements `DerivedRecords`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def save(self, record: Derived) -> None:
        """Store it, replacing the one with its id. Raises Conflict, UsageError."""
        kept = as_kept(record)
        await self._nodes.need(OWNERS[kept.owner_kind][0], kept.owner)

        def write(rows: Rows) -> None:
            before = rows.get(Label.DERIVED, kept.id)
            props = derived_row(kept)
            if before is not None:
                if not replaces(derived_of(props), derived_of(before.props)):
                    return
                del props["forgottenAt"]
            # Another machine may have replaced what was written from here.
            rows.put(Label.DERIVED, kept.id, props, surely=before is not None)

        await self._nodes.write(write)

    async def get(self, ids: Sequence[str]) -> list[Derived]:
        await self._nodes.settle()
        try:
            found = [derived_of(each["n"]) for each in await self._nodes.ask(GET, ids=valid_ids(ids))]
        except StoreUnavailable:
            return await self._nodes.here.derivations.get(ids)
        by_id = {record.id: record for record in found}
        return [by_id[each] for each in dict.fromkeys(ids) if each in by_id]

    async def find(self, wanted: DerivedFilter) -> list[Derived]:
        await self._nodes.settle()
        await self._nodes.settle_abandoned()
        try:
            found = await self._nodes.ask(
                _fitting(wanted),
                kind=storable(wanted.kind),
                project=wanted.project_id,
                owners=valid_ids(wanted.owners),
                forgotten=wanted.forgotten,
                abandoned=wanted.abandoned,
                limit=max(0, wanted.limit),
            )
        except StoreUnavailable:
            return await self._nodes.here.derivations.find(wanted)
        return [derived_of(each["n"]) for each in found]

    async def lacking(self, wanted: UnderivedFilter) -> list[Underived]:
        """Return the owners without a current record of the kind by this model, newest first.

        Raises StoreUnavailable if the server is unreachable.
        """
        found = await self._nodes.insist(
            _changed(wanted) + LACKING,
            kind=wanted.kind.label,
            owner=str(wanted.kind.owner),
            hash=wanted.kind.hash,
            model=None if wanted.model is None else storable(wanted.model),
            project=wanted.project_id,
            untouched=None if wanted.untouched_since is None else utc(wanted.untouched_since),
            limit=max(0, wanted.limit),
        )
        return [Underived(each["id"], each["project"], each["at"]) for each in found]

    async def forget(self, ids: Sequence[str], at: datetime) -> None:
        """Forget them; those forgotten already keep their time."""
        await self._set_forgotten(ids, utc(at))

    async def restore(self, ids: Sequence[str]) -> None:
        await self._set_forgotten(ids, None)

    async def _set_forgotten(self, ids: Sequence[str], at: datetime | None) -> None:
        await self._bring(ids)

        def write(rows: Rows) -> None:
            for each in dict.fromkeys(ids):
                row = rows.get(Label.DERIVED, each)
                if row is not None and (row.props["forgottenAt"] is None) == (at is not None):
                    rows.put(Label.DERIVED, each, {"forgottenAt": at}, surely=True)

        await self._nodes.write(write)

    async def _bring(self, ids: Sequence[str]) -> None:
        """Read the current nodes from the graph, to be changed here; without a server, use the rows here."""
        await self._nodes.settle()
        try:
            found = await self._nodes.ask(GET, ids=valid_ids(ids))
        except StoreUnavailable:
            return
        await self._nodes.outbox.write(lambda rows: rows.keep(Label.DERIVED, [each["n"] for each in found]))


def _changed(wanted: UnderivedFilter) -> str:
    """Return the part of the query that finds the owners."""
    if wanted.kind.owner is not DerivedOwner.SESSION:
        return CHANGED[wanted.kind.owner]
    conditions = [
        *(["o.archivedAt IS NOT NULL"] if wanted.archived else []),
        *(["o.lastActivity < $untouched"] if wanted.untouched_since is not None else []),
        # A condition on a project that may be null would use no index.
        *(["o.projectId = $project"] if wanted.project_id is not None else []),
    ]
    return SOME_CHANGED.format(conditions=" AND ".join(conditions) or "true")


def _fitting(wanted: DerivedFilter) -> str:
    """Return the query with only the requested conditions, so that each case has its index."""
    of_project = "AND n.projectId = $project" if wanted.project_id is not None else ""
    of_owners = "AND n.ownerId IN $owners" if wanted.owners else ""
    return f"""
MATCH (n:{Label.DERIVED}) WHERE n.kind = $kind {of_project} {of_owners}
  AND ($forgotten OR n.forgottenAt IS NULL) AND ($abandoned OR NOT {ABANDONED})
WITH n ORDER BY n.timestamp DESC, n.id LIMIT $limit
{WHOLE} ORDER BY n.timestamp DESC, n.id
"""
