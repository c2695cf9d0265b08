"""`/context` and `/compact`."""

from pathlib import Path
from typing import Any

import pytest

from ragforge.commands.base import Tell, run_command
from ragforge.commands.context import ContextArguments, _printed
from ragforge.domain.context import ContextBlock
from ragforge.session.context import build_block
from ragforge.session.open import close_session, resume_session
from ragforge.session.state import Session
from tests.flow.recalling import remembered, said_before
from tests.flow.running import environ, opened, say
from tests.standins.gemini import GeminiStandIn, Text


async def told(session: Session, name: str, args: str = "") -> str:
    outcome = await run_command(session, name, args)
    assert isinstance(outcome, Tell)
    return outcome.text


async def test_context_tells_what_each_part_of_the_next_call_takes(
    session: Session, gemini: GeminiStandIn
) -> None:
    await remembered(session, "Use PostgreSQL for *our* __init__ and persistence layer.")
    empty = await told(session, "context")
    assert "| 0 turns word for word | 0 | 0.0% |" in empty
    gemini.script(Text("PostgreSQL."))
    await say(session, "Which database?")
    asked = len(gemini.asked("streamGenerateContent"))
    shown = await told(session, "context", "And which database for tests?")
    assert "| system prompt | " in shown
    assert " tools | " in shown
    assert "| 1 turn word for word | " in shown
    assert "| 1 recalled | " in shown
    assert "Memories: `[decision] Use PostgreSQL for *our* __init__ and persistence layer.`" in shown
    assert "of 1,048,576 |" in shown
    assert len(gemini.asked("streamGenerateContent")) == asked


async def test_in_the_shell_nothing_is_loaded_in_the_time_of_the_search(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    async def prepare(_: object) -> None:
        order.append("loaded")

    async def block(*args: Any) -> ContextBlock:
        order.append("searched")
        return await build_block(*args)

    monkeypatch.setattr(type(session.workspace.recall.embedder), "prepare", prepare)
    monkeypatch.setattr("ragforge.session.next_call.build_block", block)
    await _printed(session, ContextArguments("Which database?"))
    assert order[:2] == ["loaded", "searched"]


async def test_compact_drops_now_stays_so_after_a_resume_and_loses_nothing(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    flags = {"context.raw_tokens_low": 1_000}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        assert "Nothing to compact" in await told(session, "compact")
        turns = await said_before(session, [(f"Step {n}. " + "Lorem. " * 200, "Done.") for n in range(8)])
        record = session.live.record
        await close_session(session)
        again = (await resume_session(session.workspace, record)).session
        assert len(again.live.view.window.turn_ids) == 8
        assert "older turns are no longer sent" in await told(again, "compact")
        left = again.live.view.window.turn_ids
        assert left == [turn.id for turn in turns[-4:]]
        gemini.script(Text("Yes."))
        await say(again, "Go on.")
        record = again.live.record
        await close_session(again)
        later = (await resume_session(session.workspace, record)).session
        assert set(later.live.view.window.turn_ids) <= {*left, str(record.head)}
        assert len(await session.workspace.store.turns.path(record.head)) == 9
        await close_session(later)
