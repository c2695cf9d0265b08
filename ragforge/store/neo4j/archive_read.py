"""Read the whole graph as records."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import apsw
from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.vectors import OwnerKind
from ragforge.store.archive_items import DESCRIPTIONS, key_of, kind_of, references
from ragforge.store.base import Record, RecordKind
from ragforge.store.neo4j.abandonment import MEMORY_ABANDONED
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.derivation_rows import DERIVATIONS
from ragforge.store.neo4j.memory_rows import MEMORIES, MODEL_CALLS, REPLACED, TYPES, association_of
from ragforge.store.neo4j.nodes import identifier
from ragforge.store.neo4j.outbox import TIMES, with_times
from ragforge.store.neo4j.rows import (
    CALLS,
    PROJECTS,
    SESSIONS,
    STEPS,
    SUMMARIES,
    TURNS,
    Label,
    RecordNode,
)
from ragforge.store.neo4j.vectors_read import LABELS as OWNERS
from ragforge.store.neo4j.vectors_read import embedding_of
from ragforge.store.neo4j.version_rows import BRANCHES, MOVES, VERSIONS

if TYPE_CHECKING:
    from ragforge.store.sqlite.connection import Connection


class Source(Struct, frozen=True):
    """Where the records of a kind are in the graph."""

    label: Label
    node: RecordNode[Any]
    whole: str
    """A property of all our nodes: a node of this label from others, or an empty one, is no record."""
    order: str
    more: str = ""
    """What the record contains besides the node's properties, as further columns."""
    named: str = ""
    """What `Archive.fetch` finds it by, if that is not the node's id."""

    @property
    def key(self) -> str:
        """What `Archive.fetch` finds it by."""
        return self.named or f"n.{identifier(self.label)}"

    @property
    def returned(self) -> str:
        """The node as a list of values: the driver reads names as slowly as values, and times more slowly."""
        values = (
            f"datetime(n.{name}).epochMillis" if name in TIMES else f"n.{name}" for name in self.node.own
        )
        return f"RETURN [{', '.join(values)}] AS n{f', {self.more}' if self.more else ''}"

    def read(self, row: dict[str, Any]) -> Record:
        found = with_times(dict(zip(self.node.own, row.pop("n"), strict=True)))
        return self.node.record(found | row)

    @property
    def matched(self) -> str:
        """The nodes, as `n`."""
        return (
            f"MATCH (n:{self.label}) "
            f"WHERE n.{identifier(self.label)} IS NOT NULL AND n.{self.whole} IS NOT NULL"
        )


SOURCES: Mapping[RecordKind, Source] = {
    RecordKind.PROJECT: Source(Label.PROJECT, PROJECTS, "createdAt", "n.id"),
    RecordKind.SESSION: Source(Label.SESSION, SESSIONS, "startTime", "n.sessionId"),
    RecordKind.TURN: Source(Label.TURN, TURNS, "userMessage", "n.turnIndex, n.id"),
    RecordKind.STEP: Source(Label.STEP, STEPS, "message", "n.turnId, n.stepIndex"),
    RecordKind.TOOL_CALL: Source(Label.CALL, CALLS, "toolResult", "n.id"),
    RecordKind.SUMMARY: Source(Label.SUMMARY, SUMMARIES, "summary", "n.id"),
    RecordKind.MEMORY: Source(
        Label.MEMORY,
        MEMORIES,
        "content",
        "n.id",
        more=f"{REPLACED} AS replaced, {MEMORY_ABANDONED.format('n')} AS abandoned",
    ),
    RecordKind.DERIVED: Source(Label.DERIVED, DERIVATIONS, "data", "n.id"),
    RecordKind.SPENT: Source(Label.USAGE, MODEL_CALLS, "purpose", "n.id"),
    RecordKind.VERSION: Source(Label.VERSION, VERSIONS, "changes", "n.timestamp, n.id"),
    # The node's id may be a hash of a name that is too long for one.
    RecordKind.BRANCH: Source(
        Label.BRANCH, BRANCHES, "versionId", "n.projectId, n.name", named="n.projectId + '/' + n.name"
    ),
    RecordKind.MOVE: Source(Label.MOVE, MOVES, "action", "n.id"),
}
"""All but the embeddings, which are on turns, summaries and memories, and the links between memories."""

