"""The user's own `!command`: run in the session's folder, its output saved for the next message.

It waits on this machine until that message is stored, and is a part of it from then on: it is undone,
redone and resumed with it. A message whose words return to the prompt gives its commands back too.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import PurePath

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.ids import new_id
from ragforge.domain.messages import CommandPart, Parts, commands_in
from ragforge.domain.turns import CallStatus, Turn
from ragforge.session.instructions import written_here
from ragforge.session.state import Session
from ragforge.shell.process import start_shell
from ragforge.shell.process_output import OutputBuffer
from ragforge.store.local.prompts import commands_key
from ragforge.tools.limits import RESULT_CHARS_MAX, cut_result
from ragforge.tools.shell import HEAD_CHARS_MAX, TAIL_CHARS_MAX, child_env, describe_exit

OUTPUT_CHARS_MAX = 20_000_000
"""A command with more output is stopped: it might never end."""
NEED_TERMINAL = frozenset(
    (
        *("vi", "vim", "nvim", "emacs", "nano", "micro", "helix", "hx", "kak", "ed"),
        *("less", "more", "man", "top", "htop", "btop", "watch", "tig", "lazygit", "gitui", "fzf", "k9s"),
        *("ssh", "mosh", "telnet", "sudo", "su", "doas", "passwd", "tmux", "screen"),
        *("psql", "mysql", "redis-cli", "cypher-shell", "gdb", "ipython"),
    )
)
"""Programs that ask for keys or draw a screen of their own."""


class ShellRun(Struct, frozen=True):
    """How a command ended: its output, how long it took, and what the model is told of it."""

    text: str
    status: CallStatus
    took_ms: int
    part: CommandPart


def needs_terminal(command: str) -> bool:
    """Whether its program needs the terminal for itself."""
    words = [word for word in command.split() if "=" not in word]
    return bool(words) and PurePath(words[0]).name in NEED_TERMINAL


async def run_shell(
    session: Session, command: str, *, on_output: Callable[[str], None], stop: asyncio.Event, for_model: bool
) -> ShellRun:
    """Run it to its end, or until `stop` is set; the output so far is kept.

    for_model: its output goes with the next message. Raises OSError or ValueError if it cannot start,
    StoreError if its output cannot be stored.
    """
    began_s = time.monotonic()
    output = _Output(on_output, stop)
    async with written_here(session, command=command):
        ending, status = await _run(session, command, output, stop)
    took_s = time.monotonic() - began_s
    said = output.buffer.text().rstrip("\n") or "(no output)"
    # For 2 MB it takes a second, in which no key would be drawn.
    text = await asyncio.to_thread(
        session.workspace.redactor.text, f"{said}\n\n[{ending} after {took_s:.1f} s.]"
    )
    part = await _part(session, command, text)
    if for_model:
        session.live.commands = [*session.live.commands, part]
        await _keep(session)
    return ShellRun(text, status, round(took_s * 1000), part)


class _Output:
    """Receives the command's output, up to a limit, and stops the command there."""

    def __init__(self, on_output: Callable[[str], None], stop: asyncio.Event) -> None:
        self.buffer = OutputBuffer(head_chars_max=HEAD_CHARS_MAX, tail_chars_max=TAIL_CHARS_MAX)
        self.is_too_much = False
        self._on_output = on_output
        self._stop = stop
        self._room = OUTPUT_CHARS_MAX

    def take(self, text: str) -> None:
        """Keep and show it, while there is room."""
        if self.is_too_much:
            return
        self._room -= len(text)
        self.buffer.append(text)
        self._on_output(text)
        if self._room <= 0:
            self.is_too_much = True
            self._stop.set()


async def _run(
    session: Session, command: str, output: _Output, stop: asyncio.Event
) -> tuple[str, CallStatus]:
    """Return how it ended, in words and as a status."""
    env = child_env(dict(session.workspace.child_env))
    process = await start_shell(command, cwd=session.cwd, env=env, on_output=output.take)
    ended, stopped = asyncio.create_task(process.wait()), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()
        if not ended.done():
            await process.end(grace_s=timeouts.SHELL_CANCEL_GRACE_S)
    await process.end_leftovers()
    if output.is_too_much:
        return f"Ended because it wrote more than {OUTPUT_CHARS_MAX // 1_000_000} MB", CallStatus.FAILED
    if stop.is_set():
        return "Interrupted", CallStatus.INTERRUPTED
    return describe_exit(process.exit_code), CallStatus.FAILED if process.exit_code else CallStatus.OK


async def _part(session: Session, command: str, text: str) -> CommandPart:
    """Return the command as the model is told of it; too long output is stored completely as well."""
    workspace = session.workspace
    blob = await workspace.blobs.put(text.encode()) if len(text) > RESULT_CHARS_MAX else ""
    cut = cut_result(text, reference=blob)
    return CommandPart(new_id(), workspace.redactor.text(command), cut, blob, len(text))


# What waits for the next message


async def load(session: Session) -> Sequence[CommandPart]:
    """Read what was run and has not been sent with a message yet; only an interface has such commands."""
    kept = await session.workspace.local.prompts.queue(_key(session))
    session.live.commands = [command for parts in kept for command in commands_in(parts)]
    return session.live.commands


def with_commands(session: Session, parts: Parts) -> Parts:
    """Return the message, preceded by what was run since the last one."""
    there = {command.id for command in commands_in(parts)}
    return (*(each for each in session.live.commands if each.id not in there), *parts)


async def sent(session: Session, parts: Parts) -> None:
    """Record that these are part of a stored message now. Raises StoreError."""
    await _drop(session, commands_in(parts))


async def moved(session: Session, turns: Sequence[Turn], *, words_are_back: bool) -> None:
    """These turns were undone and the words of the oldest are in the prompt, or they were redone.

    Raises StoreError.
    """
    if words_are_back:
        await give_back(session, turns[-1].user)
    else:
        await _drop(session, [command for turn in turns for command in commands_in(turn.user)])


async def give_back(session: Session, parts: Parts) -> None:
    """The words of this message have returned to the prompt: its commands wait again. Raises StoreError."""
    there = {command.id for command in session.live.commands}
    back = [command for command in commands_in(parts) if command.id not in there]
    if back:
        session.live.commands = [*back, *session.live.commands]
        await _keep(session)


async def _drop(session: Session, gone: Sequence[CommandPart]) -> None:
    ids = {command.id for command in gone}
    left = [command for command in session.live.commands if command.id not in ids]
    if len(left) < len(session.live.commands):
        session.live.commands = left
        await _keep(session)


async def _keep(session: Session) -> None:
    local = session.workspace.local
    waiting: list[Parts] = [(command,) for command in session.live.commands]
    await local.prompts.set_queue(_key(session), waiting)
    if session.live.stored:
        await local.prompts.set_queue(_folder_key(session), [])


def _key(session: Session) -> str:
    """The key: the session, or the folder before there is one."""
    return commands_key(session.id) if session.live.stored else _folder_key(session)


def _folder_key(session: Session) -> str:
    return commands_key(f"cwd:{session.workspace.place.cwd}")
