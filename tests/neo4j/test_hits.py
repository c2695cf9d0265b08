"""A query reads what is asked for: its database hits do not grow with all else that is stored."""

from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from ragforge.domain.memories import ConceptFilter, MemoryFilter, MemorySort, MemoryType
from ragforge.domain.vectors import Nearby
from ragforge.store.neo4j.carrier import Carrier
from ragforge.store.neo4j.claims import Claims
from ragforge.store.neo4j.memories import Neo4jMemories
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.outbox import open_outbox
from ragforge.store.neo4j.sessions import Neo4jSessions
from ragforge.store.neo4j.summaries import Neo4jSummaries
from ragforge.store.neo4j.usage import Neo4jUsageLog
from ragforge.store.neo4j.vectors_read import lacking, nearest
from tests.neo4j.graph_rows import connected
from tests.neo4j.hits import ProfiledGraph, grow, remove_all
from tests.servers import neo4j
from tests.servers.neo4j import EMBEDDER, Neo4jServer
from tests.servers.shared import Servers

SIZES = (100, 1_000)
SIZES_OF_TOPICS = (250, 1_000)
"""Topics are found among 200 memories, so they begin with more."""
SIZES_LONG = (300, 3_000, 20_000)
LONG_AGO, TODAY = datetime(2020, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
ASKED, OTHERS = "asked", "others"
"""Projects: the one that is asked about has 25 turns of today, the other grows."""
HITS_A_TURN_MAX = 0.2
"""For each turn that comes: of the sessions of a project some are looked at."""
VECTOR = array("f", [1.0] * 256)


class Asked(Struct, frozen=True):
    """What the program asks through."""

    graph: ProfiledGraph
    usage: Neo4jUsageLog
    sessions: Neo4jSessions
    memories: Neo4jMemories
    summaries: Neo4jSummaries


QUESTIONS: Mapping[str, Callable[[Asked], Awaitable[Any]]] = {
    "usage since midnight": lambda of: of.usage.by_model(since=TODAY),
    "usage of a user since midnight": lambda of: of.usage.by_model(since=TODAY, person="ada"),
    "usage of a project": lambda of: of.usage.by_model(project_id=ASKED),
    "usage of a session": lambda of: of.usage.by_model(session_id=f"{OTHERS}-s0"),
    "summaries that are lacking": lambda of: of.summaries.lacking(),
    "summaries that are lacking in a project": lambda of: of.summaries.lacking(project_id=OTHERS),
    "stand-ins": lambda of: of.summaries.stand_ins(),
    "stand-ins in a project": lambda of: of.summaries.stand_ins(project_id=OTHERS),
    "stand-ins above": lambda of: of.summaries.upper_stand_ins(project_id=OTHERS),
    "what is outdated": lambda of: of.summaries.outdated(project_id=OTHERS),
    "sessions to roll up": lambda of: of.summaries.sessions_to_roll_up(20_000),
    "sessions of a project to roll up": lambda of: of.summaries.sessions_to_roll_up(
        20_000, project_id=OTHERS
    ),
    "vectors that are lacking": lambda of: lacking(of.graph, EMBEDDER),
    "vectors that are lacking in a project": lambda of: lacking(of.graph, EMBEDDER, project_id=OTHERS),
    "a search by meaning": lambda of: nearest(of.graph, Nearby(VECTOR, EMBEDDER, ASKED)),
    "the newest sessions": lambda of: of.sessions.recent(limit=5),
    "the newest sessions of a project": lambda of: of.sessions.recent(project_id=OTHERS, limit=5),
    "the newest that are not archived": lambda of: of.sessions.recent(
        project_id=OTHERS, archived=False, limit=5
    ),
    "memories of a project": lambda of: of.memories.find(MemoryFilter(ASKED)),
    "rules": lambda of: of.memories.find(MemoryFilter(OTHERS, binding=True)),
}
TOPICS: Mapping[str, Callable[[Asked], Awaitable[Any]]] = {
    "the weightiest topics": lambda of: of.memories.concepts(ConceptFilter(OTHERS, "ada", EMBEDDER)),
}
OTHER_LISTS: Mapping[str, Callable[[Asked], Awaitable[Any]]] = {
    **{
        f"100 memories by {sort}": lambda of, sort=sort: of.memories.find(MemoryFilter(OTHERS, sort=sort))
        for sort in MemorySort
    },
    "goals": lambda of: of.memories.find(MemoryFilter(OTHERS, types=(MemoryType.GOAL,))),
    "memories of today": lambda of: of.memories.find(
        MemoryFilter(OTHERS, since=TODAY, sort=MemorySort.CREATED)
    ),
}
"""A server takes most of a second to plan each."""


@pytest.fixture(params=tuple(neo4j.VERSIONS))
def server(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[Neo4jServer]:
    with neo4j_servers.emptied(request.param) as server:
        yield server


@pytest.fixture
async def asked(server: Neo4jServer, tmp_path: Path) -> AsyncIterator[Asked]:
    graph = ProfiledGraph(server)
    async with connected(server):
        await graph.connect()
    outbox = open_outbox(tmp_path / "outbox.db", lock_dir=tmp_path)

    async def nothing(*_: Any) -> None: ...

    # It carries nothing: all is written past it.
    nodes = Nodes(graph, outbox, Carrier(graph, outbox, reach=nothing, fenced=nothing))
    sessions = Neo4jSessions(nodes, Claims(nodes, tmp_path, "machine"))
    yield Asked(graph, Neo4jUsageLog(nodes), sessions, Neo4jMemories(nodes), Neo4jSummaries(nodes))
    await remove_all(graph)
    await graph.close()
    await outbox.close()


@pytest.mark.parametrize(
    ("sizes", "questions"),
    [
        pytest.param(SIZES, QUESTIONS, id="few"),
        pytest.param(SIZES_OF_TOPICS, TOPICS, id="topics"),
        pytest.param(SIZES_LONG, {**QUESTIONS, **OTHER_LISTS, **TOPICS}, id="many", marks=pytest.mark.long),
    ],
)
async def test_what_is_read_does_not_grow_with_what_is_not_asked_for(
    asked: Asked, sizes: tuple[int, ...], questions: Mapping[str, Callable[[Asked], Awaitable[Any]]]
) -> None:
    await grow(asked.graph, ASKED, start=0, end=25, at=TODAY)
    hits: dict[str, list[int]] = {name: [] for name in questions}
    for before, size in zip((0, *sizes), sizes, strict=False):
        await grow(asked.graph, OTHERS, start=before, end=size, at=LONG_AGO)
        # What was written since is looked at once, by whoever asks first.
        await asked.summaries.lacking()
        await asked.summaries.lacking(project_id=OTHERS)
        for name, ask in questions.items():
            asked.graph.hits = 0
            await ask(asked)
            hits[name].append(asked.graph.hits)
    for name, found in hits.items():
        print(f"{name:42}", *(f"{each:>9,}" for each in found))
    grown = sizes[-1] - sizes[0]
    assert {
        name: found for name, found in hits.items() if found[-1] - found[0] > grown * HITS_A_TURN_MAX
    } == {}
