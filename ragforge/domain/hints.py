"""Hints after an answer: the user's wishes that fit the current work, offered unobtrusively."""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

HINTS_MAX = 3
"""At most so many are offered after a turn."""
RELEVANCE_MIN = 0.5
CONFIDENCE_ABOVE = 0.7
"""The confidence that a preference must exceed to be hinted at."""
IGNORED_MAX = 3
SILENCE = timedelta(days=30)
"""How long a preference is silent after it was ignored `IGNORED_MAX` times."""
TURNS_PACED = 6
"""Of so many turns in a row ..."""
PACED_MAX = 2
"""... so many have hints at most."""


class HintType(StrEnum):
    """The subject of a hint."""

    PREFERENCE_REMINDER = "preference_reminder"
    INTENT_FOLLOWUP = "intent_followup"
    CONSTRAINT_WARNING = "constraint_warning"


class HintAnswer(StrEnum):
    """The user's answer to it."""

    APPLY = "apply"
    IGNORE = "ignore"
    LATER = "later"


class HintAction(StrEnum):
    """What applying it does."""

    WRITE = "write"
    """Put a text into the prompt, without sending it."""
    COMMAND = "command"
    """Run a slash command; one of these keeps a memory."""
    OPEN_TURN = "open turn"
    """Open the turn in which the user said so."""


class HintPayload(Struct, frozen=True):
    """text: the prompt's text, the command without its slash, or the id of a memory."""

    action: HintAction
    text: str


class ProactiveHint(Struct, frozen=True):
    """Something the user said earlier that fits now. relevance_score: from 0 to 1."""

    id: str
    type: HintType
    title: str
    message: str
    action_label: str
    action_payload: HintPayload
    relevance_score: float
    source_preference_id: str


class HintContext(Struct, frozen=True):
    """The current work. messages: the last five, oldest first, the newest turn's at the end."""

    project_id: str
    session_id: str
    topic: str
    model: str
    messages: tuple[str, ...]
    at: datetime
    turns: frozenset[str] = frozenset()
    """Ids of the messages' turns: what was said in them needs no hint."""

    @property
    def newest(self) -> tuple[str, ...]:
        """The messages of the newest turn."""
        return self.messages[-2:]


class HintPace(Struct):
    """Keeps hints rare: of any `TURNS_PACED` turns in a row, at most `PACED_MAX` have some."""

    recent: tuple[bool, ...] = ()
    """Whether the newest turns had hints."""

    def turn_ended(self) -> bool:
        """Count a turn, and return whether it may have hints."""
        self.recent = (*self.recent, False)[-TURNS_PACED:]
        return sum(self.recent) < PACED_MAX

    def offered(self) -> None:
        """Record that the newest turn has hints."""
        self.recent = (*self.recent[:-1], True)
