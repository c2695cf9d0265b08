"""What the command line passes to the interface, and what the interface returns."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from ragforge.domain.approvals import Mode
from ragforge.domain.errors import RagforgeError, StoreLoginRefused

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.conversation import Conversation


class Known(Struct, frozen=True):
    """The status until the session is open. Empty means not known yet."""

    folder: str = ""
    git_branch: str = ""
    model: str = ""
    mode: Mode = Mode.ASK


class OpenedChat(Struct, frozen=True):
    """An open conversation, and what to do with it first.

    resume: the session to open in front, at a turn counted from 1 if `at` says one. newest: open
    the folder's newest session in front, once the user has said which project the folder is. message:
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

    embedded: the file of the store on this machine that could replace it; empty if it is that one.
    """

    failure: RagforgeError
    embedded: str = ""

    @property
    def ask_for(self) -> str:
        """The address of a server whose password is needed; empty if that is not the problem."""
        return self.failure.ask_for if isinstance(self.failure, StoreLoginRefused) else ""


class OpenSession(Protocol):
    """Opens what the command line requested."""

    def __call__(self, *, embedded: bool = False) -> Coroutine[Any, Any, OpenedChat | NotOpened]:
        """Return the conversation. embedded: stored on this machine, whatever the settings say."""
        ...


class Leaving(Struct, frozen=True):
    """What is printed in the terminal after the app."""

    said: str = ""
    """The part of the conversation, according to `ui.leave`."""
    resume_command: str = ""
    exit_code: int = 0
    failure: str = ""
    draft: str = ""
    """Typed and stored nowhere."""
    waits: str = ""
    """About rows that wait for a server."""
    incognito_next: bool = False
    """The user wants to continue in a run without traces."""
