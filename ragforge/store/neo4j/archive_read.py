"""All that the graph holds, as records."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never, cast

import apsw

from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn
from ragforge.domain.vectors import Embedding, OwnerKind
from ragforge.store.base import Record, RecordKind
from ragforge.store.neo4j.connection import RUN_DEADLINE_S, Graph
from ragforge.store.neo4j.nodes import fields, identifier
from ragforge.store.neo4j.rows import (
    Label,
    call_of,
    project_of,
    session_of,
    step_of,
    summary_of,
    turn_of,
)
from ragforge.store.neo4j.vectors_read import LABELS as OWNERS
from ragforge.store.neo4j.vectors_read import embedding_of

if TYPE_CHECKING:
    from ragforge.store.sqlite.connection import Connection


@dataclass(frozen=True, slots=True)
class Source:
    """Where the records of a kind stand."""

    label: Label
    record: Callable[[Mapping[str, Any]], Record]
    whole: str
    """A property that all of ours have: a node that only other people's have, or a bare one, is no record."""
    order: str

    @property
    def matched(self) -> str:
        """The nodes, as `n`."""
        return (
            f"MATCH (n:{self.label}) "
            f"WHERE n.{identifier(self.label)} IS NOT NULL AND n.{self.whole} IS NOT NULL"
        )


SOURCES: Mapping[RecordKind, Source] = {
    RecordKind.PROJECT: Source(Label.PROJECT, project_of, "createdAt", "n.id"),
    RecordKind.SESSION: Source(Label.SESSION, session_of, "startTime", "n.sessionId"),
    RecordKind.TURN: Source(Label.TURN, turn_of, "userMessage", "n.turnIndex, n.id"),
    RecordKind.STEP: Source(Label.STEP, step_of, "message", "n.turnId, n.stepIndex"),
    RecordKind.TOOL_CALL: Source(Label.CALL, call_of, "toolResult", "n.id"),
    RecordKind.SUMMARY: Source(Label.SUMMARY, summary_of, "summary", "n.id"),
}
"""All but the embeddings, which stand on turns and summaries."""

EMBEDDINGS = """
MATCH (n:{label}) WHERE n.embedding IS NOT NULL {condition}
WITH n ORDER BY n.id
RETURN '{kind}' AS kind, n.id AS id, n.embeddingModel AS model, n.embeddingHash AS hash, n.embedding AS vector
"""


async def dump(graph: Graph) -> AsyncGenerator[Record, None]:
    """Every record, kind by kind, parents before children; a few hundred of them are held at once.

    Neo4j shows each query what others have committed until it reaches a node ("read committed"), so this is
    no one state: what was begun meanwhile may be there or not, and a turn may be older than its steps. What
    belongs to something that came too late is left out, as it is from what would be one state; so all that
    comes out can be loaded.
    """
    seen = _Seen()
    try:
        for kind in RecordKind:
            async with aclosing(_of_kind(graph, kind)) as records:
                async for record in records:
                    if seen.add(record):
                        yield record
    finally:
        seen.close()


async def fetch(graph: Graph, kind: RecordKind, ids: Sequence[str]) -> list[Record]:
    """Those of the kind with these ids that there are, in any order."""
    if kind is RecordKind.EMBEDDING:
        return await _fetch_embeddings(graph, ids)
    source = SOURCES[kind]
    rows = await graph.read(
        f"{source.matched} AND n.{identifier(source.label)} IN $ids RETURN {fields('n', source.label)} AS n",
        deadline_s=RUN_DEADLINE_S,
        ids=list(ids),
    )
    return [source.record(row["n"]) for row in rows]


async def counts(graph: Graph) -> dict[RecordKind, int]:
    """How many there are of each kind."""
    counted = [f"COUNT {{ {source.matched} }} AS {kind}" for kind, source in SOURCES.items()]
    embeddings = " + ".join(
        f"COUNT {{ MATCH (n:{label}) WHERE n.embedding IS NOT NULL }}" for label in OWNERS.values()
    )
    (row,) = await graph.read(
        f"RETURN {', '.join(counted)}, {embeddings} AS {RecordKind.EMBEDDING}", deadline_s=RUN_DEADLINE_S
    )
    return {kind: row[kind] for kind in RecordKind}


async def _of_kind(graph: Graph, kind: RecordKind) -> AsyncGenerator[Record, None]:
    if kind is RecordKind.EMBEDDING:
        # By `KIND/ID`: what stands for summaries comes first.
        for owner in sorted(OWNERS):
            query = EMBEDDINGS.format(label=OWNERS[owner], kind=owner, condition="")
            async with aclosing(graph.stream(query, deadline_s=RUN_DEADLINE_S)) as rows:
                async for row in rows:
                    yield embedding_of(row)
        return
    source = SOURCES[kind]
    # Put in order before the properties are read, so that the server sorts short rows.
    query = f"{source.matched} WITH n ORDER BY {source.order} RETURN {fields('n', source.label)} AS n"
    async with aclosing(graph.stream(query, deadline_s=RUN_DEADLINE_S)) as rows:
        async for row in rows:
            yield source.record(row["n"])


async def _fetch_embeddings(graph: Graph, ids: Sequence[str]) -> list[Record]:
    found: list[Record] = []
    for kind in OwnerKind:
        wanted = [each.removeprefix(f"{kind}/") for each in ids if each.startswith(f"{kind}/")]
        query = EMBEDDINGS.format(label=OWNERS[kind], kind=kind, condition="AND n.id IN $ids")
        rows = await graph.read(query, deadline_s=RUN_DEADLINE_S, ids=wanted) if wanted else []
        found += [embedding_of(row) for row in rows]
    return found


class _Seen:
    """What has come out already, in a file without a name: a history may be larger than the memory."""

    def __init__(self) -> None:
        self._database = cast("Connection", apsw.Connection(""))
        self._database.execute("CREATE TABLE seen (key TEXT PRIMARY KEY) WITHOUT ROWID; BEGIN")

    def add(self, record: Record) -> bool:
        """Whether all that it belongs to has come out; then it counts as come out too."""
        key, needed = _ties(record)
        if not all(self._has(each) for each in needed):
            return False
        if key:
            self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (key,))
        return True

    def close(self) -> None:
        self._database.close()

    def _has(self, key: str) -> bool:
        return next(self._database.execute("SELECT 1 FROM seen WHERE key = ?", (key,)), None) is not None


def _ties(record: Record) -> tuple[str, list[str]]:
    """What it is called by others, where it is, and what it belongs to."""
    match record:
        case Project():
            return f"project/{record.id}", []
        case ConversationSession():
            return f"session/{record.id}", [f"project/{record.project_id}"]
        case Turn():
            parent = [f"turn/{record.parent}"] if record.parent else []
            return f"turn/{record.id}", [f"session/{record.session_id}", *parent]
        case Step() | ToolCall():
            return "", [f"turn/{record.turn_id}"]
        case Summary():
            return f"summary/{record.id}", [f"session/{record.session_id}"]
        case Embedding():
            return "", [f"{record.owner.kind}/{record.owner.id}"]
        case _:
            assert_never(record)
