"""`lessons`: what failed in the project and why, and what worked instead."""

from typing import TYPE_CHECKING, Any

from ragforge.commands.base import Emphasis, JsonArguments, Outcome, Report, Span, Verb
from ragforge.domain.ids import short_id
from ragforge.domain.printable import inline_code, one_line
from ragforge.domain.words import counted, day_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragforge.domain.lessons import Lesson
    from ragforge.domain.turns import Turn
    from ragforge.session.machine import Library
    from ragforge.session.state import Session

NONE = (
    "No lessons yet. One is kept when something is undone, declined, discarded or fails its check, and you "
    "say why."
)
HOW = "To remove a lesson, redo what was undone, or forget the message that gives the reason."


async def _run(session: "Session", args: JsonArguments) -> Outcome:
    return await _show(session.workspace, args)


async def _show(library: "Library", args: JsonArguments) -> Outcome:
    from ragforge.memory.forgotten import read_forgotten
    from ragforge.memory.recall.lessons import read_lessons

    store, project = library.store, library.project.id
    found = await read_lessons(store, project, await read_forgotten(store, project))
    turns = {turn.id: turn for turn in await store.turns.read([each.turns[0] for each in found])}
    if args.json:
        return Report(data=[_as_json(each, turns) for each in found])
    if not found:
        return Report(notes=(NONE,))
    parts = [_parts(each, turns) for each in found]
    # In the interface their lines wrap.
    shown = ["  \n  ".join(map(inline_code, each)) for each in parts]
    markdown = "\n".join([*(f"- {each}" for each in shown), "", HOW])
    return Report([line for each in parts for line in _lines(each)], (HOW,), markdown=markdown)


def _parts(lesson: "Lesson", turns: "Mapping[str, Turn]") -> list[str]:
    """Return what was tried and why it failed, what is known of it, and where it was."""
    facts = [lesson.kind, one_line(lesson.topic), counted(lesson.support, "task")]
    facts += [f"success {lesson.success:.2f}"] if lesson.success is not None else []
    parts = [one_line(lesson.line), " · ".join(filter(None, facts))]
    if lesson.request:
        parts.append(f"Asked: {one_line(lesson.request)}")
    if turn := turns.get(lesson.turns[0]):
        resume = _resume(lesson, turn, short_id(turn.session_id))
        parts.append(f"{day_words(turn.started_at)}, turn {turn.index + 1}: {resume}")
    return parts


def _lines(parts: list[str]) -> "list[str | list[Span]]":
    return [[Span(parts[0], Emphasis.STRONG)], *(f"  {part}" for part in parts[1:]), []]


def _resume(lesson: "Lesson", turn: "Turn", session: str) -> str:
    """The command that opens its evidence: what was undone is not on the path that `--at` counts along."""
    return f"ragforge -r {session}" + ("" if lesson.rests_on_undo else f" --at {turn.index + 1}")


def _as_json(lesson: "Lesson", turns: "Mapping[str, Turn]") -> dict[str, Any]:
    import msgspec

    turn = turns.get(lesson.turns[0])
    return {
        **msgspec.to_builtins(lesson),
        "session": turn.session_id if turn else None,
        "turn": turn.index + 1 if turn else None,
        "resume": _resume(lesson, turn, turn.session_id) if turn else None,
    }


VERB = Verb(
    "lessons",
    "List what failed in this project and why, and what worked instead.",
    JsonArguments,
    _run,
    shell=_show,
    reads=True,
    more="Before a message about a similar problem the model is given at most two of them.",
)
