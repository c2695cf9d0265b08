"""Which turns a search finds by the pieces of what was said in them."""

from ragforge.domain.search import Query
from ragforge.memory.recall.search import search
from ragforge.store.base import Store
from tests.contract.builders import new_session, said
from tests.flow.test_recall_search import embedded, ids, store

__all__ = ["store"]


async def test_a_long_message_is_as_near_as_the_nearest_thing_that_it_says(store: Store):
    session = await new_session(store)
    other = f"The invoice {'of the printer that we bought for the office in spring ' * 7}is overdue. "
    wanted = await said(store, session, f"{other}My dog had puppies last night. {other}")
    lure = await said(store, session, "The kids at school draw what they eat.")
    found = await search(await embedded(store), Query("young animals and pets"))
    assert ids(found)[:2] == [wanted.id, lure.id]
