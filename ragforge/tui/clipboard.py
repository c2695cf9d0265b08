"""Copy to the system's clipboard if there is one here, else to the terminal by OSC 52."""

import base64
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from textual.app import App

from ragforge.domain import timeouts
from ragforge.domain.words import counted

OSC52_BASE64_MAX = 100_000
"""The limit of hterm, and of tools that support every terminal; longer texts are dropped silently."""
OSC52_BYTES_MAX = OSC52_BASE64_MAX // 4 * 3


def copy(
    text: str,
    app: App[Any],
    *,
    env: Mapping[str, str] = os.environ,
    system: Callable[[str], None] | None = None,
) -> str:
    """Copy the text; return a sentence that says what was done, since its arrival is not always known.

    An App that overrides `copy_to_clipboard` may call this: it uses Textual's own method for the terminal.
    """
    if not text:
        return "Nothing to copy."
    if is_local(env):
        try:
            (system or _system_copy)(text)
        except Exception:
            # pyperclip raises its own errors and those of its program; then the terminal is used.
            return _send(text, app, env)
        return f"Copied {_size(text)}."
    return _send(text, app, env)


def is_local(env: Mapping[str, str]) -> bool:
    """Whether the clipboard of this machine is the user's."""
    if any(env.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT", "TMUX", "STY")):
        return False
    return sys.platform == "darwin" or any(
        env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
    )


def _send(text: str, app: App[Any], env: Mapping[str, str]) -> str:
    if len(base64.b64encode(text.encode())) > OSC52_BASE64_MAX:
        return (
            f"Not copied: {_size(text)} is more than terminals accept ({OSC52_BYTES_MAX:,} bytes). "
            "Copy a part of it, or use /export."
        )
    App[Any].copy_to_clipboard(app, text)
    if env.get("TMUX") and _tmux_copy(text, env):
        return f"Sent {_size(text)} to tmux and the terminal."
    return f"Sent {_size(text)} to the terminal."


def _tmux_copy(text: str, env: Mapping[str, str]) -> bool:
    """Copy by tmux's own command: with its default settings it ignores the OSC 52 of programs inside it."""
    try:
        done = subprocess.run(
            ["tmux", "load-buffer", "-w", "-"],
            input=text.encode(),
            env=dict(env),
            capture_output=True,
            timeout=timeouts.TMUX_S_MAX,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _system_copy(text: str) -> None:
    # Searches for programs when imported, which only copying needs.
    import pyperclip

    pyperclip.copy(text)


def _size(text: str) -> str:
    lines = text.count("\n") + 1
    return counted(lines, "line") if lines > 1 else counted(len(text), "character")
