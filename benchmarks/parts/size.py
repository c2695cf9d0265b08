"""Costs that grow with a history of `--turns N`: saving, block, search, resuming, lists, pending roll-ups.

The same seeded history in SQLite and on each server, with a vector per turn; half of it is the project in
question. It is loaded into a server by the batches of an archive, before there are indexes except those of
the ids. Times are by the clock; for SQLite, which works in this process, also the processor's time. Each
question is asked a few times before it counts.
"""

import random
import tempfile
import time
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
from hybrid import MODEL, Given, percentile
from seed import project_id, seeded, session_id, turn_id, words_of

from parts.carry import ANSWER, call_of, next_turn
from parts.places import empty_graph, opened
from ragforge.domain import timeouts
from ragforge.domain.ids import new_id, now
from ragforge.domain.messages import ModelMessage
from ragforge.domain.search import Query
from ragforge.domain.turns import ConversationSession, Step, TurnEnd, TurnStatus
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.memory.recall.gather import gather
from ragforge.memory.recall.request import Around, Injecting, InjectLimits, RecallRequest
from ragforge.memory.recall.search import Recall, search
from ragforge.memory.window import WindowLimits
from ragforge.session.conversation import SESSIONS_LISTED_MAX
from ragforge.session.history import newest_turns, read_window
from ragforge.store.base import Record, Store
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.schema import Kind, standing
from ragforge.store.open import open_store

DIMENSIONS = 256
BATCH = 1_000
WARM, ROUNDS = 5, 30
ROLL_UP_CHARS = 20_000
BLOCK_TOKENS = 1_500
PATIENT_S = 60.0
"""Late results are waited for: a block without them would cost less."""

MADE_LATER = (Kind.RANGE, Kind.WORDS, Kind.VECTORS)
INDEXES_S_MAX = 1_800

Ask = Callable[[], Awaitable[object]]


async def measure(urls: Sequence[str], turns: int) -> None:
    """Print the cost of each question, in SQLite and on each server."""
    timeouts.GATHER_S_MAX = timeouts.NEO4J_ANSWER_S_MAX = timeouts.NEO4J_SETTLE_S_MAX = PATIENT_S
    print(f"{f'{turns:,} turns':<32} {'p50 ms':>9} {'p95 ms':>9} {'processor, p50':>15}")
    async with _source(turns) as source:
        await _asked("SQLite", source)
        for url in urls:
            async with empty_graph(url) as graph, opened(url, url) as target:
                await target.vectors.use(MODEL, DIMENSIONS)
                began = time.perf_counter()
                async with _indexes_later(graph):
                    records = await _carried(source, target)
                    print(f"{records:,} records loaded in {time.perf_counter() - began:.0f} s", flush=True)
                print(f"with their indexes in {time.perf_counter() - began:.0f} s", flush=True)
                await _asked(f"Neo4j {graph.version_text}", target)


@asynccontextmanager
async def _source(turns: int) -> AsyncIterator[Store]:
    """Return the history in SQLite, with a vector for each turn."""
    vectors = np.random.default_rng(turns).standard_normal((turns, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory() as folder:
        path = seeded(Path(folder) / "ragforge.db", turns=turns)
        store = await open_store(f"sqlite://{path}", machine_dir=Path(folder))
        try:
            await store.vectors.use(MODEL, DIMENSIONS)
            for start in range(0, turns, BATCH):
                await store.vectors.save(
                    [
                        Embedding(
                            Owner(OwnerKind.TURN, turn_id(number)),
                            MODEL,
                            str(number),
                            array("f", vectors[number].tobytes()),
                        )
                        for number in range(start, min(turns, start + BATCH))
                    ]
                )
            yield store
        finally:
            await store.close()


@asynccontextmanager
async def _indexes_later(graph: Graph) -> AsyncIterator[None]:
    """Create all indexes except those of the ids after loading: filling one takes less than updating it."""
    found = [each.definition for each in (await standing(graph)).values()]
    indexes = [each for each in found if each.kind in MADE_LATER]
    for index in indexes:
        await graph.run(index.drop)
    yield
    for index in indexes:
        await graph.run(index.create)
    await graph.run(f"CALL db.awaitIndexes({INDEXES_S_MAX})", deadline_s=INDEXES_S_MAX)


async def _carried(source: Store, target: Store) -> int:
    """Load everything; return how many records there were."""
    records, batch = 0, list[Record]()
    async for record in source.archive.dump():
        batch.append(record)
        if len(batch) == BATCH:
            records += len(batch)
            await target.archive.load(batch)
            batch = []
    await target.archive.load(batch)
    return records + len(batch)


async def _asked(name: str, store: Store) -> None:
    questions = await _questions(store)
    for question, ask in questions.items():
        passed, worked = list[float](), list[float]()
        for number in range(WARM + ROUNDS):
            began, used = time.perf_counter(), time.process_time()
            await ask()
            if number >= WARM:
                passed.append((time.perf_counter() - began) * 1000)
                worked.append((time.process_time() - used) * 1000)
        print(
            f"{f'{name}: {question}':<32} {percentile(passed, 50):9.1f} {percentile(passed, 95):9.1f} "
            f"{percentile(worked, 50):15.1f}",
            flush=True,
        )


async def _questions(store: Store) -> Mapping[str, Ask]:
    """What a day's work asks of a store."""
    words, chance = words_of(random.Random(2)), np.random.default_rng(2)
    embedder, project = Given(DIMENSIONS), project_id(0)
    recall, around = Recall(store, embedder), Around(project, session_id(1))
    resumed = await store.sessions.get(session_id(1))
    assert resumed is not None
    own = ConversationSession(new_id(), project, "/bench", now(), now())
    await store.sessions.add(own)
    saved: list[str] = []

    def text() -> str:
        """Return another question each time, so that none is cached."""
        said = words.piece(4, 12)
        vector = chance.standard_normal(DIMENSIONS).astype(np.float32)
        embedder.vectors[said] = array("f", (vector / np.linalg.norm(vector)).tobytes())
        return said

    async def save() -> None:
        turn = next_turn(own.id, saved[-1] if saved else None, len(saved))
        await store.turns.start(turn)
        call, step = call_of(turn, 0)
        await store.calls.add(call, step)
        last = Step(turn.id, 1, ModelMessage("gemini", "some-model", ANSWER))
        await store.turns.end(TurnEnd(turn.id, TurnStatus.FINISHED, ANSWER, now(), last_step=last))
        await store.drain(timeout_s=PATIENT_S)
        saved.append(turn.id)

    async def block() -> None:
        await gather(recall, RecallRequest(text(), around, BLOCK_TOKENS, InjectLimits(), Injecting()))

    async def resume() -> None:
        await newest_turns(store, resumed.head, 10)
        await read_window(store, resumed.head, WindowLimits())

    async def roll_up() -> None:
        await store.summaries.lacking(project_id=project)
        await store.summaries.sessions_to_roll_up(ROLL_UP_CHARS, project_id=project)

    return {
        "save a turn": save,
        "block": block,
        "search": lambda: search(recall, Query(text(), project_id=project)),
        "resume": resume,
        "list": lambda: store.sessions.recent(project_id=project, limit=SESSIONS_LISTED_MAX),
        "what to roll up": roll_up,
    }
