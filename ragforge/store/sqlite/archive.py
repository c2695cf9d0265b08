"""Everything that is stored in SQLite, as records."""

import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing

from msgspec import Struct

from ragforge.domain.vectors import Embedding, check_vector
from ragforge.store.base import Record, RecordKind
from ragforge.store.sqlite.archive_load import load_records
from ragforge.store.sqlite.associations import ASSOCIATIONS
from ragforge.store.sqlite.associations import SELECT as SELECT_ASSOCIATION
from ragforge.store.sqlite.calls import CALLS
from ragforge.store.sqlite.connection import Connection, Database, Row
from ragforge.store.sqlite.derivations import DERIVATIONS
from ragforge.store.sqlite.derivations import SELECT as SELECT_DERIVED
from ragforge.store.sqlite.memory_rows import MEMORIES
from ragforge.store.sqlite.memory_rows import SELECT as SELECT_MEMORY
from ragforge.store.sqlite.projects import PROJECTS
from ragforge.store.sqlite.rewrite import rewrite_records
from ragforge.store.sqlite.sessions import SELECT as SELECT_SESSION
from ragforge.store.sqlite.sessions import SESSIONS
from ragforge.store.sqlite.summaries import SELECT as SELECT_SUMMARY
from ragforge.store.sqlite.summaries import SUMMARIES
from ragforge.store.sqlite.turns import SELECT as SELECT_TURN
from ragforge.store.sqlite.turns import STEPS, TURNS
from ragforge.store.sqlite.usage import CALLS_APART
from ragforge.store.sqlite.vectors import SELECT as SELECT_EMBEDDING
from ragforge.store.sqlite.vectors import embedding_of
from ragforge.store.sqlite.version_rows import BRANCHES, MOVES, SELECT_BRANCH, SELECT_MOVE, VERSIONS
from ragforge.store.sqlite.version_rows import SELECT as SELECT_VERSION

PAGE = 200
"""How many records are held at once; a turn may be long."""


class Source(Struct, frozen=True):
    """How the records of a kind are read."""

    keys: str
    """All keys, in the order of a dump: short rows, so that sorting them needs little memory."""
    wanted: str
    """The keys of the ids in a JSON list."""
    row: str
    """One row by its key."""
    record: Callable[[Row], Record]


def _by_id(table: str, row: str, record: Callable[[Row], Record]) -> Source:
    return Source(
        keys=f"SELECT key FROM {table} ORDER BY id",
        wanted=f"SELECT {table}.key FROM json_each(?) JOIN {table} ON {table}.id = value",
        row=f"{row} WHERE {table}.key = ?",
        record=record,
    )


