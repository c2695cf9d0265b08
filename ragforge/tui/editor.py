"""Edit the draft in the user's own editor."""

import asyncio
import shlex
import shutil
import signal
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from textual.app import App, SuspendNotSupported

_FALLBACKS = ("nano", "vim", "vi")
MESSAGE = "message.md"


class Edited(Struct, frozen=True):
    """The result: the text, or None if the draft is unchanged, and a notice if necessary."""

    text: str | None
    notice: str = ""


async def edit(text: str, app: App[Any], *, env: Mapping[str, str], name: str = MESSAGE) -> Edited:
    """Return the edited text. The app is suspended meanwhile; its background work continues.

    env: the editor's environment. name: the name of the file.
    On any error, the draft is kept.
    """
    try:
        # batch_update: drawing while suspended would wait for ever for the terminal's writer.
        with app.batch_update(), app.suspend(), _interrupts_ignored():
            return await asyncio.to_thread(edit_file, text, env, name)
    except SuspendNotSupported:
        return Edited(None, "Editors cannot take over this terminal. The draft is unchanged.")


def edit_file(text: str, env: Mapping[str, str], file_name: str = MESSAGE) -> Edited:
    """Return the text from the editor, which has the terminal until it ends."""
    import subprocess  # here, because it is rarely needed

    command = editor_command(env)
    if not command:
        return Edited(None, "No editor: set EDITOR, e.g. EDITOR=nano. The draft is unchanged.")
    name = " ".join(command)
    try:
        # A folder of mode 0700: the draft is private.
        with tempfile.TemporaryDirectory(prefix="ragforge-") as folder:
            path = Path(folder) / file_name
            path.write_text(text, encoding="utf-8", newline="")
            code = subprocess.run([*command, str(path)], env=dict(env), check=False).returncode
            if code != 0:
                return Edited(None, f"{name} ended with code {code}. The draft is unchanged.")
            saved = path.read_bytes().decode("utf-8")
            # An editor ends the last line, which may have had no end before.
            return Edited(saved if text.endswith("\n") else saved.removesuffix("\n"))
    except FileNotFoundError as error:
        missing = "there is no such program" if error.filename == command[0] else "its file no longer exists"
        return Edited(None, f"Cannot edit with {name}: {missing}. The draft is unchanged.")
    except OSError as error:
        return Edited(None, f"Cannot edit with {name}: {error.strerror}. The draft is unchanged.")
    except UnicodeDecodeError:
        return Edited(None, f"What {name} saved is not UTF-8. The draft is unchanged.")


def editor_command(env: Mapping[str, str]) -> list[str]:
    """Return the command of $VISUAL, $EDITOR or a usual editor, as words; empty if there is none."""
    for name in ("VISUAL", "EDITOR"):
        if value := env.get(name, "").strip():
            try:
                return shlex.split(value)
            except ValueError:
                return [value]
    return [name for name in _FALLBACKS if shutil.which(name, path=env.get("PATH"))][:1]


@contextmanager
def _interrupts_ignored() -> Generator[None]:
    """Ctrl+C in the editor reaches the whole process group; it is not for us.

    A handler that does nothing, not SIG_IGN: the editor would inherit that one.
    """
    before = signal.signal(signal.SIGINT, lambda signum, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
