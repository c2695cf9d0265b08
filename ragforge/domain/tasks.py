"""Tasks: a turn with the corrections that follow it at once, its outcome, and how well it went."""

from collections.abc import Sequence
from enum import StrEnum
from statistics import fmean, median

from msgspec import Struct

from ragforge.domain.turns import Turn

SIMILAR_MIN = 5
"""With fewer similar tasks, the efficiency of a task is unknown."""


class TaskOutcome(StrEnum):
    """The outcome of a task."""

    KEPT = "kept"
    UNDONE = "undone"
    DENIED = "denied"
    """A call was declined, and nothing was done after it."""
    CHECK_FAILED = "check failed"
    """The last run of a check failed."""
    DISCARDED = "discarded"
    """It was one of several alternatives, and another was taken."""

    @property
    def is_failure(self) -> bool:
        """Whether its result is not in the project any more, or never was."""
        return self is not TaskOutcome.KEPT


class PastTask(Struct, frozen=True):
    """A task as it is stored. turns: the request, then the corrections that follow it at once."""

    turns: tuple[Turn, ...]
    outcome: TaskOutcome
    done: str = ""
    """What was done, in a few sentences."""
    reason: str = ""
    """Why it failed, word for word; empty if nothing says so."""
    files: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of its first turn."""
        return self.turns[0].id


class TaskFigures(Struct, frozen=True):
    """What is known of how a task went; None for the rest.

    lines_changed_later: how often the same lines were changed again within five turns. check_passed: the last
    run. seconds, cost_usd: what it took. similar: seconds and cost of similar tasks. satisfaction: stated or
    implied, 0 to 1.
    """

    lines_changed_later: int | None = None
    check_passed: bool | None = None
    seconds: float | None = None
    cost_usd: float | None = None
    similar: Sequence[tuple[float, float | None]] = ()
    satisfaction: float | None = None


def task_success(figures: TaskFigures) -> float | None:
    """Return how well a task went, 0 to 1: the mean of what is known; None if nothing is."""
    known = (
        None if figures.lines_changed_later is None else 1 / (1 + figures.lines_changed_later),
        None if figures.check_passed is None else float(figures.check_passed),
        _efficiency(figures),
        figures.satisfaction,
    )
    values = [each for each in known if each is not None]
    return fmean(values) if values else None


def _efficiency(figures: TaskFigures) -> float | None:
    """Return the smaller of median time and median cost of similar tasks over its own, at most 1."""
    times = [seconds for seconds, _ in figures.similar]
    costs = [cost for _, cost in figures.similar if cost is not None]
    shares = [
        min(1.0, median(others) / own)
        for others, own in ((times, figures.seconds), (costs, figures.cost_usd))
        if len(others) >= SIMILAR_MIN and own
    ]
    return min(shares) if shares else None


def implied_satisfaction(outcome: TaskOutcome, *, asked_again: bool, committed: bool) -> float:
    """Return how satisfied the user seems to be, 0 to 1, if they did not say so."""
    if outcome in (TaskOutcome.UNDONE, TaskOutcome.DISCARDED):
        return 0.0
    if outcome is TaskOutcome.DENIED or asked_again:
        return 0.3
    return 1.0 if committed else 0.8
