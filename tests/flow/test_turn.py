"""Whole turns against the stand-in: what is stored, in which order, and how turns end."""

import asyncio
import os
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.commands.base import run_command
from ragforge.domain.approvals import (
    ApprovalAnswer,
    ApprovalRequest,
    ConsentAnswer,
    Mode,
    ToolApproval,
    proposal_text,
)
from ragforge.domain.errors import ModelRefusedKey
from ragforge.domain.events import (
    AgentEvent,
    ContextBuilt,
    MessageJoined,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UsageUpdated,
)
from ragforge.domain.ids import now
from ragforge.domain.messages import TextPart, text_of
from ragforge.domain.turns import CallStatus, TurnStatus
from ragforge.session import queue
from ragforge.session.open import close_session, resume_session
from ragforge.session.state import Session
from ragforge.session.turn import interrupt, submit
from tests.contract.builders import a_turn, an_end
from tests.flow.recalling import chats, remembered, texts
from tests.flow.running import User, ended, environ, of_type, opened, say, say_retry, says_no
from tests.standins.gemini import (
    Blocked,
    Call,
    Calls,
    Finish,
    GeminiStandIn,
    Hang,
    ServerError,
    Text,
    Tokens,
    Until,
)


@pytest.mark.parametrize("crashed", [False, True])
@pytest.mark.parametrize(("ahead", "is_set_back"), [(timedelta(days=1), True), (timedelta(days=30), False)])
async def test_a_clock_that_was_set_back_leaves_turns_in_their_order(
    session: Session, gemini: GeminiStandIn, ahead: timedelta, *, is_set_back: bool, crashed: bool
) -> None:
    gemini.script(Text("Hello."), Text("Noted."))
    first = ended(await say(session, "Hello."))
    before = a_turn(session.live.record, "Never use npm.", parent=first, started_at=now() + ahead)
    await session.workspace.store.turns.start(before)
    # After a crash, its end was dated by the clock that had been set back meanwhile.
    ended_at = now() if crashed else before.started_at
    await session.workspace.store.turns.end(an_end(before, ended_at=ended_at))
    session.change(head=before.id)

    turn = ended(await say(session, "Always use npm."))
    assert turn.parent == before.id
    assert (turn.started_at > before.started_at) is is_set_back
    assert turn.ended_at is not None
    assert turn.ended_at >= turn.started_at


async def test_an_answer_streams_and_is_stored(session: Session, gemini: GeminiStandIn) -> None:
    gemini.script((Text("Good ", "day."), Finish(usage=Tokens(prompt=100, candidates=10))))
    events = await say(session, "hi")
    assert [type(event) for event in events] == [
        TurnStarted,
        StepStarted,
        TextDelta,
        TextDelta,
        StepEnded,
        UsageUpdated,
        TurnEnded,
    ]
    turn = ended(events)
    assert (turn.status, turn.assistant) == (TurnStatus.FINISHED, "Good day.")
    assert turn.usage.input_tokens == 100
    assert turn.cost_usd is not None
    assert turn.cost_usd > 0
    stored = await session.workspace.store.turns.get(turn.id)
    assert stored == turn


async def test_the_words_are_stored_before_the_model_is_asked(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Hang())
    async with aclosing(submit(session, (TextPart("keep me"),), User().approve)) as events:
        first = await anext(events)
        assert isinstance(first, TurnStarted)
        await gemini.wait_for_requests(1, action="streamGenerateContent")
        stored = await session.workspace.store.turns.get(first.turn.id)
        assert stored is not None
        assert stored.user == (TextPart("keep me"),)


async def test_tools_run_with_consent_and_the_model_hears_their_results(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "a.txt").write_text("one\n")
    gemini.script(
        Calls(Call("read", {"path": "a.txt"})),
        Calls(Call("edit", {"path": "a.txt", "old": "one", "new": "two"})),
        Text("Done."),
    )
    user = User()
    events = await say(session, "change it", user)
    assert (session.cwd / "a.txt").read_text() == "two\n"
    [asked] = user.asked
    assert isinstance(asked, ToolApproval)
    assert "+two" in proposal_text(asked.proposal)
    assert [event.call.status for event in of_type(events, ToolEnded)] == [CallStatus.OK, CallStatus.OK]
    assert "+two" in of_type(events, ToolEnded)[1].call.diff
    assert ended(events).assistant == "Done."


