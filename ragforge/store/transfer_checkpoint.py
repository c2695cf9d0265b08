"""The progress of a copy, in a small file of this machine: what has arrived is not sent again."""

import hashlib
import os
from pathlib import Path

from ragforge.domain.errors import StoreUnavailable

DIGEST_CHARS = 64


class Checkpoint:
    """The digests of the chunks that arrived, one per line. Losing the file only costs time."""

    def __init__(self, file: Path) -> None:
        """Raises StoreUnavailable if the file cannot be used."""
        self._file = file
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = file.read_text("ascii", "replace").split("\n") if file.exists() else []
            # A line that was being written when the process died is not a digest; a new line is started.
            self._known = {line for line in found if len(line) == DIGEST_CHARS}
            self.is_resumed = bool(self._known)
            """Whether there is an earlier copy that this one continues."""
            self._out = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
            if found and found[-1]:
                os.write(self._out, b"\n")
        except OSError as error:
            raise _cannot_write(file, error) from error

    @classmethod
    def between(cls, folder: Path, source: str, target: str) -> "Checkpoint":
        """Return that of copies from one database to another, each by its identification."""
        name = hashlib.sha256(f"{source}\n{target}".encode("utf-8", "replace")).hexdigest()[:32]
        return cls(folder / "copies" / name)

    def __contains__(self, digest: str) -> bool:
        return digest in self._known

    def add(self, digest: str) -> None:
        """Record that the chunk has arrived."""
        if digest in self._known:
            return
        self._known.add(digest)
        try:
            os.write(self._out, f"{digest}\n".encode("ascii"))
        except OSError as error:
            raise _cannot_write(self._file, error) from error

    def forget(self) -> None:
        """Start again: everything has arrived and was verified, or what should have arrived is missing."""
        self._known.clear()
        os.ftruncate(self._out, 0)

    def close(self) -> None:
        """Release the file; an empty one is removed."""
        if not os.fstat(self._out).st_size:
            self._file.unlink(missing_ok=True)
        os.close(self._out)


def _cannot_write(file: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"Cannot write {file}: {error.strerror}. Make it writable and try again.")
