"""What is late is left out of the block and said; what was found in time stays."""

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from ragforge.domain import timeouts
from ragforge.domain.context import ContextBlock
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Embedding, Owner, Vector
from ragforge.memory.recall.gather import gather
from ragforge.memory.recall.readiness import make_ready
from ragforge.memory.recall.request import Around, Injecting, InjectLimits, RecallRequest
from ragforge.memory.recall.search import Recall
from ragforge.store.base import Store
from ragforge.store.files import outbox_file, outbox_folder
from ragforge.store.neo4j import Here, Neo4jStore
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.identity import KnownServers
from ragforge.store.neo4j.outbox import open_outbox
from ragforge.store.open import open_store
from tests.contract.builders import a_memory, new_session, said
from tests.faults.graph import opened
from tests.flow.test_recall_search import embedded
from tests.patience import PATIENT_S

DEADLINES_S = (1.0, 4.0, 16.0)
"""A busy machine that finds nothing within one of them is given the next."""
DATABASE = "0192d8e4-0000-7000-8000-000000000001"


class _Silent:
    """An embedder on this machine that never answers."""

    name = "silent"
    dimensions = 2
    remote = False
    usage = Usage()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [await self.embed_query(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        await asyncio.Event().wait()
        raise AssertionError

    async def prepare(self) -> None: ...

    async def close(self) -> None: ...


class _Remote(_Silent):
    """An embedder that is paid for each text."""

    remote = True

    def __init__(self) -> None:
        self.prepared = 0

    async def embed_query(self, text: str) -> Vector:
        raise AssertionError(text)

    async def prepare(self) -> None:
        self.prepared += 1


async def test_what_is_loaded_before_the_first_message_sends_nothing(tmp_path: Path) -> None:
    store = await open_store(f"sqlite://{tmp_path}/ragforge.db", machine_dir=tmp_path)
    session, _ = await _told(store)
    embedder = _Remote()
    await make_ready(Recall(store, embedder), Around(session.project_id, "another session"), Injecting())
    await store.close()
    assert embedder.prepared == 1


async def test_what_matters_is_read_before_the_first_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(f"sqlite://{tmp_path}/ragforge.db", machine_dir=tmp_path)
    session, _ = await _told(store)
    matters = a_memory(session, "The quince goes on no shelf.", importance=0.9)
    await store.memories.save(matters)
    recall, asked = await embedded(store), list[Owner]()
    injecting, around = Injecting(), Around(session.project_id, "another session")
    await make_ready(recall, around, injecting)
    get = store.vectors.get

    async def counted(owners: Sequence[Owner]) -> list[Embedding]:
        asked.extend(owners)
        return await get(owners)

    monkeypatch.setattr(store.vectors, "get", counted)
    wanted = RecallRequest("Which shelf has the quince?", around, 1_500, InjectLimits(), injecting)
    block = await gather(recall, wanted)
    await store.close()
    assert matters.id in [item.id for item in block.items]
    assert matters.id not in [owner.id for owner in asked]


async def _told(store: Store) -> tuple[ConversationSession, Turn]:
    session = await new_session(store)
    return session, await said(store, session, "The medlar goes on the fourth shelf.")


async def _block(recall: Recall, session: ConversationSession) -> ContextBlock:
    around = Around(session.project_id, "another session")
    wanted = RecallRequest("Which shelf has the medlar?", around, 1_500, InjectLimits(), Injecting())
    return await gather(recall, wanted)


async def _assert_in_time(
    recall: Recall, session: ConversationSession, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for deadline_s in DEADLINES_S:
        monkeypatch.setattr(timeouts, "GATHER_S_MAX", deadline_s)
        block = await _block(recall, session)
        assert block.limited == f"Not everything could be searched within {1_000 * deadline_s:.0f} ms."
        if block.items:
            break
    assert [(item.turn_id, item.text) for item in block.items] == [
        (turn.id, "The medlar goes on the fourth shelf.")
    ]
    assert block.took_ms < 2_000 * deadline_s


async def test_what_words_find_is_there_where_vectors_are_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(f"sqlite://{tmp_path}/ragforge.db", tmp_path) as store:
        session, turn = await _told(store)
        recall = Recall(store, _Silent())
        await _assert_in_time(recall, session, turn, monkeypatch)
        await recall.questions.close()


async def test_what_is_on_this_machine_is_there_where_the_server_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"bolt://neo4j@127.0.0.1:{silent.getsockname()[1]}"
        session, turn = await _told_while_away(url, tmp_path)
        monkeypatch.setattr(timeouts, "NEO4J_DRAIN_S_MAX", 0.1)
        # Else it would be given up as away before the last of the deadlines.
        monkeypatch.setattr(timeouts, "NEO4J_CONNECT_S_MAX", PATIENT_S)
        locks = tmp_path / "locks"
        outbox = open_outbox(outbox_file(tmp_path, DATABASE).path, lock_dir=locks)
        store = Neo4jStore(url, Graph(Address.from_url(url, "")), Here(outbox, DATABASE, "machine", locks))
        try:
            await _assert_in_time(Recall(store), session, turn, monkeypatch)
            assert not store.link.away
        finally:
            await store.close()


async def _told_while_away(url: str, folder: Path) -> tuple[ConversationSession, Turn]:
    """What a store wrote that could not reach its server."""
    servers = KnownServers(outbox_folder(folder) / "servers.json")
    servers.remember(Address.from_url(url, "").shown, DATABASE)
    with pytest.MonkeyPatch.context() as impatient:
        for name in ("NEO4J_CONNECT_S_MAX", "NEO4J_DRAIN_S_MAX"):
            impatient.setattr(timeouts, name, 0.1)
        async with opened(url, folder) as store:
            return await _told(store)