async def test_a_declined_call_leaves_the_disk_alone_and_the_model_hears_why(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Calls(Call("write", {"path": "x.txt", "content": "x"})), Text("All right."))
    events = await say(session, "write", says_no("not this name"))
    assert not (session.cwd / "x.txt").exists()
    [call] = [event.call for event in of_type(events, ToolEnded)]
    assert call.status is CallStatus.DENIED
    last = gemini.asked("streamGenerateContent")[-1].body["contents"][-1]
    assert "not this name" in str(last)


async def test_always_adds_the_rule_for_the_project_and_it_is_not_asked_again(
    session: Session, gemini: GeminiStandIn
) -> None:
    call = Calls(Call("shell", {"command": "touch made.txt"}))
    gemini.script(call, call, Text("Done."))
    user = User(lambda _: ApprovalAnswer(ConsentAnswer.ALWAYS))
    await say(session, "go", user)
    assert len(user.asked) == 1
    kept = await session.workspace.local.trust.rules(session.workspace.project.id)
    assert [str(rule) for rule in kept] == [str(rule) for rule in user.asked[0].rules]


async def test_reads_of_one_step_run_at_the_same_time_and_answer_in_order(
    session: Session, gemini: GeminiStandIn
) -> None:
    for name in "abc":
        (session.cwd / name).write_text(name * 3)
    gemini.script(Calls(*(Call("read", {"path": name}) for name in "abc")), Text("ok"))
    await say(session, "read all")
    answers = gemini.asked("streamGenerateContent")[-1].body["contents"][-1]["parts"]
    assert ["aaa" in str(answers[0]), "bbb" in str(answers[1]), "ccc" in str(answers[2])] == [True] * 3


async def test_arguments_that_do_not_fit_are_told_to_the_model(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Calls(Call("read", {"file": 3}), Call("nonsense", {})), Text("sorry"))
    events = await say(session, "go")
    calls = [event.call for event in of_type(events, ToolEnded)]
    assert [call.status for call in calls] == [CallStatus.FAILED] * 2
    assert "file" in calls[0].result
    assert "It takes: path, " in calls[0].result
    assert "nonsense" in calls[1].result
    assert ended(events).status is TurnStatus.FINISHED


async def test_interrupting_keeps_what_arrived_and_ends_the_request(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script((Text("half of it"), Hang()))
    seen = []
    async with aclosing(submit(session, (TextPart("long"),), User().approve)) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, TextDelta):
                stopping = asyncio.create_task(interrupt(session))
    await stopping
    turn = ended(seen)
    assert (turn.status, turn.assistant) == (TurnStatus.INTERRUPTED, "half of it")
    await gemini.asked("streamGenerateContent")[0].hung_up.wait()
    gemini.script(Text("more"))
    await say(session, "go on")
    assert "half of it" in str(gemini.asked("streamGenerateContent")[-1].body["contents"])


async def test_interrupting_a_command_leaves_nothing_running_and_says_so(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Calls(Call("shell", {"command": "echo started; sleep 1000"})))
    seen = []
    async with aclosing(submit(session, (TextPart("run"),), User().approve)) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, ToolOutput):
                stopping = asyncio.create_task(interrupt(session))
    await stopping
    [call] = await session.workspace.store.calls.of_turns([ended(seen).id])
    assert call.status is CallStatus.INTERRUPTED


async def test_an_interrupted_turn_without_output_is_passed_over_by_the_next(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Text("first answer"), Hang(), Text("third answer"))
    first = ended(await say(session, "first"))
    async with aclosing(submit(session, (TextPart("second"),), User().approve)) as events:
        async for event in events:
            if isinstance(event, StepStarted):
                await gemini.wait_for_requests(2, action="streamGenerateContent")
                stopping = asyncio.create_task(interrupt(session))
            if isinstance(event, TurnEnded):
                assert event.came_to_nothing
    await stopping
    third = ended(await say(session, "second, better"))
    assert third.parent == first.id
    assert third.assistant == "third answer"
    assert "second'" not in str(gemini.asked("streamGenerateContent")[-1].body["contents"])


