"""Hints of a session: from what is stored to the user's answer, over sessions and runs."""

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain import ids
from ragforge.domain.events import TurnEnded
from ragforge.domain.hints import HintAnswer, ProactiveHint
from ragforge.domain.memories import Memory, MemorySource, MemoryType
from ragforge.memory import forgotten
from ragforge.memory.memories import new_memory, remember
from ragforge.session import hints as session_hints
from ragforge.session.hints import SessionHints
from ragforge.session.memory_tools import save_memory
from ragforge.session.metrics import all_counts
from ragforge.session.moves import undo
from ragforge.session.open import new_session
from ragforge.session.state import Session
from ragforge.tools.base import ToSave
from tests.flow.running import environ, of_type, opened, say
from tests.standins.gemini import GeminiStandIn, Text

OFFLINE: dict[str, object] = {"memory.model": "local"}
LIMIT = "Add rate limiting to the login endpoint"
ASKED = "How is the login endpoint protected?"
ANSWER = "The login endpoint has no rate limiting yet."


async def todo(session: Session, text: str = LIMIT) -> Memory:
    saved = await save_memory(session, ToSave(text, MemoryType.TODO), source=MemorySource.USER)
    return saved.memory


async def ended(session: Session, gemini: GeminiStandIn) -> TurnEnded:
    gemini.script(Text(ANSWER))
    return of_type(await say(session, ASKED), TurnEnded)[0]


async def offered(hints: SessionHints, turn: TurnEnded) -> list[str]:
    made = await hints.after_turn(turn)
    if made:
        await hints.offer(made)
    return [hint.message for hint in made]


async def test_a_hint_is_offered_once_a_session_and_answers_outlive_the_run(
    tmp_path: Path, gemini: GeminiStandIn, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = environ(tmp_path, gemini)
    async with opened(tmp_path, env, flags=OFFLINE) as session:
        await todo(session)
        hints = SessionHints(session)
        with caplog.at_level(logging.INFO, logger=session_hints.__name__):
            assert await offered(hints, await ended(session, gemini)) == [LIMIT]
        (line,) = [record.getMessage() for record in caplog.records]
        assert line.startswith("Hint offered: intent_followup, relevance 0.")
        assert LIMIT not in line
        assert await offered(hints, await ended(session, gemini)) == []  # not twice
        (hint,) = hints.open
        await hints.answer(hint, HintAnswer.IGNORE)
        assert hints.open == ()
        for _ in range(2):
            another = await new_session(session.workspace)
            hints = SessionHints(another)
            assert await offered(hints, await ended(another, gemini)) == [LIMIT]
            await hints.answer(hints.open[0], HintAnswer.IGNORE)
        counts = await all_counts(session.workspace.local)
        assert counts["memory_proactive_hints_generated_total", ("intent_followup",), ""] == 3
        assert counts["memory_hints_answered_total", ("intent_followup", "ignore"), ""] == 3
    async with opened(tmp_path, env, flags=OFFLINE) as session:
        hints = SessionHints(session)
        turn = await ended(session, gemini)
        assert await hints.after_turn(turn) == []
        assert await hints.left_open() == session_hints.LeftOpen()
        later = ids.now() + timedelta(days=31)
        monkeypatch.setattr(session_hints, "now", lambda: later)
        assert [hint.message for hint in await hints.after_turn(turn)] == [LIMIT]


async def test_what_is_put_off_is_due_in_the_next_session(tmp_path: Path, gemini: GeminiStandIn) -> None:
    env = environ(tmp_path, gemini)
    async with opened(tmp_path, env, flags=OFFLINE) as session:
        await todo(session)
        hints = SessionHints(session)
        assert await offered(hints, await ended(session, gemini)) == [LIMIT]
        await hints.answer(hints.open[0], HintAnswer.LATER)
        assert await offered(hints, await ended(session, gemini)) == []
    async with opened(tmp_path, env, flags=OFFLINE) as session:
        hints = SessionHints(session)
        left = await hints.left_open()
        assert [hint.message for hint in left.due] == [LIMIT]
        await hints.offer(left.due, after_turn=False)
        assert [hint.message for hint in hints.open] == [LIMIT]
        assert (await hints.left_open()).due == ()


async def test_what_is_forgotten_replaced_or_another_persons_is_not_hinted_at(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini), flags=OFFLINE) as session:
        store, project = session.workspace.store, session.workspace.project.id
        turn = await ended(session, gemini)
        memory = await todo(session)
        theirs = new_memory(
            "I prefer rate limiting at the login endpoint.",
            MemoryType.PREFERENCE,
            project_id=project,
            at=ids.now(),
            source=MemorySource.USER,
            person="somebody else",
        )
        await remember(store, theirs)

        hints = SessionHints(session)
        another = await new_session(session.workspace)

        async def made() -> list[ProactiveHint]:
            return await SessionHints(another).after_turn(turn)

        assert await offered(hints, turn) == [LIMIT]
        assert [hint.message for hint in await made()] == [LIMIT]
        await forgotten.forget(store, memory)
        assert await made() == []
        await hints.drop_outdated()
        assert hints.open == ()
        await forgotten.restore(store, memory)
        await todo(session, f"{LIMIT} and the sign-up")
        newer = await todo(session, f"{LIMIT} in the gateway")
        await remember(store, newer, updates=[memory.id])
        assert memory.id not in {hint.source_preference_id for hint in await made()}


async def test_what_was_undone_is_not_hinted_at(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini), flags=OFFLINE) as session:
        said_in = (await ended(session, gemini)).turn
        wanted = new_memory(
            LIMIT,
            MemoryType.TODO,
            project_id=session.workspace.project.id,
            at=said_in.started_at,
            source=MemorySource.BACKGROUND,
            turns=(said_in.id,),
        )
        await remember(session.workspace.store, wanted)
        another = await new_session(session.workspace)
        hints, turn = SessionHints(another), await ended(another, gemini)
        assert await offered(hints, turn) == [LIMIT]
        await undo(session)
        await hints.drop_outdated()
        assert hints.open == ()
        assert await SessionHints(await new_session(session.workspace)).after_turn(turn) == []


async def test_there_are_none_where_hints_or_memory_are_off(tmp_path: Path, gemini: GeminiStandIn) -> None:
    flags = {**OFFLINE, "hints.enabled": False}
    async with opened(tmp_path, environ(tmp_path, gemini), flags=flags) as session:
        await todo(session)
        turn = await ended(session, gemini)
        assert await SessionHints(session).after_turn(turn) == []
        assert (await SessionHints(session).left_open()).intents == ()
        settings = session.workspace.loaded
        on = replace(settings, settings=replace(settings.settings, hints=type(settings.settings.hints)()))
        no_memory = replace(session, workspace=replace(session.workspace, loaded=on, recalls=False))
        assert await SessionHints(no_memory).after_turn(turn) == []
        with_memory = replace(session, workspace=replace(session.workspace, loaded=on))
        assert len(await SessionHints(with_memory).after_turn(turn)) == 1
