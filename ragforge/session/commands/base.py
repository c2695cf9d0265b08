"""What a slash command is and may answer."""

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from typing import TypeAlias

from ragforge.domain.errors import UsageError
from ragforge.session.state import Session


@dataclass(frozen=True, slots=True)
class Tell:
    """Show this to the person; Markdown, no part of the conversation."""

    text: str


class ScreenName(StrEnum):
    """The screens that a command can open."""

    SESSIONS = "sessions"
    SEARCH = "search"
    MODEL = "model"
    STORE = "store"


@dataclass(frozen=True, slots=True)
class Open:
    """Open a screen, with what was typed after the command."""

    screen: ScreenName
    args: str = ""


@dataclass(frozen=True, slots=True)
class Confirm:
    """Ask; on yes run the command line `then`."""

    question: str
    then: str


@dataclass(frozen=True, slots=True)
class Copy:
    """Put this on the clipboard."""

    text: str
    what: str


@dataclass(frozen=True, slots=True)
class StartNew:
    """Leave this session and start a new one."""


@dataclass(frozen=True, slots=True)
class Fork:
    """Go on from here, or from a turn counted from 1, in a session of its own."""

    at: int | None = None


@dataclass(frozen=True, slots=True)
class ClearView:
    """Empty the screen; the session stays as it is."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Go on with the newest turn."""


@dataclass(frozen=True, slots=True)
class Quit:
    """Leave ragforge."""


Outcome: TypeAlias = Tell | Open | Confirm | Copy | StartNew | Fork | ClearView | Retry | Quit


@dataclass(frozen=True, slots=True)
class Command:
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
    from ragforge.session import commands  # the package this module is in

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
    if session.busy and not command.while_running:
        raise UsageError(f"/{command.name} waits until the turn has ended. Esc interrupts it.")
    return await command.run(session, args)
