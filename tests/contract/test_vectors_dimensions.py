"""Vectors of several lengths, for which indexes are made anew."""

import pytest

from ragforge.domain.vectors import Nearby
from ragforge.store.base import Store
from tests.contract.builders import (
    DIMENSIONS,
    an_embedding,
    an_odd_vector,
    conversation,
    new_session,
    owner_of,
    owners_of,
    said,
)
from tests.contract.builders_vectors import EAST, MODEL, owners

pytestmark = pytest.mark.remakes


@pytest.mark.long_on_servers
async def test_vectors_of_other_models_and_dimensions_are_not_compared(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(turns[0], 1, 0)])
    await store.vectors.use("gemini:b", 3)
    odd = an_odd_vector(1, 0, 0)
    await store.vectors.save([an_embedding(turns[1], model="gemini:b", vector=odd)])
    assert owners(await store.vectors.nearest(Nearby(odd, "gemini:b"))) == owners_of([turns[1]])
    assert await store.vectors.nearest(Nearby(EAST, "gemini:b")) == []
    assert await store.vectors.nearest(Nearby(odd, MODEL)) == []
    assert await store.vectors.nearest(Nearby(EAST, "unheard-of")) == []


@pytest.mark.long_on_servers
async def test_change_of_dimensions_alone_makes_all_lacking(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(turn, 1, 0)])
    await store.vectors.use(MODEL, 3)
    assert await store.vectors.lacking(MODEL) == [owner_of(turn)]
    odd = an_odd_vector(1, 0, 0)
    await store.vectors.save([an_embedding(turn, vector=odd)])
    assert await store.vectors.lacking(MODEL) == []
    assert owners(await store.vectors.nearest(Nearby(odd, MODEL))) == [owner_of(turn)]
