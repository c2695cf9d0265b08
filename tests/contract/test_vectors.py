"""Vectors that are kept, and those that are refused."""

import math
from array import array

import pytest

from ragforge.domain.errors import UsageError
from ragforge.domain.vectors import Nearby, Owner, OwnerKind
from ragforge.store.base import Store
from tests.contract.builders import (
    DIMENSIONS,
    a_memory,
    a_summary,
    a_turn,
    a_vector,
    an_embedding,
    an_odd_vector,
    conversation,
    new_session,
    owner_of,
    owners_of,
    said,
)
from tests.contract.builders_vectors import MODEL, nearby, owners
from tests.contract.conftest import Opener


async def test_embedding_reads_back_bit_for_bit(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    summary = a_summary(session, "both", *turns)
    await store.summaries.save(summary)
    # Neither of length 1 nor exact in decimal, the smallest and the largest that there are.
    kept = [
        an_embedding(turns[0], 0.1, -3.3333333, 1e-30, 12345.678, text_hash="a" * 64),
        an_embedding(turns[1], *[math.sin(number) for number in range(4096)], model="gemini:b"),
        an_embedding(summary, 1.0),
    ]
    await store.vectors.save(kept)
    strangers = [Owner(OwnerKind.TURN, "nowhere"), Owner(OwnerKind.TURN, summary.id)]
    assert await store.vectors.get([*owners_of([summary, *turns]), *strangers]) == [kept[2], kept[0], kept[1]]
    assert await store.vectors.get([]) == []


async def test_newer_embedding_takes_the_place_of_the_older(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(turn, 1, 0)])
    assert (await store.vectors.nearest(nearby(1, 0, project_id=session.project_id)))[
        0
    ].score == pytest.approx(1, abs=1e-3)
    newer = an_embedding(turn, -1, 0, text_hash="b" * 64)
    for _ in range(2):
        await store.vectors.save([newer])
        assert await store.vectors.get([owner_of(turn)]) == [newer]
        (near,) = await store.vectors.nearest(nearby(1, 0, project_id=session.project_id))
        assert near.score == pytest.approx(0, abs=1e-3)


