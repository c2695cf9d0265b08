"""Strategies: what worked in a project after another approach had failed."""

from msgspec.structs import replace

from ragforge.domain.derivations import Underived
from ragforge.domain.lessons import KIND, REASON_CHARS_MAX, Lesson, LessonKind
from ragforge.domain.redact import Redactor
from ragforge.domain.tasks import TaskFigures, TaskOutcome, implied_satisfaction, task_success
from ragforge.memory.derive.records import keep_record
from ragforge.memory.forgotten import read_forgotten
from ragforge.memory.recall.lessons import read_lessons, tried_words
from ragforge.memory.recall.search import Recall
from ragforge.memory.sentences import cut_words
from ragforge.memory.similar import SimilarTask, find_similar

NAME = "strategy"
RENEWED_MAX = 20
"""How many failures, the newest, are considered."""


async def strategies(recall: Recall, project_id: str, *, person: str) -> list[tuple[Underived, Lesson]]:
    """Return what worked after each failure for the most similar task since, once each. Raises StoreError."""
    store = recall.store
    failures = [
        each
        for each in await read_lessons(store, project_id, await read_forgotten(store, project_id))
        if each.kind is not LessonKind.STRATEGY
    ]
    found: dict[str, tuple[Underived, Lesson]] = {}
    for failure in failures[:RENEWED_MAX]:
        answer = await find_similar(recall, failure.text, project_id=project_id, person=person)
        held = next((each for each in answer.found if _held(each, failure)), None)
        if not isinstance(held, SimilarTask):
            continue
        turn = held.task.turns[0]
        if known := found.get(turn.id):
            against = (*known[1].against, *failure.turns[:1])
            found[turn.id] = known[0], replace(known[1], support=known[1].support + 1, against=against)
            continue
        source = Underived(turn.id, project_id, turn.ended_at or turn.started_at)
        found[turn.id] = source, _strategy(held, failure)
    return list(found.values())


def _held(each: object, failure: Lesson) -> bool:
    """Return whether it is a task that was kept after this failure."""
    is_kept = isinstance(each, SimilarTask) and each.task.outcome is TaskOutcome.KEPT and bool(each.task.done)
    return is_kept and isinstance(each, SimilarTask) and each.task.turns[0].started_at > failure.at


def _strategy(held: SimilarTask, failure: Lesson) -> Lesson:
    task = held.task
    satisfaction = implied_satisfaction(task.outcome, asked_again=len(task.turns) > 1, committed=False)
    return Lesson(
        LessonKind.STRATEGY,
        tried_words(task),
        TaskOutcome.KEPT,
        failure.request,
        task.turns[-1].ended_at or task.turns[-1].started_at,
        cut_words(failure.tried, REASON_CHARS_MAX),
        failure.topic,
        failure.keywords,
        task.files[:12],
        tuple(turn.id for turn in task.turns),
        task.turns[-1].id,
        failure.turns[:1],
        success=task_success(TaskFigures(satisfaction=satisfaction)),
    )


async def renew_strategies(recall: Recall, redactor: Redactor, project_id: str, *, person: str) -> int:
    """Store the current strategies; return how many there are. Raises StoreError."""

    found = await strategies(recall, project_id, person=person)
    for source, lesson in found:
        await keep_record(recall.store, redactor, KIND.record(source, lesson, name=NAME))
    return len(found)