_WHOLE_FIRST = (RecordKind.PROJECT, RecordKind.SESSION, RecordKind.BRANCH)
"""Few enough to keep in memory, and with what changes during a dump: titles, heads, tips."""

_REFERRED = {*OWNERS, *(kind for each in DESCRIPTIONS.values() for kind in each.refers.values())}
"""What others belong to."""

LINKS = f"""
MATCH (a:{Label.MEMORY})-[r:{"|".join(TYPES.values())}]->(b:{Label.MEMORY})
WITH toLower(type(r)) AS kind, a.id AS from, b.id AS to, r.at AS at, coalesce(r.turn, '') AS turn
"""
LINK = "RETURN kind, from, to, at, turn"

EMBEDDINGS = """
MATCH (n:{label}) WHERE n.embedding IS NOT NULL {condition}
WITH n ORDER BY n.id
RETURN '{kind}' AS kind, n.id AS id, n.embeddingModel AS model, n.embeddingHash AS hash, n.embedding AS vector
"""


async def dump(graph: Graph) -> AsyncGenerator[Record, None]:
    """Yield every record, kind by kind, parents before children; a few hundred are in memory at once.

    Neo4j shows each query what others have committed until it reaches a node ("read committed"). So all
    ids are recorded first, and what was created meanwhile is left out with all that belongs to it. Projects,
    sessions and branches are read completely before that: no head or tip points to what was left out. The
    rest is returned in its state at reading: a turn may be older than its steps.
    """
    seen = _SeenIds()
    try:
        first = {kind: [record async for record in _of_kind(graph, kind)] for kind in _WHOLE_FIRST}
        for kind, records in first.items():
            for record in records:
                seen.know(kind, key_of(record))
        for kind, source in SOURCES.items():
            if kind in _WHOLE_FIRST:
                continue
            query = f"{source.matched} RETURN {source.key} AS id"
            async with aclosing(graph.stream(query, deadline_s=timeouts.NEO4J_RUN_S_MAX)) as rows:
                async for row in rows:
                    seen.know(kind, row["id"])
        for kind in RecordKind:
            for record in first.get(kind, ()):
                if seen.add(record):
                    yield record
            if kind in _WHOLE_FIRST:
                continue
            async with aclosing(_of_kind(graph, kind)) as records:
                async for record in records:
                    if seen.add(record):
                        yield record
    finally:
        seen.close()


async def fetch(graph: Graph, kind: RecordKind, ids: Sequence[str]) -> list[Record]:
    """Return the stored records of the kind with these ids, in any order."""
    if kind is RecordKind.EMBEDDING:
        return await _fetch_embeddings(graph, ids)
    if kind is RecordKind.ASSOCIATION:
        said_in = "CASE turn WHEN '' THEN '' ELSE '/' + turn END"
        query = f"{LINKS} WHERE kind + '/' + from + '/' + to + {said_in} IN $ids {LINK}"
        rows = await graph.read(query, deadline_s=timeouts.NEO4J_RUN_S_MAX, ids=list(ids))
        return [association_of(row) for row in rows]
    source = SOURCES[kind]
    rows = await graph.read(
        f"{source.matched} AND {source.key} IN $ids {source.returned}",
        deadline_s=timeouts.NEO4J_RUN_S_MAX,
        ids=list(ids),
    )
    return [source.read(row) for row in rows]


