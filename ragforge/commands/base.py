"""What a slash command is and may answer."""

import importlib
import pkgutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import TypeAlias

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.session.state import Session


class Tell(Struct, frozen=True):
    """Show this to the person; Markdown, no part of the conversation."""

    text: str


class Open(Struct, frozen=True):
    """Open the screen of this name, with what was typed after the command."""

    screen: str
    args: str = ""


class Confirm(Struct, frozen=True):
    """Ask; on yes run the command line `then`.

    otherwise: the command line of a no, where that is an answer too; Esc does nothing then.
    command: the shell command that is asked about, as it would run.
    """

    question: str
    then: str
    otherwise: str = ""
    command: str = ""


class Option(Struct, frozen=True):
    """An answer: its name, what it means, and the command line that it runs."""

    name: str
    meaning: str
    then: str


class Choose(Struct, frozen=True):
    """Ask which; Esc does nothing. diff: what there is to choose from, as a unified diff."""

    question: str
    detail: str
    options: tuple[Option, ...]
    diff: str = ""


class Copy(Struct, frozen=True):
    """Put this on the clipboard."""

    text: str
    what: str


class StartNew(Struct, frozen=True):
    """Leave this session and start a new one."""


class Fork(Struct, frozen=True):
    """Go on from here, or from a turn counted from 1, in a session of its own."""

    at: int | None = None


class HeadMoved(Struct, frozen=True):
    """Files or chat are somewhere else in the tree of versions now; say `lines`, one a line.

    chat: whether the conversation shown is another now. draft: the message that returns to the prompt.
    """

    lines: tuple[str, ...]
    chat: bool = True
    draft: str = ""


class Follow(Struct, frozen=True):
    """Say each line as it comes, for as long as any come; what is no line is done."""

    lines: "AsyncGenerator[str | Outcome, None]"


class ClearView(Struct, frozen=True):
    """Empty the screen; the session stays as it is."""


class Retry(Struct, frozen=True):
    """Go on with the newest turn."""


class Quit(Struct, frozen=True):
    """Leave ragforge."""


class GoIncognito(Struct, frozen=True):
    """Leave, and start again in a store that goes away with the run."""


Outcome: TypeAlias = (
    Tell
    | Open
    | Confirm
    | Choose
    | Copy
    | StartNew
    | Fork
    | HeadMoved
    | Follow
    | ClearView
    | Retry
    | Quit
    | GoIncognito
)


class Command(Struct, frozen=True):
    """A slash command. `usage` follows the name; `while_running` says whether it works during a turn."""

    name: str
    help: str
    run: Callable[[Session, str], Awaitable[Outcome]]
    usage: str = ""
    aliases: tuple[str, ...] = ()
    while_running: bool = True


@cache
def find_commands() -> Mapping[str, Command]:
    """Every command by its name, in alphabetical order: the modules of this package with a `COMMAND`."""
    from ragforge import commands  # the package this module is in

    found: dict[str, Command] = {}
    for module in sorted(pkgutil.iter_modules(commands.__path__), key=lambda item: item.name):
        command = getattr(importlib.import_module(f"{commands.__name__}.{module.name}"), "COMMAND", None)
        if isinstance(command, Command):
            found[command.name] = command
    return dict(sorted(found.items()))


def command_named(name: str) -> Command:
    """The command of this name or alias. Raises UsageError that names the nearest one."""
    named = {
        alias: command for command in find_commands().values() for alias in (command.name, *command.aliases)
    }
    if name in named:
        return named[name]
    near = get_close_matches(name, named, n=1)
    hint = f" Did you mean /{near[0]}?" if near else " /help lists the commands."
    raise UsageError(
        f"There is no command /{name}.{hint} To send it as a message, begin with a space and text."
    )


async def run_command(session: Session, name: str, args: str) -> Outcome:
    """What the front end shall do. Raises RagforgeError that says what was wrong."""
    command = command_named(name)
    if session.is_only_moving and not command.while_running:
        raise UsageError(session.why_busy)
    if session.busy and not command.while_running:
        raise UsageError(f"/{command.name} waits until the turn has ended. Esc interrupts it.")
    return await command.run(session, args)
