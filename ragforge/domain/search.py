"""Questions to the history and what is found."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class HitKind(StrEnum):
    """What was found."""

    TURN = "turn"
    TOOL_CALL = "tool_call"


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
    """A turn or tool call that matches.

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