async def test_a_wrong_key_fails_the_turn_with_what_to_do(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini, GEMINI_API_KEY="AIza-wrong")) as session:
        events = await say(session, "hi")
        last = events[-1]
        assert isinstance(last, TurnEnded)
        assert isinstance(last.failure, ModelRefusedKey)
        assert last.turn.status is TurnStatus.FAILED
        assert "AIza-wrong" not in last.turn.error


async def test_a_blocked_prompt_fails_the_turn(session: Session, gemini: GeminiStandIn) -> None:
    gemini.script(Blocked("PROHIBITED_CONTENT"))
    turn = ended(await say(session, "hi"))
    assert turn.status is TurnStatus.FAILED
    assert "blocked" in turn.error


async def test_retry_goes_on_from_the_last_finished_step_without_repeating_its_tools(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(
        Calls(Call("shell", {"command": "echo once >> count.txt"})),
        *[ServerError(400, "INVALID_ARGUMENT", "odd")],
        Text("Now it works."),
    )
    failed = ended(await say(session, "go"))
    assert failed.status is TurnStatus.FAILED
    await run_command(session, "archive", "")
    turn = ended(await say_retry(session))
    assert (turn.id, turn.status, turn.assistant) == (failed.id, TurnStatus.FINISHED, "Now it works.")
    assert (session.cwd / "count.txt").read_text() == "once\n"
    kept = await session.workspace.store.sessions.get(session.id)
    assert kept is not None
    assert kept == replace(session.live.record, changed_at=kept.changed_at)
    assert kept.archived_at is None, "a session that goes on is listed"


async def test_a_queued_message_goes_in_at_the_next_tool_boundary_as_a_child_turn(
    session: Session, gemini: GeminiStandIn
) -> None:
    pipe = session.cwd.parent / "pipe"
    os.mkfifo(pipe)
    gemini.script(Calls(Call("shell", {"command": f"cat {pipe}"})), Text("Both done."))
    seen = []
    async with aclosing(submit(session, (TextPart("first"),), User().approve)) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, ToolStarted):
                await queue.enqueue(session, (TextPart("and this"),))
                await queue.enqueue(session, (TextPart("and that"),))
                await asyncio.to_thread(pipe.write_text, "content of a")
    first, second = [event.turn for event in of_type(seen, TurnEnded)]
    assert first.status is TurnStatus.CONTINUED
    assert (second.parent, second.status) == (first.id, TurnStatus.FINISHED)
    assert second.user == (TextPart("and this"), TextPart("and that"))
    merged = gemini.asked("streamGenerateContent")[-1].body["contents"][-1]
    assert merged["role"] == "user"
    assert "content of a" in str(merged)
    assert "and that" in str(merged)


async def test_messages_sent_before_the_request_has_left_are_one_message_with_one_block(
    session: Session, gemini: GeminiStandIn
) -> None:
    await remembered(session, "The tapir is fed at noon.")
    gate, key = asyncio.Event(), "AKIA" + "0123456789ABCDEF"
    gemini.script((Text("All three."), Until(gate)), Text("The last."))
    more = [(TextPart("When is the tapir fed?"),), (TextPart(f"The key is {key}."),)]
    seen: list[AgentEvent] = []
    async with aclosing(submit(session, (TextPart("Feed the okapi."),), User().approve)) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, TurnStarted) and len(seen) == 1:
                assert await asyncio.gather(*(queue.join(session, each) for each in more)) == [True, True]
                stored = await session.workspace.store.turns.get(event.turn.id)
                assert stored is not None
                assert len(stored.user) == 3
            if isinstance(event, TextDelta) and not gate.is_set():
                assert not await queue.join(session, (TextPart("Too late."),))
                await queue.enqueue(session, (TextPart("Too late."),))
                gate.set()
    first, second = [event.turn for event in of_type(seen, TurnEnded)]
    (block,) = [event.block for event in of_type(seen, ContextBuilt) if event.turn_id == first.id]
    assert "tapir" in block.text
    assert texts(chats(gemini)[0][-1]) == [block.text, *(text_of([part]) for part in first.user)]
    assert text_of(first.user).startswith("Feed the okapi.\nWhen is the tapir fed?\nThe key is ")
    assert key not in str(chats(gemini))
    assert (first.user, len(of_type(seen, MessageJoined))) == (stored.user, 2)
    assert (second.parent, text_of(second.user)) == (first.id, "Too late.")


