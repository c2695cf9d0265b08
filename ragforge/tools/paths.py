"""Resolve the paths that a model writes, and say where they are."""

import errno
import os
from pathlib import Path

from ragforge.domain.errors import UsageError
from ragforge.domain.printable import escaped
from ragforge.tools.base import ToolContext


def resolve(path_text: str, ctx: ToolContext) -> Path:
    """Return the absolute path, links resolved, whether or not it exists. `~` and relative paths work.

    Raises UsageError if no file can have such a path: empty, NUL, too long, a loop of links.
    """
    if not path_text.strip():
        raise UsageError("The path is empty. Give the path of a file or folder.")
    if "\0" in path_text:
        raise UsageError("The path contains a NUL character. Remove it.")
    shown = repr(path_text if len(path_text) <= 80 else path_text[:77] + "...")
    try:
        path = Path(os.path.realpath(ctx.cwd / Path(path_text).expanduser()))
    except RuntimeError as error:
        raise UsageError(f"The home folder {shown} is unknown. Write the full path.") from error
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The path {shown} contains characters that are not allowed in file names."
        ) from error
    looped = f"The path {shown} is a symbolic link that leads back to itself."
    # Nothing is resolved after a loop: `loop/../link` comes out as `link`, which may lead anywhere.
    if os.path.realpath(path) != str(path):
        raise UsageError(looped)
    # Resolving skips what it cannot follow; a stat says why.
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UsageError(f"The path is too long for this system: {shown}") from error
        if error.errno == errno.ELOOP:
            raise UsageError(looped) from error
    return path


def display(path: Path, ctx: ToolContext) -> str:
    """Return the path as the model and the user read it: relative to the folder if it is inside it."""
    return escaped(relative(path, ctx))


def relative(path: Path, ctx: ToolContext) -> str:
    """Return the path as it is, relative to the folder if it is inside it."""
    return str(path.relative_to(ctx.cwd)) if path.is_relative_to(ctx.cwd) else str(path)
