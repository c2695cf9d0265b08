"""A shell command as a process that can be ended with its children: own session, no terminal, clean text."""

import asyncio
import contextlib
import os
import shutil
import signal
import uuid
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.shell.process_output import OutputCleaner

CHUNK_BYTES = 65_536
KILL_ROUNDS_MAX = 50
MARKER = "RAGFORGE_PROCESS"

# Ends the group when the standard input closes, which the kernel does for us even after a SIGKILL.
GUARD = 'read -r _; kill -s TERM -- "-$1"; sleep 2; kill -s KILL -- "-$1"'


def find_shell() -> str:
    """Return the path of bash, or of sh if there is no bash."""
    bash = shutil.which("bash")
    # Found through a relative folder in PATH, it would be a file of the project.
    return bash if bash is not None and Path(bash).is_absolute() else "/bin/sh"


class ShellProcess:
    """A running shell command. Made by `start_shell`.

    The command leads a session of its own, so that everything it starts can be found and ended. A guard
    process ends it if ragforge itself is killed. (PR_SET_PDEATHSIG would need code between fork and
    exec, which is unsafe with threads, and would only reach the shell, not its children.)
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        guard: asyncio.subprocess.Process,
        marker: str,
        reading: "asyncio.Task[None]",
    ) -> None:
        self._process = process
        self._guard = guard
        self._marker = marker
        self._reading = reading
        _running.add(self.pid)

    @property
    def pid(self) -> int:
        """The shell's process id, which is also its session's and its group's."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative for the signal that ended it."""
        return self._process.returncode

    async def wait(self) -> int:
        """Return the exit code, once the shell has ended and its output is read.

        If a child outlives the shell and holds the output open, waits only PROCESS_DRAIN_S_MAX for it.
        """
        code = await self._process.wait()
        _running.discard(self.pid)
        await asyncio.wait([self._reading], timeout=timeouts.PROCESS_DRAIN_S_MAX)
        return code

    async def end(self, *, grace_s: float | None = None) -> int:
        """End everything the command started; return the number of processes that still ran.

        SIGTERM first, SIGKILL after grace_s (PROCESS_GRACE_S). Cancelling this does not stop it.
        """
        grace_s = timeouts.PROCESS_GRACE_S if grace_s is None else grace_s
        return await _finish_despite_cancel(self._end(grace_s=grace_s, detached=True))

    async def end_leftovers(self) -> int:
        """End what the command left behind in its session; return how many there were.

        Programs that left the session on purpose, as daemons do, are not touched.
        """
        return await _finish_despite_cancel(self._end(grace_s=timeouts.PROCESS_GRACE_S, detached=False))

    async def _end(self, *, grace_s: float, detached: bool) -> int:
        def running() -> set[int]:
            return find_running(self.pid, self._marker if detached else None)

        found = await asyncio.to_thread(running)
        _signal_all(found, signal.SIGTERM)
        left = await _wait_until_gone(running, timeout_s=grace_s) if found else set[int]()
        for _ in range(KILL_ROUNDS_MAX):  # repeatedly, because a process being killed may still fork
            if not left:
                break
            _signal_all(left, signal.SIGKILL)
            left = await _wait_until_gone(running, timeout_s=timeouts.PROCESS_POLL_S)
        await self._process.wait()
        _running.discard(self.pid)
        await asyncio.wait([self._reading], timeout=timeouts.PROCESS_DRAIN_S_MAX)
        self._reading.cancel()
        with contextlib.suppress(ProcessLookupError):
            self._guard.kill()
        await self._guard.wait()
        return len(found)


async def start_shell(
    command: str, *, cwd: Path, env: Mapping[str, str], on_output: Callable[[str], None]
) -> ShellProcess:
    """Start the command. `on_output` receives clean text as it arrives.

    Raises OSError if it cannot start, ValueError if the command contains a NUL character. When cancelled, it
    leaves nothing running.
    """
    starting = asyncio.create_task(_start(command, cwd=cwd, env=env, on_output=on_output))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _finish_despite_cancel(_abandon(starting))
        raise