async def test_plan_mode_changes_nothing(session: Session, gemini: GeminiStandIn) -> None:
    session.live.consent.mode = Mode.PLAN
    gemini.script(Calls(Call("write", {"path": "x", "content": "x"})), Text("Plan: ..."))
    user = User()
    await say(session, "plan", user)
    assert not user.asked
    assert not (session.cwd / "x").exists()


async def test_a_pending_approval_is_asked_again_after_the_app_went_away(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Calls(Call("write", {"path": "x.txt", "content": "x"})), Text("Written."))
    waiting = asyncio.Event()

    async def never(request: ApprovalRequest) -> ApprovalAnswer:
        waiting.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def run() -> None:
        async with aclosing(submit(session, (TextPart("write x"),), never)) as events:
            async for _ in events:
                pass

    running = asyncio.create_task(run())
    await waiting.wait()
    session.activity.closing = True
    running.cancel()
    await asyncio.wait({running})
    await close_session(session)

    record = await session.workspace.store.sessions.get(session.id)
    assert record is not None
    again = (await resume_session(session.workspace, record)).session
    head = await session.workspace.store.turns.get(str(record.head))
    assert head is not None
    assert head.status is TurnStatus.WAITING
    user = User()
    turn = ended(await say_retry(again, user))
    await close_session(again)
    assert len(user.asked) == 1
    assert turn.status is TurnStatus.FINISHED
    assert (session.cwd / "x.txt").read_text() == "x"
    assert len(gemini.asked("streamGenerateContent")) == 2


async def test_esc_at_an_approval_declines_it_for_good(session: Session, gemini: GeminiStandIn) -> None:
    gemini.script(Calls(Call("write", {"path": "x.txt", "content": "x"})), Text("Other."))

    async def esc(request: ApprovalRequest) -> ApprovalAnswer:
        stopping.append(asyncio.create_task(interrupt(session)))
        await asyncio.Event().wait()
        raise AssertionError

    stopping: list[asyncio.Task[None]] = []
    seen = []
    async with aclosing(submit(session, (TextPart("write x"),), esc)) as events:
        async for event in events:
            seen.append(event)
    assert ended(seen).status is TurnStatus.INTERRUPTED
    await say(session, "something else")
    assert "Interrupted before it ran" in str(gemini.asked("streamGenerateContent")[-1].body["contents"])


async def test_a_long_history_is_cut_to_the_window_and_a_line_says_so(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini), flags={"context.tokens_max": 12_000}) as session:
        gemini.script(*[Text(f"answer {n}") for n in range(4)])
        for n in range(4):
            events = await say(session, f"message {n} " + "long words " * 1_000)
        assert ended(events).status is TurnStatus.FINISHED
        notices = [event.text for event in events if type(event).__name__ == "Notice"]
        assert any("leaves out" in text for text in notices)
        assert "message 0" not in str(gemini.asked("streamGenerateContent")[-1].body)


async def test_keys_reach_neither_store_nor_model(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        (session.cwd / "leak.txt").write_text(f"key={gemini.key}\n")
        gemini.script(Calls(Call("read", {"path": "leak.txt"})), Text("ok"))
        events = await say(session, f"my key is {gemini.key}")
        assert gemini.key not in str(events)
        for request in gemini.asked("streamGenerateContent"):
            assert gemini.key not in str(request.body)
        for file in (tmp_path / "data").iterdir():
            # The blob store keeps the project's files themselves, which must come back to the last byte.
            if file.is_file() and not file.name.startswith("blobs.db"):
                assert gemini.key.encode() not in file.read_bytes()


async def test_nested_instructions_come_with_the_first_touch(session: Session, gemini: GeminiStandIn) -> None:
    (session.cwd / "AGENTS.md").write_text("Top rule.")
    sub = session.cwd / "sub"
    sub.mkdir()
    (sub / "AGENTS.md").write_text("Nested rule.")
    (sub / "a.txt").write_text("x")
    session.workspace.trust.reads_all = True
    gemini.script(Calls(Call("read", {"path": "sub/a.txt"})), Text("ok"))
    await say(session, "go")
    first, second = gemini.asked("streamGenerateContent")
    assert "Top rule." in str(first.body["systemInstruction"])
    assert "Nested rule." not in str(first.body)
    assert "Nested rule." in str(second.body["contents"][-1])
