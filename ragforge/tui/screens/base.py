"""Screens that commands open, and the list of them: the modules of this package with a `SCREEN`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

from msgspec import Struct, defstruct

from ragforge.commands.base import Open, Outcome, Verb, verbs_on
from ragforge.domain.arguments import Face, Spelling
from ragforge.domain.discovery import discover

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.conversation import Conversation
    from ragforge.session.state import Session
    from ragforge.tui.screens.dialog import Dialog

Result = TypeVar("Result")


class Chat(Protocol):
    """What a screen can do with the chat that it is opened from."""

    def ready(self) -> Conversation: ...

    async def ask(self, dialog: Dialog[Result]) -> Result | None:
        """Show a dialog until it is answered; return None for no answer."""
        ...

    async def go_to(self, session_id: str, turn: int | None = None) -> None:
        """Open the session in front, at a turn counted from 1 if one is named."""
        ...

    async def run_line(self, line: str) -> None:
        """Run a command line, without its slash."""
        ...

    def write(self, text: str) -> None:
        """Put a text into the prompt, before what is typed there; nothing is sent."""
        ...

    def show_status(self) -> None:
        """Draw what the session knows of itself."""
        ...

    def say(self, text: str) -> None:
        """Show a line in the conversation that is not part of it."""
        ...


class NamedScreen(Struct, frozen=True):
    """A screen by the name with which a command opens it.

    open: shows the screen, and handles the choice in the chat. It receives what was typed after the
    command, and may raise RagforgeError.
    help: makes `/name` a command that opens it, with this description. Without it, a verb in
    `ragforge.commands` does, by the outcome `Open`. takes: what can follow the command, such as
    `rest("WORDS", "To filter by.")`. while_running: whether it works during a turn.
    """

    name: str
    open: Callable[[Chat, str], Awaitable[None]]
    help: str = ""
    takes: Spelling | None = None
    while_running: bool = False

    def verb(self) -> Verb[Any]:
        """Return the command that opens it."""
        fields = [("words", Annotated[str, self.takes], "")] if self.takes else []

        async def run(_: Session, args: Any) -> Outcome:
            return Open(self.name, args.words if self.takes else "")

        kind = defstruct("ScreenArguments", fields, frozen=True)
        return Verb(self.name, self.help, kind, run, while_running=self.while_running)


@cache
def find_screens() -> Mapping[str, NamedScreen]:
    """Return every screen by its name. To add a screen, add a file here."""
    found = discover(__name__.rpartition(".")[0], "SCREEN", NamedScreen).values()
    return {screen.name: screen for screen in sorted(found, key=lambda screen: screen.name)}


@cache
def interface_verbs() -> Mapping[str, Verb[Any]]:
    """Return every verb of the interface by its name, in alphabetical order, including those of screens."""
    of_screens = {screen.name: screen.verb() for screen in find_screens().values() if screen.help}
    return dict(sorted({**verbs_on(Face.INTERFACE), **of_screens}.items()))
