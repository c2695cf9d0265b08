"""Turns in the chat: what is seen, what Esc does, where words go."""

import asyncio

import pytest

from ragforge.domain import timeouts
from ragforge.domain.turns import TurnStatus
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.widgets.queue_list import QueueList
from tests.standins.gemini import (
    Call,
    Calls,
    Cut,
    Finish,
    Hang,
    RateLimited,
    ServerError,
    Text,
    Thought,
    Tokens,
    Until,
)
from tests.tui.chat_app import Chat, Lab


async def newest(chat: Chat):
    conversation = chat.screen.ready()
    head = conversation.session.live.record.head
    return await conversation.workspace.store.turns.get(head) if head else None


async def test_an_answer_with_thoughts_is_shown_and_counted(lab: Lab) -> None:
    lab.gemini.script(
        (Thought("Hm."), Text("Hello **there**."), Finish(usage=Tokens(prompt=1200, candidates=30)))
    )
    async with lab.chat() as chat:
        await chat.say("hi")
        await chat.sees("Hello **there**.")
        await chat.turn_ended()
        assert "gemini:gemini-3.8-flash" in chat.status
        assert "1.2k in" in chat.status
        assert "$" in chat.status
        assert "of 1.05M" in chat.status
        assert "~/code/shop" in chat.status
        assert " hi " in f" {chat.status} "
    assert lab.left is not None
    assert lab.left.said == "Hello **there**."
    assert lab.left.resume_command.startswith("ragforge -r ")


async def test_escape_keeps_and_marks_what_had_arrived(lab: Lab) -> None:
    lab.gemini.script((Text("Half of it"), Hang()))
    async with lab.chat() as chat:
        await chat.say("tell me")
        await chat.sees("Half of it")
        await chat.pilot.press("escape")
        await chat.turn_ended()
        await chat.sees("interrupted")
        assert "Half of it" in chat.words()
        assert chat.draft == ""
        turn = await newest(chat)
        assert turn is not None
        assert turn.status is TurnStatus.INTERRUPTED


async def test_words_return_when_nothing_had_arrived(lab: Lab) -> None:
    lab.gemini.script(Hang())
    async with lab.chat() as chat:
        await chat.say("do it")
        await lab.gemini.wait_for_requests(1, action="streamGenerateContent")
        await chat.type("more")
        await chat.pilot.press("escape")
        await chat.turn_ended()
        assert chat.draft == "do it\n\nmore"


async def test_what_is_typed_after_an_interruption_replaces_the_words_that_returned(
    lab: Lab,
) -> None:
    lab.gemini.script(Hang())
    async with lab.chat() as chat:
        await chat.say("do it")
        await lab.gemini.wait_for_requests(1, action="streamGenerateContent")
        await chat.pilot.press("escape")
        await chat.turn_ended()
        await chat.until(lambda: chat.draft == "do it")
        await chat.type("no, that")
        await chat.until(lambda: chat.draft == "no, that")
        await chat.pilot.press("up")
        await chat.until(lambda: chat.screen.prompt.text == "do it", "it is kept in the history")


async def test_a_message_that_may_be_a_mistaken_paste_is_asked_about_first(lab: Lab) -> None:
    pasted = "2026-11-22 10:00:00 INFO started\n" * 6_000
    lab.gemini.script((Text("A long log."),))
    async with lab.chat() as chat:
        await chat.type("why? ")
        await chat.screen.prompt.paste_in(pasted)
        await chat.enter()
        await chat.until(lambda: isinstance(chat.top, ConfirmScreen))
        assert "up to 66k tokens, about $0." in chat.top._question
        await chat.answers("n")
        await chat.until(lambda: chat.draft.strip() == f"why? {pasted}".strip(), "it returns")
        assert chat.screen.prompt.text == "why? [pasted 6001 lines]"
        assert lab.gemini.asked() == []

        await chat.enter()
        await chat.answers("y")
        await chat.sees("A long log.")
        await chat.turn_ended()
        assert chat.draft == ""


async def test_words_typed_as_a_question_comes_up_go_on_in_the_prompt(lab: Lab) -> None:
    pasted = "2026-11-22 10:00:00 INFO started\n" * 6_000
    async with lab.chat() as chat:
        await chat.say(pasted)
        await chat.until(lambda: isinstance(chat.top, ConfirmScreen))
        await chat.type("also the rest")
        await chat.answers("n")
        await chat.until(lambda: "also the rest" in chat.draft, "what was typed meanwhile")
        await chat.until(lambda: chat.draft.startswith("2026-11-22"), "what was asked about")
        assert lab.gemini.asked() == []


