"""Lessons: what was tried in a project, and why it went."""

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
    """What a lesson tells."""

    PATTERN = "pattern"
    """The same went wrong several times."""
    MISTAKE = "mistake"
    """Something that must not be done here."""
    FAILED_APPROACH = "failed approach"
    STRATEGY = "strategy"
    """What held where other ways had failed."""


class Lesson(Struct, frozen=True):
    """One lesson. It is the project's, and says nothing once its evidence is gone.

    turns: those of the task, which are its evidence: of an undo it holds as long as they are undone.
    told_in: the turn whose words or checks give the reason. keywords: what others may call the problem.
    support: how many tasks say it. success: how well the task went, 0 to 1.
    """

    kind: LessonKind
    tried: str
    outcome: TaskOutcome
    request: str
    at: datetime
    reason: str = ""
    """Why it went; of a strategy, what had failed."""
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
        """Whether it holds only as long as its turns are on no path."""
        return self.outcome in (TaskOutcome.UNDONE, TaskOutcome.DISCARDED)

    @property
    def line(self) -> str:
        """It in one line: `3 Nov: pool of threads in billing.py, undone: deadlock in tests`."""
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
        """What it is compared by."""
        return f"{self.request} {self.done}"

    @property
    def done(self) -> str:
        """What it tells besides what was asked for."""
        return " ".join((self.tried, self.topic, *self.keywords))


KIND = DerivedKind("Lesson", Lesson, recipe="1")
