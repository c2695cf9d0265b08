"""How well the newest tasks of a project went, computed from what is stored of them."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from msgspec import Struct

from ragforge.domain.checks import checks_of
from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.ratings import KIND as RATING
from ragforge.domain.tasks import PastTask, TaskFigures, implied_satisfaction, task_success
from ragforge.domain.turns import CallStatus, ToolCall, Turn
from ragforge.domain.usage import Purpose
from ragforge.domain.versions import Version
from ragforge.memory.recall.similarity import alike_places
from ragforge.memory.similar import problem_of_task
from ragforge.memory.tasks import read_tasks
from ragforge.store.base import Store

R = TypeVar("R", ToolCall, Version)

TURNS_MAX = 100
"""How many of the newest turns the tasks are read from."""
SESSIONS_MAX = 50
MOVES_MAX = 200
LATER_MAX = 5
"""Changes of the same lines within so many turns count."""
LINE_CHARS_MIN = 10
"""Shorter lines occur in many files."""
_COMMIT = re.compile(r"\bgit\b[^;&|\n]*\bcommit\b")


class MeasuredTask(Struct, frozen=True):
    """A task with what is known of it. stated, implied: satisfaction; only one of them counts."""

    task: PastTask
    figures: TaskFigures
    stated: float | None
    implied: float

    @property
    def success(self) -> float | None:
        """How well it went, 0 to 1."""
        return task_success(self.figures)


async def measured_tasks(store: Store, project_id: str, *, since: datetime | None) -> list[MeasuredTask]:
    """Return the newest tasks of the project, in any order; none of a program. Raises StoreError."""
    paths = await _paths(store, project_id, since)
    undone = await _undone(store, project_id)
    read = await read_tasks(store, list(dict.fromkeys([*(t.id for path in paths for t in path), *undone])))
    tasks = [
        task
        for task in read
        if task.turns[0].purpose is Purpose.CHAT and (since is None or task.turns[0].started_at >= since)
    ]
    ids = [turn.id for task in tasks for turn in task.turns]
    later = {
        turn.id: [each.id for each in path[at + 1 : at + 1 + LATER_MAX]]
        for path in paths
        for at, turn in enumerate(path)
    }
    around = list(dict.fromkeys([*ids, *(each for id in ids for each in later.get(id, ()))]))
    calls, versions, rated = await asyncio.gather(
        store.calls.of_turns(around),
        store.versions.of_turns(around),
        store.derivations.find(
            DerivedFilter(RATING.label, project_id, tuple(ids), abandoned=True, limit=len(ids) or 1)
        ),
    )
    stars = {each.owner: rating.satisfaction for each in rated if (rating := RATING.read(each))}
    called, made = _by_turn(calls), _by_turn(versions)
    alike = await asyncio.to_thread(alike_places, list(map(problem_of_task, tasks)))
    took = [_took(task) for task in tasks]
    found: list[MeasuredTask] = []
    for at, task in enumerate(tasks):
        own = [turn.id for turn in task.turns]
        after = [each for each in later.get(own[-1], ()) if each not in own]
        stated = next((stars[each] for each in reversed(own) if each in stars), None)
        committed = any(map(_commits, [call for each in (*own, *after) for call in called.get(each, ())]))
        implied = implied_satisfaction(task.outcome, asked_again=len(own) > 1, committed=committed)
        figures = TaskFigures(
            _changed_later(
                [each for id in own for each in made.get(id, ())], [made.get(each, ()) for each in after]
            ),
            _passed([call for each in own for call in called.get(each, ())]),
            *took[at],
            similar=[took[each] for each in alike[at]],
            satisfaction=implied if stated is None else stated,
        )
        found.append(MeasuredTask(task, figures, stated, implied))
    return found


async def _paths(store: Store, project_id: str, since: datetime | None) -> list[list[Turn]]:
    """Return the newest turns of the most recently active sessions, without duplicates."""
    found: list[list[Turn]] = []
    seen: set[str] = set()
    for row in await store.sessions.recent(project_id=project_id, limit=SESSIONS_MAX):
        if len(seen) >= TURNS_MAX or (since is not None and row.session.last_activity_at < since):
            break
        path = await store.turns.path(row.session.head, limit=TURNS_MAX - len(seen))
        path = [turn for turn in path if turn.id not in seen and turn.ended_at is not None]
        seen |= {turn.id for turn in path}
        found.append(path)
    return found


async def _undone(store: Store, project_id: str) -> list[str]:
    """Return turns that the newest moves removed from a path."""
    moves = await store.versions.moves(project_id, limit=MOVES_MAX)
    turns = list(dict.fromkeys(turn for move in moves for turn in move.turns))[:TURNS_MAX]
    gone = await store.turns.abandoned(turns) if turns else set[str]()
    return [turn for turn in turns if turn in gone]


def _by_turn(records: Sequence[R]) -> Mapping[str, list[R]]:
    found: dict[str, list[R]] = {}
    for each in records:
        found.setdefault(each.turn_id, []).append(each)
    return found


def _took(task: PastTask) -> tuple[float, float | None]:
    """Return seconds and cost of the task."""
    seconds = sum((turn.ended_at - turn.started_at).total_seconds() for turn in task.turns if turn.ended_at)
    costs = [turn.cost_usd for turn in task.turns]
    return seconds, sum(each for each in costs if each is not None) if None not in costs else None


def _commits(call: ToolCall) -> bool:
    is_done = call.name == "shell" and call.status is CallStatus.OK
    return is_done and _COMMIT.search(str(call.args.get("command", ""))) is not None


def _passed(calls: Sequence[ToolCall]) -> bool | None:
    """Return whether the last run of a check passed; None if none shows it."""
    runs = [
        run
        for call in calls
        if call.name == "shell"
        for run in checks_of(str(call.args.get("command", "")), call.status, call.result)
        if run.failed is not None
    ]
    return not runs[-1].failed if runs else None


def _changed_later(own: Sequence[Version], later: Sequence[Sequence[Version]]) -> int | None:
    """Return in how many of the later turns some of the same lines changed; None if nothing was changed."""
    lines = _lines(own)
    return sum(not lines.isdisjoint(_lines(each)) for each in later) if lines else None


def _lines(versions: Sequence[Version]) -> set[str]:
    found = (line.strip() for each in versions for line in each.words.splitlines())
    paths = {change.path for each in versions for change in each.changes}
    return {line for line in found if len(line) >= LINE_CHARS_MIN and line not in paths}
