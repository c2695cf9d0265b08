"""What cannot be kept is not touched: no tool runs that would destroy it, unless the user says so anew."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, ConsentAnswer, Mode, ToolApproval
from ragforge.domain.errors import StoreMoved
from ragforge.domain.messages import TextPart, text_of
from ragforge.domain.turns import CallStatus, TurnStatus
from ragforge.session import queue
from ragforge.session.moves import undo
from ragforge.session.state import Session
from tests.cli.running import Program
from tests.disks import make_room, small_disk
from tests.flow.recorded import kinds, read, shell, told, version_of, write
from tests.flow.running import MODEL, User, ended, environ, opened, say, says_no
from tests.standins.gemini import GeminiStandIn, Text

FILE_BYTES = 400_000
FILES = 8
DISK = "2500k"
"""Too little for the contents, enough for all else."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk for the data, too small for the project's contents."""
    project = tmp_path / "project"
    project.mkdir()
    for number in range(FILES):
        (project / f"{number}.bin").write_bytes(os.urandom(FILE_BYTES))
    (project / "a.txt").write_text("precious\n")
    with small_disk(tmp_path / "disk", size=DISK):
        yield tmp_path / "disk"


def env_on(disk: Path, tmp_path: Path, gemini: GeminiStandIn) -> dict[str, str]:
    """The conversation is kept on a disk that has room."""
    (tmp_path / "store").mkdir(exist_ok=True)
    store = f"sqlite://{tmp_path / 'store' / 'ragforge.db'}"
    return environ(tmp_path, gemini, RAGFORGE_DATA_DIR=str(disk / "data"), RAGFORGE_STORE=store)


def files(project: Path) -> dict[str, int]:
    return {each.name: each.stat().st_size for each in sorted(project.iterdir())}


async def heard(session: Session) -> list[tuple[str, CallStatus]]:
    """What the tools of the newest turn answered."""
    assert session.live.record.head
    calls = await session.workspace.store.calls.of_turns([session.live.record.head])
    return [(call.result, call.status) for call in calls]


async def test_a_full_disk_stops_a_command_and_nothing_is_lost(
    disk: Path, tmp_path: Path, gemini: GeminiStandIn
) -> None:
    program = Program(tmp_path, MODEL, env_on(disk, tmp_path, gemini))
    before = files(program.project)
    gemini.script(shell("rm *.bin; echo c > a.txt"), Text("I could not."))
    ran = await program.run("-p", "remove them", "--yolo")
    assert files(program.project) == before
    assert (program.project / "a.txt").read_text() == "precious\n"
    assert "could not be saved first" in ran.err
    assert "disk is full" in ran.err
    assert ran.code == 0
    assert "I could not." in ran.out
    [heard] = [each for each in gemini.requests if "functionResponse" in str(each.body)]
    assert "could not be saved first" in str(heard.body)


