"""Hints after an answer: what the user wants that fits what is being done, offered and never pressed."""

from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

HINTS_MAX = 3
"""How many are offered after a turn at most."""
RELEVANCE_MIN = 0.5
CONFIDENCE_ABOVE = 0.7
"""What is not surer than this is not hinted at."""
IGNORED_MAX = 3
SILENCE = timedelta(days=30)
"""How long a preference is silent once it was ignored `IGNORED_MAX` times."""
TURNS_PACED = 6
"""Of so many turns in a row ..."""
PACED_MAX = 2
"""... so many have hints at most."""


class HintType(StrEnum):
    """What a hint is about."""

    PREFERENCE_REMINDER = "preference_reminder"
    INTENT_FOLLOWUP = "intent_followup"
    CONSTRAINT_WARNING = "constraint_warning"


class HintAnswer(StrEnum):
    """What the user did with it."""

    APPLY = "apply"
    IGNORE = "ignore"
    LATER = "later"


class HintAction(StrEnum):
    """What applying it does."""

    WRITE = "write"
    """Put a text into the prompt, without sending it."""
    COMMAND = "command"
    """Run a slash command; one of them keeps a memory."""
    OPEN_TURN = "open turn"
    """Open the turn in which the user said so."""


class HintPayload(Struct, frozen=True):
    """text: what is written, the command without its slash, or the id of a memory."""

    action: HintAction
    text: str


class ProactiveHint(Struct, frozen=True):
    """Something that the user said earlier and that fits now. relevance_score: from 0 to 1."""

    id: str
    type: HintType
    title: str
    message: str
    action_label: str
    action_payload: HintPayload
    relevance_score: float
    source_preference_id: str


class HintContext(Struct, frozen=True):
    """What is being done. messages: the last five, oldest first, the newest turn's at the end."""

    project_id: str
    session_id: str
    topic: str
    model: str
    messages: tuple[str, ...]
    at: datetime
    turns: frozenset[str] = frozenset()
    """Ids of the turns that the messages are from: what was said in them needs no hint."""

    @property
    def newest(self) -> tuple[str, ...]:
        """The messages of the newest turn."""
        return self.messages[-2:]


class HintPace(Struct):
    """Keeps hints rare: of any `TURNS_PACED` turns in a row at most `PACED_MAX` have some."""

    recent: tuple[bool, ...] = ()
    """Of the newest turns, whether they had hints."""

    def turn_ended(self) -> bool:
        """Count a turn, and return whether it may have hints."""
        self.recent = (*self.recent, False)[-TURNS_PACED:]
        return sum(self.recent) < PACED_MAX

    def offered(self) -> None:
        """The newest turn has hints."""
        self.recent = (*self.recent[:-1], True)
