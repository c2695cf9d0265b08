"""What a model made of a turn is paid for once, whatever becomes of the store and of the run."""

import asyncio
import logging
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain.memories import MemoryFilter
from ragforge.domain.messages import TextPart
from ragforge.domain.summaries import SummaryMethod
from ragforge.memory import derive
from ragforge.memory.held_answers import drop, held, hold
from ragforge.memory.material import Understanding
from ragforge.session.state import Session
from tests.flow.beside import a_memory, beside, by_the_model, done, until
from tests.flow.running import ended, environ, say
from tests.standins.gemini import GeminiStandIn, Hang, JsonText, Until

NAME = "stops_once"
ADDED = '''
"""A part that the store does not take at first."""

import asyncio
from pathlib import Path

from ragforge.domain.errors import StoreUnavailable
from ragforge.memory.part import AnswerPart

TRIED = Path(__file__).with_suffix(".tried")


async def _keep(store, redactor, summary, value):
    if not TRIED.exists():
        TRIED.touch()
        STOPS


PART = AnswerPart(
    "stops_once", None, "", 0, read=lambda *_: None, without=lambda material: ["it", 1], keep=_keep
)
'''
FAILS = 'raise StoreUnavailable("It did not answer within 5 s.")'
HANGS = "await asyncio.Event().wait()"
RULE = a_memory("Never edit files under generated/ by hand.", "preference")


@pytest.fixture
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Exists once the part was to be kept; beside the file in which the part is to be written."""
    folder = tmp_path / "added"
    folder.mkdir()
    monkeypatch.setattr(derive, "__path__", [*derive.__path__, str(folder)])
    monkeypatch.delitem(sys.modules, f"{derive.__name__}.{NAME}", raising=False)
    monkeypatch.delattr(derive, NAME, raising=False)
    return folder / f"{NAME}.tried"


async def models_of(session: Session, of: str) -> list[SummaryMethod]:
    found = await session.workspace.store.summaries.of_session(of, level=1)
    return [each.method for each in found]


async def test_an_answer_that_a_run_could_not_store_before_its_end_is_stored_by_the_next(
    tmp_path: Path, gemini: GeminiStandIn, tried: Path
) -> None:
    tried.with_suffix(".py").write_text(ADDED.replace("STOPS", HANGS))
    gemini.always_structured(by_the_model("Understood.", RULE))
    env = environ(tmp_path, gemini)
    async with beside(tmp_path, env) as session:
        turn = ended(await say(session, "Never edit files under generated/ by hand."))
        async with asyncio.timeout(60):
            while not tried.exists():
                await asyncio.sleep(0.01)
        first = session.id
    async with beside(tmp_path, env) as session:
        await until(lambda: models_of(session, first))
        await done(session)
        store = session.workspace.store
        assert await models_of(session, first) == [SummaryMethod.MODEL]
        found = await store.memories.find(MemoryFilter(session.workspace.project.id))
        assert [each.content for each in found] == ["Never edit files under generated/ by hand."]
        assert await session.workspace.local.answers.held([turn.id]) == []
    assert len(gemini.structured()) == 1


async def test_a_store_that_fails_is_tried_again_without_the_model(
    tmp_path: Path, gemini: GeminiStandIn, tried: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tried.with_suffix(".py").write_text(ADDED.replace("STOPS", FAILS))
    gemini.always_structured(Hang())
    env = environ(tmp_path, gemini)
    async with beside(tmp_path, env) as session:
        await say(session, "one")
        await gemini.wait_for_structured(1)
        first = session.id
    gemini.always_structured(by_the_model())
    with caplog.at_level(logging.WARNING):
        async with beside(tmp_path, env) as session:
            await until(lambda: models_of(session, first))
            assert await models_of(session, first) == [SummaryMethod.MODEL]
    assert tried.exists()
    assert len(gemini.structured()) == 2  # the one without an answer, and one
    assert "It did not answer within 5 s." in caplog.text
    assert "right after they were given one" not in caplog.text


async def test_whoever_leaves_waits_for_an_answer_that_is_paid_for_and_asks_for_no_other(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env, answered = environ(tmp_path, gemini), asyncio.Event()
    reply = by_the_model()
    gemini.always_structured(lambda request: (Until(answered), reply(request)))
    async with beside(tmp_path, env) as session:
        background = session.workspace.background
        await say(session, "one")
        await gemini.wait_for_structured(1)
        await background.finish(timeout_s=0.01)
        leaving = asyncio.create_task(background.end_calls(timeout_s=60))
        await say(session, "two")
        assert not leaving.done()
        answered.set()
        await leaving
        left = session.id
    assert len(gemini.structured()) == 1
    async with beside(tmp_path, env) as session:

        async def both() -> bool:
            return await models_of(session, left) == [SummaryMethod.MODEL] * 2

        await until(both)
    assert len(gemini.structured()) == 2


async def test_what_is_held_holds_no_secret_and_nothing_of_a_turn_that_says_something_else_now(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    secret = "sk-proj-Zy8Xw7Vu6Ts5Rq4Po3Nm2Lk1Ji0Hg9Fe"
    gemini.always_structured(JsonText({"turns": []}))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        local, redactor = session.workspace.local, session.workspace.redactor
        turn = ended(await say(session, "one"))
        await done(session)
        [summary] = await session.workspace.store.summaries.of_session(session.id)
        made = Understanding(replace(summary, text=f"The key is {secret}."), more={"unknown": [secret]})
        await hold(local, redactor, [turn], {turn.id: made})
        [row] = await local.answers.held([turn.id])
        assert secret not in row.answer
        found = await held(local, [turn])
        assert secret not in found[turn.id].summary.text
        assert found[turn.id].more == {}  # of a part that is no more
        assert await held(local, [replace(turn, user=(TextPart("[forgotten]"),))]) == {}
        await drop(local, [turn.id])
        assert await held(local, [turn]) == {}
        await hold(local, redactor, [turn], {turn.id: made})
        await local.recalls.forget(session.id)
        assert await local.answers.held([turn.id]) == []
