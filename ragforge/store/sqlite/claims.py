"""The right to write a session: a lock of the operating system, which ends with the process."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ragforge.domain import timeouts
from ragforge.domain.errors import SessionBusy, StoreUnavailable, remedy
from ragforge.domain.ids import short_id
from ragforge.files.locks import Holder, has_ended, holder_of, open_lock, sign, try_lock


class FileClaim:
    """Implements `Claim` by a locked file that names the holder."""

    def __init__(self, path: Path, descriptor: int, on_release: Callable[[], object]) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        self._on_release = on_release

    @classmethod
    def take(
        cls, lock_dir: Path, session_id: str, *, on_release: Callable[[], object] = lambda: None
    ) -> "FileClaim":
        """Take the claim. Raises SessionBusy while another process, or this one, holds it."""
        # A user may have typed the id; it must not lead out of the folder.
        name = "".join(char if char.isalnum() else "-" for char in session_id)
        path = lock_dir / f"{name}.lock"
        try:
            lock_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            return cls(path, _locked(path, session_id), on_release)
        except OSError as error:
            raise StoreUnavailable(
                f"Cannot lock the session: {path}: {error.strerror}. {remedy(error)} and try again."
            ) from error

    @classmethod
    async def obtain(
        cls, lock_dir: Path, session_id: str, *, on_release: Callable[[], object] = lambda: None
    ) -> "FileClaim":
        """Take the claim like `take`; wait a moment for the lock of a process that was killed.

        A process it was just starting holds the lock too, until it runs its program.
        """
        until = time.monotonic() + timeouts.CLAIM_LEFT_S_MAX
        while True:
            try:
                return cls.take(lock_dir, session_id, on_release=on_release)
            except SessionBusy as busy:
                if not busy.ended or time.monotonic() > until:
                    raise
            await asyncio.sleep(timeouts.CLAIM_LEFT_POLL_S)

    @property
    def lost(self) -> str:
        """Always empty: the operating system takes a lock from nobody."""
        return ""

    async def release(self) -> None:
        if self._descriptor is None:
            return
        # Removed while still locked, so that nobody can have locked what is removed.
        with suppress(OSError):
            self._path.unlink()
        os.close(self._descriptor)
        self._descriptor = None
        self._on_release()


def _locked(path: Path, session_id: str) -> int:
    while True:
        descriptor = open_lock(path)
        try:
            if not try_lock(descriptor):
                holder = holder_of(descriptor)
                raise SessionBusy(
                    f"Session {short_id(session_id)} is being written by {_words(holder)}. "
                    "Close it there, or fork it.",
                    holder=_words(holder),
                    ended=holder is not None and has_ended(holder),
                )
            if _is_still(path, descriptor):
                sign(descriptor)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        # Its last holder removed it between our opening and our locking: there is a new one.
        os.close(descriptor)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(descriptor))


def _words(holder: Holder | None) -> str:
    return f"process {holder.pid} on {holder.host} since {holder.since}" if holder else "another process"
