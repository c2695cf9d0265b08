"""Lessons: what was tried in a project, and why it was abandoned."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from ragforge.domain.derivations import DerivedKind
from ragforge.domain.tasks import TaskOutcome
from ragforge.domain.words import day_words

TRIED_CHARS_MAX = 160
REASON_CHARS_MAX = 240
REQUEST_CHARS_MAX = 400
TOPIC_CHARS_MAX = 60
KEYWORDS_MAX = 12


class LessonKind(StrEnum):
    """The kind of a lesson."""

    PATTERN = "pattern"
    """The same failure several times."""
    MISTAKE = "mistake"
    """Something that must not be done here."""
    FAILED_APPROACH = "failed approach"
    STRATEGY = "strategy"
    """What worked where other approaches had failed."""


class Lesson(Struct, frozen=True):
    """One lesson. It belongs to the project, and is void once its evidence is gone.

    turns: those of the task, its evidence: that of an undo is valid as long as they are undone.
    told_in: the turn whose words or checks give the reason. keywords: what others may call the problem.
    support: how many tasks confirm it. success: how well the task went, 0 to 1.
    """

    kind: LessonKind
    tried: str
    outcome: TaskOutcome
    request: str
    at: datetime
    reason: str = ""
    """Why it was abandoned; of a strategy, what had failed."""
    topic: str = ""
    keywords: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    told_in: str = ""
    against: tuple[str, ...] = ()
    """Of a strategy, the first turns of the tasks that had failed."""
    support: int = 1
    success: float | None = None

    @property
    def rests_on_undo(self) -> bool:
        """Whether it is valid only as long as its turns are on no path."""
        return self.outcome in (TaskOutcome.UNDONE, TaskOutcome.DISCARDED)

    @property
    def line(self) -> str:
        """The lesson in one line: `3 Nov: pool of threads in billing.py, undone: deadlock in tests`."""
        return f"{day_words(self.at)}: {self.told}"

    @property
    def told(self) -> str:
        """The same without the day."""
        times = f" ({self.support} times)" if self.support > 1 else ""
        if self.kind is LessonKind.STRATEGY:
            return f"{self.tried}, kept where another way had failed{times}"
        return f"{self.tried}, {self.outcome}{times}: {self.reason}"

    @property
    def text(self) -> str:
        """The text it is compared by."""
        return f"{self.request} {self.done}"

    @property
    def done(self) -> str:
        """What it says besides the request."""
        return " ".join((self.tried, self.topic, *self.keywords))


KIND = DerivedKind("Lesson", Lesson, recipe="1")
