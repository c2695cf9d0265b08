"""A turn that is summarised after a later one: what was said last applies, whatever is stored last."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ragforge.domain.memories import AssociationKind, Memory, MemoryFilter
from ragforge.session.background.model import NO_MODEL
from ragforge.session.state import Session
from tests.flow.beside import QUICK, WAIT_S, a_memory, an_answer, beside, done
from tests.flow.running import ended, environ, say
from tests.standins.gemini import GeminiStandIn, JsonText, Recorded

FIRST = "We decided to use PostgreSQL for the orders."
SECOND = "We now use MySQL instead of PostgreSQL for the orders."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (FIRST, SECOND),
        ("The API listens on port 8443.", "The API listens on port 9443 instead of 8443."),
        ("Always answer in French.", "Please always answer in English from now on."),
        ("On a décidé d'utiliser PostgreSQL pour les commandes.", "On utilise MySQL au lieu de PostgreSQL."),
    ],
)
async def test_what_was_said_since_replaces_what_is_summarised_late(
    first: str, second: str, tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL=NO_MODEL)
    older, newer, updates = await late_and_since(tmp_path, env, first, second)
    assert updates == [(newer.id, older.id)]
    assert (older.replaced, newer.replaced) == (True, False)


async def test_what_was_said_since_of_something_else_replaces_nothing(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL=NO_MODEL)
    second = "We use MySQL for the visits of the site."
    older, newer, updates = await late_and_since(tmp_path, env, FIRST, second)
    assert not updates
    assert (older.replaced, newer.replaced) == (False, False)


@pytest.mark.parametrize("relates", [False, True])
async def test_the_same_with_a_model_that_sees_no_change_or_the_wrong_one(
    tmp_path: Path, gemini: GeminiStandIn, relates: bool
) -> None:
    """The model is shown the newer memory as a known one, and may take the older words for a change of it."""
    gemini.always_structured(lambda request: by_its_words(request, relates=relates))
    older, newer, updates = await late_and_since(tmp_path, environ(tmp_path, gemini), FIRST, SECOND)
    assert updates == [(newer.id, older.id)]
    assert (older.replaced, newer.replaced) == (True, False)
    assert len(gemini.structured()) >= 2


def by_its_words(request: Recorded, *, relates: bool) -> Any:
    """The memory of the one turn that is asked about."""
    assert request.schema is not None
    is_second = SECOND in str(request.body)
    content = "We use MySQL for the orders." if is_second else "We use PostgreSQL for the orders."
    links = [{"kind": "updates", "to": "m1"}] if relates and not is_second else []
    return JsonText(an_answer(request.schema, content, (a_memory(content, id="n1", relations=links),)))


async def late_and_since(
    tmp_path: Path, env: dict[str, str], first: str, second: str
) -> tuple[Memory, Memory, list[tuple[str, str]]]:
    """The memory of a turn that is summarised last, that of a later one, and which of them replaces which."""
    async with beside(tmp_path, env) as session:
        await session.workspace.background.close()
        late = ended(await say(session, first)).id
    async with beside(tmp_path, env, timing=replace(QUICK, start_s=10 * WAIT_S)) as session:
        since = ended(await say(session, second)).id
        await done(session)
        store = session.workspace.store
        covering = await store.summaries.covering([late, since])
        assert [len(covering.get(each, ())) for each in (late, since)] == [1, 1]
        older, newer = await memory_of(session, late), await memory_of(session, since)
        links = await store.memories.associations([older.id])
        updates = [(each.from_id, each.to_id) for each in links if each.kind is AssociationKind.UPDATES]
        return older, newer, updates


async def memory_of(session: Session, turn_id: str) -> Memory:
    wanted = MemoryFilter(project_id=session.workspace.project.id, replaced=True)
    found = await session.workspace.store.memories.find(wanted)
    [memory] = [each for each in found if each.turns == (turn_id,)]
    return memory
