"""Read an image from the system's clipboard, with whichever of the usual programs exists."""

import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ragforge.config.paths import make_private
from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.files.atomic import hash_of, write_atomic
from ragforge.files.images import image_mime
from ragforge.tui.mentions import check_size, mention

_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
"""In the order of preference: most programs offer PNG."""
NO_PROGRAM = (
    "No program that reads images from the clipboard is on your PATH. Install wl-clipboard (Wayland) or "
    "xclip (X11), or save the image and write @ and its path."
)
NO_DISPLAY = "There is no desktop clipboard here to read from. Save the image and write @ and its path."


class _Program(Struct, frozen=True):
    """A program for one kind of desktop.

    variable: set if there is such a desktop. lists: the arguments to list what the clipboard offers.
    reads: those to read it as the type that is put after them, then `ends`.
    """

    variable: str
    name: str
    lists: Sequence[str]
    reads: Sequence[str]
    ends: Sequence[str] = ()


_PROGRAMS = (
    _Program("WAYLAND_DISPLAY", "wl-paste", ("--list-types",), ("--type",)),
    _Program(
        "DISPLAY",
        "xclip",
        ("-selection", "clipboard", "-t", "TARGETS", "-o"),
        ("-selection", "clipboard", "-t"),
        ("-o",),
    ),
)
_MAC_SCRIPT = "the clipboard as «class PNGf»"
_MAC_BEGIN, _MAC_END = "«data PNGf", "»"
_KEPT_DAYS_MAX = 30


def read_image(env: Mapping[str, str], *, platform: str = sys.platform) -> bytes:
    """Return the image in the clipboard, or nothing if it has no image. Blocks: call it in a thread.

    Raises UsageError, with a sentence for the user, if the clipboard cannot be read.
    """
    if platform == "darwin":
        return _read_on_mac(env)
    desktops = [program for program in _PROGRAMS if env.get(program.variable)]
    if not desktops:
        raise UsageError(NO_DISPLAY)
    for program in desktops:
        if path := shutil.which(program.name, path=env.get("PATH")):
            return _read_by(program, path, env)
    raise UsageError(NO_PROGRAM)


def keep_image(content: bytes, folder: Path) -> str:
    """Save an image from the clipboard, and return its mention. Raises UsageError if that fails.

    The message that it is sent with stores it for good, so the file may be removed after a month. Blocks.
    """
    check_size("The image in the clipboard", len(content))
    path = make_private(folder) / f"clipboard-{hash_of(content)[:12]}.{image_mime(content).partition('/')[2]}"
    try:
        for old in folder.glob("clipboard-*"):
            if old.stat().st_mtime < time.time() - _KEPT_DAYS_MAX * 86_400:
                old.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        write_atomic(path, content, expected=None)
    except OSError as error:
        raise UsageError(f"Cannot keep the image in {folder}: {error.strerror}.") from error
    return mention(path.name)


def _read_by(program: _Program, path: str, env: Mapping[str, str]) -> bytes:
    offered = _output((path, *program.lists), env).decode(errors="replace").split()
    wanted = next((mime for mime in _TYPES if mime in offered), "")
    if not wanted:
        return b""
    return _checked(_output((path, *program.reads, wanted, *program.ends), env))


def _read_on_mac(env: Mapping[str, str]) -> bytes:
    if path := shutil.which("pngpaste", path=env.get("PATH")):
        return _checked(_output((path, "-"), env))
    if path := shutil.which("osascript", path=env.get("PATH")):
        told = _output((path, "-e", _MAC_SCRIPT), env).decode(errors="replace").strip()
        if told.startswith(_MAC_BEGIN) and told.endswith(_MAC_END):
            return _checked(bytes.fromhex(told[len(_MAC_BEGIN) : -len(_MAC_END)]))
        return b""
    raise UsageError("Pasting images needs pngpaste or osascript, and neither is on your PATH.")


def _output(command: Sequence[str], env: Mapping[str, str]) -> bytes:
    """Return the program's output; nothing if it fails, as with an empty clipboard."""
    try:
        done = subprocess.run(
            command,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeouts.CLIPBOARD_S_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"{command[0]} did not answer for {timeouts.CLIPBOARD_S_MAX:g} s. Copy the image and paste it "
            "again."
        ) from error
    except OSError as error:
        raise UsageError(f"Cannot run {command[0]}: {error.strerror}.") from error
    return done.stdout if done.returncode == 0 else b""


def _checked(content: bytes) -> bytes:
    """Return the content if it is an image: a program may call something else one."""
    return content if image_mime(content) else b""
