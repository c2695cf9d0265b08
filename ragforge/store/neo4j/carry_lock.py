"""Only one process of a machine carries rows at a time, so that they stay in order; the others learn which.

It is a lock of the operating system, which ends with its process. A suspended process keeps it.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreUnavailable, remedy
from ragforge.files.locks import Holder, holder_of, open_lock, sign, try_lock


@asynccontextmanager
async def alone(path: Path, *, held: Callable[[str], object]) -> AsyncGenerator[None, None]:
    """Hold the file's lock. held: receives who has it if that takes long, and the empty text at the end.

    Raises StoreUnavailable if the file cannot be written.
    """
    try:
        descriptor = open_lock(path)
    except OSError as error:
        raise StoreUnavailable(
            f"Cannot lock {path}: {error.strerror}. {remedy(error)}; the rows keep waiting until then."
        ) from error
    try:
        told_at_s = monotonic() + timeouts.NEO4J_CARRY_LOCK_TOLD_AFTER_S
        # A lock of the operating system notifies nobody when it is free.
        while not try_lock(descriptor):
            is_long = monotonic() > told_at_s
            if is_long:
                held(_held_words(holder_of(descriptor)))
            await asyncio.sleep(
                timeouts.NEO4J_CARRY_LOCK_HELD_POLL_S if is_long else timeouts.NEO4J_CARRY_LOCK_POLL_S
            )
        sign(descriptor)
        held("")
        yield
    finally:
        os.close(descriptor)


def _held_words(holder: Holder | None) -> str:
    if holder is None:
        return "another process of this machine is sending rows and does not finish"
    what = "is suspended: continue it (fg), or end it" if _is_suspended(holder.pid) else "does not end"
    return f"process {holder.pid} has been sending rows since {holder.since} and {what}"


def _is_suspended(pid: int) -> bool:
    """Whether the process is stopped, as by Ctrl+Z; unknown if the system has no /proc."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state == "T"