async def test_who_makes_room_goes_on_and_can_undo_it(
    disk: Path, tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with opened(tmp_path, env_on(disk, tmp_path, gemini)) as session:
        session.live.consent.mode = Mode.ALL
        before = files(session.cwd)

        def make_room_and_decline(request: ApprovalRequest) -> ApprovalAnswer:
            assert isinstance(request, ToolApproval)
            assert "disk is full" in request.reason
            make_room(disk, size="50m")
            return ApprovalAnswer(ConsentAnswer.NO, "There is room now: do it again.")

        user = User(make_room_and_decline)
        gemini.script(shell("rm *.bin"), shell("rm *.bin"), Text("ok"))
        events = await say(session, "remove them", user)
        [refused, done] = await heard(session)
        assert refused[1] is CallStatus.FAILED
        assert "could not be saved" in refused[0]
        assert "There is room now" in refused[0]
        assert done[1] is CallStatus.OK
        assert len(user.asked) == 1
        assert ended(events).status is TurnStatus.FINISHED
        assert set(files(session.cwd)) == {"a.txt"}
        await undo(session)
        assert files(session.cwd) == before


async def full(session: Session, is_full: bool) -> None:
    """Let there be no room for contents, but for what else is written in the same folder."""
    await session.workspace.blobs.sizes()  # the database is there now
    database = session.workspace.blobs._database  # type: ignore[attr-defined]
    await database.write(lambda connection: connection.pragma("max_page_count", 1 if is_full else 1_000_000))


async def test_the_user_can_want_it_nonetheless(session: Session, gemini: GeminiStandIn) -> None:
    session.live.consent.mode = Mode.ALL
    (session.cwd / "0.bin").write_bytes(os.urandom(FILE_BYTES))
    await full(session, True)
    user = User()
    gemini.script(shell("rm 0.bin"), Text("ok"))
    events = await say(session, "remove it", user)
    [asked] = user.asked
    assert isinstance(asked, ToolApproval)
    assert "could not be undone" in asked.reason
    assert asked.rules == ()
    assert files(session.cwd) == {}
    assert kinds(await version_of(session, events)) == {"0.bin": ("removed", "during-shell")}
    assert "could not be saved" in told(events)


async def test_a_file_whose_old_content_cannot_be_kept_is_not_overwritten(
    session: Session, gemini: GeminiStandIn
) -> None:
    session.live.consent.mode = Mode.ALL
    words = os.urandom(FILE_BYTES).hex()
    (session.cwd / "a.txt").write_text(words)
    await full(session, True)
    gemini.script(read("a.txt"), write("a.txt", "short"), write("new.txt", "n"), Text("ok"))
    await say(session, "shorten it", says_no())
    assert (session.cwd / "a.txt").read_text() == words
    [_, refused, made] = await heard(session)
    assert "could not be saved" in refused[0]
    assert made[1] is CallStatus.OK, "what overwrites nothing loses nothing"
    assert (session.cwd / "new.txt").read_text() == "n"
    await full(session, False)
    gemini.script(write("a.txt", "short"), Text("ok"))
    await say(session, "now", says_no())
    assert (session.cwd / "a.txt").read_text() == "short"
    await undo(session)
    assert (session.cwd / "a.txt").read_text() == words


async def test_what_could_not_be_kept_beside_a_turn_is_no_error_that_nobody_took(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        session.live.consent.mode = Mode.ALL
        (session.cwd / "a.txt").write_text(os.urandom(FILE_BYTES).hex())
        await full(session, True)
        gemini.script(read("a.txt"), write("a.txt", "short"), Text("ok"))
        await say(session, "shorten it", says_no())
        shelving = session.worktree.recorder._shelving  # type: ignore[attr-defined]
        assert shelving
    # What asyncio would tell of a task when it is freed.
    assert not [task for task in shelving.values() if task._log_traceback]


async def test_no_command_runs_unasked_where_its_turn_would_be_noted_in_a_removed_file(
    session: Session, gemini: GeminiStandIn
) -> None:
    session.live.consent.mode = Mode.ALL
    (session.cwd / "a.txt").write_text("precious\n")
    gemini.script(Text("ok"))
    await say(session, "first")
    session.workspace.history.path.unlink()
    gemini.script(shell("rm a.txt"), Text("ok"))
    events = await say(session, "remove it", says_no())
    assert (session.cwd / "a.txt").read_text() == "precious\n"
    assert "was removed, moved or replaced" in told(events)
    assert ended(events).status is TurnStatus.FINISHED
    words = [text_of(turn.user) for turn in await session.workspace.store.turns.path(ended(events).id)]
    assert words == ["first", "remove it"]


async def test_what_is_queued_where_the_queue_was_removed_is_said_and_sent(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(Text("ok"), Text("ok"))
    await say(session, "first")
    session.workspace.local.path.unlink()
    with pytest.raises(StoreMoved, match="was removed, moved or replaced"):
        await queue.enqueue(session, (TextPart("queued"),))
    with pytest.raises(StoreMoved):
        await say(session, "second")
    head = session.live.record.head
    words = [text_of(turn.user) for turn in await session.workspace.store.turns.path(head)]
    assert words == ["first", "second", "queued"]


async def test_what_a_first_command_wrote_is_kept_before_a_second_may_destroy_it(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    (tmp_path / "project").mkdir()
    with small_disk(tmp_path / "disk", size=DISK):
        async with opened(tmp_path, env_on(tmp_path / "disk", tmp_path, gemini)) as session:
            session.live.consent.mode = Mode.ALL
            make = "head -c 4000000 /dev/urandom > made.bin"
            gemini.script(shell(make), shell("rm made.bin"), shell("rm made.bin"), Text("ok"))
            await say(session, "make and remove", says_no())
            assert files(session.cwd) == {"made.bin": 4_000_000}
            make_room(tmp_path / "disk", size="50m")
            gemini.script(shell("rm made.bin"), Text("ok"))
            await say(session, "now", says_no())
            assert files(session.cwd) == {}
            await undo(session)
            assert files(session.cwd) == {"made.bin": 4_000_000}
