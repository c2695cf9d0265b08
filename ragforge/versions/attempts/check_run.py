"""Run the check command in a folder: whether it passed, how long it took, the end of its output."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.printable import cut_line, one_line
from ragforge.shell.process import start_shell
from ragforge.tools.shell import child_env, describe_exit

OUTPUT_CHARS_KEPT = 4000
COMMAND_CHARS_SHOWN = 80


class Checked(Struct, frozen=True):
    """The result of the check command.

    words: "check passed", or how it failed. ended: how the process ended. output: its last lines.
    """

    passed: bool
    words: str
    ended: str = ""
    took_s: float = 0.0
    output: str = ""

    def told(self, command: str) -> str:
        """The command, how it ended and how long it took, on one line."""
        ran = cut_line(one_line(command), COMMAND_CHARS_SHOWN)
        ended = "" if self.ended in self.words else f"{self.ended}, "
        return f"{self.words}: `{ran}`, {ended}{self.took_s:.1f} s"


async def check(command: str, *, cwd: Path, env: Mapping[str, str], limit_s: float | None = None) -> Checked:
    """Run the command in the folder to its end; if cancelled, no process keeps running.

    limit_s: after this it is killed, and has failed.
    """
    kept, began = "", monotonic()
    limit_s = timeouts.PROJECT_CHECK_S_MAX if limit_s is None else limit_s

    def take(text: str) -> None:
        nonlocal kept
        kept = (kept + text)[-OUTPUT_CHARS_KEPT:]

    def came_to(words: str, ended: str, *, passed: bool = False) -> Checked:
        return Checked(passed, words, ended, monotonic() - began, kept)

    try:
        process = await start_shell(command, cwd=cwd, env=child_env(dict(env)), on_output=take)
    except (OSError, ValueError) as error:
        return came_to(f"check could not start: {error}", "not started")
    try:
        async with asyncio.timeout(limit_s):
            code = await process.wait()
    except TimeoutError:
        await process.end()
        return came_to(f"check took more than {_limit_words(limit_s)}", "ended")
    except asyncio.CancelledError:
        await process.end()
        raise
    await process.end_leftovers()
    ended = describe_exit(code)
    ended = ended[0].lower() + ended[1:]
    return (
        came_to("check passed", ended, passed=True) if code == 0 else came_to(f"check failed: {ended}", ended)
    )


def _limit_words(limit_s: float) -> str:
    return f"{limit_s / 60:.0f} min" if limit_s >= 60 else f"{limit_s:.1f} s"
