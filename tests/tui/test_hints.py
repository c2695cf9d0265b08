"""Hints: a mark in the status line after the answer, a list, and what is done with it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from textual.pilot import Pilot

from ragforge.domain import ids, timeouts
from ragforge.domain.hints import HintAction, HintPayload, HintType, ProactiveHint
from ragforge.domain.memories import MemorySource, MemoryType
from ragforge.memory.memories import new_memory, remember
from ragforge.store.base import keep_project
from ragforge.tui.chat.hints import left_open_words
from ragforge.tui.screens.hints import LATER, HintRows, HintsScreen
from tests.flow.running import environ
from tests.standins.gemini import GeminiStandIn, Text, Until
from tests.tui.chat_app import Chat, Lab
from tests.tui.test_screens import app_in, opened

LIMIT = "Add rate limiting to the login endpoint"
ASKED = "How is the login endpoint protected?"
ANSWER = "The login endpoint has no rate limiting yet."


async def has_todo(chat: Chat, text: str = LIMIT) -> None:
    await chat.say(f"/remember todo: {text}")
    await chat.sees("Remembered as a todo")


async def open_list(chat: Chat) -> None:
    await chat.pilot.press("f8")
    await chat.until(lambda: isinstance(chat.top, HintsScreen), "the list opens")


async def closed(chat: Chat) -> None:
    await chat.until(lambda: chat.top is chat.screen, "the list closed")


async def test_hint_emission(lab: Lab, gemini: GeminiStandIn) -> None:
    """After the answer, never before; a key opens the list, and applying a hint sends nothing."""
    gate = asyncio.Event()
    gemini.script((Text(ANSWER), Until(gate)))
    async with lab.chat() as chat:
        await has_todo(chat)
        await chat.say(ASKED)
        await chat.sees(ANSWER)
        assert "hint" not in chat.status
        gate.set()
        await chat.until(lambda: "1 hint" in chat.status, "the mark")
        await open_list(chat)
        await chat.fits_40x12(HintRows, rows=1)
        assert [hint.message for hint in chat.top.query_one(HintRows).rows] == [LIMIT]
        await chat.enter()
        await closed(chat)
        await chat.until(lambda: chat.draft == LIMIT, "it is in the prompt")
        await chat.until(lambda: "hint" not in chat.status)
        assert not chat.screen.busy
        await chat.say("/hints")
        await chat.sees("There are no open hints.")


async def test_applying_a_hint_about_an_uncertain_preference_confirms_it(
    lab: Lab, gemini: GeminiStandIn
) -> None:
    wanted = "I prefer rate limiting at the login endpoint."
    gemini.script(Text(ANSWER))
    async with lab.chat() as chat:
        workspace = chat.screen.ready().workspace
        await keep_project(workspace.store, workspace.project)
        found = new_memory(
            wanted,
            MemoryType.PREFERENCE,
            project_id=workspace.project.id,
            at=ids.now(),
            source=MemorySource.BACKGROUND,
            person=workspace.person.id,
            confidence=0.8,
        )
        await remember(workspace.store, found)
        await chat.say(ASKED)
        await chat.until(lambda: "1 hint" in chat.status, "the mark")
        await open_list(chat)
        await chat.enter()
        await chat.sees("Confirmed: ")
        (kept,) = await workspace.store.memories.get([found.id])
        assert kept.confidence == 1
        await chat.say(f"/remember preference: {wanted}")
        await chat.sees("Already known")


async def test_no_hint_comes_while_the_user_types_or_for_what_was_forgotten(
    lab: Lab, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "HINTS_QUIET_S", 0.01)
    gate = asyncio.Event()
    gemini.script((Text(ANSWER), Until(gate)))
    async with lab.chat() as chat:
        await has_todo(chat)
        await chat.say(ASKED)
        await chat.sees(ANSWER)
        await chat.type("wa")
        gate.set()
        hints = chat.screen.presenter.hints
        await chat.until(lambda: hints._made, "a hint is made")
        await chat.pilot.press("backspace")
        assert "hint" not in chat.status
        await chat.pilot.press("backspace")
        await chat.until(lambda: "1 hint" in chat.status, "the mark")
        await chat.say("/forget rate limiting")
        await chat.answers("y")
        await chat.until(lambda: "hint" not in chat.status, "the mark goes")


async def test_what_is_put_off_is_told_and_listed_in_the_next_session(
    lab: Lab, gemini: GeminiStandIn
) -> None:
    gemini.script(Text(ANSWER))
    async with lab.chat() as chat:
        await has_todo(chat, "Order a desk")
        await has_todo(chat)
        await chat.say(ASKED)
        await chat.until(lambda: "1 hint" in chat.status, "the mark")
        await open_list(chat)
        await chat.pilot.press("l")
        await closed(chat)
        assert [each.message for each in chat.app._notifications] == [LATER]
        await chat.say("/new")
        await chat.sees(f"Left open here: {LIMIT} · Order a desk (/hints)")
        await chat.until(lambda: "1 hint" in chat.status, "it is listed again")
        await open_list(chat)
        await chat.pilot.press("i")
        await closed(chat)
        await chat.until(lambda: "hint" not in chat.status)


async def test_the_status_line_counts_on_while_the_list_is_open(lab: Lab) -> None:
    async with lab.chat() as chat:
        workspace, hints = chat.screen.ready().workspace, chat.screen.ready().hints
        await keep_project(workspace.store, workspace.project)
        todo = new_memory(
            LIMIT,
            MemoryType.TODO,
            project_id=workspace.project.id,
            at=ids.now(),
            source=MemorySource.USER,
            person=workspace.person.id,
        )
        await remember(workspace.store, todo)
        hints.open = tuple(structs.replace(each, source_preference_id=todo.id) for each in some_hints())
        await open_list(chat)
        await chat.until(lambda: "3 hints" in chat.status, chat.status)
        await chat.pilot.press("i")
        await chat.until(lambda: "2 hints" in chat.status, chat.status)
        assert isinstance(chat.top, HintsScreen)


def test_what_was_left_open_is_one_line() -> None:
    def hint(text: str) -> ProactiveHint:
        payload = HintPayload(HintAction.WRITE, text)
        return ProactiveHint(text, HintType.INTENT_FOLLOWUP, "To do", text, "write", payload, 0.9, "m")

    assert left_open_words((), ()) == ""
    assert left_open_words([hint("Fix\nit."), hint("a " * 99), hint("x")], ()) == (
        f"Left open here: Fix it · {'a ' * 39}a · 1 more (/hints)"
    )


HINTS = (
    (HintType.INTENT_FOLLOWUP, "To do", f"{LIMIT}.", "put it in the prompt"),
    (
        HintType.CONSTRAINT_WARNING,
        "Rule",
        "Every text that customers see must exist in French and in English.",
        "ask whether the answer keeps to it",
    ),
    (HintType.PREFERENCE_REMINDER, "Preference", "I prefer short functions.", "put it in the prompt"),
)


def some_hints() -> tuple[ProactiveHint, ...]:
    """One of each type."""
    return tuple(
        ProactiveHint(title, type, title, message, label, HintPayload(HintAction.WRITE, ""), 0.8, title)
        for type, title, message, label in HINTS
    )


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_list_of_hints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snap_compare: Callable[..., bool], columns: int
) -> None:
    folder = tmp_path / "home" / "code" / "shop"
    folder.mkdir(parents=True)
    for name, value in environ(tmp_path, RAGFORGE_MODEL="local").items():
        monkeypatch.setenv(name, value)

    async def before(pilot: Pilot[Any]) -> None:
        chat = await opened(pilot)
        hints = chat.ready().hints
        hints.open = some_hints()
        chat.show_status()
        await pilot.app.push_screen(HintsScreen(hints))
        await pilot.press("down")

    assert snap_compare(app_in(folder, new=True), terminal_size=(columns, 20), run_before=before)
