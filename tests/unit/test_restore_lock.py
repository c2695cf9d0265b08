import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from ragforge.domain.errors import StoreUnavailable
from ragforge.files.folder_lock import FolderBusy, folder_lock, lock_path

HOLD = """
import asyncio, sys
from pathlib import Path
from ragforge.files.folder_lock import folder_lock
async def hold():
    async with folder_lock(Path(sys.argv[1]), Path(sys.argv[2]), timeout_s=0):
        print("held", flush=True)
        sys.stdin.readline()
asyncio.run(hold())
"""


@contextmanager
def holder(data_dir: Path, root: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the folder's lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(data_dir), str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def test_two_sessions_of_one_process_come_one_after_the_other(tmp_path: Path) -> None:
    said: list[str] = []
    first_in, let_go = asyncio.Event(), asyncio.Event()

    async def first() -> None:
        async with folder_lock(tmp_path, tmp_path, timeout_s=60):
            first_in.set()
            await let_go.wait()
            said.append("first done")

    async def second() -> None:
        await first_in.wait()
        with pytest.raises(FolderBusy):
            async with folder_lock(tmp_path, tmp_path, timeout_s=0):
                said.append("never")
        let_go.set()
        async with folder_lock(tmp_path, tmp_path, timeout_s=60):
            said.append("second in")

    await asyncio.gather(first(), second())
    assert said == ["first done", "second in"]


async def test_a_folder_that_stays_busy_says_who_holds_it_and_since_when(tmp_path: Path) -> None:
    with holder(tmp_path, tmp_path) as process:
        with pytest.raises(FolderBusy) as raised:
            async with folder_lock(tmp_path, tmp_path, timeout_s=0.05):
                pytest.fail("two hold it")
        since = json.loads(lock_path(tmp_path, tmp_path).read_bytes())["since"]
        when = f"{datetime.fromisoformat(since).astimezone():%Y-%m-%d %H:%M}"
        assert raised.value.holder == f"another process ({process.pid}) since {when}"
        assert raised.value.holder in str(raised.value)
        assert "Nothing was changed" in str(raised.value)
        # A lock dies with its process.
        os.kill(process.pid, signal.SIGKILL)
        async with folder_lock(tmp_path, tmp_path, timeout_s=60):
            pass


async def test_a_folder_is_the_same_by_whatever_path(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    async with folder_lock(tmp_path, root, timeout_s=0):
        for same in (tmp_path / "link", tmp_path / "link" / ".." / "project"):
            with pytest.raises(FolderBusy, match="another session of this process"):
                async with folder_lock(tmp_path, same, timeout_s=0):
                    pytest.fail("two hold it")
        async with folder_lock(tmp_path, tmp_path, timeout_s=0):
            pass


async def test_who_stopped_waiting_stands_in_nobodys_way(tmp_path: Path) -> None:
    async def wait() -> None:
        async with folder_lock(tmp_path, tmp_path, timeout_s=60):
            pytest.fail("it was cancelled")

    gc.collect()  # else what other tests left open is closed meanwhile
    open_before = open_files()
    async with folder_lock(tmp_path, tmp_path, timeout_s=0):
        waiting = asyncio.create_task(wait())
        while open_files() < open_before + 2:
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert open_files() == open_before
    async with folder_lock(tmp_path, tmp_path, timeout_s=0):
        pass


async def test_an_error_within_gives_the_lock_up(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with folder_lock(tmp_path, tmp_path, timeout_s=0):
            raise ZeroDivisionError
    async with folder_lock(tmp_path, tmp_path, timeout_s=0):
        pass


async def test_where_no_lock_can_be_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("a file in the way")
    with pytest.raises(StoreUnavailable, match="Cannot lock"):
        async with folder_lock(tmp_path, tmp_path, timeout_s=0):
            pytest.fail("there is no lock")
