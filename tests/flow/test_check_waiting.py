"""A check of the store, while what waits for a server that is not in use is damaged."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ragforge.domain.ids import new_id
from ragforge.session.databases import this_machine
from ragforge.session.store_check import check_store
from ragforge.store.files import outbox_file
from ragforge.store.open import open_store
from tests.contract.builders import new_session, said
from tests.flow.running import environ
from tests.servers.shared import Servers


# One kind of server is enough: what waits for them is the same file.
@pytest.fixture(params=["sqlite", "neo4j-5"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path, neo4j_servers: Servers) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite://{tmp_path}/data/ragforge.db"
        return
    with neo4j_servers.emptied(request.param) as server:
        yield server.url


async def test_it_is_damage_and_hides_nothing_that_the_conversations_need(
    store_url: str, tmp_path: Path
) -> None:
    env = environ(tmp_path, RAGFORGE_STORE=store_url)
    machine = this_machine(cwd=tmp_path, flags={}, environ=env)
    store = await open_store(store_url, machine_dir=machine.data_dir)
    await said(store, await new_session(store))
    await store.close()
    waiting = outbox_file(machine.data_dir, new_id())
    waiting.path.parent.mkdir(exist_ok=True)
    waiting.path.write_bytes(b"garbage" * 500)

    found = {each.title: each for each in await check_store(machine, repair=False, tell=print)}
    assert [title for title, each in found.items() if each.wrong] == [waiting.title]
    assert not [words for each in found.values() for words in each.notes if "unknown while" in words]
