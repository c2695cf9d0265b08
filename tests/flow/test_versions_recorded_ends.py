"""However a turn ended, what it did to the files has its version."""

import asyncio
from contextlib import aclosing
from pathlib import Path

from msgspec.structs import replace

from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer
from ragforge.domain.events import ToolOutput, ToolStarted, TurnEnded
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import TurnStatus
from ragforge.session import queue
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace, resume_session
from ragforge.session.state import Session
from ragforge.session.turn import interrupt, submit
from tests.flow.recorded import (
    contents,
    kinds,
    line,
    shell,
    version_of,
    write,
)
from tests.flow.running import User, ended, environ, say, say_retry, says_no
from tests.standins.gemini import Cut, GeminiStandIn, Text


async def test_an_interrupted_command_is_recorded_as_far_as_it_came(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "a.txt").write_text("precious")
    gemini.script(shell("rm a.txt; echo gone; sleep 1000"))
    seen = []
    async with aclosing(submit(session, (TextPart("run"),), User().approve)) as events:
        async for event in events:
            seen.append(event)
            if isinstance(event, ToolOutput):
                stopping = asyncio.create_task(interrupt(session))
    await stopping
    version = await version_of(session, seen)
    assert ended(seen).status is TurnStatus.INTERRUPTED
    assert kinds(version) == {"a.txt": ("removed", "during-shell")}
    assert await contents(session, version.changes[0]) == (b"precious", None)


async def test_a_turn_that_failed_has_its_version_and_so_has_its_second_run(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(write("a.txt", "one"), (Text("half"), Cut()), write("b.txt", "two"), Text("done"))
    failed = await say(session, "go")
    assert ended(failed).status is TurnStatus.FAILED
    first = await version_of(session, failed)
    second = await version_of(session, await say_retry(session))
    assert (kinds(first), kinds(second)) == (
        {"a.txt": ("added", "tool")},
        {"b.txt": ("added", "tool")},
    )
    assert first.turn_id == second.turn_id
    assert second.parents == (first.id,)
    turn = await session.workspace.store.turns.get(first.turn_id)
    assert turn is not None
    assert first.usage + second.usage == turn.usage


async def test_a_declined_call_changes_nothing(session: Session, gemini: GeminiStandIn) -> None:
    gemini.script(shell("touch made"), Text("all right"))
    assert (await version_of(session, await say(session, "go", says_no()))).changes == ()


async def test_each_of_two_turns_in_a_row_has_its_version(session: Session, gemini: GeminiStandIn) -> None:
    gemini.script(write("a.txt", "one"), write("b.txt", "two"), Text("done"))
    seen = []
    async with aclosing(submit(session, (TextPart("one"),), User().approve)) as events:
        async for event in events:
            if isinstance(event, ToolStarted) and not any(isinstance(each, ToolStarted) for each in seen):
                await queue.enqueue(session, (TextPart("queued"),))
            seen.append(event)
    ends = [event for event in seen if isinstance(event, TurnEnded)]
    assert [event.turn.status for event in ends] == [TurnStatus.CONTINUED, TurnStatus.FINISHED]
    assert [kinds(event.version) for event in ends if event.version] == [
        {"a.txt": ("added", "tool")},
        {"b.txt": ("added", "tool")},
    ]


async def test_a_turn_that_waits_for_consent_keeps_what_it_did_so_far(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini)
    (tmp_path / "project").mkdir()
    workspace = await open_workspace(cwd=tmp_path / "project", flags={}, environ=env)
    session = await new_session(workspace)
    gemini.script(write("a.txt", "x"), shell("touch b.txt"), Text("done"))
    waiting = asyncio.Event()

    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        if "touch" in str(request):
            waiting.set()
            await asyncio.Event().wait()
        return ApprovalAnswer(ConsentAnswer.ONCE)

    async def run() -> None:
        async with aclosing(submit(session, (TextPart("go"),), approve)) as events:
            [event async for event in events]

    running = asyncio.create_task(run())
    await waiting.wait()
    session.activity.closing = True
    await interrupt(session)
    await running
    await close_session(session)
    await close_workspace(workspace)
    (tmp_path / "project" / "person.txt").write_text("mine")
    workspace = await open_workspace(cwd=tmp_path / "project", flags={}, environ=env)
    assert workspace.loaded.notices == ()
    record = await workspace.store.sessions.get(session.id)
    assert record is not None
    resumed = (await resume_session(workspace, record)).session
    await say_retry(resumed)
    rest, outside, first = await line(resumed)
    assert (kinds(first), kinds(outside), kinds(rest)) == (
        {"a.txt": ("added", "tool")},
        {"person.txt": ("added", "outside")},
        {"b.txt": ("added", "during-shell")},
    )
    assert first.turn_id == rest.turn_id
    await close_session(resumed)
    await close_workspace(workspace)


async def test_a_branch_moves_with_the_turns_that_are_made_on_it(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Text("one"), Text("two"))
    await say(session, "one")
    await line(session)  # its version is made, and moves the head no more
    state, root = session.workspace.history, session.workspace.place.root
    await state.set_head(root, replace(await state.head(root), branch="mine"))
    version = await version_of(session, await say(session, "two"))
    [branch] = await session.workspace.store.versions.branches(session.workspace.project.id)
    assert (branch.name, branch.version_id) == ("mine", version.id)
