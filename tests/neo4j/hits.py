"""A graph that grows by plain Cypher, and the database hits of what is asked of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, LiteralString, cast

from neo4j import Query

from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.connection import Graph, Row, plain_row
from tests.servers.neo4j import EMBEDDER, NOT_KEPT, Neo4jServer

OF_SESSION = 25
BATCH = 500

TURNS = f"""
UNWIND range($first, $last) AS place
WITH $project + '-' + toString(place) AS id, $project + '-s' + toString(place / {OF_SESSION}) AS session,
  $at + duration({{seconds: place}}) AS at, 'topic ' + toString(place % 5) AS topic
MATCH (p:Project {{id: $project}})
MERGE (s:ConversationSession {{sessionId: session}})
ON CREATE SET s += {{projectId: $project, startTime: at, title: '', cwd: '', carriedAt: $at}}
SET s.headId = id, s.lastActivity = at
MERGE (p)-[:HAS_SESSION]->(s)
CREATE (s)-[:HAS_TURN]->(t:ConversationTurn {{id: id, sessionId: session, projectId: $project, timestamp: at,
  endTime: at, status: 'finished', turnIndex: 0, charCount: 400}})
CREATE (t)<-[:PART_OF]-(:ConversationStep {{id: id, turnId: id, sessionId: session, stepIndex: 0,
  provider: 'p', model: 'm', inputTokens: 1, cachedTokens: 0, outputTokens: 1, thoughtTokens: 0,
  costUsd: 0.1}})
CREATE (:Usage {{id: id, projectId: $project, sessionId: session, timestamp: at, model: 'm',
  purpose: 'summary', inputTokens: 1, cachedTokens: 0, outputTokens: 1, thoughtTokens: 0, costUsd: 0.1}})
CREATE (s)-[:HAS_SUMMARY]->(n:ConversationSummary {{id: id, sessionId: session, projectId: $project, level: 1,
  timestamp: at, method: 'model', charCount: 40}})-[:SUMMARIZES]->(t)
CREATE (p)-[:HAS_MEMORY]->(m:Memory {{id: id, projectId: $project, sessionId: session, scope: 'project',
  type: 'fact', confidence: 0.5, importance: 0.5, owner: '', source: 'person', created: at, updated: at,
  accessCount: 0, evidence: [], strength: '', topic: topic}})
WITH [t, n, m] AS owners
UNWIND owners AS owner
SET owner.embeddingModel = $model, owner.embeddingHash = owner.id, owner.embeddingDimensions = 256
"""
"""Turns for which nothing is owed once they are rolled up; without words and vectors."""

ROLLED_UP = """
MATCH (s:ConversationSession {projectId: $project})
MERGE (s)-[:HAS_SUMMARY]->(n:ConversationSummary {id: s.sessionId})
ON CREATE SET n += {sessionId: s.sessionId, projectId: $project, level: 2, timestamp: s.lastActivity,
  method: 'model', charCount: 40, embeddingModel: $model, embeddingHash: n.id, embeddingDimensions: 256}
WITH s, n
MATCH (below:ConversationSummary {sessionId: s.sessionId}) WHERE below.level = 1
MERGE (n)-[:SUMMARIZES]->(below)
"""


class ProfiledGraph(Graph):
    """A connection that counts the database hits of what is asked over it."""

    def __init__(self, server: Neo4jServer) -> None:
        super().__init__(Address.from_url(server.url, server.password))
        self.hits = 0

    async def read(self, query: str, /, *, deadline_s: float | None = None, **parameters: Any) -> list[Row]:
        return await self._profiled(query, parameters, writes=False)

    async def write(self, query: str, /, *, deadline_s: float | None = None, **parameters: Any) -> list[Row]:
        return await self._profiled(query, parameters, writes=True)

    async def _profiled(self, query: str, parameters: Mapping[str, Any], *, writes: bool) -> list[Row]:
        profiled = Query(cast("LiteralString", f"PROFILE {query}"))
        async with self._session(writes=writes) as session:
            result = await session.run(profiled, dict(parameters))
            rows = [plain_row(record) async for record in result]
            summary = await result.consume()
        self.hits += _hits(summary.profile) if summary.profile else 0
        return rows


async def grow(graph: Graph, project: str, *, start: int, end: int, at: datetime) -> None:
    """Add turns to the project, as many as lie between two places."""
    await graph.run("MERGE (p:Project {id: $id}) SET p.name = $id, p.createdAt = $at", id=project, at=at)
    values: dict[str, Any] = {"project": project, "at": at, "model": EMBEDDER}
    for first in range(start, end, BATCH):
        await graph.run(TURNS, first=first, last=min(first + BATCH, end) - 1, **values)
    await graph.run(ROLLED_UP, **values)


async def remove_all(graph: Graph) -> None:
    """Remove what has grown: more than one transaction of a small server holds."""
    nodes = f"MATCH (n) WHERE {NOT_KEPT}"
    await graph.run(f"{nodes} CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF {BATCH} ROWS")


def _hits(plan: Mapping[str, Any]) -> int:
    """Of the operator and all below it."""
    return plan.get("dbHits", 0) + sum(map(_hits, plan.get("children", ())))
