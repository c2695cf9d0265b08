"""Which text of what is embedded, and that no text is embedded twice."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain.messages import TextPart
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Owner, OwnerKind, Vector
from ragforge.memory.derive.vectors import ANSWER_CHARS_MAX, embed_owners, summary_text, text_hash, turn_text
from ragforge.store.base import Store
from ragforge.store.open import open_store
from tests.contract.builders import (
    DIMENSIONS,
    a_call,
    a_request,
    a_session,
    a_step,
    a_summary,
    a_turn,
    a_vector,
    an_odd_vector,
    conversation,
    new_session,
    said,
)

SESSION = a_session("p")
TURN = replace(a_turn(SESSION, "Why does the parser drop the last line?"), assistant="It stops early. " * 100)


class Counting:
    """An embedder that remembers what it was given, and may be disturbed while it works."""

    name = "test:2"
    dimensions = DIMENSIONS
    remote = False
    usage = Usage()

    def __init__(self, meanwhile: object = None) -> None:
        self.texts: list[str] = []
        self.meanwhile = meanwhile

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.texts += texts
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        return [a_vector(1.0, float(len(text))) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        return a_vector(1.0, float(len(text)))

    async def close(self) -> None:
        pass


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await open_store(f"sqlite://{tmp_path}/ragforge.db", machine_dir=tmp_path)
    yield store
    await store.close()


def test_a_turn_is_its_question_and_the_start_of_the_answer_until_it_has_a_summary() -> None:
    text = turn_text(TURN, summary=None, calls=[])
    assert text.startswith("Why does the parser drop the last line?\nIt stops early.")
    assert len(text) <= 60 + ANSWER_CHARS_MAX
    summary = a_summary(SESSION, "The loop ends at the last newline.", TURN, files=("src/parser.py",))
    text = turn_text(TURN, summary=summary, calls=[])
    assert "The loop ends at the last newline." in text
    assert "src/parser.py" in text
    assert "It stops early." not in text


def test_tools_and_files_are_named_and_results_are_cut_at_both_ends() -> None:
    step = a_step(TURN, 0, "", a_request("read", path="src/a.py"), a_request("read", path="src/b.py"))
    calls = [a_call(step, 0, result="begin " + "x" * 50_000 + " the error"), a_call(step, 1)]
    text = turn_text(TURN, summary=None, calls=calls)
    for word in ("read", "src/a.py", "src/b.py", "begin", "the error"):
        assert word in text
    assert len(text) < 1_200


def test_no_text_is_longer_than_it_may_be() -> None:
    huge = replace(TURN, user=(TextPart("word " * 100_000),), assistant="x" * 1_000_000)
    calls = [a_call(a_step(TURN, 0, "", a_request(path="p" * 10_000)), result="y" * 100_000)] * 50
    assert len(turn_text(huge, summary=None, calls=calls)) < 6_000
    summary = a_summary(SESSION, "z" * 9_000, TURN, findings=("f" * 9_000,), files=("g" * 9_000,))
    assert len(summary_text(summary)) < 3_000


def test_half_of_a_character_has_a_hash() -> None:
    assert text_hash("\ud800") != text_hash("?")


def test_search_results_in_place_of_an_answer_are_not_embedded() -> None:
    """Where no model answers, other turns are quoted: what they say is theirs."""
    quoted = replace(TURN, model="local")
    assert turn_text(quoted, summary=None, calls=()) == "Why does the parser drop the last line?"
    assert "It stops early." in turn_text(TURN, summary=None, calls=())


async def test_the_same_text_is_never_embedded_twice(store: Store) -> None:
    session = await new_session(store)
    first = await said(store, session, "yes")
    second = await said(store, session, "yes", parent=first)
    embedder = Counting()
    owners = await store.vectors.lacking(embedder.name)
    assert await embed_owners(store, embedder, [*owners, *owners]) == 2
    assert len(embedder.texts) == 1
    assert await store.vectors.lacking(embedder.name) == []
    third = await said(store, session, "yes", parent=second)
    assert await embed_owners(store, embedder, [Owner(OwnerKind.TURN, third.id)]) == 1
    assert len(embedder.texts) == 1


class Shorter(Counting):
    """The same model, set to vectors of fewer dimensions."""

    dimensions = 2

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.texts += texts
        return [an_odd_vector(1.0, 0.0) for _ in texts]


async def test_a_vector_of_other_dimensions_is_made_again(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session, "yes")
    owner = Owner(OwnerKind.TURN, turn.id)
    await embed_owners(store, Counting(), [owner])
    shorter = Shorter()
    await embed_owners(store, shorter, [owner])
    assert len(shorter.texts) == 1
    [embedding] = await store.vectors.get([owner])
    assert embedding.vector == an_odd_vector(1.0, 0.0)


async def test_a_text_that_changes_while_it_is_embedded_is_embedded_as_it_is_now(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session, "Fix it.")
    summary = a_summary(session, "It was fixed.", turn)
    embedder = Counting(lambda: store.summaries.save(summary))
    owner = Owner(OwnerKind.TURN, turn.id)
    await embed_owners(store, embedder, [owner])
    [embedding] = await store.vectors.get([owner])
    assert "It was fixed." in embedder.texts[-1]
    assert embedding.text_hash == text_hash(embedder.texts[-1])


async def test_what_is_not_stored_is_left_out(store: Store) -> None:
    session = await new_session(store)
    [turn] = await conversation(store, session, 1)
    owners = [Owner(kind, "nowhere") for kind in OwnerKind] + [Owner(OwnerKind.TURN, turn.id)]
    assert await embed_owners(store, Counting(), owners) == 1
    assert await embed_owners(store, Counting(), []) == 0
