"""What was tried before for a similar problem and failed, and why; and what worked then."""

from functools import partial

from ragforge.domain.context import Recalled
from ragforge.domain.lessons import Lesson
from ragforge.domain.search import HitKind
from ragforge.memory.recall.lessons import alike_to, read_lessons
from ragforge.memory.recall.similarity import WARNINGS_MAX
from ragforge.memory.recall.source import Above, ContextSource, Finding, Lookup, Section, nothing

SECTION = Section("Tried before", share=0.2, place=2, tokens_max=200)


async def _look(lookup: Lookup) -> Finding:
    project = lookup.request.around.project_id
    read = partial(read_lessons, lookup.recall.store, project, lookup.forgotten)
    lessons = await lookup.attempt(read, list[Lesson]())
    if not lessons or (await lookup.fit()).is_empty:
        return Finding(nothing)

    async def items(above: Above) -> list[Recalled]:
        found = await alike_to(lookup.request.text, lessons)
        return [_item(lesson, score) for score, lesson in found[:WARNINGS_MAX]]

    return Finding(items)


def _item(lesson: Lesson, score: float) -> Recalled:
    return Recalled(
        SECTION.heading,
        HitKind.TURN,
        f"lesson {lesson.turns[0]}",
        lesson.told,
        0,
        f"a similar problem ({score:.2f})",
        lesson.at,
        "",
        lesson.told_in,
    )


SOURCE = ContextSource((SECTION,), order=3, look=_look)
