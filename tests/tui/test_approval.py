"""Asking for consent. The keys have times of their own, so that no test waits for a pause in typing."""

import asyncio
from datetime import UTC, datetime
from time import monotonic

import pytest
from msgspec.structs import replace
from textual import events
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Input

from ragforge.domain import timeouts
from ragforge.domain.approvals import (
    ApprovalAnswer,
    ApprovalRequest,
    ChangeFile,
    ConsentAnswer,
    Constraint,
    ConstraintHit,
    GoOnApproval,
    OtherCall,
    Rule,
    RunCommand,
    ToolApproval,
)
from ragforge.domain.memories import Strength
from ragforge.tui.widgets.approval import ApprovalPanel
from tests.tui.transcript_app import DIFF, ChatApp
from tests.tui.waiting import until

COMMAND = ToolApproval(
    "call-1",
    "shell",
    "git push && ./deploy.sh",
    RunCommand("git push && ./deploy.sh"),
    "not known to be read-only",
    (Rule("shell", "git push"), Rule("shell", "./deploy.sh")),
)
EDIT = ToolApproval("call-1", "edit", "parser.py", ChangeFile("parser.py", DIFF), "changes a file")


def key(app: ChatApp, name: str, *, at_s: float | None = None) -> None:
    """A key as the terminal sends it."""
    event = events.Key(name, name if len(name) == 1 else {"space": " ", "enter": "\r"}.get(name))
    if at_s is not None:
        event.time = at_s
    app.post_message(event)


async def asked(app: ChatApp, pilot: Pilot[None], request: ApprovalRequest) -> asyncio.Task[ApprovalAnswer]:
    task = asyncio.create_task(app.dock.ask(request))
    await until(pilot, lambda: app.dock.panel is not None)
    return task


async def armed(app: ChatApp, pilot: Pilot[None]) -> None:
    await until(pilot, lambda: app.dock.panel is not None and app.dock.panel.armed)


def words(app: ChatApp) -> str:
    return " ".join(app.screen_text().split())


async def test_what_is_asked_is_shown_whole_with_the_exact_rules() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        for said in (
            "Run this command?",
            "1 y yes, once",
            "3 n no",
            "4 no, and tell the model why",
            "Reason: not known to be read-only",
            "git push && ./deploy.sh",
            "adds shell(git push), shell(./deploy.sh)",
        ):
            await until(pilot, lambda said=said: said in words(app), what=said)
        task.cancel()


async def test_what_the_user_said_stands_in_the_question_and_a_key_opens_it() -> None:
    app = ChatApp()
    rule = Constraint(
        "m", "never push on fridays", Strength.MUST, datetime(2026, 11, 3, 12, tzinfo=UTC), "turn-7", "s", ()
    )
    async with app.run_test() as pilot:
        request = replace(COMMAND, rules=(), hits=(ConstraintHit(rule, "git push"),))
        task = await asked(app, pilot, request)
        await armed(app, pilot)
        await until(pilot, lambda: "You said on 3 Nov" in words(app))
        assert '"never push on fridays"' in words(app)
        await until(pilot, lambda: "o shows where you said so" in words(app))
        key(app, "o")
        await until(pilot, lambda: app.said_asked == ["turn-7"])
        assert not task.done()
        assert app.prompt.text == ""
        task.cancel()


async def test_the_title_says_what_would_be_done() -> None:
    url = "http://docs.example.org/a"
    fetch = ToolApproval("call-1", "web_fetch", url, OtherCall({"url": url}), "contacts docs.example.org")
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, fetch)
        await until(pilot, lambda: f"Fetch {url}?" in words(app))
        await until(pilot, lambda: "Reason: contacts docs.example.org" in words(app))
        task.cancel()


async def test_without_a_rule_there_is_no_always() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, EDIT)
        await armed(app, pilot)
        await until(pilot, lambda: "Edit parser.py?" in words(app))
        await until(pilot, lambda: "press 1, 3, 4 or use the arrows" in words(app))
        assert "always" not in words(app)
        key(app, "2")
        await until(pilot, lambda: app.prompt.text == "2")
        assert not task.done()
        task.cancel()


@pytest.mark.parametrize(
    ("pressed", "answer"),
    [
        ("1", ApprovalAnswer(ConsentAnswer.ONCE)),
        ("y", ApprovalAnswer(ConsentAnswer.ONCE)),
        ("2", ApprovalAnswer(ConsentAnswer.ALWAYS)),
        ("3", ApprovalAnswer(ConsentAnswer.NO)),
    ],
)
async def test_an_armed_panel_takes_its_answer_and_leaves_the_draft(
    pressed: str, answer: ApprovalAnswer
) -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.prompt.text = "my draft"
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        key(app, pressed)
        await until(pilot, task.done)
        assert task.result() == answer
        await until(pilot, lambda: not app.query(ApprovalPanel))
        assert app.prompt.text == "my draft"
        assert app.focused is app.prompt


