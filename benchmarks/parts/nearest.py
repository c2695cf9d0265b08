"""The nearest vectors in projects of different sizes, beside bare queries of the index.

The first bare query asks for as many rows as it needs to find 95 % of the right ones, the second for as many
as it needs to find what the store found.
"""

import statistics
import time
from array import array
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np

from parts.places import empty_graph, opened
from ragforge.domain.ids import new_id, now
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import ConversationSession, Project, Turn, TurnStatus
from ragforge.domain.vectors import Embedding, Nearby, Owner, OwnerKind
from ragforge.store.base import Record, Store
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.schema import filters_inside

SIZES = ((20_000, 256), (10_000, 3072))
SHARES = (0.01, 0.05, 0.94)
"""The share of the vectors in each of three projects."""
MODEL = "measured"
QUERIES = 20
ROUNDS = 3
WANTED = 20
RECALL = 0.95
"""The share of the right ones that any answer must contain."""
FETCHES = (20, 40, 60, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 20_000)
LOADED = 1_000
HEADER = "vectors       scope store              min ms   median  recall   ratios to the bare query"

# The best hand-written query that does not know the size of the scope.
BARE = """
CALL db.index.vector.queryNodes('turn_embedding', $fetched, $vector) YIELD node AS n, score
WHERE n.embeddingModel = $model AND ($project IS NULL OR n.projectId = $project)
RETURN n.id AS id, score LIMIT 20
"""
BARE_FILTERED = """
CYPHER 25 MATCH (n:ConversationTurn)
SEARCH n IN (VECTOR INDEX turn_embedding FOR $vector WHERE n.embeddingModel = $model {project} LIMIT $fetched)
SCORE AS score
RETURN n.id AS id, score LIMIT 20
"""


@dataclass(slots=True)
class Timed:
    """The duration of each repeat, and the share of the right ones it found."""

    ms: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)

    @property
    def found(self) -> float:
        """The recall over all queries."""
        return statistics.fmean(self.recall)

    def __str__(self) -> str:
        return f"{min(self.ms):8.1f} {statistics.median(self.ms):8.1f} {self.found:7.3f}"


@dataclass(frozen=True, slots=True)
class Points:
    """The vectors, their turns and projects, and the queries."""

    vectors: np.ndarray
    ids: list[str]
    share: np.ndarray
    projects: list[Project]
    queries: np.ndarray

    def right(self, query: np.ndarray, project: str | None) -> set[str]:
        """Return the ids of the nearest, by comparing with all."""
        places = np.arange(len(self.ids))
        if project is not None:
            places = places[self.share == [each.id for each in self.projects].index(project)]
        nearest = places[np.argsort(-(self.vectors[places] @ query))[:WANTED]]
        return {self.ids[place] for place in nearest}

    def scopes(self) -> Mapping[str, str | None]:
        """Return the scopes: each of the projects, and all of them."""
        names = {f"{share:.0%}": each.id for share, each in zip(SHARES, self.projects, strict=True)}
        return {**names, "all": None}


