"""What the user saves while a command waits is the user's: no undo takes it back."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ragforge.domain.events import ToolStarted
from ragforge.domain.messages import TextPart
from ragforge.session.moves import redo, undo
from ragforge.session.state import Session
from ragforge.session.turn import submit
from ragforge.shell.process import MARKER, own_marker, start_shell
from ragforge.shell.process_idle import Idle, clock_offset, counts_runs, has_own_clock, run_counts, watch
from tests.flow.beside import WAIT_S, until
from tests.flow.recorded import kinds, line, line_now, shell
from tests.flow.running import User
from tests.standins.gemini import GeminiStandIn, Text

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="who runs is told by Linux's /proc alone")

KNOWN_NS = 500_000_000


@asynccontextmanager
async def watched() -> AsyncGenerator[Idle]:
    """What the test sees of what the recorder sees."""
    found = Idle()
    watching = asyncio.create_task(watch(found))
    try:
        yield found
    finally:
        watching.cancel()
        await asyncio.wait({watching})


async def until_known_idle(idle: Idle, file: Path) -> None:
    """Wait until it is known, twice over, that nothing ran when the file was changed."""
    changed_ns = file.lstat().st_ctime_ns
    async with asyncio.timeout(180):
        while not idle.covers(changed_ns + 1_000_000_000):
            if idle.begins and idle.begins[-1] > changed_ns:
                file.touch()  # something ran at that very moment, as on a busy machine
                changed_ns = file.lstat().st_ctime_ns
            await asyncio.sleep(0.02)


async def run_beside(session: Session, command: str, gemini: GeminiStandIn, *files: Path) -> None:
    """A turn whose command waits, before it does anything, while these are saved."""
    started, pipe = (session.cwd.parent / name for name in ("started", "pipe"))
    os.mkfifo(pipe)
    gemini.script(shell(f": > {started}; read -r _ < {pipe}; {command}"), Text("ok"))
    async for event in submit(session, (TextPart("go"),), User().approve):
        if isinstance(event, ToolStarted):
            await until(lambda: asyncio.to_thread(started.exists))
            async with watched() as idle:
                async with asyncio.timeout(WAIT_S):
                    # The recorder, which began to look earlier, knows it by then too.
                    while not idle.begins or idle.ends[-1] - idle.begins[-1] < KNOWN_NS:
                        await asyncio.sleep(0.02)
                for file in files:
                    file.write_text("saved meanwhile\n")
                await asyncio.gather(*(until_known_idle(idle, file) for file in files))
            await asyncio.to_thread(pipe.write_text, "on\n")


async def test_undo_leaves_what_was_saved_while_a_command_waited(
    session: Session, gemini: GeminiStandIn
) -> None:
    assert has_own_clock(session.cwd)
    mine, new, other = (session.cwd / name for name in ("mine.txt", "new.txt", "other.txt"))
    mine.write_text("before\n")
    other.write_text("before\n")
    await run_beside(session, "echo 2 > other.txt; echo 3 > made.txt", gemini, mine, new)
    turn, outside = (await line_now(session))[0], (await line(session))[1]
    assert kinds(turn) == {"made.txt": ("added", "during-shell"), "other.txt": ("changed", "during-shell")}
    assert kinds(outside) == {"mine.txt": ("changed", "outside"), "new.txt": ("added", "outside")}
    await undo(session)
    assert mine.read_text() == new.read_text() == "saved meanwhile\n"
    assert other.read_text() == "before\n"
    assert not (session.cwd / "made.txt").exists()
    await redo(session)
    assert (mine.read_text(), other.read_text()) == ("saved meanwhile\n", "2\n")


def test_a_child_that_is_no_command_does_not_count() -> None:
    with subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) as editor:
        try:
            assert not any(thread.startswith(f"{editor.pid}/") for thread in until_told(run_counts))
        finally:
            editor.kill()


async def test_nothing_counts_as_idle_while_a_command_computes(tmp_path: Path) -> None:
    process = await start_shell("while :; do :; done", cwd=tmp_path, env={}, on_output=print)
    try:
        before = run_counts()
        async with asyncio.timeout(180):
            while (after := run_counts()) is not None and after == before:
                before = after
        assert after is None or after != before, "it had the processor, or has it"
    finally:
        await process.end(grace_s=0)


async def test_nothing_counts_as_idle_where_a_command_began_and_ended_between_two_looks(
    tmp_path: Path,
) -> None:
    """As one does that is quick, while the program is too busy to look."""
    before = until_told(run_counts)
    process = await start_shell("true", cwd=tmp_path, env={}, on_output=print)
    await process.wait()
    assert until_told(run_counts) != before


def test_nothing_counts_as_idle_where_a_process_ends_as_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragforge.shell.process_idle._of_commands", lambda: iter([tmp_path / "ended"]))
    assert run_counts() is None


def test_a_moment_counts_as_idle_only_with_a_margin_to_both_sides() -> None:
    second = 1_000_000_000
    idle = Idle()
    idle.add(1 * second, 2 * second)
    idle.add(1 * second, 3 * second)
    idle.add(5 * second, 6 * second)
    seen = {
        at: idle.covers(at * second // 100) for at in (0, 100, 102, 104, 200, 296, 298, 400, 504, 598, 700)
    }
    assert [at for at, is_idle in seen.items() if is_idle] == [104, 200, 296, 504]


@pytest.mark.parametrize(
    ("said", "counts"), [("0 0 0\n", False), ("", False), (None, False), ("9 1 3\n", True)]
)
def test_nothing_counts_as_idle_where_the_kernel_does_not_count(
    tmp_path: Path, said: str | None, counts: bool
) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mountinfo").write_text("")
    if said is not None:
        (tmp_path / "self" / "schedstat").write_text(said)
    assert counts_runs(tmp_path) is counts


MOUNTS = """\
22 29 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw,hidepid=2
23 29 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:14 - proc proc rw{}
"""


@pytest.mark.parametrize(
    ("options", "counts"),
    [
        ("", True),
        (",hidepid=0", True),
        (",hidepid=off", True),
        (",gid=1000,hidepid=1", False),
        (",hidepid=2", False),
        (",hidepid=invisible", False),
        (",hidepid=ptraceable", False),
    ],
)
def test_nothing_counts_as_idle_where_processes_of_others_are_hidden(
    tmp_path: Path, options: str, counts: bool
) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "schedstat").write_text("9 1 3\n")
    (tmp_path / "self" / "mountinfo").write_text(MOUNTS.format(options))
    assert counts_runs(tmp_path) is counts


@pytest.mark.parametrize("cannot", ["missing", "odd"])
def test_nothing_counts_as_idle_where_the_mounts_cannot_be_read(tmp_path: Path, cannot: str) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "schedstat").write_text("9 1 3\n")
    if cannot == "odd":
        (tmp_path / "self" / "mountinfo").write_text("odd\n")
    assert not counts_runs(tmp_path)


@pytest.mark.parametrize("set_back_ms", [0, 20, 1_000, 3_600_000])
def test_nothing_counts_as_idle_after_the_clock_was_set_back(set_back_ms: int) -> None:
    moment = 1_000_000_000
    # As if the clock had been ahead when this was last looked at.
    idle = Idle(offset=clock_offset()[1] + set_back_ms * 1_000_000)
    idle.add(moment, 3 * moment)
    assert idle.covers(2 * moment) is (set_back_ms == 0)
    idle.add(5 * moment, 7 * moment)
    assert idle.covers(6 * moment) is (set_back_ms == 0)


def test_the_clock_may_be_set_forward() -> None:
    idle = Idle(offset=clock_offset()[0] - 3_600_000_000_000)
    idle.add(1_000_000_000, 3_000_000_000)
    assert idle.covers(2_000_000_000)
    assert not idle.was_set_back


def test_this_machine_counts() -> None:
    assert counts_runs()


@pytest.mark.parametrize("is_own", [True, False])
def test_what_left_the_tree_counts_where_a_command_of_this_process_started_it(is_own: bool) -> None:
    begin = own_marker() if is_own else f"{os.getpid() + 1}-"
    started = subprocess.run(
        ["/bin/sh", "-c", "sleep 180 > /dev/null & echo $!"],
        env={**os.environ, MARKER: f"{begin}0"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    pid = int(started.stdout)
    try:
        assert any(thread.startswith(f"{pid}/") for thread in until_told(run_counts)) is is_own
    finally:
        os.kill(pid, signal.SIGKILL)


def until_told(look: Callable[[], dict[str, bytes] | None]) -> dict[str, bytes]:
    while (counts := look()) is None:
        pass
    return counts
