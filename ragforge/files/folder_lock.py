"""One lock per folder: restores and tool writes of all sessions and processes run one after the other."""

import asyncio
import fcntl
import hashlib
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.files.locks import Holder, cannot_lock, holder_of, open_lock, sign, try_lock


class FolderBusy(UsageError):
    """Another session is changing files of the folder; `holder` says which process, and since when."""

    def __init__(self, message: str, *, holder: str) -> None:
        super().__init__(message)
        self.holder = holder


@asynccontextmanager
async def folder_lock(data_dir: Path, root: Path, *, timeout_s: float) -> AsyncGenerator[None]:
    """Hold the folder exclusively: no other session, in this or another process, restores or writes in it.

    The lock ends with the process, however it dies. It is not reentrant. root: the project's folder, by any
    path.
    Raises FolderBusy if it is not free within this many seconds, StoreUnavailable if locking is impossible.
    """
    path = lock_path(data_dir, root)
    try:
        # Not in a thread: one that is cancelled would leave the file open.
        descriptor = _opened(path)
    except OSError as error:
        raise cannot_lock(path, error) from error
    try:
        await _taken(descriptor, path, root, timeout_s)
        try:
            yield
        finally:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
            # Closing would not be enough: a command started just now may hold a copy until it begins.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def lock_path(data_dir: Path, root: Path) -> Path:
    """Return the lock file of a folder."""
    # By a hash, because the folder's own path may be longer than a name can be.
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]
    return data_dir / "locks" / f"folder-{name}.lock"


def _opened(path: Path) -> int:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return open_lock(path, flags=os.O_NOFOLLOW)


async def _taken(descriptor: int, path: Path, root: Path, timeout_s: float) -> None:
    # Asked for again and again rather than waited for: a thread that waits could not be ended.
    until, pause_s = time.monotonic() + timeout_s, timeouts.VERSIONS_LOCK_POLL_S_MIN
    while True:
        try:
            is_ours = try_lock(descriptor)
        except OSError as error:
            raise cannot_lock(path, error) from error
        if is_ours:
            # It only tells others whom they wait for: the lock holds on a full disk too.
            with suppress(OSError):
                sign(descriptor)
            return
        if time.monotonic() >= until:
            holder = _words(holder_of(descriptor))
            raise FolderBusy(
                f"The files of {root} are being changed by {holder}. Nothing was changed here. Wait until "
                "it has finished, or stop it there, and try again.",
                holder=holder,
            )
        await asyncio.sleep(min(pause_s, max(0.0, until - time.monotonic())))
        pause_s = min(2 * pause_s, timeouts.VERSIONS_LOCK_POLL_S_MAX)


def _words(holder: Holder | None) -> str:
    if holder is None:
        return "another process"
    who = "another session of this process" if holder.pid == os.getpid() else "another process"
    return f"{who} ({holder.pid}) since {holder.since}"
