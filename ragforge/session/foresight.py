"""Foresight as the user sees it: the turns of a path with their figures and marks, and models compared.

However long a conversation is, a limited number of turns and records is read.
"""

import asyncio
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.errors import UsageError
from ragforge.domain.foresight import FIRST_RECORD, KIND, Foresight
from ragforge.domain.turns import ToolCall, Turn
from ragforge.memory.foresight import description_complexity, world_complexity
from ragforge.memory.foresight_mark import Mark, TurnFacts, facts_of, failing_after, marks_of, same_file
from ragforge.memory.foresight_records import is_theirs, read_foresight
from ragforge.session.machine import Library
from ragforge.session.state import Session, Workspace
from ragforge.versions.difference import Difference, differences
from ragforge.versions.tree import own_changes, summed

TURNS_SHOWN = 50
DEPTH_MAX = 20
"""Over how many turns a key can sum a curve."""
RECORDS_MAX = 1_000
"""How many of the project's records are compared, the newest first."""
BEFORE_MARKED = 5
"""How many earlier turns are searched for checks that failed already."""
COUNT_MIN = 10
"""With fewer there is no mean."""


class ForeseenTurn(Struct, frozen=True):
    """A turn, what was predicted for it, and the record that was made after it."""

    turn: Turn
    expected: Foresight | None = None
    made: Foresight | None = None
    by_rules: bool = False
    """Whether it was described and rated without a model."""

    @property
    def number(self) -> int:
        """Counted from 1, as everywhere in the interface."""
        return self.turn.index + 1

    @property
    def first_u(self) -> int | None:
        """U over this turn only; None if it has no figures."""
        made = self.made
        if made is None or made.units_individual is None or made.alpha is None:
            return None
        cd = description_complexity(made.individual_before_description)
        return made.alpha * made.units_individual - cd


class Curves(Struct, frozen=True):
    """A number per turn, None if it has none; predictability is that of the task, else of the project."""

    individual: tuple[int | None, ...]
    collective: tuple[int | None, ...]
    predictability: tuple[int | None, ...]

    def newest(self, count: int) -> "Curves":
        """Return those of the newest turns."""
        return Curves(self.individual[-count:], self.collective[-count:], self.predictability[-count:])


class MarkedTurn(Struct, frozen=True):
    """What is stored of a turn, and why it is marked; no marks if it is not."""

    marks: tuple[Mark, ...]
    facts: TurnFacts


class Foreseer(Struct, frozen=True):
    """How well a model predicted the project in a month. None if there are fewer than COUNT_MIN.

    model: empty for rules. month: such as `2026-11`. rated, files: how many there are. share: of the
    predicted files, those that changed.
    """

    model: str
    month: str
    rated: int
    rating: float | None
    words: float | None
    meaning: float | None
    files: int
    share: float | None


def check_enabled(library: Library) -> None:
    """Raise UsageError if foresight is switched off."""
    if not (library.settings.foresight.enabled and library.settings.memory.enabled):
        raise UsageError("Foresight is off. Set `foresight.enabled = true` to turn it on.")


async def read_turns(
    library: Library, head: str | None, *, limit: int = TURNS_SHOWN, before: int | None = None
) -> list[ForeseenTurn]:
    """Read the newest turns of the path, oldest first, and so many before them. Raises StoreError.

    before: None for as many as a curve can sum.
    """
    if before is None:
        settings = library.settings.foresight
        before = max(DEPTH_MAX, settings.depth_individual, settings.depth_collective)
    rows = await read_foresight(
        library.store, library.project.id, head, person=library.person, limit=limit + before
    )
    found: list[ForeseenTurn] = []
    for at, row in enumerate(rows):
        expected = rows[at - 1].made if at else FIRST_RECORD if row.turn.parent is None else None
        found.append(ForeseenTurn(row.turn, expected, row.made, by_rules=not row.model))
    return found


def curves(turns: Sequence[ForeseenTurn], *, individual: int, collective: int) -> Curves:
    """Return the figures of these turns, each summed over so many."""
    made = [each.made or Foresight() for each in turns]
    own = [record.units_individual or 0 for record in made]
    everybody = [record.units_collective or 0 for record in made]

    def u(at: int, units: Sequence[int], known: int | None, depth: int, description: str) -> int | None:
        alpha = made[at].alpha
        if known is None or alpha is None:
            return None
        return world_complexity(units, at, depth=depth, alpha=alpha) - description_complexity(description)

    places = range(len(made))
    return Curves(
        tuple(
            u(at, own, made[at].units_individual, individual, made[at].individual_before_description)
            for at in places
        ),
        tuple(
            u(at, everybody, made[at].units_collective, collective, made[at].collective_before_description)
            for at in places
        ),
        tuple(_predictability(record) for record in made),
    )


def _predictability(made: Foresight) -> int | None:
    own = made.predictability_individual
    return made.predictability_collective if own is None else own


