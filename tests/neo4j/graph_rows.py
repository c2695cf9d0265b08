"""Nodes of a project of one's own, written by plain Cypher as the store writes them."""

import json
from array import array
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from ragforge.domain.ids import now
from ragforge.domain.memories import Memory
from ragforge.domain.messages import text_of
from ragforge.domain.search import HitKind
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn
from ragforge.store.index_text import IndexText, call_text, summary_text, turn_text
from ragforge.store.json_text import storable
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.index_rows import memory_props
from ragforge.store.neo4j.memory_rows import memory_row
from ragforge.store.neo4j.migrations import prepare
from ragforge.store.neo4j.rows import (
    Label,
    Props,
    call_row,
    project_row,
    session_row,
    step_row,
    summary_row,
    turn_row,
)
from ragforge.store.neo4j.search_words import index_props, scope_tokens
from ragforge.store.text import stemmer
from tests.contract.builders import a_project, a_session
from tests.servers.neo4j import Neo4jServer

BATCH = 500


@asynccontextmanager
async def connected(server: Neo4jServer) -> AsyncGenerator[Graph, None]:
    """The server, with our schema."""
    graph = Graph(Address.from_url(server.url, server.password))
    try:
        await graph.connect()
        await prepare(graph, adopt=True)
        yield graph
    finally:
        await graph.close()


class Rows:
    """A project with one session in the graph, and what is added to them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.project = a_project()
        self.session = a_session(self.project.id, title="Parsing", cwd="/home/ada/parser")

    async def begin(self) -> None:
        await self.write(Label.PROJECT, [project_row(self.project)])
        await self.add_session(self.session)

    async def add_project(self, project: Project) -> None:
        await self.write(Label.PROJECT, [project_row(project)])

    async def add_session(self, session: ConversationSession) -> None:
        await self.write(Label.SESSION, [session_row(session) | {"carriedAt": now()}], key="sessionId")

    async def add_turns(self, turns: Iterable[Turn], *, project_id: str = "") -> None:
        project_id = project_id or self.project.id
        await self.write(Label.TURN, [_turn(turn, project_id) for turn in turns])

    async def add_step(self, step: Step) -> None:
        await self.write(Label.STEP, [step_row(step, session_id=self.session.id)])

    async def add_call(self, call: ToolCall) -> None:
        row = call_row(call, session_id=self.session.id, project_id=self.project.id)
        text = call_text(
            row["toolName"], row["toolArgs"], json.loads(row["toolResult"])["text"], at=call.started_at
        )
        await self.write(
            Label.CALL, [row | _words(text, self.project.id, self.session.id, HitKind.TOOL_CALL)]
        )

    async def add_summary(self, summary: Summary) -> None:
        text = summary_text(
            storable(summary.text),
            files=summary.files,
            findings=summary.findings,
            topics=summary.topics,
            at=summary.at,
        )
        words = _words(text, summary.project_id, summary.session_id, HitKind.SUMMARY)
        await self.write(Label.SUMMARY, [summary_row(summary) | words | {"embeddingStale": True}])
        await self.graph.write(
            "MATCH (n:ConversationSummary {id: $id}) MATCH (c:ConversationTurn|ConversationSummary) "
            "WHERE c.id IN n.covers MERGE (n)-[:SUMMARIZES]->(c)",
            id=summary.id,
        )

    async def add_memory(self, memory: Memory) -> None:
        row = memory_row(memory)
        await self.write(Label.MEMORY, [row | memory_props(row) | {"embeddingStale": True}])
        await self.graph.write(
            "MATCH (n:Memory {id: $id}) MATCH (p:Project {id: n.projectId}) MERGE (p)-[:HAS_MEMORY]->(n)",
            id=memory.id,
        )

    async def embed(
        self, vectors: dict[str, "array[float]"], *, model: str = "m", label: Label = Label.TURN
    ) -> None:
        """Give the nodes of these ids their vectors."""
        rows = [{"id": each, "vector": vector.tolist()} for each, vector in vectors.items()]
        for start in range(0, len(rows), BATCH):
            await self.graph.run(
                f"UNWIND $rows AS row MATCH (n:{label} {{id: row.id}}) "
                "SET n.embeddingModel = $model, n.embeddingHash = row.id, n.embeddingStale = null, "
                "n.embeddingDimensions = size(row.vector) "
                "WITH n, row CALL db.create.setNodeVectorProperty(n, 'embedding', row.vector)",
                rows=rows[start : start + BATCH],
                model=model,
            )

    async def write(self, label: Label, rows: Sequence[Props], *, key: str = "id") -> None:
        for start in range(0, len(rows), BATCH):
            await self.graph.run(
                f"UNWIND $rows AS row MERGE (n:{label} {{{key}: row.{key}}}) SET n += row",
                rows=rows[start : start + BATCH],
            )

    async def remove(self) -> None:
        """Take away all of the project and its session."""
        for label, key, value in (
            (Label.TURN, "projectId", self.project.id),
            (Label.CALL, "projectId", self.project.id),
            (Label.SUMMARY, "projectId", self.project.id),
            (Label.MEMORY, "projectId", self.project.id),
            (Label.STEP, "sessionId", self.session.id),
            (Label.SESSION, "projectId", self.project.id),
            (Label.PROJECT, "id", self.project.id),
        ):
            await self.graph.run(f"MATCH (n:{label} {{{key}: $value}}) DETACH DELETE n", value=value)


def _turn(turn: Turn, project_id: str) -> dict[str, Any]:
    text = turn_text(
        storable(text_of(turn.user)), storable(turn.assistant), near=(), calls=(), at=turn.started_at
    )
    words = _words(text, project_id, turn.session_id, HitKind.TURN)
    return turn_row(turn, project_id=project_id) | words


def _words(text: IndexText, project_id: str, session_id: str, kind: HitKind) -> Props:
    scope = scope_tokens(project_id, session_id, kind)
    return index_props(text, scope=scope, cut=stemmer())
