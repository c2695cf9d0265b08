"""Imported sessions of other people: their mark, and the memories that they propose."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from ragforge.domain.derivations import DerivedKind, DerivedOwner


class SharedSession(Struct, frozen=True):
    """The origin of a session. The file says who exported it, and when.

    into: the project it was imported for. project: the line of its own project. host, user: as there.
    """

    by: str
    exported_at: datetime
    into: str = ""
    imported_at: datetime | None = None
    imported_by: str = ""
    project: str = ""
    host: str = ""
    user: str = ""


class Decision(StrEnum):
    """The user's answer to a proposal."""

    OPEN = ""
    ACCEPTED = "accepted"
    REFUSED = "refused"


class Proposal(Struct, frozen=True):
    """A memory that came with a shared session. No model is given it before it is accepted.

    line: the memory as in a backup.
    """

    line: str
    type: str
    content: str
    decision: Decision = Decision.OPEN


SHARED = DerivedKind("SharedSession", SharedSession, owner=DerivedOwner.SESSION)
PROPOSAL = DerivedKind("SharedMemory", Proposal, owner=DerivedOwner.SESSION)
