"""What a turn keeps when something fails around it: store, tool, answer, or the patience of the user."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer
from ragforge.domain.errors import StoreError, UsageError
from ragforge.domain.events import StepStarted, TextDelta, ToolEnded, ToolStarted, TurnEnded
from ragforge.domain.ids import now
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import CallStatus, TurnEnd, TurnStatus
from ragforge.session import queue
from ragforge.session.open import close_session, close_workspace, open_workspace, resume_session
from ragforge.session.state import Session
from ragforge.session.turn import interrupt, submit
from tests.flow.running import User, ended, environ, of_type, opened, say, say_retry
from tests.standins.gemini import Blocked, Call, Calls, Cut, GeminiStandIn, Hang, Raw, Text

PAGES_MANY = 1_000_000


async def disk_is_full(session: Session, full: bool) -> None:
    """Let the database grow no further, as on a full disk, or again."""
    database = session.workspace.store._database  # type: ignore[attr-defined]
    await database.write(lambda connection: connection.pragma("max_page_count", 1 if full else PAGES_MANY))


async def test_an_answer_that_could_not_be_kept_is_kept_with_the_next_message(
    session: Session, gemini: GeminiStandIn
) -> None:
    long = "word " * 20_000
    gemini.script((Text("start"), Text(long)), Text("second answer"))
    seen = []

    async def say_until_full() -> None:
        async with aclosing(submit(session, (TextPart("first"),), User().approve)) as events:
            async for event in events:
                seen.append(event)
                await disk_is_full(session, True)

    with pytest.raises(StoreError):
        await say_until_full()
    first = seen[0].turn
    await disk_is_full(session, False)
    second = ended(await say(session, "second"))
    kept = await session.workspace.store.turns.get(first.id)
    assert kept is not None
    assert (kept.status, kept.assistant) == (TurnStatus.FINISHED, f"start{long}".strip())
    assert second.parent == first.id
    asked = gemini.asked("streamGenerateContent")[-1].body["contents"]
    assert [content["role"] for content in asked] == ["user", "model", "user"]


async def test_a_call_waits_for_consent_although_another_one_of_its_step_ended(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "a.txt").write_text("content")
    gemini.script(
        Calls(Call("read", {"path": "a.txt"}), Call("write", {"path": "x.txt", "content": "x"})), Text("ok")
    )
    read_ended = asyncio.Event()
    seen: list[TurnStatus] = []

    async def slow(request: ApprovalRequest) -> ApprovalAnswer:
        await read_ended.wait()
        turn = await session.workspace.store.turns.get(str(session.live.record.head))
        assert turn is not None
        seen.append(turn.status)
        return await User().approve(request)

    async with aclosing(submit(session, (TextPart("go"),), slow)) as events:
        async for event in events:
            if isinstance(event, ToolEnded):
                read_ended.set()
    assert seen == [TurnStatus.WAITING]


async def test_a_turn_whose_consented_call_runs_does_not_wait_for_consent(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Calls(Call("shell", {"command": "echo started; sleep 1000"})))
    found = []
    async with aclosing(submit(session, (TextPart("run"),), User().approve)) as events:
        async for event in events:
            if type(event).__name__ == "ToolOutput" and not found:
                found.append(await session.workspace.store.turns.get(str(session.live.record.head)))
                stopping = asyncio.create_task(interrupt(session))
    await stopping
    assert found[0].status is TurnStatus.RUNNING


@pytest.mark.parametrize("pause", [0, 3, 10, 30])
async def test_pressing_esc_twice_ends_the_turn_once(
    session: Session, gemini: GeminiStandIn, pause: int
) -> None:
    gemini.script((Text("half"), Hang()))
    seen = []

    async def twice() -> None:
        stopping = asyncio.create_task(interrupt(session))
        running = session.activity.task
        for _ in range(pause):
            await asyncio.sleep(0)
        while running is not None and not running.done():
            running.cancel()
            await asyncio.sleep(0)
        await stopping

    async with aclosing(submit(session, (TextPart("long"),), User().approve)) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, TextDelta):
                pressing = asyncio.create_task(twice())
    await pressing
    assert (ended(seen).status, ended(seen).assistant) == (TurnStatus.INTERRUPTED, "half")


async def test_an_interrupted_answer_without_usage_is_not_free(
    session: Session, gemini: GeminiStandIn
) -> None:
    half = {"candidates": [{"content": {"role": "model", "parts": [{"text": "half an answer"}]}}]}
    gemini.script((Raw(half), Hang()))
    seen = []
    async with aclosing(submit(session, (TextPart("long " * 1000),), User().approve)) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, TextDelta):
                stopping = asyncio.create_task(interrupt(session))
    await stopping
    turn = ended(seen)
    assert turn.usage.input_tokens > 1000
    assert turn.usage.output_tokens > 0
    assert turn.cost_usd


async def test_a_blocked_message_returns_to_the_prompt_and_is_not_sent_again(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Blocked("SAFETY"), Text("fine"))
    events = await say(session, "bad words")
    last = events[-1]
    assert isinstance(last, TurnEnded)
    assert last.turn.status is TurnStatus.FAILED
    assert last.came_to_nothing
    await say(session, "better words")
    assert "bad words" not in str(gemini.asked("streamGenerateContent")[-1].body["contents"])


async def test_a_table_of_prices_that_cannot_be_read_is_said_before_the_model_is_asked(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "prices.toml").write_text("nonsense =")
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        last = (await say(session, "hi"))[-1]
        assert isinstance(last, TurnEnded)
        assert isinstance(last.failure, UsageError)
        assert last.came_to_nothing
        assert not gemini.asked("streamGenerateContent")


async def test_a_table_of_prices_broken_meanwhile_takes_no_answer_along(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        gemini.script(Text("the answer"))
        seen = []
        async with aclosing(submit(session, (TextPart("hi"),), User().approve)) as events:
            async for event in events:
                seen.append(event)
                if isinstance(event, StepStarted):
                    (tmp_path / "config").mkdir(exist_ok=True)
                    (tmp_path / "config" / "prices.toml").write_text("nonsense =")
        turn = ended(seen)
        assert (turn.status, turn.assistant, turn.cost_usd) == (TurnStatus.FINISHED, "the answer", None)


async def test_secrets_in_the_queue_do_not_reach_the_disk(
    tmp_path: Path, session: Session, gemini: GeminiStandIn
) -> None:
    await queue.enqueue(session, (TextPart(f"use {gemini.key}, not the other one"),))
    written = b"".join(file.read_bytes() for file in (tmp_path / "data").iterdir() if file.is_file())
    assert b"not the other one" in written
    assert gemini.key.encode() not in written


async def test_a_session_that_is_only_shown_is_not_retried(
    tmp_path: Path, session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script((Text("half"), Cut()), Text("never"))
    failed = ended(await say(session, "hi"))
    assert failed.status is TurnStatus.FAILED
    shown = await resume_session(session.workspace, session.live.record, read_only=True)
    with pytest.raises(UsageError):
        await say_retry(shown.session)
    assert await session.workspace.store.turns.get(failed.id) == failed


async def test_a_path_that_no_disk_knows_is_told_to_the_model(
    session: Session, gemini: GeminiStandIn
) -> None:
    for name, args in (
        ("read", {"path": "a\0b"}),
        ("write", {"path": "x" * 5000, "content": "x"}),
        ("edit", {"path": "a\0b", "old": "a", "new": "b"}),
        ("list", {"path": "a\0b"}),
        ("grep", {"pattern": "x", "path": "a\0b"}),
        ("glob", {"pattern": "\0", "path": "x" * 5000}),
        ("shell", {"command": "echo \0"}),
    ):
        gemini.script(Calls(Call(name, args)), Text("sorry"))
        events = await say(session, f"go {name}")
        [call] = [event.call for event in of_type(events, ToolEnded)]
        assert (name, call.status) == (name, CallStatus.FAILED), call.result
        assert "unexpected" not in call.result
        assert ended(events).status is TurnStatus.FINISHED


async def test_a_call_that_could_not_be_kept_is_kept_with_the_end_and_not_repeated(
    session: Session, gemini: GeminiStandIn
) -> None:
    command = "echo once >> count.txt; seq 1 2000"
    gemini.script(Calls(Call("shell", {"command": command})), Text("done"))

    async def approve_and_fill(request: ApprovalRequest) -> ApprovalAnswer:
        await disk_is_full(session, True)
        return await User().approve(request)

    with pytest.raises(StoreError):
        async with aclosing(submit(session, (TextPart("go"),), approve_and_fill)) as events:
            [event async for event in events]
    await disk_is_full(session, False)
    events = await say_retry(session)
    assert ended(events).status is TurnStatus.FINISHED
    assert (session.cwd / "count.txt").read_text() == "once\n"
    [call] = await session.workspace.store.calls.of_turns([ended(events).id])
    assert call.status is CallStatus.OK


async def test_a_session_of_another_project_goes_on_there(
    tmp_path: Path, session: Session, gemini: GeminiStandIn
) -> None:
    await say(session, "hi")
    (session.cwd / "here.txt").write_text("found it")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    await close_session(session)
    workspace = await open_workspace(cwd=elsewhere, flags={}, environ=environ(tmp_path, gemini))
    record = await workspace.store.sessions.get(session.id)
    assert record is not None
    resumed = (await resume_session(workspace, record)).session
    gemini.script(Calls(Call("read", {"path": "here.txt"})), Text("ok"))
    user = User()
    try:
        events = await say(resumed, "read it", user)
    finally:
        await close_session(resumed)
        await close_workspace(workspace)
    assert "found it" in of_type(events, ToolEnded)[0].call.result
    assert not user.asked
    assert resumed.workspace.project.id == session.workspace.project.id


async def test_a_result_is_kept_although_its_whole_cannot_be(
    tmp_path: Path, session: Session, gemini: GeminiStandIn
) -> None:
    (tmp_path / "data" / "blobs.db").write_bytes(b"this is no database" * 100)
    gemini.script(Calls(Call("shell", {"command": "seq 1 20000"})), Text("done"))
    events = await say(session, "go")
    [call] = [event.call for event in of_type(events, ToolEnded)]
    assert ended(events).status is TurnStatus.FINISHED
    assert call.status is CallStatus.OK
    assert call.result_blob is None
    assert "20000" in call.result


async def test_a_session_that_cannot_be_resumed_is_not_held(
    tmp_path: Path, session: Session, gemini: GeminiStandIn
) -> None:
    await say(session, "hi")
    await close_session(session)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    workspace = await open_workspace(cwd=elsewhere, flags={}, environ=environ(tmp_path, gemini))
    settings = session.cwd / ".ragforge" / "config.toml"
    settings.parent.mkdir()
    settings.write_text("nonsense = 1")
    with pytest.raises(UsageError):
        await resume_session(workspace, session.live.record)
    settings.unlink()
    resumed = await resume_session(workspace, session.live.record)
    await close_session(resumed.session)
    await close_workspace(workspace)


async def test_an_interrupted_answer_is_shown_to_its_last_letter(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script((Text("these are the words"), Hang()))
    seen = []
    async with aclosing(submit(session, (TextPart("hi"),), User().approve)) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, TextDelta):
                stopping = asyncio.create_task(interrupt(session))
    await stopping
    assert gemini.key.startswith("s"), "so that the last letter could be the beginning of the key"
    assert "".join(event.text for event in of_type(seen, TextDelta)) == ended(seen).assistant


async def test_esc_at_the_boundary_strikes_the_queued_message(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "a").write_text("x")
    gemini.script(Calls(Call("read", {"path": "a"})), Text("never asked for"))
    seen = []
    async with aclosing(submit(session, (TextPart("one"),), User().approve)) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, ToolStarted):
                await queue.enqueue(session, (TextPart("queued"),))
            if isinstance(event, TurnEnded) and event.turn.status is TurnStatus.CONTINUED:
                stopping = asyncio.create_task(interrupt(session))
    await stopping
    last = seen[-1]
    assert isinstance(last, TurnEnded)
    assert last.came_to_nothing
    assert last.turn.user == (TextPart("queued"),)


async def test_esc_while_a_turn_is_stored_as_continued_strikes_the_queued_message_too(
    session: Session, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    (session.cwd / "a").write_text("x")
    gemini.script(Calls(Call("read", {"path": "a"})), Text("never asked for"))
    turns, seen = session.workspace.store.turns, []
    end, stopping = turns.end, list[asyncio.Task[None]]()

    async def end_as_esc_is_pressed(what: TurnEnd) -> None:
        if not stopping:
            stopping.append(asyncio.create_task(interrupt(session)))
            await asyncio.sleep(0)  # it is pressed now
        await end(what)

    monkeypatch.setattr(turns, "end", end_as_esc_is_pressed)
    async with aclosing(submit(session, (TextPart("one"),), User().approve)) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, ToolStarted):
                await queue.enqueue(session, (TextPart("queued"),))
    await stopping[0]
    ends = of_type(seen, TurnEnded)
    assert [end.turn.status for end in ends] == [TurnStatus.CONTINUED, TurnStatus.INTERRUPTED]
    assert len(gemini.asked("streamGenerateContent")) == 1


async def test_the_time_of_a_call_begins_with_its_consent(session: Session, gemini: GeminiStandIn) -> None:
    gemini.script(Calls(Call("write", {"path": "x.txt", "content": "x"})), Text("Done."))
    answered = []

    def answers(_: ApprovalRequest) -> ApprovalAnswer:
        asked_at = now()
        while now() <= asked_at:  # milliseconds are counted
            pass
        answered.append(now())
        return ApprovalAnswer(ConsentAnswer.ONCE)

    [made] = of_type(await say(session, "go", User(answers)), ToolEnded)
    assert made.call.started_at >= answered[0]
