"""One writer a session, also when another gives it up between the opening of its lock and the locking."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ragforge.domain.errors import SessionBusy
from ragforge.store.sqlite.claims import FileClaim

RACE = """
import asyncio, sys
from pathlib import Path
from ragforge.domain.errors import SessionBusy
from ragforge.store.sqlite.claims import FileClaim

locks = Path(sys.argv[1])
first = FileClaim.take(locks, "session")
third = []

def between(event, _):
    # Told before the call: the second has opened the file of the first, and is about to lock it.
    global first
    if event == "fcntl.flock" and first is not None:
        leaving, first = first, None
        asyncio.run(leaving.release())
        third.append(FileClaim.take(locks, "session"))

sys.addaudithook(between)
try:
    FileClaim.take(locks, "session")
    print("two holders")
except SessionBusy:
    print(f"{len(third)} holder")
"""

KILLED = """
import asyncio, os, signal, subprocess, sys
from pathlib import Path
from ragforge.store.sqlite.claims import FileClaim

claim = FileClaim.take(Path(sys.argv[1]), "session")
files = {int(fd): os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")}
[lock] = [fd for fd, path in files.items() if path.endswith(".lock")]
# As a process that has been forked and does not run its program yet.
started = subprocess.Popen(["cat"], stdin=0, pass_fds=[lock])
print(started.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_lock_that_its_holder_removed_is_nobodys(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", RACE, str(tmp_path / "locks")], capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("1 holder\n", "")


async def test_no_name_leads_a_claim_out_of_its_folder(tmp_path: Path) -> None:
    claim = FileClaim.take(tmp_path / "a" / "locks", "../../outside")
    [made] = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert made.parent == tmp_path / "a" / "locks"
    await claim.release()


async def test_who_holds_a_claim_is_told_over_what_a_killed_holder_left(tmp_path: Path) -> None:
    (tmp_path / "session.lock").write_text("x" * 500)
    claim = FileClaim.take(tmp_path, "session")
    with pytest.raises(SessionBusy, match=f"process {os.getpid()} on"):
        FileClaim.take(tmp_path, "session")
    await claim.release()


async def test_what_a_killed_holder_was_starting_keeps_nobody_out(tmp_path: Path) -> None:
    killed = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert killed.stdout is not None
    started = int(killed.stdout.readline())
    killed.wait()
    with pytest.raises(SessionBusy) as refused:
        FileClaim.take(tmp_path, "session")
    assert refused.value.ended
    waiting = asyncio.create_task(FileClaim.obtain(tmp_path, "session"))
    await asyncio.sleep(0)  # it has found the lock held
    assert not waiting.done()
    os.kill(started, signal.SIGKILL)
    await (await waiting).release()
    killed.communicate()
