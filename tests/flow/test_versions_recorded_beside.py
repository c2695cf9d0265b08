"""What is recorded while others are at work in the folder: sessions, restores, jobs, the user."""

import asyncio
import random
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer
from ragforge.domain.events import Notice, StepStarted, ToolEnded, TurnEnded
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import CallStatus, TurnStatus
from ragforge.domain.versions import USER, Provenance
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace
from ragforge.session.state import Session
from ragforge.session.turn import interrupt, submit
from ragforge.versions.record.recorder import Recorders
from tests.flow.recorded import (
    answers,
    assert_head_is_disk,
    busy,
    contents,
    edit,
    kinds,
    line,
    line_now,
    read,
    shell,
    told,
    version_of,
    write,
)
from tests.flow.running import User, ended, environ, opened, say
from tests.standins.gemini import GeminiStandIn, Hang, Text


async def test_what_the_user_edits_between_turns_is_a_version_of_its_own(
    session: Session, gemini: GeminiStandIn
) -> None:
    file = session.cwd / "a.txt"
    gemini.script(
        write("a.txt", "the assistant's"), Text("ok"), read("a.txt"), write("b.txt", "more"), Text("ok")
    )
    await say(session, "first")
    file.write_text("the person's")
    (session.cwd / "own.txt").write_text("own")
    await say(session, "second")
    second, outside, first = await line(session)
    assert (outside.by, outside.turn_id, outside.session_id) == (USER, "", "")
    assert kinds(outside) == {"a.txt": ("changed", "outside"), "own.txt": ("added", "outside")}
    assert await contents(session, outside.changes[0]) == (b"the assistant's", b"the person's")
    assert kinds(first) == {"a.txt": ("added", "tool")}
    assert kinds(second) == {"b.txt": ("added", "tool")}
    await assert_head_is_disk(session)


async def test_what_the_user_edits_right_before_a_tool_is_not_the_tools(
    session: Session, gemini: GeminiStandIn
) -> None:
    file = session.cwd / "a.txt"
    file.write_text("one\n")
    gemini.script(read("a.txt"), shell("true && touch made"), edit("a.txt", "one", "two"), Text("ok"))

    def meanwhile(request: ApprovalRequest) -> ApprovalAnswer:
        if "edit" in str(request):
            (session.cwd / "person.txt").write_text("mine")
        return ApprovalAnswer(ConsentAnswer.ONCE)

    await say(session, "go", User(meanwhile))
    newest = (await line_now(session))[0]
    assert kinds(newest) == {"person.txt": ("added", "outside")}


async def test_what_the_user_makes_of_a_tools_file_during_the_turn_stays_theirs(
    session: Session, gemini: GeminiStandIn
) -> None:
    file = session.cwd / "a.txt"
    gemini.script(write("a.txt", "tool"), shell("printf ' command' >> a.txt"), Text("ok"))

    def meanwhile(request: ApprovalRequest) -> ApprovalAnswer:
        if "command" in str(request):
            file.write_text("person")
        return ApprovalAnswer(ConsentAnswer.ONCE)

    await say(session, "go", User(meanwhile))
    rest, outside, first = await line(session)
    assert first.turn_id == rest.turn_id
    assert (outside.by, outside.turn_id) == (USER, "")
    found = [await contents(session, version.changes[0]) for version in (first, outside, rest)]
    assert found == [(None, b"tool"), (b"tool", b"person"), (b"person", b"person command")]
    assert [version.changes[0].provenance for version in (first, outside, rest)] == [
        Provenance.TOOL,
        Provenance.OUTSIDE,
        Provenance.SHELL,
    ]
    await assert_head_is_disk(session)


async def test_two_sessions_at_work_at_once_leave_one_line(
    tmp_path: Path, session: Session, gemini: GeminiStandIn
) -> None:
    other_space = await open_workspace(cwd=session.cwd, flags={}, environ=environ(tmp_path, gemini))
    other = await new_session(other_space)
    seed = random.randrange(10**9)
    gemini.script(*answers(random.Random(seed)))

    async def work(mine: Session) -> None:
        for _ in range(5):
            await say(mine, "Do something.")

    try:
        await asyncio.gather(work(session), work(other))
        versions = await line_now(session)
        await assert_head_is_disk(session)
        ids = await session.workspace.store.versions.all_ids()
        assert sorted(ids) == sorted(version.id for version in versions), seed
        assert {version.session_id for version in versions} - {""} == {session.id, other.id}
    finally:
        await close_session(other)
        await close_workspace(other_space)


async def test_what_a_tool_waits_for_is_told(session: Session, gemini: GeminiStandIn) -> None:
    gemini.script(write("a.txt", "x"), Text("ok"))
    seen = []
    async with AsyncExitStack() as elsewhere:
        await elsewhere.enter_async_context(busy(session))
        async with aclosing(submit(session, (TextPart("go"),), User().approve)) as events:
            async for event in events:
                seen.append(event)
                if isinstance(event, Notice):
                    assert not (session.cwd / "a.txt").exists()
                    await elsewhere.aclose()
    assert "The tool waits for this." in told(seen)
    assert kinds(await version_of(session, seen)) == {"a.txt": ("added", "tool")}