@pytest.mark.emptied
async def test_embedding_of_what_is_not_stored_is_left_out(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.vectors.use(MODEL, DIMENSIONS)
    of_other_kind = Owner(OwnerKind.SUMMARY, turn.id)
    strangers = [an_embedding(a_turn(session)), an_embedding(turn, owner=of_other_kind)]
    await store.vectors.save([strangers[0], an_embedding(turn), strangers[1]])
    await store.vectors.save([])
    assert owners(await store.vectors.nearest(nearby(1, 0))) == [owner_of(turn)]
    assert await store.vectors.get([each.owner for each in strangers]) == []
    assert await store.check() == []


REFUSED = {
    "empty": (a_vector(), "empty"),
    "zero": (a_vector(0, 0, -0.0), "zero"),
    "not a number": (a_vector(1, math.nan), "finite"),
    "infinite": (a_vector(1, math.inf), "finite"),
    "both infinities": (a_vector(-math.inf, math.inf), "finite"),
    "too long": (a_vector(*[1.0] * 4097), "4097"),
    "doubles": (array("d", [1.0, 2.0]), "32-bit"),
}


async def test_vector_that_cannot_be_compared_is_refused(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    await store.vectors.use(MODEL, DIMENSIONS)
    for name, (vector, wrong) in REFUSED.items():
        with pytest.raises(UsageError, match=wrong):
            await store.vectors.save([an_embedding(turns[0]), an_embedding(turns[1], vector=vector)])
        assert await store.vectors.get(owners_of(turns)) == [], f"{name}: one bad vector, and none is kept"
        with pytest.raises(UsageError, match=wrong):
            await store.vectors.nearest(Nearby(vector, MODEL))


async def test_embedder_of_impossible_dimensions_is_refused(store: Store) -> None:
    for dimensions in (0, -1, 4097):
        with pytest.raises(UsageError, match=str(dimensions)):
            await store.vectors.use(MODEL, dimensions)


async def test_two_open_stores_see_each_others_vectors(opener: Opener) -> None:
    one, other = await opener(), await opener()
    session = await new_session(one)
    turns = await conversation(one, session, 3)
    await one.vectors.use(MODEL, DIMENSIONS)
    for turn in turns:
        writer, reader = (one, other) if turn.index % 2 else (other, one)
        await writer.vectors.save([an_embedding(turn, 1, turn.index)])
        found = await reader.vectors.nearest(nearby(1, 0, project_id=session.project_id))
        assert owners(found) == owners_of(turns[: turn.index + 1])
    await other.vectors.save([an_embedding(turns[0], -1, 0)])
    assert owners(await one.vectors.nearest(nearby(1, 0, project_id=session.project_id))) == owners_of(
        [turns[1], turns[2], turns[0]]
    )
    await other.sessions.delete(session.id)
    assert await one.vectors.nearest(nearby(1, 0, project_id=session.project_id)) == []
    again = await new_session(other)
    turn = await said(other, again)
    await other.vectors.save([an_embedding(turn, 0, 1)])
    (near,) = await one.vectors.nearest(nearby(1, 0, project_id=again.project_id))
    assert (near.owner, near.score) == (owner_of(turn), pytest.approx(0.5, abs=1e-3))


@pytest.mark.emptied
async def test_shared_turn_keeps_its_vector_in_the_session_that_inherits_it(store: Store) -> None:
    session = await new_session(store)
    shared, left = await conversation(store, session, 2)
    fork = await new_session(store, head=shared.id, forked_from=session.id)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(shared), an_embedding(left)])
    assert len(await store.vectors.nearest(nearby(1, 0, session_id=session.id))) == 2
    await store.sessions.delete(session.id)
    for scope in ({}, {"session_id": fork.id}, {"project_id": fork.project_id}):
        assert owners(await store.vectors.nearest(nearby(1, 0, **scope))) == [owner_of(shared)]
    assert await store.vectors.nearest(nearby(1, 0, project_id=session.project_id)) == []
    assert await store.vectors.get(owners_of([left])) == []
    assert await store.vectors.lacking(MODEL) == []
    assert await store.check() == []


@pytest.mark.emptied
async def test_vector_of_the_same_text_is_found_whoever_has_it(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    summary, memory = a_summary(session, "One.", turns[0]), a_memory(session, "We use tabs.")
    await store.summaries.save(summary)
    await store.memories.save(memory)
    await store.vectors.use("static:2", DIMENSIONS)
    hashes = [letter * 64 for letter in "abcd"]
    made = [
        an_embedding(owner, 1.0, place, model="static:2", text_hash=hashes[place])
        for place, owner in enumerate((turns[0], summary, memory))
    ]
    others = an_embedding(turns[1], 1.0, 9.0, model="gemini:b", text_hash=hashes[3])
    await store.vectors.save([*made, others])
    found = await store.vectors.same_text("static:2", [*hashes, "nowhere", ""])
    assert found == {each.text_hash: each.vector for each in made}
    assert await store.vectors.same_text("gemini:b", hashes) == {hashes[3]: others.vector}
    assert await store.vectors.same_text("static:2", []) == {}


@pytest.mark.emptied
async def test_vectors_of_another_length_than_the_embedders_are_of_no_use(store: Store) -> None:
    session = await new_session(store)
    (turn,) = await conversation(store, session, 1)
    await store.vectors.save(
        [an_embedding(turn, model="static:b", text_hash="a" * 64, vector=an_odd_vector(1, 0))]
    )
    await store.vectors.use("static:b", DIMENSIONS)
    assert await store.vectors.same_text("static:b", ["a" * 64]) == {}
