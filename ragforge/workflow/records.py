"""The stored records of programs in a project: sessions, messages, documents, facts about versions."""

from typing import Any

from msgspec import Struct, field

from ragforge.domain.derivations import DerivedKind, DerivedOwner


class ProgramRecord(Struct, frozen=True):
    """A program with stored versions. version: the current one's id."""

    name: str
    description: str
    file: str
    version: str


class ProgramVersionRecord(Struct, frozen=True):
    """The facts about a version beside its code, which is in the tree of versions."""

    program: str
    version: str
    title: str = ""
    alternatives: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    merged_from: list[str] = field(default_factory=list[str])
    reasons: list[str] = field(default_factory=list[str])
    """Why it was made: the requested changes."""


class ProgramSessionRecord(Struct, frozen=True):
    """A conversation of a program. target: the program that it is about."""

    session: str
    program: str
    target: str
    user: str
    current_version: str = ""
    started: str = ""
    messages: list[str] = field(default_factory=list[str])
    versions: list[str] = field(default_factory=list[str])


class ProgramMessageRecord(Struct, frozen=True):
    """A message of such a conversation. text: for reading and searching."""

    message: str
    session: str
    program: str
    type: str
    timestamp: str
    text: str
    content: Any = None
    domain: str = ""
    language: str = ""
    llm_used: list[str] = field(default_factory=list[str])
    tokens: int = 0
    generation_time: float = 0.0


class ProgramDocumentRecord(Struct, frozen=True):
    """A document that a program stored."""

    document: str
    type: str
    user: str
    fields: dict[str, Any] = field(default_factory=dict[str, Any])


_OF_PROJECT = DerivedOwner.PROJECT
PROGRAM = DerivedKind("Program", ProgramRecord, owner=_OF_PROJECT, relation="KEPT_IN")
VERSION_FACTS = DerivedKind("ProgramVersion", ProgramVersionRecord, owner=_OF_PROJECT, relation="KEPT_IN")
SESSION = DerivedKind("ProgramSession", ProgramSessionRecord, owner=_OF_PROJECT, relation="HELD_IN")
MESSAGE = DerivedKind("ProgramMessage", ProgramMessageRecord, owner=_OF_PROJECT, relation="SAID_IN")
DOCUMENT = DerivedKind("ProgramDocument", ProgramDocumentRecord, owner=_OF_PROJECT, relation="KEPT_IN")