async def test_turns_without_tools_do_not_wait_for_a_busy_folder(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Text("one"), Hang())
    async with busy(session):
        first = await say(session, "one")
        seen = []
        async with aclosing(submit(session, (TextPart("two"),), User().approve)) as events:
            async for event in events:
                seen.append(event)
                if isinstance(event, StepStarted):
                    stopping = asyncio.create_task(interrupt(session))
        await stopping
        for events_of_turn in (first, seen):
            last = events_of_turn[-1]
            assert isinstance(last, TurnEnded)
            assert last.version is None
    second, one = await line(session)
    assert [one.turn_id, second.turn_id] == [ended(first).id, ended(seen).id]


async def test_no_tool_runs_while_another_session_restores_files(
    tmp_path: Path, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "VERSIONS_LOCK_S_MAX", 1.0)
    async with opened(tmp_path, environ(tmp_path, gemini)) as first:
        session = Session(replace(first.workspace, recorders=Recorders()), first.live)
        gemini.script(
            write("a.txt", "x"), shell("touch b.txt"), Text("too bad"), write("c.txt", "x"), Text("ok")
        )
        async with busy(session):
            events = await say(session, "go")
        calls = [event.call for event in events if isinstance(event, ToolEnded)]
        assert [call.status for call in calls] == [CallStatus.FAILED, CallStatus.FAILED]
        assert all("are being changed by" in call.result for call in calls)
        assert ended(events).status is TurnStatus.FINISHED
        assert list(session.cwd.iterdir()) == []
        await say(session, "again")
        second, refused = await line(session)
        assert (refused.turn_id, refused.changes) == (ended(events).id, ())
        assert kinds(second) == {"c.txt": ("added", "tool")}


async def test_what_a_background_job_changes_is_found_by_the_next_look(
    session: Session, gemini: GeminiStandIn
) -> None:
    wait = "until [ -e go ]; do sleep 0.01; done; printf x > made; echo made; sleep 1000"
    gemini.script(
        shell(wait, background=True),
        write("go", ""),
        shell("until [ -e made ]; do sleep 0.01; done"),
        Text("ok"),
    )
    version = await version_of(session, await say(session, "serve"))
    assert kinds(version) == {"go": ("added", "tool"), "made": ("added", "during-shell")}


async def test_between_turns_the_work_of_a_job_is_nobodys_for_certain(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(shell("sleep 1000", background=True), Text("ok"), Text("ok"))
    await say(session, "serve")
    (session.cwd / "a.txt").write_text("by the job, or by hand")
    await say(session, "on")
    _, between, _ = await line(session)
    [change] = between.changes
    assert (between.by, change.provenance, change.shared) == (USER, Provenance.SHELL, True)


async def test_two_sessions_in_one_folder_record_each_their_own(
    tmp_path: Path, session: Session, gemini: GeminiStandIn
) -> None:
    """opencode#33940: undo in one session reverted another's work. Who did what must be known for that."""
    other_space = await open_workspace(cwd=session.cwd, flags={}, environ=environ(tmp_path, gemini))
    other = await new_session(other_space)
    (session.cwd / "ours.txt").write_text("before")
    gemini.when("FIRST", shell("printf x > shell.txt; until [ -e theirs.txt ]; do sleep 0.01; done"))
    gemini.when("SECOND", write("theirs.txt", "theirs"))
    try:
        running = asyncio.create_task(say(session, "FIRST"))
        gemini.script(Text("done"), Text("done"))
        async with asyncio.timeout(180):
            while not (session.cwd / "shell.txt").exists():
                await asyncio.sleep(0.01)
        second = await version_of(other, await say(other, "SECOND"))
        first = await version_of(session, await running)
        assert kinds(second) == {"theirs.txt": ("added", "tool")}
        assert kinds(first) == {"shell.txt": ("added", "during-shell")}
        assert [change.shared for change in first.changes] == [True]
        assert first.parents == (second.id,)
        await assert_head_is_disk(session)
    finally:
        await close_session(other)
        await close_workspace(other_space)


async def test_two_sessions_at_one_file_come_in_their_order(
    tmp_path: Path, session: Session, gemini: GeminiStandIn
) -> None:
    """gemini-cli#20855: with two terminals in one directory a rewind failed silently."""
    other_space = await open_workspace(cwd=session.cwd, flags={}, environ=environ(tmp_path, gemini))
    other = await new_session(other_space)
    go_on = asyncio.Event()
    gemini.script(write("a.txt", "first's"), shell("true; touch x"), Text("done"))

    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        if "touch" in str(request):
            at_touch.set()
            await go_on.wait()
        return ApprovalAnswer(ConsentAnswer.ONCE)

    async def first() -> list:
        async with aclosing(submit(session, (TextPart("go"),), approve)) as events:
            return [event async for event in events]

    at_touch = asyncio.Event()
    running = asyncio.create_task(first())
    try:
        await at_touch.wait()
        gemini._replies.clear()
        gemini.script(read("a.txt"), edit("a.txt", "first's", "second's"), Text("done"))
        theirs = await version_of(other, await say(other, "mine too"))
        gemini.script(Text("done"))
        go_on.set()
        rest = await version_of(session, await running)
        newest, second, carried = await line(session)
        assert (newest, second) == (rest, theirs)
        assert carried.turn_id == rest.turn_id
        assert (kinds(carried), kinds(second), kinds(rest)) == (
            {"a.txt": ("added", "tool")},
            {"a.txt": ("changed", "tool")},
            {"x": ("added", "during-shell")},
        )
        await assert_head_is_disk(session)
    finally:
        await close_session(other)
        await close_workspace(other_space)
