"""File locks, which the operating system releases with their process, and their holders."""

import fcntl
import json
import os
import socket
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreUnavailable, remedy
from ragforge.domain.ids import new_id, now
from ragforge.domain.words import moment_words

HOLDER_BYTES_MAX = 1000


class Holder(Struct, frozen=True):
    """Who has locked a file, according to the file; since when, in words."""

    pid: int
    host: str
    since: str


def open_lock(path: Path, *, flags: int = 0) -> int:
    """Return a descriptor of the file, created if it is missing. Raises OSError."""
    return os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | flags, 0o600)


def try_lock(descriptor: int) -> bool:
    """Lock the file unless another descriptor has it locked; return whether that worked. Raises OSError."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sign(descriptor: int) -> None:
    """Write the holder into the locked file. Raises OSError."""
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": now().isoformat(timespec="seconds")}
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(holder).encode(), 0)


def holder_of(descriptor: int) -> Holder | None:
    """Return who has locked the file; None if it does not say."""
    try:
        found = json.loads(os.pread(descriptor, HOLDER_BYTES_MAX, 0))
        since = moment_words(datetime.fromisoformat(found["since"]))
        return Holder(int(found["pid"]), str(found["host"]), since)
    except (ValueError, KeyError, TypeError, OverflowError):
        # Locked an instant ago and not signed yet, or the file was tampered with.
        return None


def has_ended(holder: Holder) -> bool:
    """Return whether the holder was a process of this machine that no longer runs."""
    if holder.host != socket.gethostname():
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


class Presence:
    """A named sign that the process is alive, until `end`, which others can check.

    A process id would not work: ids are reused, and each container counts its own.
    """

    def __init__(self, folder: Path) -> None:
        """Create the sign, a locked file in the folder. Raises StoreUnavailable if that is impossible."""
        self.name = new_id()
        self._path = _path(folder, self.name)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor: int | None = open_lock(self._path, flags=os.O_EXCL)
            try_lock(self._descriptor)
        except OSError as error:
            raise cannot_lock(self._path, error) from error
        with suppress(OSError):  # without it a killed process counts as alive for a moment longer
            sign(self._descriptor)

    def end(self) -> None:
        """Remove the sign. May be called twice."""
        if self._descriptor is None:
            return
        with suppress(OSError):
            self._path.unlink()
        os.close(self._descriptor)
        self._descriptor = None


def is_present(folder: Path, name: str) -> bool:
    """Whether the process of this sign is alive. Removes what a dead process left.

    A moment is waited for the lock of a process that was killed: what it was starting has the lock as well
    until it runs its program. Raises StoreUnavailable if that cannot be determined.
    """
    path = _path(folder, name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise cannot_lock(path, error) from error
    try:
        until = time.monotonic() + timeouts.CLAIM_LEFT_S_MAX
        while not _try_shared(descriptor):
            holder = holder_of(descriptor)
            if holder is None or not has_ended(holder) or time.monotonic() > until:
                return True
            time.sleep(timeouts.CLAIM_LEFT_POLL_S)
        with suppress(OSError):
            path.unlink()
        return False
    except OSError as error:
        raise cannot_lock(path, error) from error
    finally:
        os.close(descriptor)


def _try_shared(descriptor: int) -> bool:
    """Lock it as others can who look at the same time: they must not take each other for the living one."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _path(folder: Path, name: str) -> Path:
    return folder / f"history-{name}.lock"


def cannot_lock(path: Path, error: OSError) -> StoreUnavailable:
    """Return the error for a lock that cannot be made or read."""
    return StoreUnavailable(f"Cannot lock {path}: {error.strerror}. {remedy(error)} and try again.")