SOURCES: Mapping[RecordKind, Source] = {
    RecordKind.PROJECT: _by_id("project", f"SELECT {PROJECTS.select} FROM project", PROJECTS.record),
    RecordKind.SESSION: _by_id("session", SELECT_SESSION, SESSIONS.record),
    RecordKind.TURN: Source(
        keys="SELECT key FROM turn ORDER BY depth, id",
        wanted="SELECT turn.key FROM json_each(?) JOIN turn ON turn.id = value",
        row=f"{SELECT_TURN} WHERE turn.key = ?",
        record=TURNS.record,
    ),
    RecordKind.STEP: Source(
        keys="SELECT step.rowid FROM turn JOIN step ON step.turn = turn.key ORDER BY turn.id, number",
        # From `TURN/INDEX`, by the turn's id; a number is written in one way only.
        wanted="SELECT step.rowid FROM json_each(?) JOIN turn "
        "ON turn.id = rtrim(rtrim(value, '0123456789'), '/') "
        "JOIN step ON step.turn = turn.key AND value = turn.id || '/' || number",
        row=f"SELECT {STEPS.select} FROM step JOIN turn ON turn.key = step.turn WHERE step.rowid = ?",
        record=STEPS.record,
    ),
    RecordKind.TOOL_CALL: _by_id(
        "tool_call",
        f"SELECT {CALLS.select} FROM tool_call JOIN turn ON turn.key = tool_call.turn",
        CALLS.record,
    ),
    RecordKind.SUMMARY: _by_id("summary", SELECT_SUMMARY, SUMMARIES.record),
    RecordKind.MEMORY: _by_id("memory", SELECT_MEMORY, MEMORIES.record),
    RecordKind.ASSOCIATION: Source(
        # By `KIND/FROM/TO`, and `/TURN` where there is one.
        keys="SELECT association.key FROM association "
        "JOIN memory AS origin ON origin.key = association.source "
        "JOIN memory AS goal ON goal.key = association.target "
        "ORDER BY association.kind, origin.id, goal.id, association.turn",
        # The ids of memories are hexadecimal, with 32 characters; kinds have no slash.
        wanted="SELECT association.key FROM json_each(?) "
        "JOIN memory AS goal ON goal.id = substr(value, instr(value, '/') + 34, 32) "
        "JOIN association ON association.target = goal.key "
        "JOIN memory AS origin ON origin.key = association.source "
        "AND value = association.kind || '/' || origin.id || '/' || goal.id "
        "|| CASE association.turn WHEN '' THEN '' ELSE '/' || association.turn END",
        row=f"{SELECT_ASSOCIATION} WHERE association.key = ?",
        record=ASSOCIATIONS.record,
    ),
    RecordKind.DERIVED: _by_id("derived", SELECT_DERIVED, DERIVATIONS.record),
    RecordKind.EMBEDDING: Source(
        # By `KIND/ID`: memories come first, then summaries, then turns.
        keys="SELECT owner FROM embedding LEFT JOIN turn ON turn.key = owner "
        "LEFT JOIN summary ON summary.key = owner LEFT JOIN memory ON memory.key = owner "
        "ORDER BY turn.id IS NOT NULL, summary.id IS NOT NULL, coalesce(memory.id, summary.id, turn.id)",
        wanted="SELECT owner FROM json_each(?) JOIN embedding ON owner = coalesce("
        "(SELECT key FROM turn WHERE value LIKE 'turn/%' AND id = substr(value, 6)), "
        "(SELECT key FROM summary WHERE value LIKE 'summary/%' AND id = substr(value, 9)), "
        "(SELECT key FROM memory WHERE value LIKE 'memory/%' AND id = substr(value, 8)))",
        row=f"{SELECT_EMBEDDING} WHERE owner = ?",
        record=embedding_of,
    ),
    RecordKind.SPENT: _by_id("spent", f"SELECT {CALLS_APART.select} FROM spent", CALLS_APART.record),
    RecordKind.VERSION: Source(
        keys="SELECT key FROM version ORDER BY at, id",
        wanted="SELECT version.key FROM json_each(?) JOIN version ON version.id = value",
        row=f"{SELECT_VERSION} WHERE version.key = ?",
        record=VERSIONS.record,
    ),
    RecordKind.BRANCH: Source(
        # By `PROJECT/NAME`. The ids of projects have no slash, names may.
        keys="SELECT branch.key FROM branch JOIN project ON project.key = branch.project "
        "ORDER BY project.id, branch.name",
        wanted="SELECT branch.key FROM json_each(?) "
        "JOIN project ON project.id = substr(value, 1, instr(value, '/') - 1) "
        "JOIN branch ON branch.project = project.key AND branch.name = substr(value, instr(value, '/') + 1)",
        row=f"{SELECT_BRANCH} WHERE branch.key = ?",
        record=BRANCHES.record,
    ),
    RecordKind.MOVE: _by_id("move", SELECT_MOVE, MOVES.record),
}


class SqliteArchive:
    """Implements `Archive`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def dump(self) -> AsyncGenerator[Record, None]:
        """Yield every record, kind by kind, parents before children, from one state of the database."""
        async with aclosing(self._database.stream(_records, page=PAGE)) as pages:
            async for page in pages:
                for record in page:
                    yield record

    async def load(self, records: Sequence[Record]) -> int:
        """Save the records, all or none; return how many were new or newer.

        Raises Conflict if one refers to something not stored, UsageError for a vector that `save` rejects.
        """
        for record in records:
            if isinstance(record, Embedding):
                check_vector(record.vector, of=f"{record.owner.kind} {record.owner.id}")
        return await self._database.write(lambda connection: load_records(connection, records))

    async def rewrite(self, records: Sequence[Record], *, without: Sequence[str]) -> None:
        """Give stored records these texts, and remove the memories with the ids in `without`.

        No trace of the previous texts remains in the file, unless another process reads it right now.
        """
        await self._database.write(lambda connection: rewrite_records(connection, records, without))
        await self._database.compact()

    async def fetch(self, kind: RecordKind, ids: Sequence[str]) -> list[Record]:
        """Return the existing ones of the kind with these ids."""

        def read(connection: Connection) -> list[Record]:
            source = SOURCES[kind]
            keys = list(connection.execute(source.wanted, (json.dumps(sorted(set(ids))),)))
            return [_record(connection, source, key) for (key,) in keys]

        return await self._database.read(read)

    async def counts(self) -> Mapping[RecordKind, int]:
        return await self._database.read(count_records)


def count_records(connection: Connection) -> dict[RecordKind, int]:
    """Return how many there are of every kind; 0 if there are none."""
    return {
        kind: next(connection.execute(f"SELECT count(*) FROM {kind.value}"))[0]  # a table per kind
        for kind in RecordKind
    }


def _records(connection: Connection) -> Iterator[Record]:
    for source in SOURCES.values():
        for (key,) in connection.execute(source.keys):
            yield _record(connection, source, key)


def _record(connection: Connection, source: Source, key: int) -> Record:
    return source.record(next(connection.execute(source.row, (key,))))
