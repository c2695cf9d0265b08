"""The valid lessons of a project."""

import asyncio
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.lessons import KIND, TRIED_CHARS_MAX, Lesson, LessonKind
from ragforge.domain.messages import text_of
from ragforge.domain.printable import one_line
from ragforge.domain.tasks import PastTask
from ragforge.memory.forgotten import MARK, NOTHING, Forgotten
from ragforge.memory.recall.similarity import Problem, problem_of, similar
from ragforge.memory.sentences import cut_words, sentences
from ragforge.store.base import Store

LESSONS_MAX = 100
"""How many of the newest are considered."""
PATTERN_MIN = 3
"""From this many failures on, it is a pattern."""


async def read_lessons(
    store: Store, project_id: str | None, forgotten: Forgotten = NOTHING, *, of: Sequence[str] = ()
) -> list[Lesson]:
    """Return the valid lessons, newest first; a redo invalidates one that is based on an undo. Raises
    StoreError.

    project_id: None for every project. forgotten: is removed from them; a lesson without its reason is
    useless. of: the first turns of the tasks that they are about; empty for all.
    """
    wanted = DerivedFilter(KIND.label, project_id, tuple(of), abandoned=True, limit=LESSONS_MAX)
    read = [KIND.read(record) for record in await store.derivations.find(wanted)]
    found = [each for each in read if each is not None]
    if not found:
        return []
    gone = await store.turns.abandoned([turn for each in found for turn in each.turns])
    failures = {
        each.turns[0] for each in found if each.kind is not LessonKind.STRATEGY and _holds(each, gone)
    }
    holding = [
        each
        for each in found
        if (failures.intersection(each.against) and gone.isdisjoint(each.turns))
        or (each.kind is not LessonKind.STRATEGY and _holds(each, gone))
    ]
    return [left for each in holding if (left := _without(each, forgotten))]


def _holds(failure: Lesson, gone: Collection[str]) -> bool:
    """Return whether what was undone still is."""
    return bool(failure.turns) and (not failure.rests_on_undo or set(failure.turns).issubset(gone))


def _without(lesson: Lesson, forgotten: Forgotten) -> Lesson | None:
    """Return the lesson without what is forgotten; None if it no longer says what was tried and why."""
    if not forgotten:
        return lesson
    tried, reason = (
        forgotten.cut(text, turn=lesson.told_in).replace(MARK, "").strip()
        for text in (lesson.tried, lesson.reason)
    )
    return replace(lesson, tried=tried, reason=reason) if tried and reason else None


async def supported(lesson: Lesson, known: Sequence[Lesson]) -> Lesson:
    """Return the lesson with the number of tasks that say the same; with several, it is a pattern."""
    alike = await alike_to(lesson.text, [each for each in known if each.kind is not LessonKind.STRATEGY])
    support = 1 + len(alike)
    kind = LessonKind.PATTERN if support >= PATTERN_MIN else lesson.kind
    return replace(lesson, kind=kind, support=support)


async def alike_to(
    text: str, lessons: Sequence[Lesson], *, beside: Sequence[Problem] = ()
) -> list[tuple[float, Lesson]]:
    """Return lessons about the same problem with their scores, the most similar first.

    beside: problems that are not lessons; a lesson that is no nearer than these is about something else.
    """
    problems = [
        problem_of(each.request, each.done, files=each.files, reason=each.reason, at=each.at)
        for each in lessons
    ]
    found = await asyncio.to_thread(similar, text, [*problems, *beside])
    return [(score, lessons[place]) for score, place in found if place < len(lessons)]


def tried_words(task: PastTask) -> str:
    """Return the first sentence of what was done, with files that it does not name."""
    done = next(iter(sentences(task.done)), "") or " ".join(text_of(turn.user) for turn in task.turns)
    files = [path for path in task.files if path.rpartition("/")[2] not in done][:2]
    words = one_line(done).rstrip(".! ") + (f" in {' and '.join(files)}" if files else "")
    return cut_words(words, TRIED_CHARS_MAX)
