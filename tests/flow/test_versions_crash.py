"""ragforge is killed in the middle of a turn, as a real process; the next start makes good what lacks."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain.approvals import Mode
from ragforge.domain.events import ToolEnded
from ragforge.domain.ids import new_id, now
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn, TurnEnd, TurnStatus
from ragforge.domain.versions import USER, MoveAction
from ragforge.session.open import (
    close_session,
    close_workspace,
    new_session,
    open_workspace,
    resume_session,
    store_session,
)
from ragforge.session.state import Session
from ragforge.session.turn import submit
from ragforge.versions.head_move import Move, end_restore, lines_of
from ragforge.versions.restore.operation import apply
from ragforge.versions.restore.plan import make_plan
from ragforge.versions.tree import between
from tests.cli.running import Program
from tests.flow.recorded import assert_head_is_disk, contents, kinds, line, line_now, version_of, write
from tests.flow.running import MODEL, User, ended, environ, say
from tests.processes import until
from tests.standins.gemini import Call, Calls, GeminiStandIn, Hang, Text

PATIENCE_S = 60.0


@pytest.fixture
def program(tmp_path: Path, gemini: GeminiStandIn) -> Program:
    return Program(tmp_path, MODEL, {"GEMINI_API_KEY": gemini.key, "GOOGLE_GEMINI_BASE_URL": gemini.url})


async def kill(process: asyncio.subprocess.Process) -> None:
    process.send_signal(signal.SIGKILL)
    await process.communicate()


@asynccontextmanager
async def started_again(tmp_path: Path, gemini: GeminiStandIn) -> AsyncIterator[Session]:
    """A new session in the folder, as the next start has it."""
    env = environ(tmp_path, gemini)
    (tmp_path / "project").mkdir(exist_ok=True)
    workspace = await open_workspace(cwd=tmp_path / "project", flags={}, environ=env)
    session = await new_session(workspace)
    try:
        yield session
    finally:
        await close_session(session)
        await close_workspace(workspace)


async def test_what_a_command_destroyed_before_the_crash_can_be_had_again(
    tmp_path: Path, program: Program, gemini: GeminiStandIn
) -> None:
    precious = program.project / "precious.txt"
    precious.write_text("never read by anybody")
    gemini.script(
        Calls(Call("write", {"path": "made.txt", "content": "by the tool"})),
        Calls(Call("shell", {"command": "rm precious.txt; touch gone; sleep 1000"})),
    )
    process = await program.start("-p", "destroy it", "--yolo")
    await until((program.project / "gone").exists, timeout_s=PATIENCE_S)
    await kill(process)
    async with started_again(tmp_path, gemini) as session:
        [said] = session.workspace.loaded.notices
        assert "interrupted by a crash" in said
        assert "3 changed files" in said
        [version] = await line(session)
        assert kinds(version) == {
            "gone": ("added", "during-shell"),
            "made.txt": ("added", "tool"),
            "precious.txt": ("removed", "during-shell"),
        }
        assert "command" in version.note
        assert await contents(session, version.changes[2]) == (b"never read by anybody", None)
        await assert_head_is_disk(session)
        turn = await session.workspace.store.turns.get(version.turn_id)
        assert turn is not None
        assert turn.session_id == version.session_id


async def test_what_the_user_does_after_a_crash_is_not_the_turns(
    tmp_path: Path, program: Program, gemini: GeminiStandIn
) -> None:
    gemini.script(Calls(Call("write", {"path": "made.txt", "content": "by the tool"})), Hang())
    process = await program.start("-p", "make it", "--yolo")
    await gemini.wait_for_requests(2, action="streamGenerateContent", timeout_s=PATIENCE_S)
    await kill(process)
    (program.project / "made.txt").write_text("by hand")
    (program.project / "own.txt").write_text("own")
    async with started_again(tmp_path, gemini) as session:
        outside, cut_off = await line(session)
        assert kinds(cut_off) == {"made.txt": ("added", "tool")}
        assert kinds(outside) == {"made.txt": ("changed", "outside"), "own.txt": ("added", "outside")}
        assert outside.by == USER
        assert await contents(session, outside.changes[0]) == (b"by the tool", b"by hand")
        await assert_head_is_disk(session)
        # Who resumes the session finds its turn interrupted, and goes on from there.
        record = await session.workspace.store.sessions.get(cut_off.session_id)
        assert record is not None
        resumed = (await resume_session(session.workspace, record)).session
        turn = await resumed.workspace.store.turns.get(cut_off.turn_id)
        assert turn is not None
        assert turn.status is TurnStatus.INTERRUPTED
        gemini.script(Text("on"))
        next_one = await version_of(resumed, await say(resumed, "go on"))
        assert next_one.parents == (outside.id,)
        assert await line_now(resumed) == await line(session)
        await close_session(resumed)


async def test_what_was_made_good_once_is_not_made_good_again(
    tmp_path: Path, program: Program, gemini: GeminiStandIn
) -> None:
    gemini.script(Calls(Call("write", {"path": "made.txt", "content": "x"})), Hang())
    process = await program.start("-p", "make it", "--yolo")
    await gemini.wait_for_requests(2, action="streamGenerateContent", timeout_s=PATIENCE_S)
    await kill(process)
    async with started_again(tmp_path, gemini) as session:
        first = await line_now(session)
        assert len(first) == 1
    async with started_again(tmp_path, gemini) as session:
        assert session.workspace.loaded.notices == ()
        assert await line_now(session) == first


async def test_a_crash_between_the_version_and_the_head_makes_no_second_version(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    data = tmp_path / "data"
    seen = []
    async with started_again(tmp_path, gemini) as session:
        gemini.script(Calls(Call("write", {"path": "made.txt", "content": "x"})), Text("ok"))
        async with aclosing(submit(session, (TextPart("make it"),), User().approve)) as events:
            async for event in events:
                seen.append(event)
                if isinstance(event, ToolEnded):
                    # What lies on the disk now is what lies there after a kill right before the head moves.
                    for name in ("history.db", "history.db-wal"):
                        shutil.copy(data / name, tmp_path / name)
        made = await version_of(session, seen)
    for path in data.glob("history.db*"):
        path.unlink()
    for name in ("history.db", "history.db-wal"):
        shutil.copy(tmp_path / name, data / name)
    async with started_again(tmp_path, gemini) as session:
        assert session.workspace.loaded.notices == ()
        assert await line_now(session) == [made]
        assert await session.workspace.store.versions.all_ids() == [made.id]


async def test_a_crash_between_what_the_user_did_and_the_head_makes_no_second_version(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    data = tmp_path / "data"
    async with started_again(tmp_path, gemini) as session:
        gemini.script(Calls(Call("write", {"path": "made.txt", "content": "x"})), Text("ok"))
        made = await version_of(session, await say(session, "make it"))
        (tmp_path / "project" / "own.txt").write_text("own")
        for name in ("history.db", "history.db-wal"):
            shutil.copy(data / name, tmp_path / name)
        newest, _ = await line_now(session)
        assert newest.by == USER
    for path in data.glob("history.db*"):
        path.unlink()
    for name in ("history.db", "history.db-wal"):
        shutil.copy(tmp_path / name, data / name)
    async with started_again(tmp_path, gemini) as session:
        assert await line_now(session) == [newest, made]
        assert {*await session.workspace.store.versions.all_ids()} == {newest.id, made.id}


async def test_what_was_edited_between_a_crash_and_the_end_of_its_move_is_kept(
    session: Session, gemini: GeminiStandIn
) -> None:
    session.live.consent.mode = Mode.ALL
    gemini.script(write("a.txt", "one\n"), Text("ok"), write("a.txt", "two\n"), Text("ok"))
    first = await version_of(session, await say(session, "one"))
    second = await version_of(session, await say(session, "two"))
    async with session.worktree.ground() as ground:
        move = Move(
            action=MoveAction.CHECKOUT,
            project_id=ground.files.project.id,
            session_id=session.id,
            from_version=second.id,
            target=first.id,
            title="checkout",
        )
        wanted = between(*await lines_of(ground.files.store.versions, second.id, first.id))
        plan = await make_plan(
            ground.root, wanted, {}, ground.files.blobs, title=move.title, then=move.to_json()
        )
        await apply(plan, ground.files.state, ground.files.blobs)
        # It dies here, and before the next start somebody edits what was restored.
        (session.cwd / "a.txt").write_text("mine\n")
        await end_restore(ground)
    [newest, *_] = await line(session)
    [change] = newest.changes
    assert await contents(session, change) == (b"one\n", b"mine\n")


async def test_a_turn_of_which_nothing_is_known_gets_an_empty_version(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with started_again(tmp_path, gemini) as session:
        gemini.script(Text("one"), Text("two"))
        first = await version_of(session, await say(session, "one"))
        turn = ended(await say(session, "two"))
        unrecorded = replace(turn, id=new_id(), parent=turn.id, index=2, started_at=now())
        await session.workspace.store.turns.start(unrecorded)
        await session.workspace.store.turns.end(TurnEnd(unrecorded.id, TurnStatus.FINISHED, "", now()))
        record = await session.workspace.store.sessions.get(session.id)
        assert record is not None
    async with started_again(tmp_path, gemini) as other:
        resumed = (await resume_session(other.workspace, record)).session
        newest, _, oldest = await line_now(resumed)
        assert oldest == first
        assert (newest.turn_id, newest.changes) == (unrecorded.id, ())
        assert "afterwards" in newest.note
        await close_session(resumed)


async def test_the_first_turn_of_a_project_has_a_version_however_early_the_crash_came(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with started_again(tmp_path, gemini) as session:
        words = (TextPart("the first of all"),)
        await store_session(session, said=words)
        first = Turn(new_id(), session.id, None, 0, words, now(), model=MODEL)
        await session.workspace.store.turns.start(first)  # and nothing else is written any more
        record = await session.workspace.store.sessions.get(session.id)
        assert record is not None
    async with started_again(tmp_path, gemini) as other:
        gemini.script(Text("ok"))
        await say(other, "another session comes first")
        resumed = (await resume_session(other.workspace, record)).session
        newest, _ = await line_now(resumed)
        assert (newest.turn_id, newest.changes) == (first.id, ())
        await close_session(resumed)