def ranked(turns: Sequence[ForeseenTurn]) -> list[ForeseenTurn]:
    """Return those with a figure, in the order to review them: many changes, little information first."""
    known = [each for each in turns if each.first_u is not None]
    return sorted(known, key=lambda each: (-(each.first_u or 0), -each.turn.index))


async def read_marks(library: Library, turns: Sequence[ForeseenTurn]) -> dict[str, MarkedTurn]:
    """Return the marks of these turns, which follow one another, by their ids. Raises StoreError.

    Turns of other users have none.
    """
    ids = [each.turn.id for each in turns]
    calls, versions = await asyncio.gather(
        library.store.calls.of_turns(ids), library.store.versions.of_turns(ids)
    )
    by_turn: dict[str, list[ToolCall]] = defaultdict(list)
    for call in sorted(calls, key=lambda call: (call.step_index, call.position)):
        by_turn[call.turn_id].append(call)
    found: dict[str, MarkedTurn] = {}
    failing = frozenset[str]()
    for each in turns:
        mine = [version for version in versions if version.turn_id == each.turn.id]
        facts = facts_of(each.turn, each.expected, by_turn[each.turn.id], mine, failing)
        if is_theirs(each.turn, library.person):
            found[each.turn.id] = MarkedTurn(tuple(marks_of(facts)), facts)
        failing = failing_after(facts.calls, failing)
    return found


async def mark_words(workspace: Workspace, turns: Sequence[Turn]) -> dict[str, str]:
    """Return why these turns, the newest of a path, are marked, by their ids. Raises StoreError."""
    if not (turns and workspace.foresees):
        return {}
    read = await read_turns(workspace, turns[-1].id, limit=len(turns), before=BEFORE_MARKED)
    marks = await read_marks(workspace, read)
    wanted = {turn.id for turn in turns}
    words = {id: "; ".join(mark.words for mark in each.marks) for id, each in marks.items() if id in wanted}
    return {id: told for id, told in words.items() if told}


async def read_expected(library: Library, turn_id: str) -> tuple[ForeseenTurn, MarkedTurn]:
    """Return what was predicted for a turn, and what is stored of it. Raises StoreError, UsageError."""
    turns = await read_turns(library, turn_id, limit=1)
    marks = await read_marks(library, turns)
    if turn_id not in marks:
        raise UsageError("Nothing is recorded for that turn. It belongs to another user, or it was removed.")
    return turns[-1], marks[turn_id]


async def read_changes(session: Session, turn_id: str) -> list[Difference]:
    """Return what a turn changed, file by file. Raises StoreError."""
    versions = await session.workspace.store.versions.of_turns([turn_id])
    changes = summed(change for version in versions for change in version.changes)
    return await differences(changes, session.worktree.files.blobs)


async def read_foreseers(library: Library) -> list[Foreseer]:
    """Return how well each model predicted this project, the newest month first. Raises StoreError."""
    wanted = DerivedFilter(KIND.label, library.project.id, limit=RECORDS_MAX)
    records = [each for each in await library.store.derivations.find(wanted) if each.owner_kind is KIND.owner]
    made = {each.owner: KIND.read(each) for each in records}
    turns = {turn.id: turn for turn in await library.store.turns.read(list(made))}
    versions = await library.store.versions.of_turns(list(turns))
    changed: dict[str, list[str]] = defaultdict(list)
    for version in versions:
        changed[version.turn_id] += [change.path for change in own_changes([version])]
    groups: dict[tuple[str, str], _Sums] = defaultdict(_Sums)
    for id, turn in turns.items():
        record, expected = made[id], made.get(turn.parent or "")
        if record is not None and expected is not None and expected.predicts:
            month = f"{turn.started_at.astimezone():%Y-%m}"
            sums = groups[month, expected.model_predicted]
            sums.add(record, expected, changed[id], is_own=is_theirs(turn, library.person))
    return [sums.mean(model, month) for (month, model), sums in sorted(groups.items(), reverse=True)]


class _Sums:
    """The counts of one model in one month."""

    def __init__(self) -> None:
        self._values: Mapping[str, list[int]] = {"rating": [], "words": [], "meaning": []}
        self._hits: list[bool] = []
        self._rated = 0

    def add(self, made: Foresight, expected: Foresight, changed: Sequence[str], *, is_own: bool) -> None:
        individual = (made.predictability_individual, made.words_individual, made.meaning_individual)
        collective = (made.predictability_collective, made.words_collective, made.meaning_collective)
        sides = [individual, collective] if is_own else [collective]
        for side in sides:
            for values, value in zip(self._values.values(), side, strict=True):
                values.extend([] if value is None else [value])
        self._rated += any(side[0] is not None for side in sides)
        if is_own:
            self._hits += [any(same_file(file, path) for path in changed) for file in expected.files_foreseen]

    def mean(self, model: str, month: str) -> Foreseer:
        rating, words, meaning = (
            statistics.fmean(values) if self._rated >= COUNT_MIN and values else None
            for values in self._values.values()
        )
        share = statistics.fmean(self._hits) if len(self._hits) >= COUNT_MIN else None
        return Foreseer(model, month, self._rated, rating, words, meaning, len(self._hits), share)
