import pytest

from ragforge.store.base import Store
from tests.contract.builders import conversation, new_session


@pytest.mark.emptied
async def test_new_store_is_sound(store: Store) -> None:
    assert await store.check() == []


@pytest.mark.emptied
async def test_used_store_is_sound(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 5)
    await store.sessions.set_head(session.id, turns[2].id)
    assert await store.check() == []