async def counts(graph: Graph) -> dict[RecordKind, int]:
    """Return the number of records of every kind, including 0."""
    counted = [f"COUNT {{ {source.matched} }} AS {kind}" for kind, source in SOURCES.items()]
    embeddings = " + ".join(
        f"COUNT {{ MATCH (n:{label}) WHERE n.embedding IS NOT NULL }}" for label in OWNERS.values()
    )
    links = f"COUNT {{ (:{Label.MEMORY})-[:{'|'.join(TYPES.values())}]->(:{Label.MEMORY}) }}"
    (row,) = await graph.read(
        f"RETURN {', '.join(counted)}, {embeddings} AS {RecordKind.EMBEDDING}, "
        f"{links} AS {RecordKind.ASSOCIATION}",
        deadline_s=timeouts.NEO4J_RUN_S_MAX,
    )
    return {kind: row[kind] for kind in RecordKind}


async def _of_kind(graph: Graph, kind: RecordKind) -> AsyncGenerator[Record, None]:
    if kind is RecordKind.EMBEDDING:
        # By `KIND/ID`: memories come first, then summaries, then turns.
        for owner in sorted(OWNERS):
            query = EMBEDDINGS.format(label=OWNERS[owner], kind=owner, condition="")
            async with aclosing(graph.stream(query, deadline_s=timeouts.NEO4J_RUN_S_MAX)) as rows:
                async for row in rows:
                    yield embedding_of(row)
        return
    if kind is RecordKind.ASSOCIATION:
        query = f"{LINKS} {LINK} ORDER BY kind, from, to, turn"
        async with aclosing(graph.stream(query, deadline_s=timeouts.NEO4J_RUN_S_MAX)) as rows:
            async for row in rows:
                yield association_of(row)
        return
    source = SOURCES[kind]
    # Sorted before the properties are read, so that the server sorts short rows.
    query = f"{source.matched} WITH n ORDER BY {source.order} {source.returned}"
    async with aclosing(graph.stream(query, deadline_s=timeouts.NEO4J_RUN_S_MAX)) as rows:
        async for row in rows:
            yield source.read(row)


async def _fetch_embeddings(graph: Graph, ids: Sequence[str]) -> list[Record]:
    found: list[Record] = []
    for kind in OwnerKind:
        wanted = [each.removeprefix(f"{kind}/") for each in ids if each.startswith(f"{kind}/")]
        query = EMBEDDINGS.format(label=OWNERS[kind], kind=kind, condition="AND n.id IN $ids")
        rows = await graph.read(query, deadline_s=timeouts.NEO4J_RUN_S_MAX, ids=wanted) if wanted else []
        found += [embedding_of(row) for row in rows]
    return found


class _SeenIds:
    """The ids that were returned already, in an unnamed file: a history may be larger than the memory."""

    def __init__(self) -> None:
        self._database = cast("Connection", apsw.Connection(""))
        self._database.execute(
            "CREATE TABLE known (key TEXT PRIMARY KEY) WITHOUT ROWID;"
            "CREATE TABLE seen (key TEXT PRIMARY KEY) WITHOUT ROWID; BEGIN"
        )

    def know(self, kind: RecordKind, identifier: str) -> None:
        """Record that it exists."""
        self._database.execute("INSERT OR IGNORE INTO known VALUES (?)", (f"{kind}/{identifier}",))

    def add(self, record: Record) -> bool:
        """Return whether it was known, and its owners were returned; if so, count it as returned too."""
        name = f"{kind_of(record)}/{key_of(record)}"
        if not all(self._has(f"{kind}/{each}") for kind, each in references(record)):
            return False
        if kind_of(record) in SOURCES and not self._has(name, "known"):
            return False
        if kind_of(record) in _REFERRED:
            self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (name,))
        return True

    def close(self) -> None:
        self._database.close()

    def _has(self, key: str, table: str = "seen") -> bool:
        return next(self._database.execute(f"SELECT 1 FROM {table} WHERE key = ?", (key,)), None) is not None
