"""What was tried before for a similar problem and failed, and why; and what worked then."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from ragforge.domain.context import Recalled
from ragforge.domain.lessons import Lesson
from ragforge.domain.messages import text_of
from ragforge.domain.search import HitKind
from ragforge.domain.turns import Turn
from ragforge.domain.versions import Version
from ragforge.memory.material import answer_of
from ragforge.memory.recall.lessons import alike_to, read_lessons
from ragforge.memory.recall.similarity import WARNINGS_MAX, Problem, problem_of
from ragforge.memory.recall.source import Above, ContextSource, Finding, Lookup, Section, nothing
from ragforge.memory.sentences import cut_words
from ragforge.memory.tasks import DONE_CHARS_MAX

SECTION = Section("Tried before", share=0.2, place=2, tokens_max=200)


async def _look(lookup: Lookup) -> Finding:
    project = lookup.request.around.project_id
    read = partial(read_lessons, lookup.recall.store, project, lookup.forgotten)
    lessons = await lookup.attempt(read, list[Lesson]())
    if not lessons or (await lookup.fit()).is_empty:
        return Finding(nothing)

    async def items(above: Above) -> list[Recalled]:
        told = {turn for each in lessons for turn in each.turns}
        past = [each.turn for each in (await lookup.passages(above)).turns if each.turn.id not in told]
        found = await alike_to(lookup.request.text, lessons, beside=await _problems_of(lookup, past))
        return [_item(lesson, score) for score, lesson in found[:WARNINGS_MAX]]

    return Finding(items)


async def _problems_of(lookup: Lookup, turns: Sequence[Turn]) -> list[Problem]:
    """Return what these turns were about: the same files and days confirm or contradict a lesson."""
    read = partial(lookup.recall.store.versions.of_turns, [turn.id for turn in turns])
    versions = await lookup.attempt(read, list[Version]()) if turns else []
    files: defaultdict[str, list[str]] = defaultdict(list)
    for version in versions:
        files[version.turn_id or ""] += [change.path for change in version.changes if change.is_own]
    return [
        problem_of(
            text_of(turn.user),
            cut_words(answer_of(turn), DONE_CHARS_MAX),
            files=dict.fromkeys(files[turn.id]),
            at=turn.started_at,
        )
        for turn in turns
    ]


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