@pytest.mark.parametrize("typed", ["nah", "yes", "e.g", "2x", "no"])
async def test_a_message_that_begins_with_the_key_of_an_answer_is_a_message(typed: str) -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, replace(COMMAND, draft="git push"))
        await armed(app, pilot)
        now_s = monotonic()
        for number, name in enumerate(typed):
            key(app, name, at_s=now_s + number * 0.25)
        await until(pilot, lambda: app.prompt.text == typed)
        await asyncio.sleep(timeouts.APPROVAL_ALONE_S * 1.2)
        assert not task.done()
        assert "›" not in words(app)
        task.cancel()


async def test_a_letter_is_pointed_at_first_and_given_when_no_key_follows() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        began_s = monotonic()
        key(app, "n")
        await until(pilot, lambda: "› 3 n no" in words(app))
        await until(pilot, task.done)
        assert task.result() == ApprovalAnswer(ConsentAnswer.NO)
        assert monotonic() - began_s >= timeouts.APPROVAL_ALONE_S
        key(app, "y")
        await until(pilot, lambda: app.prompt.text == "y")


async def test_enter_gives_the_letter_s_answer_at_once_and_only_with_nothing_typed() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        app.prompt.text = "so"
        key(app, "y")
        key(app, "enter")
        await until(pilot, lambda: "y" in app.prompt.text)
        assert not task.done()
        app.prompt.text = ""
        await armed(app, pilot)
        now_s = monotonic()
        key(app, "y", at_s=now_s)
        key(app, "enter", at_s=now_s + 0.01)
        await until(pilot, task.done)
        assert task.result() == ApprovalAnswer(ConsentAnswer.ONCE)
        assert app.prompt.text == ""


async def test_a_key_that_comes_late_to_a_busy_app_does_not_turn_an_answer_into_a_message() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        now_s = monotonic()
        key(app, "n", at_s=now_s)
        key(app, "x", at_s=now_s + 1)
        await until(pilot, task.done)
        await until(pilot, lambda: app.prompt.text == "x")
        assert task.result() == ApprovalAnswer(ConsentAnswer.NO)


async def test_an_answer_that_a_dialog_came_before_is_not_given_by_a_later_key() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        key(app, "y")
        await until(pilot, lambda: "› 1 y yes, once" in words(app))
        dialog = ModalScreen[None]()
        app.push_screen(dialog)
        await asyncio.sleep(timeouts.APPROVAL_ALONE_S * 1.5)
        await until(pilot, lambda: app.screen is dialog)
        dialog.dismiss()
        await until(pilot, lambda: app.screen is not dialog)
        key(app, "x")
        await until(pilot, lambda: app.prompt.text == "x")
        assert not task.done()
        task.cancel()


async def test_a_panel_that_was_answered_is_fitted_no_more() -> None:
    """The screen may draw what it waits for after it has gone: that ended the interface."""
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        panel = app.dock.panel
        key(app, "1")
        await until(pilot, task.done)
        await until(pilot, lambda: not app.query(ApprovalPanel))
        app.screen.call_after_refresh(panel._fit)
        drawn = asyncio.Event()
        app.screen.call_after_refresh(drawn.set)
        app.screen.refresh()
        await until(pilot, drawn.is_set)
        assert app.is_running


async def test_no_is_told_with_a_reason() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        key(app, "4")
        await until(pilot, lambda: isinstance(app.focused, Input))
        for name in ("u", "s", "e", "space", "1", "enter"):
            key(app, name)
        await until(pilot, task.done)
        assert task.result() == ApprovalAnswer(ConsentAnswer.NO, "use 1")
        await until(pilot, lambda: app.focused is app.prompt)
        assert app.prompt.text == ""


async def test_escape_leaves_the_reason_and_not_the_question() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        key(app, "4")
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press("escape")
        await until(pilot, lambda: app.focused is app.prompt)
        assert not task.done()
        await armed(app, pilot)
        key(app, "3")
        await until(pilot, task.done)


async def test_a_key_before_the_pause_goes_to_the_draft() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        key(app, "h", at_s=monotonic() + 60)  # a typist who has not paused
        task = await asked(app, pilot, COMMAND)
        panel = app.dock.panel
        assert panel is not None
        for name in "1y23n4":
            key(app, name)
        await until(pilot, lambda: app.prompt.text == "h1y23n4")
        assert not panel.armed
        assert not task.done()
        await until(pilot, lambda: "answers once you pause typing" in words(app))
        task.cancel()


async def test_a_key_that_was_pressed_before_it_was_armed_goes_to_the_draft_however_late_it_comes() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        key(app, "1", at_s=monotonic() - 10)
        await until(pilot, lambda: app.prompt.text == "1")
        assert not task.done()
        task.cancel()


@pytest.mark.parametrize("name", ["enter", "space", "x", "left", "ctrl+a"])
async def test_enter_space_and_other_keys_answer_nothing_and_make_it_wait_again(name: str) -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        panel = app.dock.panel
        assert panel is not None
        key(app, name)
        key(app, "1")  # right behind: part of what is being typed
        await until(pilot, lambda: "1" in app.prompt.text)
        assert not task.done()
        await armed(app, pilot)
        key(app, "1")
        await until(pilot, task.done)