def points_of(count: int, dimensions: int) -> Points:
    """Return vectors as texts have them: many of each meaning, each a little different."""
    random = np.random.default_rng(count)
    meanings = random.standard_normal((count // 100, dimensions))
    vectors = meanings[random.integers(len(meanings), size=count)] + random.standard_normal(
        (count, dimensions)
    )
    queries = vectors[random.integers(count, size=QUERIES)]
    queries = queries + 0.5 * random.standard_normal(queries.shape)
    return Points(
        vectors=_normal(vectors),
        ids=[new_id() for _ in range(count)],
        share=random.choice(len(SHARES), size=count, p=SHARES),
        projects=[Project(new_id(), f"{share:.0%}", now()) for share in SHARES],
        queries=_normal(queries),
    )


def records_of(points: Points) -> list[Record]:
    """Return the same as records that either store loads."""
    begun = now()
    sessions = [
        ConversationSession(new_id(), project.id, "/home/ada", begun, begun) for project in points.projects
    ]
    turns = [
        Turn(
            id=id_,
            session_id=sessions[points.share[number]].id,
            parent=None,
            index=0,
            user=(TextPart(f"question {number}"),),
            started_at=begun + timedelta(milliseconds=number),
            status=TurnStatus.FINISHED,
            ended_at=begun + timedelta(seconds=number),
        )
        for number, id_ in enumerate(points.ids)
    ]
    embeddings = [
        Embedding(Owner(OwnerKind.TURN, id_), MODEL, id_, array("f", vector.tobytes()))
        for id_, vector in zip(points.ids, points.vectors, strict=True)
    ]
    return [*points.projects, *sessions, *turns, *embeddings]


async def measure(urls: Sequence[str]) -> None:
    """Measure the nearest 20 in projects of different sizes, beside bare queries."""
    for count, dimensions in SIZES:
        points = points_of(count, dimensions)
        records = records_of(points)
        async with opened("sqlite", "") as store:
            await filled(store, records, dimensions)
            for name, project in points.scopes().items():
                _say(
                    count,
                    dimensions,
                    "SQLite",
                    name,
                    await _measured(points, project, _of_store(store, project)),
                )
        for url in urls:
            async with empty_graph(url) as graph, opened(url, url) as store:
                await filled(store, records, dimensions)
                await graph.run("CALL db.awaitIndexes(600)", deadline_s=600)
                for name, project in points.scopes().items():
                    await _beside_bare(graph, store, points, (name, project))


async def _beside_bare(graph: Graph, store: Store, points: Points, scope: tuple[str, str | None]) -> None:
    name, project = scope
    count, dimensions = points.vectors.shape
    ours = _of_store(store, project)
    reached = (await _measured(points, project, ours, rounds=1)).found
    fetches = [await _fetched_for(recall, graph, points, project) for recall in (RECALL, reached)]
    mine, bare = Timed(), {fetched: Timed() for fetched in fetches}
    # Alternating, so that a busy machine slows all of them.
    for _ in range(ROUNDS):
        await _measured(points, project, ours, rounds=1, into=mine)
        for fetched, timed in bare.items():
            await _measured(points, project, _of_index(graph, project, fetched), rounds=1, into=timed)
    _say(count, dimensions, graph.version_text, name, mine)
    for fetched, timed in bare.items():
        ratio = statistics.median(mine.ms) / statistics.median(timed.ms)
        ratios = f"{min(mine.ms) / min(timed.ms):6.2f} {ratio:6.2f}"
        _say(count, dimensions, f"  bare, {fetched}", name, timed, ratios)


async def _fetched_for(recall: float, graph: Graph, points: Points, project: str | None) -> int:
    """Return how many rows the bare query needs for this share of the right ones; all if none is enough."""
    count = len(points.vectors)
    for fetched in FETCHES:
        bare = _of_index(graph, project, min(fetched, count))
        if (await _measured(points, project, bare, rounds=1)).found >= recall:
            return min(fetched, count)
    return count


Finder = Callable[[np.ndarray], Awaitable[list[str]]]


async def _measured(
    points: Points, project: str | None, find: Finder, *, rounds: int = ROUNDS, into: Timed | None = None
) -> Timed:
    timed = into or Timed()
    for _ in range(rounds):
        for query in points.queries:
            began = time.perf_counter()
            found = await find(query)
            timed.ms.append((time.perf_counter() - began) * 1000)
            timed.recall.append(len(points.right(query, project) & set(found)) / WANTED)
    return timed


def _of_store(store: Store, project: str | None) -> Finder:
    async def find(query: np.ndarray) -> list[str]:
        vector = array("f", query.tobytes())
        found = await store.vectors.nearest(Nearby(vector, MODEL, project_id=project, limit=WANTED))
        return [near.owner.id for near in found]

    return find


def _of_index(graph: Graph, project: str | None, fetched: int) -> Finder:
    condition = "" if project is None else "AND n.projectId = $project"
    statement = BARE_FILTERED.format(project=condition) if filters_inside(graph.version) else BARE

    async def find(query: np.ndarray) -> list[str]:
        values: dict[str, Any] = {"model": MODEL, "project": project, "fetched": fetched}
        return [row["id"] for row in await graph.read(statement, vector=query.tolist(), **values)]

    return find


async def filled(store: Store, records: Sequence[Record], dimensions: int) -> None:
    await store.vectors.use(MODEL, dimensions)
    for start in range(0, len(records), LOADED):
        await store.archive.load(records[start : start + LOADED])


def _normal(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _say(count: int, dimensions: int, what: str, scope: str, timed: Timed, ratios: str = "") -> None:
    print(f"{count:6} x {dimensions:<5} {scope:>4} {what:<16} {timed} {ratios}", flush=True)
