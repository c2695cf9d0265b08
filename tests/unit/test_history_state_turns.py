"""The local state knows whose turns run in a folder, and who was active there."""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw

from ragforge.domain.ids import now
from ragforge.files.locks import is_present
from ragforge.versions.state import Head, HistoryState, open_history_state

ROOT = Path("/src/project")
ODD = Path("/src/gr\udce9n")


async def test_open_turns_tell_who_runs_and_whether_a_command_does(
    state: HistoryState, other: HistoryState
) -> None:
    began = now()
    await state.begin_turn(ROOT, "s1", "t1")
    await other.begin_turn(ROOT, "s2", "t2")
    await other.begin_turn(ODD, "s3", "t3")
    await state.begin_command(ROOT, "t1")
    await state.begin_command(ROOT, "t1")
    await state.end_command(ROOT, "t1")
    for each in (state, other):
        first, second = await each.open_turns(ROOT)
        assert (first.session_id, first.turn_id, first.pid_alive, first.in_command) == (
            "s1",
            "t1",
            True,
            True,
        )
        assert (second.session_id, second.turn_id, second.in_command) == ("s2", "t2", False)
        assert began <= first.since <= second.since <= now()
    await state.end_command(ROOT, "t1")
    await state.end_command(ROOT, "t1")
    await state.begin_command(ROOT, "t1")
    assert [turn.in_command for turn in await other.open_turns(ROOT)] == [True, False]


async def test_a_turn_whose_state_was_closed_counts_as_cut_off(
    state: HistoryState, other: HistoryState
) -> None:
    await other.begin_turn(ROOT, "s", "t")
    assert [turn.pid_alive for turn in await state.open_turns(ROOT)] == [True]
    await other.close()
    assert [turn.pid_alive for turn in await state.open_turns(ROOT)] == [False]


async def test_a_process_knows_of_its_own_turns_whatever_became_of_its_lock(
    state: HistoryState, tmp_path: Path
) -> None:
    await state.begin_turn(ROOT, "s", "t")
    [lock] = tmp_path.rglob("history-*.lock")
    lock.unlink()
    assert [turn.pid_alive for turn in await state.open_turns(ROOT)] == [True]


def test_two_who_look_at_the_same_time_do_not_take_each_other_for_the_living_one(tmp_path: Path) -> None:
    left_behind = tmp_path / "history-x.lock"
    left_behind.touch()
    with left_behind.open("rb") as looked_at:
        fcntl.flock(looked_at, fcntl.LOCK_SH)
        assert not is_present(tmp_path, "x")
    assert not left_behind.exists()


async def test_who_only_looks_leaves_no_sign(state: HistoryState, tmp_path: Path) -> None:
    await state.set_head(ROOT, Head("v1"))
    await state.open_turns(ROOT)
    assert not list(tmp_path.rglob("history-*.lock"))


RUNNER = """
import asyncio, sys
from pathlib import Path
from ragforge.domain.versions import Change, Provenance
from ragforge.versions.state import open_history_state

async def main():
    state = await open_history_state(Path(sys.argv[1]))
    root, turn = Path("/src/project"), sys.argv[2]
    await state.begin_turn(root, "s " + turn, turn)
    for number in range(20):
        await state.note(root, turn, [Change(f"{turn} {number}", None, None, Provenance.TOOL)])
    await state.begin_command(root, turn)
    print("noted", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


async def test_a_killed_process_leaves_its_turn_and_notes_and_is_known_to_be_dead(tmp_path: Path) -> None:
    names = ("x", "y", "z")
    runners = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", RUNNER, str(tmp_path), name, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for name in names
    ]
    try:
        for runner in runners:
            assert runner.stdout is not None
            assert await runner.stdout.readline() == b"noted\n"
        state = await open_history_state(tmp_path)
        alive = {turn.turn_id: turn.pid_alive for turn in await state.open_turns(ROOT)}
        assert alive == dict.fromkeys(names, True)
    finally:
        for runner in runners:
            os.kill(runner.pid, signal.SIGKILL)
            await runner.wait()
    for turn in await state.open_turns(ROOT):
        assert (turn.pid_alive, turn.in_command) == (False, True)
    for name in names:
        assert [each.path for each in await state.noted(ROOT, name)] == [f"{name} {n}" for n in range(20)]
        await state.end_turn(ROOT, name)
    assert await state.open_turns(ROOT) == []
    assert not list(tmp_path.rglob("history-*.lock"))
    await state.close()


STARTING = """
import os, sys, time
from pathlib import Path
from ragforge.files.locks import Presence

print(Presence(Path(sys.argv[1])).name, flush=True)
if os.fork() == 0:  # as what is being started, before it runs its program
    time.sleep(0.5)
    os._exit(0)
print("started", flush=True)
time.sleep(1000)
"""


def test_a_process_that_was_killed_while_it_started_another_is_known_to_be_dead(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTING, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        name = process.stdout.readline().strip()
        assert is_present(tmp_path, name)
        assert process.stdout.readline() == "started\n"
        process.kill()
        process.wait()
        assert not is_present(tmp_path, name)


async def test_another_session_was_active_while_its_turn_ran(
    state: HistoryState, other: HistoryState
) -> None:
    start = now()
    assert not await state.active_since(ROOT, start, "mine")
    await state.begin_turn(ROOT, "mine", "t1")
    assert not await state.active_since(ROOT, start, "mine")
    await other.begin_turn(ROOT, "theirs", "t2")
    await other.begin_turn(ODD, "theirs", "t3")
    assert await state.active_since(ROOT, now() + timedelta(days=1), "mine")  # it may run as long
    assert await state.active_since(ROOT, start, "theirs")
    await other.end_turn(ROOT, "t2")
    with apsw.Connection(str(state.path)) as connection:
        [(ms,)] = connection.execute("SELECT ended FROM turn WHERE turn = 't2'")
    ended = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ms)
    assert await state.active_since(ROOT, start, "mine")
    assert await state.active_since(ROOT, ended, "mine")
    assert not await state.active_since(ROOT, ended + timedelta(milliseconds=1), "mine")


async def test_a_turn_that_ran_twice_was_active_both_times(state: HistoryState) -> None:
    start = now()
    await state.begin_turn(ROOT, "theirs", "t")
    await state.end_turn(ROOT, "t")
    first = now()
    await state.begin_turn(ROOT, "theirs", "t")
    assert await state.active_since(ROOT, first, "mine")
    await state.end_turn(ROOT, "t")
    assert await state.active_since(ROOT, start, "mine")


async def test_a_turn_cut_off_was_active_until_it_was_last_heard_of(
    state: HistoryState, other: HistoryState
) -> None:
    start = now()
    await other.begin_turn(ROOT, "theirs", "t")
    await other.close()
    assert await state.active_since(ROOT, start, "mine")
    assert not await state.active_since(ROOT, now() + timedelta(milliseconds=1), "mine")


async def test_a_command_may_outlive_its_process(state: HistoryState, other: HistoryState) -> None:
    await other.begin_turn(ROOT, "theirs", "t")
    await other.begin_command(ROOT, "t")
    await other.close()
    later = now() + timedelta(hours=1)
    assert await state.active_since(ROOT, later, "mine")
    await state.end_turn(ROOT, "t")
    assert not await state.active_since(ROOT, later, "mine")
