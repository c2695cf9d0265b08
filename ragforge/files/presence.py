"""Whether a process that wrote something down still lives: by a lock, which the system ends with the process.

A process id would not do: ids are used again, and each container counts its own.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.ids import new_id


class Presence:
    """A sign of life under a name of its own, until `end` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        """Give the sign, as a locked file in the folder. Raises StoreUnavailable where none can be made."""
        self.name = new_id()
        self._path = _path(folder, self.name)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor: int | None = os.open(
                self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600
            )
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise _unusable(self._path, error) from error

    def end(self) -> None:
        """Take the sign away; doing so twice is harmless."""
        if self._descriptor is None:
            return
        with suppress(OSError):
            self._path.unlink()
        os.close(self._descriptor)
        self._descriptor = None


def is_present(folder: Path, name: str) -> bool:
    """Whether the sign of this name is still given. What a dead process left is removed.

    Raises StoreUnavailable where that cannot be found out.
    """
    path = _path(folder, name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        # Shared, so that two who look at the same time do not take each other for the living one.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        raise _unusable(path, error) from error
    else:
        with suppress(OSError):
            path.unlink()
        return False
    finally:
        os.close(descriptor)


def _path(folder: Path, name: str) -> Path:
    return folder / f"history-{name}.lock"


def _unusable(path: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"Cannot lock {path}: {error.strerror}. Make its folder writable and try again.")
