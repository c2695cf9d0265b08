"""Reading a TOML file that a person, or a stranger, wrote."""

import stat
import tomllib
from pathlib import Path
from typing import Any

from ragforge.domain.errors import UsageError

_BYTES_MAX = 1_000_000


def read_toml(file: Path) -> dict[str, Any]:
    """The file's tables; empty where there is no file. Raises UsageError that names file and line."""
    text = read_text(file)
    if text is None:
        return {}
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise UsageError(f"{file}: its values are nested too deeply. Correct the file.") from error
    except ValueError as error:  # also an integer of thousands of digits, which is no TOMLDecodeError
        raise UsageError(f"{file} is not valid TOML: {error}. Correct the file.") from error


def read_text(file: Path) -> str | None:
    """The file's text without a byte order mark, or None where there is no file. Raises UsageError."""
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{file} is not a file. Remove it, or put settings in its place.")
        if status.st_size > _BYTES_MAX:
            raise UsageError(f"{file} is larger than 1 MB, which no settings are. Make it smaller.")
        return file.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"Cannot read {file}: {reason}. Make it readable, or remove it.") from error
