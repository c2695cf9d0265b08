"""Questions to the history and what is found."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class HitKind(StrEnum):
    """What was found."""

    TURN = "turn"
    TOOL_CALL = "tool_call"
    SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for, and where. Empty project_id means every project."""

    text: str
    project_id: str | None = None
    session_id: str | None = None
    since: datetime | None = None
    limit: int = 20


@dataclass(frozen=True, slots=True)
class Hit:
    """A turn, tool call or summary that matches. Of a summary, the turn is the newest that it stands for.

    text: an excerpt; marks: the (start, end) spans of matched words in it.
    score: higher is better; comparable within one answer only.
    """

    kind: HitKind
    id: str
    session_id: str
    session_title: str
    turn_id: str
    turn_index: int
    at: datetime
    score: float
    text: str
    marks: tuple[tuple[int, int], ...]
    cwd: str
    tool: str = ""
    level: int = 0
    """Of a summary, from 1."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may answer a question, with what each source says of it; `recall` makes one order of them.

    words: the score by words, higher is better, None where no word matches; comparable within one answer.
    meaning: (1 + cosine) / 2, None where there is no vector of the model asked for.
    """

    kind: HitKind
    id: str
    session_id: str
    turn_id: str
    at: datetime
    words: float | None = None
    meaning: float | None = None
