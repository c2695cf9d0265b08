"""The user's own `!command`: its output is shown in the conversation, and sent with the next message."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from ragforge.domain.errors import RagforgeError
from ragforge.domain.ids import new_id
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.turn_record import OWN, Called, own_call

if TYPE_CHECKING:
    from ragforge.tui.chat.frame import ChatFrame


class OwnShell:
    """Runs the user's commands, also several at once. Esc ends the newest."""

    def __init__(self, chat: ChatFrame) -> None:
        self._chat = chat
        self._running: list[asyncio.Event] = []
        """What ends each running one, the newest last."""

    def start(self, command: str, *, for_model: bool) -> None:
        """Run it, in a worker: keys must not wait for it."""
        self._chat.run_worker(self._run(command, for_model=for_model), group="shell")

    def stop(self) -> bool:
        """End the newest running one; return whether there was one."""
        running = [stop for stop in self._running if not stop.is_set()]
        if running:
            running[-1].set()
        return bool(running)

    async def _run(self, command: str, *, for_model: bool) -> None:
        # The session loads it.
        from ragforge.session.shell_commands import needs_terminal

        chat = self._chat
        if needs_terminal(command):
            await _hand_over(chat, command)
            return
        chat.start_list.close()
        stop = asyncio.Event()
        self._running.append(stop)
        try:
            with chat.parts.live.during(f"running {command}", ends_at_esc=lambda: True):
                await self._follow(command, stop, for_model=for_model)
        except (RagforgeError, OSError, ValueError) as error:
            chat.say(f"{command} could not be run: {error}")
        finally:
            self._running.remove(stop)

    async def _follow(self, command: str, stop: asyncio.Event, *, for_model: bool) -> None:
        """Run it to its end, showing its output meanwhile."""
        from ragforge.session.shell_commands import run_shell

        chat = self._chat
        entry = Called(new_id(), OWN, {"command": command}, started_s=monotonic())
        chat.transcript.add_call(entry)

        def take(text: str) -> None:
            entry.take(text)
            chat.transcript.redraw_soon(entry)

        try:
            ended = await run_shell(
                chat.ready().session, command, on_output=take, stop=stop, for_model=for_model
            )
        except BaseException:
            entry.cut_off = True
            raise
        finally:
            if chat.is_drawn:
                chat.transcript.redraw_soon(entry)
        chat.ran.append(ended.part.id)
        entry.call = own_call(ended.part, status=ended.status, took_ms=ended.took_ms)
        if not for_model:
            entry.summary = f"{command} (kept from the model)"


async def _hand_over(chat: ChatFrame, command: str) -> None:
    """Give the terminal to a program that needs it, then return. The program gets no keys of ours."""
    from ragforge.session.instructions import written_here  # the session loads it

    conversation = chat.ready()
    cwd, env = conversation.session.cwd, conversation.workspace.child_env
    try:
        async with written_here(conversation.session, command=command):
            code = await _in_terminal(chat, command, cwd, env)
    except SuspendNotSupported:
        chat.say("Commands cannot take over this terminal.")
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
    """The command receives the signal too, and handles it."""
