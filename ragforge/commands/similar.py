"""`similar`: what was done about the same problem before, and with what result."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct

from ragforge.commands.base import Emphasis, Outcome, Report, Span, Verb
from ragforge.domain.arguments import rest, shell_option
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import short_id
from ragforge.domain.messages import text_of
from ragforge.domain.printable import inline_code, one_line
from ragforge.domain.words import counted, day_words, first_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragforge.memory.recall.results import Recall
    from ragforge.memory.similar import SimilarProblems, SimilarSession, SimilarTask
    from ragforge.session.machine import Library
    from ragforge.session.state import Session

WORDS_MAX = 160


class SimilarArguments(Struct, frozen=True):
    """What it is about, and where to search."""

    text: Annotated[str, rest("TEXT", "A description of the problem; by default your newest message.")] = ""
    all_projects: Annotated[bool, shell_option("--all", help="Look in every project.")] = False
    json: Annotated[bool, shell_option("--json", help="Print one JSON object.")] = False


async def _run(session: "Session", args: SimilarArguments) -> Outcome:
    workspace, text, newest = session.workspace, args.text.strip(), frozenset[str]()
    if not text:
        head = session.live.record.head
        turn = await workspace.store.turns.get(head) if head else None
        if turn is None:
            raise UsageError("There is no message yet. Use: /similar TEXT.")
        text, newest = text_of(turn.user), frozenset((turn.id,))
    return await _look(workspace, workspace.recall, args, text, newest, session.id)


async def _list(library: "Library", args: SimilarArguments) -> Outcome:
    from ragforge.session.recall_embedder import close_recall, open_recall

    if not args.text.strip():
        raise UsageError('Describe the problem, for example: ragforge similar "the export is slow".')
    recall = open_recall(library.store, library.loaded.settings, library.environ)
    try:
        return await _look(library, recall, args, args.text.strip())
    finally:
        await close_recall(recall)


async def _look(
    library: "Library",
    recall: "Recall",
    args: SimilarArguments,
    text: str,
    without: frozenset[str] = frozenset(),
    here: str = "",
) -> Outcome:
    from ragforge.session.similar import similar_with_shared

    project = None if args.all_projects else library.project.id
    answer, shared = await similar_with_shared(
        recall, text, project_id=project, person=library.person.id, without=without, here=here
    )
    notes = (answer.limited,) if answer.limited else ()
    if args.json:
        return Report(notes=notes, data=_as_json(text, answer, shared))
    scale = f"minimum score {answer.least:.2f} of 1, by {answer.embedder}"
    if not answer.found:
        return Report(notes=(*notes, f"No earlier task is similar ({scale})."))
    head = f"Similar to {first_words(text)!r} ({scale})"
    lines = [head, "", *(line for each in answer.found for line in _lines(each, shared))]
    shown = [
        f"Similar to {inline_code(first_words(text))} ({scale})",
        "",
        *(_markdown(each, shared) for each in answer.found),
        *notes,
    ]
    return Report(lines, notes, markdown="\n".join(shown))


def _markdown(each: "SimilarTask | SimilarSession", shared: "Mapping[str, str]") -> str:
    """Return an item of a list, whose lines wrap; users' words cannot become markup."""
    row = _as_row(each, shared)
    parts = [f"- **{row['score']:.2f}** {row['shown']}", inline_code(first_words(row["request"], WORDS_MAX))]
    parts += [f"Done: {inline_code(first_words(row['done'], WORDS_MAX))}"] if row["done"] else []
    parts += [f"Why: {inline_code(first_words(row['reason'], WORDS_MAX))}"] if row["reason"] else []
    return "  \n  ".join([*parts, inline_code(row["resume"])])


def _lines(each: "SimilarTask | SimilarSession", shared: "Mapping[str, str]") -> "list[str | list[Span]]":
    row = _as_row(each, shared)
    lines: list[str | list[Span]] = [
        [Span(f"{row['score']:.2f}  {row['shown']}", Emphasis.STRONG)],
        f"  {first_words(row['request'], WORDS_MAX)}",
    ]
    if row["done"]:
        lines.append(f"  Done: {first_words(row['done'], WORDS_MAX)}")
    if row["reason"]:
        lines.append(f"  Why: {first_words(row['reason'], WORDS_MAX)}")
    return [*lines, [Span(f"  {row['resume']}", Emphasis.FAINT)], []]


def _as_json(text: str, answer: "SimilarProblems", shared: "Mapping[str, str]") -> dict[str, Any]:
    rows = [_as_row(each, shared) for each in answer.found]
    return {
        "query": text,
        "least": answer.least,
        "embedder": answer.embedder,
        "took_ms": round(answer.took_ms, 1),
        "limited": answer.limited,
        "similar": [{name: row[name] for name in row if name != "shown"} for row in rows],
    }


def _as_row(each: "SimilarTask | SimilarSession", shared: "Mapping[str, str]") -> dict[str, Any]:
    from ragforge.memory.similar import SimilarTask

    if isinstance(each, SimilarTask):
        turn, outcome = each.task.turns[0], each.task.outcome
        # What was undone is not on the path that `--at` counts along.
        at = "" if outcome in ("undone", "discarded") else f" --at {each.task.turns[-1].index + 1}"
        return {
            "kind": "task",
            "id": turn.id,
            "session": turn.session_id,
            "turn": turn.index + 1,
            "turns": len(each.task.turns),
            "at": turn.started_at.isoformat(),
            "score": each.score,
            "request": one_line(text_of(turn.user)),
            "done": one_line(each.task.done),
            "outcome": outcome,
            "reason": one_line(each.task.reason),
            "files": list(each.task.files),
            "resume": f"ragforge -r {turn.session_id}{at}",
            "shared": (by := shared.get(turn.session_id, "")),
            "shown": f"{day_words(turn.started_at)}, turn {turn.index + 1}, {outcome}{by and f', {by}'}",
        }
    session = each.session
    states = ", ".join(f"{each.tasks.count(one)} {one}" for one in dict.fromkeys(each.tasks))
    return {
        "kind": "session",
        "id": session.id,
        "session": session.id,
        "turn": None,
        "turns": None,
        "at": session.last_activity_at.isoformat(),
        "score": each.score,
        "request": one_line(session.title),
        "done": one_line(each.done),
        "outcome": states,
        "reason": "",
        "files": [],
        "resume": f"ragforge -r {session.id}",
        "shared": (by := shared.get(session.id, "")),
        "shown": f"{day_words(session.last_activity_at)}, session {short_id(session.id)}, "
        f"{counted(len(each.tasks), 'similar task')}: {states}{by and f', {by}'}",
    }


VERB = Verb(
    "similar",
    "List earlier attempts at a similar problem, and how they ended.",
    SimilarArguments,
    _run,
    shell=_list,
    reads=True,
    more=(
        "Compares the text with earlier tasks (a turn and the corrections right after it), including "
        "undone, declined and failed ones."
    ),
    examples=('similar "the export takes minutes"',),
)