async def test_words_return_once_when_a_failed_turn_is_retried(lab: Lab) -> None:
    lab.monkeypatch.setenv("RAGFORGE_RETRY_ATTEMPTS_MAX", "1")
    lab.gemini.script(ServerError(), ServerError(), Text("Now."))
    async with lab.chat() as chat:
        await chat.say("do it")
        await chat.turn_ended()
        await chat.until(lambda: chat.draft == "do it")
        chat.screen.presenter.turns.retry()
        await lab.gemini.wait_for_requests(2, action="streamGenerateContent")
        await chat.turn_ended()
        await chat.until(lambda: chat.draft == "do it")
        # A slash is a command beside the message that returned, and no part of it.
        await chat.type("/retry")
        await chat.pilot.press("enter")
        await chat.sees("Now.")
        await chat.turn_ended()
        assert chat.draft == ""
        assert "/retry" not in str([asked.body for asked in lab.gemini.asked()])


async def test_what_was_added_to_words_that_returned_stays_when_the_turn_is_retried(lab: Lab) -> None:
    lab.monkeypatch.setenv("RAGFORGE_RETRY_ATTEMPTS_MAX", "1")
    lab.gemini.script(ServerError(), Text("Now."))
    async with lab.chat() as chat:
        await chat.say("do it")
        await chat.turn_ended()
        await chat.until(lambda: chat.draft == "do it")
        await chat.pilot.press("end", *" all")
        await chat.until(lambda: chat.draft == "do it all")
        chat.screen.presenter.turns.retry()
        await chat.sees("Now.")
        assert chat.draft == "do it all"


async def test_escape_closes_the_list_before_it_interrupts(lab: Lab) -> None:
    lab.gemini.script((Text("Working"), Hang()))
    async with lab.chat() as chat:
        await chat.say("go")
        await chat.sees("Working")
        await chat.type("/se")
        await chat.until(lambda: chat.screen.prompt._completion.is_open)
        await chat.pilot.press("escape")
        await chat.until(lambda: not chat.screen.prompt._completion.is_open)
        assert chat.screen.busy
        await chat.pilot.press("escape")
        await chat.turn_ended()
        assert chat.draft == "/se"


async def test_escape_ends_the_wait_for_a_busy_model(lab: Lab) -> None:
    lab.gemini.script(RateLimited(30.0))
    async with lab.chat() as chat:
        await chat.say("ask")
        await chat.until(lambda: "retrying in" in chat.doing, "it waits")
        await chat.pilot.press("escape")
        await chat.turn_ended()
        assert chat.draft == "ask"


async def test_what_is_sent_while_it_works_waits_and_is_answered(lab: Lab) -> None:
    gate = asyncio.Event()
    lab.gemini.script((Text("First."), Until(gate)), Text("Second."))
    async with lab.chat() as chat:
        await chat.say("one")
        await chat.sees("First.")
        await chat.say("two")
        await chat.until(lambda: chat.screen.prompt.queued == 1)
        assert "1 queued" in chat.status or chat.screen.prompt.queued == 1
        gate.set()
        await chat.sees("Second.")
        await chat.turn_ended()
        assert chat.screen.prompt.queued == 0


async def test_what_is_sent_before_the_request_has_left_is_one_message(lab: Lab) -> None:
    lab.gemini.script(Hang())
    async with lab.chat() as chat:
        turns = chat.screen.presenter.turns
        for words in ("Look at a.py.", "And at b.py.", "Quick!"):
            await turns.say(words)
        await lab.gemini.wait_for_requests(1, action="streamGenerateContent")
        await chat.sees("Look at a.py.\nAnd at b.py.\nQuick!")
        assert chat.words().count("Look at") == 1
        assert chat.screen.prompt.queued == 0
        await chat.pilot.press("escape")
        await chat.turn_ended()
        assert chat.draft == "Look at a.py.\nAnd at b.py.\nQuick!"


async def test_up_takes_the_last_back_and_escape_all(lab: Lab) -> None:
    lab.gemini.script((Text("Busy"), Hang()))
    async with lab.chat() as chat:
        await chat.say("one")
        await chat.sees("Busy")
        for words in ("two", "three"):
            await chat.say(words)
        await chat.until(lambda: chat.screen.prompt.queued == 2)
        await chat.pilot.press("up")
        await chat.until(lambda: chat.draft == "three")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.draft == "two\n\nthree")
        await chat.turn_ended()
        assert chat.screen.prompt.queued == 0


async def test_what_waited_returns_selected_with_the_words_of_an_empty_turn(lab: Lab) -> None:
    lab.gemini.script(Hang())
    async with lab.chat() as chat:
        await chat.say("one")
        await lab.gemini.wait_for_requests(1, action="streamGenerateContent")
        await chat.say("two")
        await chat.until(lambda: chat.screen.prompt.queued == 1)
        await chat.pilot.press("escape")
        await chat.turn_ended()
        await chat.until(lambda: chat.draft == "one\n\ntwo")
        await chat.type("three")
        await chat.until(lambda: chat.draft == "three")
        assert chat.screen.prompt.sent.entries()[0] == "one\n\ntwo"


