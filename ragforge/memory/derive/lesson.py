"""Lessons: from what was undone, declined, discarded or failed its check just before a turn, and why.

It is a part of the call about the next turn, because that contains the reason, if there is one: in the user's
words, in the denial or in the check's output. Without a model the reason is stored word for word. Most undos
only rephrase a request and teach nothing.
"""

import logging
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.derivations import Underived
from ragforge.domain.errors import StoreError
from ragforge.domain.ids import now
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.lessons import (
    KEYWORDS_MAX,
    KIND,
    REASON_CHARS_MAX,
    REQUEST_CHARS_MAX,
    TOPIC_CHARS_MAX,
    TRIED_CHARS_MAX,
    Lesson,
    LessonKind,
)
from ragforge.domain.messages import text_of
from ragforge.domain.printable import one_line
from ragforge.domain.redact import Redactor
from ragforge.domain.summaries import Summary
from ragforge.domain.tasks import PastTask, TaskFigures, TaskOutcome, implied_satisfaction, task_success
from ragforge.domain.turns import Turn
from ragforge.memory.derive.records import keep_record
from ragforge.memory.derive.turn_material import says_nothing
from ragforge.memory.failures import failed_before, reason_in
from ragforge.memory.likeness import content_words, share_of
from ragforge.memory.material import Material, PartInput
from ragforge.memory.part import AnswerPart, PartHome
from ragforge.memory.recall.lessons import read_lessons, supported, tried_words
from ragforge.memory.sentences import cut_words
from ragforge.store.base import Store

log = logging.getLogger(__name__)

FAILED_MAX = 3
"""From this many tasks before one turn."""
WORD_FOR_WORD = 0.6
"""If fewer of its words are in its source, a reason was made up."""


class Failed(Struct, frozen=True):
    """What failed before a turn. said: where the reason may be."""

    tasks: tuple[PastTask, ...]
    said: str


class Learnt(Struct, frozen=True):
    """A lesson, with the first turn of the task that it is about. by_model: whether a model wrote it."""

    source: Underived
    lesson: Lesson
    by_model: bool


async def bring(home: PartHome, turn: Turn) -> PartInput | None:
    """Return what failed just before the turn; None if nothing did. Raises StoreError."""
    if says_nothing(turn, await home.store.calls.of_turns([turn.id])):
        return None
    try:
        tasks = (await failed_before(home.store, home.project_id, turn))[:FAILED_MAX]
    except StoreError as error:
        log.warning("What failed before turn %s cannot be told: %s", turn.id, error)
        return None
    if not tasks:
        return None
    lines = [_shown(number, task) for number, task in enumerate(tasks, 1)]
    return PartInput("Failed just before this turn:", tuple(lines), Failed(tuple(tasks), text_of(turn.user)))


def _shown(number: int, task: PastTask) -> str:
    said = f" The output or the user said: {task.reason}" if task.reason else ""
    request = cut_words(one_line(_request(task)), REQUEST_CHARS_MAX)
    return f"{number}. {task.outcome}: {request} Done: {cut_words(one_line(task.done), 240)}{said}"


def _read(material: Material, value: JsonValue) -> tuple[Learnt, ...] | None:
    """Return the lessons of the answer whose reason was really said; None if it is not a list."""
    if not isinstance(value, list):
        return None
    failed, found = _failed(material), list[Learnt]()
    for each in value:
        if not isinstance(each, dict):
            continue
        number = each.get("of")
        if not isinstance(number, int) or not 1 <= number <= len(failed.tasks):
            continue
        task = failed.tasks[number - 1]
        reason = cut_words(one_line(_text(each, "reason")), REASON_CHARS_MAX)
        source = f"{failed.said} {task.reason}"
        if not reason or share_of(reason, content_words(source)) < WORD_FOR_WORD:
            continue
        lesson = _lesson(material, task, reason)
        kinds = {str(kind): kind for kind in LessonKind}
        words = each.get("keywords")
        found.append(
            _learnt(
                material,
                task,
                replace(
                    lesson,
                    kind=kinds.get(_text(each, "kind"), lesson.kind),
                    tried=cut_words(one_line(_text(each, "tried")), TRIED_CHARS_MAX) or lesson.tried,
                    topic=cut_words(one_line(_text(each, "topic")), TOPIC_CHARS_MAX),
                    keywords=tuple(
                        one_line(each)[:TOPIC_CHARS_MAX] for each in words if isinstance(each, str)
                    )[:KEYWORDS_MAX]
                    if isinstance(words, list)
                    else (),
                ),
                by_model=True,
            )
        )
    return tuple(found)


