"""What the command line hands to the interface, and what the interface leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragforge.domain.errors import RagforgeError

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.conversation import Conversation


@dataclass(frozen=True, slots=True)
class Opened:
    """A conversation that is open, and what shall be done with it first.

    resume: the session to bring to the front, at a turn counted from 1 where `at` says one.
    """

    conversation: Conversation
    notices: tuple[str, ...] = ()
    show_list: bool = False
    resume: str = ""
    at: int | None = None
    fork: bool = False


@dataclass(frozen=True, slots=True)
class NotOpened:
    """The store could not be opened.

    embedded: the file of the store on this machine that could take its place; empty where it is the one.
    """

    failure: RagforgeError
    embedded: str = ""


@dataclass(frozen=True, slots=True)
class Leaving:
    """What is left in the terminal when the app has gone."""

    last_answer: str = ""
    resume_command: str = ""
    exit_code: int = 0
    failure: str = ""
    draft: str = ""
    """Typed and nowhere kept."""
    waits: str = ""
    """On rows that wait for a server."""