@pytest.mark.parametrize("arrived", ["Busy", ""])
async def test_what_was_never_sent_stays_when_the_turn_is_retried(lab: Lab, arrived: str) -> None:
    lab.gemini.script((Text("Busy"), Hang()) if arrived else Hang(), Text("Now."))
    async with lab.chat() as chat:
        await chat.say("one")
        await lab.gemini.wait_for_requests(1, action="streamGenerateContent")
        if arrived:
            await chat.sees(arrived)
        await chat.say("two")
        await chat.until(lambda: chat.screen.prompt.queued == 1)
        await chat.pilot.press("escape")
        await chat.turn_ended()
        left = "two" if arrived else "one\n\ntwo"
        await chat.until(lambda: chat.draft == left)
        await chat.type("/retry")
        await chat.pilot.press("enter")
        await chat.sees("Now.")
        await chat.turn_ended()
        assert chat.draft == left


async def test_what_waits_when_a_turn_broke_off_says_how_it_is_sent(lab: Lab) -> None:
    lab.monkeypatch.setenv("RAGFORGE_RETRY_ATTEMPTS_MAX", "1")
    gate = asyncio.Event()
    lab.gemini.script((Text("Busy"), Until(gate), Cut("rst")), Text("Now."))
    async with lab.chat() as chat:
        await chat.say("one")
        await chat.sees("Busy")
        await chat.say("two")
        queue = chat.screen.query_one(QueueList)
        await chat.until(lambda: "Esc interrupts" in str(queue.render()), "while it runs")
        gate.set()
        await chat.turn_ended()
        await chat.until(lambda: "Enter sends" in str(queue.render()), "when it has broken off")
        assert "interrupts" not in str(queue.render())
        await chat.enter()
        await chat.sees("Now.")


async def test_an_edit_asks_shows_its_diff_and_stands_in_the_file(lab: Lab) -> None:
    (lab.project / "a.txt").write_text("one\n")
    lab.gemini.script(
        Calls(Call("read", {"path": "a.txt"})),
        Calls(Call("edit", {"path": "a.txt", "old": "one", "new": "two"})),
        Text("Done."),
    )
    async with lab.chat() as chat:
        await chat.say("change it")
        await chat.asked()
        await chat.pilot.press("1")
        await chat.sees("Done.")
        assert (lab.project / "a.txt").read_text() == "two\n"


async def test_words_typed_as_an_approval_comes_up_stay_words(lab: Lab) -> None:
    # A loaded machine may take longer for three keys than the pause that arms the question.
    lab.monkeypatch.setattr(timeouts, "APPROVAL_QUIET_S", 60.0)
    gate = asyncio.Event()
    lab.gemini.script((Until(gate), Calls(Call("write", {"path": "x.txt", "content": "x"}))))
    async with lab.chat() as chat:
        await chat.say("write")
        await chat.type("y")
        gate.set()
        await chat.until(lambda: chat.panel is not None)
        await chat.type("1y2")
        await chat.until(lambda: chat.draft == "y1y2")
        assert chat.panel is not None
        assert not (lab.project / "x.txt").exists()


async def test_a_question_goes_when_its_file_changes_and_keeps_what_was_typed(lab: Lab) -> None:
    (lab.project / "x.txt").write_text("old\n")
    edit = Calls(Call("edit", {"path": "x.txt", "old": "old", "new": "new"}))
    lab.gemini.script(Calls(Call("read", {"path": "x.txt"})), edit, Text("I will look again."))
    async with lab.chat() as chat:
        await chat.say("edit")
        await chat.asked()
        await chat.pilot.press("4")
        await chat.type("not now")
        (lab.project / "x.txt").write_text("old\nmine\n")
        await chat.sees("The file has changed, so this is no longer asked: edit x.txt")
        await chat.sees("I will look again.")
        assert chat.panel is None
        assert chat.draft == "not now"
        assert (lab.project / "x.txt").read_text() == "old\nmine\n"
        heard = str(lab.gemini.asked("streamGenerateContent")[-1].body["contents"][-1])
        assert "x.txt has changed since it was read. Read it again" in heard


async def test_a_pending_approval_is_asked_again_after_resuming(lab: Lab) -> None:
    lab.gemini.script(Calls(Call("write", {"path": "x.txt", "content": "x\n"})), Text("Written."))
    async with lab.chat() as chat:
        await chat.say("write")
        await chat.asked()
    async with lab.chat(continue_newest=True) as chat:
        await chat.asked()
        await chat.pilot.press("1")
        await chat.sees("Written.")
        assert (lab.project / "x.txt").read_text() == "x\n"


async def test_the_branch_follows_the_folder(lab: Lab) -> None:
    git = lab.project / ".git"
    git.mkdir()
    for name in ("objects", "refs"):
        (git / name).mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    async with lab.chat() as chat:
        await chat.until(lambda: "main" in chat.status)
        (git / "HEAD").write_text("ref: refs/heads/feature\n")
        await chat.say("hi")
        await chat.turn_ended()
        await chat.until(lambda: "feature" in chat.status)