@pytest.mark.parametrize(
    ("pressed", "answer"),
    [
        ("down enter", ApprovalAnswer(ConsentAnswer.ONCE)),
        ("down down up up enter", ApprovalAnswer(ConsentAnswer.ONCE)),
        ("down down enter", ApprovalAnswer(ConsentAnswer.ALWAYS)),
        ("up up enter", ApprovalAnswer(ConsentAnswer.NO)),
    ],
)
async def test_arrows_choose_and_enter_answers(pressed: str, answer: ApprovalAnswer) -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        for name in pressed.split():
            key(app, name)
        await until(pilot, task.done)
        assert task.result() == answer


async def test_up_begins_at_the_answer_that_asks_why() -> None:
    """Up and Enter is what a hand does that wants its last message again."""
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        key(app, "up")
        await until(pilot, lambda: "› 4 no, and tell the model why" in words(app))
        key(app, "enter")
        await until(pilot, lambda: isinstance(app.focused, Input))
        assert not task.done()
        task.cancel()


async def test_enter_answers_nothing_while_the_prompt_holds_text_nor_once_something_else_was_pressed() -> (
    None
):
    app = ChatApp()
    async with app.run_test() as pilot:
        app.prompt.text = "my draft"
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        key(app, "down")
        key(app, "enter")
        await until(pilot, lambda: "\n" in app.prompt.text)
        app.prompt.text = ""
        await armed(app, pilot)
        key(app, "down")
        await until(pilot, lambda: "› 1 y yes, once" in words(app))
        key(app, "left")
        await until(pilot, lambda: "›" not in words(app))
        await armed(app, pilot)
        key(app, "enter")
        await until(pilot, lambda: app.prompt.text == "\n")
        assert not task.done()
        task.cancel()


async def test_an_arrow_before_the_pause_chooses_nothing() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        key(app, "shift", at_s=monotonic() + 60)  # a typist who has not paused
        task = await asked(app, pilot, COMMAND)
        for name in ("down", "enter"):
            key(app, name)
        await until(pilot, lambda: app.prompt.text == "\n")
        assert "›" not in words(app)
        assert not task.done()
        task.cancel()


async def test_it_is_armed_half_a_second_after_the_last_key() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        key(app, "h")
        await until(pilot, lambda: app.prompt.text == "h")
        last_key_s = app.last_key_s
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        assert monotonic() - last_key_s >= timeouts.APPROVAL_QUIET_S
        task.cancel()


async def test_a_paste_goes_to_the_draft() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        app.post_message(events.Paste("1\ny\n"))
        await until(pilot, lambda: "y" in app.prompt.text)
        assert not task.done()
        task.cancel()


async def test_cancelling_closes_the_question_and_keeps_the_reason_that_was_typed() -> None:
    left: list[str] = []
    app = ChatApp(on_text_left=left.append)
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        key(app, "4")
        await until(pilot, lambda: isinstance(app.focused, Input))
        key(app, "w")
        await until(pilot, lambda: app.query_one(Input).value == "w")
        task.cancel()
        await until(pilot, lambda: not app.query(ApprovalPanel))
        assert task.cancelled()
        assert left == ["w"]
        assert app.focused is app.prompt
        key(app, "1")
        await until(pilot, lambda: app.prompt.text == "1")


async def test_two_questions_come_one_after_the_other() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        first = await asked(app, pilot, COMMAND)
        second = asyncio.create_task(app.dock.ask(GoOnApproval(50)))
        await armed(app, pilot)
        assert len(app.query(ApprovalPanel)) == 1
        key(app, "1")
        await until(pilot, first.done)
        await until(pilot, lambda: "50 steps used. Continue?" in words(app))
        assert not second.done()
        await armed(app, pilot)
        key(app, "3")
        await until(pilot, second.done)
        assert second.result() == ApprovalAnswer(ConsentAnswer.NO)


async def test_a_click_answers_once_it_is_armed() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        task = await asked(app, pilot, COMMAND)
        await armed(app, pilot)
        await until(pilot, lambda: "press 1" in words(app))
        await pilot.click("ChoiceLine")
        await until(pilot, task.done)
        assert task.result() == ApprovalAnswer(ConsentAnswer.ONCE)


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (40, 20)])
async def test_the_answers_stay_on_the_screen_however_long_the_detail(size: tuple[int, int]) -> None:
    app = ChatApp()
    long = "x" * 5000
    detail = "\n".join(f"echo {n} [bold] \x1b[2J" for n in range(500)) + "\nrm -rf /"
    request = ToolApproval("c", "shell", long, RunCommand(detail), "not read-only", (Rule("shell", "rm"),))
    async with app.run_test(size=size) as pilot:
        task = await asked(app, pilot, request)
        await until(pilot, lambda: "4 no, and tell the model why" in words(app))
        await until(pilot, lambda: "more lines below" in words(app))
        for _ in range(400):
            key(app, "pagedown")
        await until(pilot, lambda: "rm -rf /" in words(app) and "4 no, and tell the model why" in words(app))
        assert app.dock.panel is not None
        task.cancel()