async def _abandon(starting: "asyncio.Task[ShellProcess]") -> int:
    await asyncio.wait([starting])
    return await starting.result().end(grace_s=0) if starting.exception() is None else 0


async def _start(
    command: str, *, cwd: Path, env: Mapping[str, str], on_output: Callable[[str], None]
) -> ShellProcess:
    marker = own_marker() + uuid.uuid4().hex
    read_end, write_end = os.pipe()
    _starts.begun += 1
    try:
        process = await asyncio.create_subprocess_exec(
            find_shell(),
            "-c",
            command,
            cwd=cwd,
            env={**env, MARKER: marker},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            start_new_session=True,
        )
    except (OSError, ValueError):
        os.close(read_end)
        raise
    finally:
        _starts.over += 1
        os.close(write_end)
    try:
        guard = await _start_guard(process.pid)
    except OSError:
        os.close(read_end)
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        raise
    return ShellProcess(process, guard, marker, asyncio.create_task(_read_output(read_end, on_output)))


async def _start_guard(group: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        "/bin/sh",
        "-c",
        GUARD,
        "guard",
        str(group),
        env={"PATH": os.defpath},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )


async def _read_output(read_end: int, on_output: Callable[[str], None]) -> None:
    # A pipe of our own: asyncio's would make wait() last until every holder of the pipe has closed it.
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=CHUNK_BYTES)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", buffering=0)
    )
    cleaner = OutputCleaner()
    try:
        while chunk := await reader.read(CHUNK_BYTES):
            if text := cleaner.feed(chunk):
                on_output(text)
    finally:
        transport.close()
        if text := cleaner.close():
            on_output(text)


async def _finish_despite_cancel(work: Coroutine[None, None, int]) -> int:
    """Return the result of the work. Cancelling waits for its end first."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()


async def _wait_until_gone(running: Callable[[], set[int]], *, timeout_s: float) -> set[int]:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while left := await asyncio.to_thread(running):
        if loop.time() >= deadline:
            break
        await asyncio.sleep(timeouts.PROCESS_POLL_S)
    return left


def _signal_all(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


class _Starts(Struct):
    """How many shells started, and how many of these starts are finished, successful or not."""

    begun: int = 0
    over: int = 0


_running: set[int] = set()
_starts = _Starts()


def starts() -> int | None:
    """How many shells this process has tried to start so far; None while it starts one."""
    begun = _starts.begun
    return begun if begun == _starts.over else None


def shells() -> tuple[int, ...]:
    """The process ids of this process's shells that have not ended."""
    return tuple(_running)


def own_marker() -> str:
    """The beginning of the marker of each command of this process."""
    return f"{os.getpid()}-"


def find_running(session: int, marker: str | None) -> set[int]:
    """Return the ids of processes of a session, and of those with the marker in their environment.

    Zombies do not count.
    """
    if not Path("/proc/self/stat").exists():
        return _find_in_group(session)
    wanted = f"{MARKER}={marker}".encode() if marker else None
    found: set[int] = set()
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            # The name in brackets may contain spaces and brackets: the fields follow the last one.
            state, _, _, its_session, *_ = (
                Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split(maxsplit=4)
            )
            if state in b"ZX":
                continue
            if int(its_session) == session or (wanted and wanted in _environment(entry.path)):
                found.add(int(entry.name))
    return found


def _environment(process: str) -> list[bytes]:
    try:
        return Path(process, "environ").read_bytes().split(b"\0")
    except OSError:  # another user's process
        return []


def _find_in_group(group: int) -> set[int]:
    # Without /proc (macOS): ps tells the group, not the session.
    import subprocess

    listing = subprocess.run(
        ["/bin/ps", "-A", "-o", "pid=,pgid=,state="], capture_output=True, text=True, check=False
    )
    rows = (line.split() for line in listing.stdout.splitlines())
    return {int(row[0]) for row in rows if len(row) == 3 and row[1] == str(group) and row[2][0] != "Z"}
