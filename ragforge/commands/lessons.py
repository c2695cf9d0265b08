"""`lessons`: what failed in the project and why, and what held instead."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct

from ragforge.commands.base import Emphasis, Outcome, Report, Span, Verb
from ragforge.domain.arguments import shell_option
from ragforge.domain.printable import one_line
from ragforge.domain.words import counted, day_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragforge.domain.lessons import Lesson
    from ragforge.domain.turns import Turn
    from ragforge.session.machine import Library
    from ragforge.session.state import Session

NONE = (
    "No lessons yet. One is kept when something was undone, declined, discarded or failed its check, and the "
    "reason was said."
)
HOW = "A lesson goes when its evidence does: redo what was undone, or forget the words that give the reason."


class LessonsArguments(Struct, frozen=True):
    """How to print them."""

    json: Annotated[bool, shell_option("--json", help="Print a JSON list.")] = False


async def _run(session: "Session", args: LessonsArguments) -> Outcome:
    return await _show(session.workspace, args)


async def _show(library: "Library", args: LessonsArguments) -> Outcome:
    from ragforge.memory.forgotten import read_forgotten
    from ragforge.memory.recall.lessons import read_lessons

    store, project = library.store, library.project.id
    found = await read_lessons(store, project, await read_forgotten(store, project))
    turns = {turn.id: turn for turn in await store.turns.read([each.turns[0] for each in found])}
    if args.json:
        return Report(data=[_as_json(each, turns) for each in found])
    if not found:
        return Report(notes=(NONE,))
    return Report([line for each in found for line in _lines(each, turns)], (HOW,))


def _lines(lesson: "Lesson", turns: "Mapping[str, Turn]") -> "list[str | list[Span]]":
    facts = [lesson.kind, one_line(lesson.topic), counted(lesson.support, "task")]
    facts += [f"success {lesson.success:.2f}"] if lesson.success is not None else []
    lines: list[str | list[Span]] = [
        [Span(one_line(lesson.line), Emphasis.STRONG)],
        f"  {' · '.join(filter(None, facts))}",
    ]
    if lesson.request:
        lines.append(f"  Asked: {one_line(lesson.request)}")
    if turn := turns.get(lesson.turns[0]):
        words = f"  {day_words(turn.started_at)}, turn {turn.index + 1}: {_resume(lesson, turn)}"
        lines.append([Span(words, Emphasis.FAINT)])
    return [*lines, []]


def _resume(lesson: "Lesson", turn: "Turn") -> str:
    """The command that opens its evidence: what was undone is not on the path that `--at` counts along."""
    return f"ragforge -r {turn.session_id}" + ("" if lesson.rests_on_undo else f" --at {turn.index + 1}")


def _as_json(lesson: "Lesson", turns: "Mapping[str, Turn]") -> dict[str, Any]:
    import msgspec

    turn = turns.get(lesson.turns[0])
    return {
        **msgspec.to_builtins(lesson),
        "session": turn.session_id if turn else None,
        "turn": turn.index + 1 if turn else None,
        "resume": _resume(lesson, turn) if turn else None,
    }


VERB = Verb(
    "lessons",
    "List what failed in this project and why, and what held instead.",
    LessonsArguments,
    _run,
    shell=_show,
    reads=True,
    more="Before a message about a similar problem the model is given at most two of them.",
)
