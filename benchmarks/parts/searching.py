"""A whole search by words and by meaning on a server, beside the two bare queries of its indexes, and the
context block that is built from such a search, beside it.

Mixed questions in one project: words of stored texts, and a vector near a stored one. The bare queries ask
for as many rows as the search reads, one after the other. All of them alternate, question by question.
"""

import random
import statistics
import time
from array import array
from collections.abc import Sequence

from hybrid import Given, percentile
from msgspec import Struct, field
from msgspec.structs import replace
from seed import Words, words_of

from parts.nearest import BARE, BARE_FILTERED, MODEL, SHARES, Points, filled, points_of, records_of
from parts.places import empty_graph, opened
from ragforge.domain.ids import now
from ragforge.domain.memories import MemorySource, MemoryType
from ragforge.domain.messages import TextPart
from ragforge.domain.search import HitKind, Query
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.memory.memories import new_memory
from ragforge.memory.recall.gather import gather
from ragforge.memory.recall.request import Around, Injecting, InjectLimits, RecallRequest
from ragforge.memory.recall.search import DEPTH_MIN, Recall, search
from ragforge.store.base import Record, Store
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.schema import WORDS_INDEX, filters_inside
from ragforge.store.neo4j.search import TERMS_MAX
from ragforge.store.neo4j.search_words import lucene, lucene_scope
from ragforge.store.text import keywords, stemmer

COUNT, DIMENSIONS = 20_000, 256
ROUNDS = 5
WARMED = 2
"""Rounds before anything is measured: a server is slow with queries it has not run often."""
MEMORIES = 500
BLOCK_TOKENS = 1_500
HEADER = "hybrid search                  p50 ms   p95 ms   ratios at p95: least, median"

BARE_WORDS = f"""
CALL db.index.fulltext.queryNodes('{WORDS_INDEX}', $words, {{limit: $limit}}) YIELD node AS n, score
RETURN n.id AS id, score
"""


class Times(Struct):
    """Milliseconds of each question of one round."""

    block: list[float] = field(default_factory=list[float])
    whole: list[float] = field(default_factory=list[float])
    bare: list[float] = field(default_factory=list[float])


async def measure(urls: Sequence[str]) -> None:
    """Measure the whole search beside its index queries, in the largest of three projects."""
    points = points_of(COUNT, DIMENSIONS)
    words = words_of(random.Random(1))
    records = [_said(record, words.piece(20, 80)) for record in records_of(points)]
    embedder = Given(DIMENSIONS)
    for vector in points.queries:
        embedder.vectors[words.piece(2, 6)] = array("f", vector.tobytes())
    project = points.projects[SHARES.index(max(SHARES))].id
    for url in urls:
        async with empty_graph(url) as graph, opened(url, url) as store:
            await filled(store, records, DIMENSIONS)
            await _remember(store, project, words, points)
            await graph.run("CALL db.awaitIndexes(600)", deadline_s=600)
            recall = Recall(store, embedder)
            around = Around(project, _session_of(project, records))
            rounds = [await _round(graph, recall, around) for _ in range(WARMED + ROUNDS)][WARMED:]
            _say(graph.version_text, rounds)


def _session_of(project: str, records: Sequence[Record]) -> str:
    sessions = (each for each in records if isinstance(each, ConversationSession))
    return next(each.id for each in sessions if each.project_id == project)


def _said(record: Record, text: str) -> Record:
    return replace(record, user=(TextPart(text),)) if isinstance(record, Turn) else record


async def _remember(store: Store, project: str, words: Words, points: Points) -> None:
    """Return memories of all kinds, each with a vector of one of the turns."""
    kinds = list(MemoryType)
    made = [
        new_memory(
            words.piece(6, 20),
            kinds[at % len(kinds)],
            project_id=project,
            at=now(),
            source=MemorySource.USER,
        )
        for at in range(MEMORIES)
    ]
    for memory in made:
        await store.memories.save(memory)
    await store.vectors.save(
        [
            Embedding(
                Owner(OwnerKind.MEMORY, memory.id), MODEL, memory.id, array("f", points.vectors[at].tobytes())
            )
            for at, memory in enumerate(made)
        ]
    )


async def _round(graph: Graph, recall: Recall, around: Around) -> Times:
    times, project = Times(), around.project_id
    assert isinstance(recall.embedder, Given)
    for text, vector in recall.embedder.vectors.items():
        recall.cache.clear()
        started = time.perf_counter()
        await gather(recall, RecallRequest(text, around, BLOCK_TOKENS, InjectLimits(), Injecting()))
        recall.cache.clear()
        began = time.perf_counter()
        await search(recall, Query(text, project_id=project))
        searched = time.perf_counter()
        await _bare(graph, text, list(vector), project)
        times.block.append((began - started) * 1000)
        times.whole.append((searched - began) * 1000)
        times.bare.append((time.perf_counter() - searched) * 1000)
    return times


async def _bare(graph: Graph, text: str, vector: list[float], project: str) -> None:
    scope = lucene_scope(project_id=project, session_id=None, kinds=tuple(HitKind))
    await graph.read(
        BARE_WORDS, words=lucene(keywords(text, stemmer(), limit=TERMS_MAX), scope=scope), limit=DEPTH_MIN
    )
    inside = filters_inside(graph.version)
    statement = BARE_FILTERED.format(project="AND n.projectId = $project") if inside else BARE
    statement = statement.replace("LIMIT 20", f"LIMIT {DEPTH_MIN}")
    fetched = DEPTH_MIN if inside else round(DEPTH_MIN / max(SHARES))
    await graph.read(statement, model=MODEL, project=project, vector=vector, fetched=fetched)


def _say(version: str, rounds: Sequence[Times]) -> None:
    for name in ("block", "whole", "bare"):
        values = [ms for each in rounds for ms in getattr(each, name)]
        print(f"{version:<16} {name:<12} {statistics.median(values):8.1f} {percentile(values, 95):8.1f}")
    for name, other in (("whole", "bare"), ("block", "whole")):
        ratios = sorted(
            percentile(getattr(each, name), 95) / percentile(getattr(each, other), 95) for each in rounds
        )
        print(
            f"{version:<16} {f'{name}/{other}':<12} {ratios[0]:26.2f} {statistics.median(ratios):6.2f}",
            flush=True,
        )