def _by_rules(material: Material) -> tuple[Learnt, ...]:
    """Return the reasons word for word, of what has one."""
    failed, found = _failed(material), list[Learnt]()
    for task in failed.tasks:
        rests_on_words = task.outcome in (TaskOutcome.UNDONE, TaskOutcome.DISCARDED)
        said = reason_in(failed.said, request=_request(task)) if rests_on_words else ""
        if reason := said or task.reason:
            found.append(_learnt(material, task, _lesson(material, task, reason), by_model=False))
    return tuple(found)


def _lesson(material: Material, task: PastTask, reason: str) -> Lesson:
    is_wrong = task.outcome in (TaskOutcome.DENIED, TaskOutcome.CHECK_FAILED)
    satisfaction = implied_satisfaction(task.outcome, asked_again=False, committed=False)
    check = False if task.outcome is TaskOutcome.CHECK_FAILED else None
    return Lesson(
        LessonKind.MISTAKE if is_wrong else LessonKind.FAILED_APPROACH,
        tried_words(task),
        task.outcome,
        cut_words(one_line(_request(task)), REQUEST_CHARS_MAX),
        task.turns[-1].ended_at or task.turns[-1].started_at,
        cut_words(one_line(reason), REASON_CHARS_MAX),
        files=task.files[:KEYWORDS_MAX],
        turns=tuple(turn.id for turn in task.turns),
        told_in=material.turn.id,
        success=task_success(TaskFigures(check_passed=check, satisfaction=satisfaction)),
    )


def _request(task: PastTask) -> str:
    return " ".join(text_of(turn.user) for turn in task.turns)


def _learnt(material: Material, task: PastTask, lesson: Lesson, *, by_model: bool) -> Learnt:
    first = task.turns[0]
    return Learnt(Underived(first.id, material.project_id, first.ended_at or now()), lesson, by_model)


def _failed(material: Material) -> Failed:
    failed = material.inputs[PART.name].data
    assert isinstance(failed, Failed)
    return failed


def _text(value: JsonObject, name: str) -> str:
    text = value.get(name)
    return text if isinstance(text, str) else ""


async def _keep(store: Store, redactor: Redactor, summary: Summary, value: Sequence[Learnt]) -> None:
    """Store each with the task that it is about. Raises StoreError."""
    for each in value:
        source = each.source
        known = await read_lessons(store, source.project_id)
        lesson = await supported(each.lesson, [one for one in known if one.turns[:1] != (source.owner,)])
        record = KIND.record(source, lesson, model=summary.model if each.by_model else "")
        await keep_record(store, redactor, record)


_TEXT: JsonObject = {"type": "string"}
_FIELDS: JsonObject = {
    "of": {"type": "integer"},
    "kind": {"type": "string", "enum": [str(kind) for kind in LessonKind]},
    "tried": _TEXT,
    "reason": _TEXT,
    "topic": _TEXT,
    "keywords": {"type": "array", "items": _TEXT},
}

PART: AnswerPart[tuple[Learnt, ...]] = AnswerPart(
    "lessons",
    {
        "type": "array",
        "items": {
            "type": "object",
            "properties": _FIELDS,
            "required": list(_FIELDS),
            "additionalProperties": False,
        },
    },
    "of what failed just before the turn, as `<brought>` lists it by number (`of`), what to know next time; "
    "only where the user's message, a denial or a check's output says why, and mostly none: an undo to ask "
    "in other words teaches nothing. `tried`: the way that failed, at most 160 characters. `reason`: why, in "
    "the words that were said. `topic`: two or three words. `keywords`: up to 12 English words that others "
    "may use for the same problem.",
    tokens_max=400,
    read=_read,
    without=_by_rules,
    keep=_keep,
    bring=bring,
    input_tokens_max=700,
    kind=tuple[Learnt, ...],
)
