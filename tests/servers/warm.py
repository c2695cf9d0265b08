"""Brings a server to where one stands that has run for a while: its schema is there, its queries are planned.

A server that has just started plans its first big query for longer than a step may take, so this one pass has
more time than the program takes for itself. To plan what the program asks takes half a minute of processor
time: where few tests use a server, they plan what they need, for which they have time (`tests/patience.py`).
"""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragforge.domain.memories import MemoryFilter
from ragforge.domain.search import Query
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.domain.vectors import Nearby
from ragforge.store.base import Store
from ragforge.store.open import open_store
from tests.contract import builders as a
from tests.contract.builders_versions import a_branch, a_move, new_version
from tests.patience import SERVER, patience
from tests.servers.neo4j import EMBEDDER, Neo4jServer

MODEL = EMBEDDER


def is_ready(database: Mapping[str, Any]) -> bool:
    """Whether a database that says this of itself has vector indexes for MODEL."""
    return bool(database.get("embedder")) and database.get("dimensions") == a.DIMENSIONS


def warm(server: Neo4jServer, *, planning: bool = True) -> None:
    """Use it once as the tests will, with as much time as that takes. It writes there.

    planning: whether it plans all that the program asks; else it gets its schema and its indexes alone.
    """
    with patience(SERVER), tempfile.TemporaryDirectory() as folder:
        asyncio.run(_use(server, Path(folder), planning=planning))


async def _use(server: Neo4jServer, folder: Path, *, planning: bool) -> None:
    store = await open_store(server.url, machine_dir=folder, password=server.password)
    try:
        await store.vectors.use(MODEL, a.DIMENSIONS)
        if not planning:
            return
        session, turns, summaries = await _write(store)
        await _read(store, session, turns, summaries)
        await store.sessions.delete(session.id)
    finally:
        await store.close()


async def _write(store: Store) -> tuple[ConversationSession, list[Turn], list[Summary]]:
    session = await a.new_session(store)
    claim = await store.sessions.claim(session.id)
    turns = await a.conversation(store, session, 3)
    working = a.a_turn(session, "Look.", parent=turns[-1])
    await store.turns.start(working)
    step = a.a_step(working, 0, "Let me look.", a.a_request())
    await store.turns.save_step(step)
    await store.calls.add(a.a_call(step), step)
    await store.turns.end(a.an_end(working))
    summaries = [a.a_summary(session, "It was fixed.", turn) for turn in turns]
    for summary in summaries:
        await store.summaries.save(summary)
    await store.summaries.roll_up(a.a_summary(session, "All was fixed.", *summaries))
    await store.vectors.save([a.an_embedding(owner) for owner in (*turns, *summaries)])
    memories = [a.a_memory(session, text, turns[0]) for text in ("We use MySQL.", "We use PostgreSQL.")]
    for memory in memories:
        await store.memories.save(memory)
    await store.memories.associate([a.an_association(*memories)])
    version = await new_version(store, session, turn_id=turns[0].id)
    await store.versions.set_branch(a_branch(version))
    await store.versions.add_move(a_move(session))
    await store.sessions.set_head(session.id, turns[0].id)
    await claim.release()
    return session, turns, summaries


async def _read(
    store: Store, session: ConversationSession, turns: list[Turn], summaries: list[Summary]
) -> None:
    await store.sessions.recent(project_id=session.project_id)
    await store.turns.path(turns[-1].id)
    await store.turns.steps([turns[-1].id])
    await store.summaries.of_session(session.id, uncovered=True)
    await store.summaries.covering([turns[0].id])
    await store.summaries.lacking()
    await store.vectors.lacking(MODEL)
    nearby = Nearby(a.a_vector(1, 0), MODEL)
    for scope in ({}, {"project_id": session.project_id}, {"session_id": session.id}):
        await store.vectors.nearest(replace(nearby, **scope))
        found = await store.search.candidates(Query("question", **scope), replace(nearby, **scope))
    await store.search.hits(found, "question")
    await store.search.related(found)
    await store.turns.abandoned([turns[0].id])
    await store.memories.find(MemoryFilter())
    await store.usage.by_model()
    await store.versions.of_turns([turns[0].id])
    await store.versions.unversioned(session.id)
    await store.versions.branches(session.project_id)
    await store.versions.moves(session.project_id)
    for row in await store.versions.rows(session.project_id):
        await store.versions.line(row.version.id)
        await store.versions.children(row.version.id)
    async for _ in store.archive.dump():
        pass
    await store.status()
    await store.check()
