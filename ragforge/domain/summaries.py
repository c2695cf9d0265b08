"""Summaries of turns, in levels: what happened, in fewer words."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from ragforge.domain.records import Description, RecordKind


class SummaryMethod(StrEnum):
    """Who wrote it."""

    MODEL = "model"
    EXTRACTIVE = "extractive"
    """Sentences of the text itself; a model's summary replaces it, under the same id."""


class Summary(Struct, frozen=True):
    """The summary of turns (level 1), or of summaries of the level below (level 2 and up)."""

    id: str
    project_id: str
    session_id: str
    level: int
    text: str
    covers: tuple[str, ...]
    """Ids of the turns, or of the summaries, that it covers, oldest first."""
    at: datetime
    """When the newest turn that it covers began: the conversation's time, never the run's."""
    turn_count: int = 1
    """How many turns it covers, through all levels."""
    method: SummaryMethod = SummaryMethod.MODEL
    model: str = ""
    files: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    """What the user demanded, word for word."""


SUMMARY = Description(
    RecordKind.SUMMARY,
    Summary,
    refers={"session_id": RecordKind.SESSION},  # what it covers may be stored later
    properties={
        **{"text": "summary", "at": "timestamp", "files": "filesMentioned", "findings": "keyFindings"},
        **{"tools": "toolsUsed"},
    },
    texts=("text", "findings", "topics", "constraints"),
)
