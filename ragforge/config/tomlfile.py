"""TOML files on disk: reading what a user, or a stranger, wrote; replacing a file atomically."""

import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from ragforge.config.paths import make_private, sync_folder
from ragforge.domain.errors import UsageError, remedy

_BYTES_MAX = 1_000_000


def read_toml(file: Path) -> dict[str, Any]:
    """Return the file's tables; empty if there is no file. Raises UsageError that names file and line."""
    text = read_text(file)
    if text is None:
        return {}
    import tomllib  # most starts find no file

    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise UsageError(f"{file}: its values are nested too deeply. Correct the file.") from error
    except ValueError as error:  # also an integer of thousands of digits, which is not a TOMLDecodeError
        raise UsageError(f"{file} is not valid TOML: {error}. Correct the file.") from error


def read_text(file: Path) -> str | None:
    """Return the text without a byte order mark, or None if there is no file. Raises UsageError."""
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{file} is not a file. Remove it, or put settings in its place.")
        if status.st_size > _BYTES_MAX:
            raise UsageError(f"{file} is larger than 1 MB, too large for settings. Make it smaller.")
        return file.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"Cannot read {file}: {reason}. Make it readable, or remove it.") from error


def write_text(file: Path, text: str, *, mode: int | None = None) -> None:
    """Replace the file atomically and durably; a crash leaves the old or the new one. Raises UsageError.

    mode: of the new file; None keeps that of the old one, 0600 if there is none.
    """
    # Settings are often a link into a repository of dotfiles: the link's target is replaced.
    file = file.resolve()
    folder = make_private(file.parent)
    try:
        if mode is None:
            mode = stat.S_IMODE(file.stat().st_mode) if file.exists() else 0o600
        handle, name = tempfile.mkstemp(dir=folder, prefix=f".{file.name}-")  # made with mode 0600
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
                out.write(text)
                out.flush()
                os.fchmod(out.fileno(), mode)
                os.fsync(out.fileno())
            temporary.replace(file)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(folder)
    except (OSError, UnicodeError) as error:
        if not isinstance(error, OSError):
            raise UsageError(f"Cannot write {file}: {error}.") from error
        raise UsageError(f"Cannot write {file}: {error.strerror}. {remedy(error)} and try again.") from error
