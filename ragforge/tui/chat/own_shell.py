"""The user's own `!command`, in the real terminal."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from ragforge.tui.textual_types import app_of

if TYPE_CHECKING:
    from ragforge.tui.chat.frame import ChatFrame


async def run_shell(chat: ChatFrame, command: str) -> None:
    """Hand the terminal to the command, then come back. The command gets no keys of ours."""
    from ragforge.session.instructions import written_here  # the session loads it

    conversation = chat.ready()
    cwd, env = conversation.session.cwd, conversation.workspace.child_env
    try:
        async with written_here(conversation.session, command=command):
            code = await _in_terminal(chat, command, cwd, env)
    except SuspendNotSupported:
        chat.say("This terminal cannot be handed to a command.")
    except OSError as error:
        chat.say(f"{command} could not be run: {error.strerror}.")
    else:
        chat.say(f"! {command}  (exit {code})")


async def _in_terminal(chat: ChatFrame, command: str, cwd: Path, env: Mapping[str, str]) -> int:
    with app_of(chat).batch_update(), app_of(chat).suspend(), _keys_are_the_commands():
        return await asyncio.to_thread(_run, command, cwd, env)


def _run(command: str, cwd: Path, env: Mapping[str, str]) -> int:
    shell = env.get("SHELL") or "/bin/sh"
    print(f"$ {command}", flush=True)  # noqa: T201 - the terminal is the user's now
    code = subprocess.run([shell, "-c", command], cwd=cwd, env=env, check=False).returncode
    with suppress(EOFError):  # Ctrl+D returns as well
        input(f"[exit {code}] Enter returns to ragforge ")
    return code


@contextmanager
def _keys_are_the_commands() -> Generator[None]:
    """Ctrl+C and Ctrl+\\ end the command and not ragforge.

    A handler that does nothing, not SIG_IGN: a child would inherit that.
    """
    numbers = (signal.SIGINT, signal.SIGQUIT)
    before = [signal.signal(number, _let_pass) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _let_pass(number: int, frame: FrameType | None) -> None:
    """The command got the signal too, and does with it what it does."""
