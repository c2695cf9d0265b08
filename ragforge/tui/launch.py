"""What the command line hands to the interface, and what the interface leaves behind."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from ragforge.domain.approvals import Mode
from ragforge.domain.errors import RagforgeError, StoreLoginRefused

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.conversation import Conversation


class Known(Struct, frozen=True):
    """What the status line tells until the session is open. Empty is what is not known yet."""

    folder: str = ""
    git_branch: str = ""
    model: str = ""
    mode: Mode = Mode.ASK


class OpenedChat(Struct, frozen=True):
    """A conversation that is open, and what shall be done with it first.

    resume: the session to bring to the front, at a turn counted from 1 where `at` says one. newest: bring
    the folder's newest session to the front, once the user has said which project the folder is. message:
    what to send then.
    """

    conversation: Conversation
    notices: tuple[str, ...] = ()
    show_list: bool = False
    resume: str = ""
    at: int | None = None
    fork: bool = False
    newest: bool = False
    message: str = ""


class NotOpened(Struct, frozen=True):
    """The store could not be opened.

    embedded: the file of the store on this machine that could take its place; empty where it is the one.
    """

    failure: RagforgeError
    embedded: str = ""

    @property
    def ask_for(self) -> str:
        """The address of a server whose password is wanted; empty where that is not what is missing."""
        return self.failure.ask_for if isinstance(self.failure, StoreLoginRefused) else ""


class OpenSession(Protocol):
    """Opens what was asked for on the command line."""

    def __call__(self, *, embedded: bool = False) -> Coroutine[Any, Any, OpenedChat | NotOpened]:
        """The conversation. embedded: kept in the store on this machine, whatever the settings say."""
        ...


class Leaving(Struct, frozen=True):
    """What is left in the terminal when the app has gone."""

    said: str = ""
    """Of the conversation, as `ui.leave` has it."""
    resume_command: str = ""
    exit_code: int = 0
    failure: str = ""
    draft: str = ""
    """Typed and nowhere kept."""
    waits: str = ""
    """On rows that wait for a server."""
    incognito_next: bool = False
    """The user wants to go on in a run that leaves nothing behind."""
