"""`dashboard`: wishes, concepts, sessions, and how well memory works."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from ragforge.commands.base import Open, Outcome, Report, Verb
from ragforge.domain.arguments import option, shell_option
from ragforge.domain.commands import has_screens
from ragforge.domain.memories import WishOrder, wish_kind
from ragforge.domain.printable import one_line
from ragforge.domain.words import cost_words, counted, day_words

if TYPE_CHECKING:
    from ragforge.domain.memories import Memory
    from ragforge.domain.turns import Person
    from ragforge.session.dashboard import Concept, Cost, Dashboard, Figure, SessionFigures
    from ragforge.session.machine import Library
    from ragforge.session.state import Session

LIMIT_MAX = 200


class DashboardArguments(Struct, frozen=True):
    """In which order, and how much of it."""

    sort: Annotated[WishOrder, option("--sort", help="How to sort your wishes.")] = WishOrder.KIND
    limit: Annotated[
        int, Meta(ge=1, le=LIMIT_MAX), shell_option("--limit", metavar="N", help="At most this many of each.")
    ] = 20
    json: Annotated[bool, shell_option("--json", help="Print JSON.")] = False


async def _run(session: "Session", args: DashboardArguments) -> Outcome:
    return Open("dashboard", str(args.sort)) if has_screens() else await _show(session.workspace, args)


async def _show(library: "Library", args: DashboardArguments) -> Outcome:
    from ragforge.session.dashboard import read_dashboard

    board = await read_dashboard(library, order=args.sort, limit=args.limit)
    return Report(data=_as_json(board)) if args.json else Report(_lines(board, library.person))


def _lines(board: "Dashboard", user: "Person") -> list[str]:
    from ragforge.session.persons import shows_persons

    numbers = board.numbers
    several = shows_persons([each.person for each in board.sessions], user)
    sessions = [line for each in board.sessions for line in _session_lines(each, with_person=several)]
    return [
        *_part("Wanted", [line for each in board.wanted for line in _wish_lines(each)]),
        *_part("Concepts", [_concept_line(each) for each in board.concepts]),
        *_part("Archive", sessions),
        "Numbers",
        *[line for each in numbers.figures for line in _figure_lines(each)],
        *[line for each in (numbers.memory, numbers.chat, *numbers.people) for line in _cost_lines(each)],
    ]


def _part(title: str, lines: list[str]) -> list[str]:
    return [title, *(lines or ["  nothing yet"]), ""]


def _wish_lines(wish: "Memory") -> list[str]:
    used = day_words(wish.accessed_at) if wish.accessed_at else "never"
    facts = [
        str(wish_kind(wish)),
        *filter(None, [str(wish.strength), one_line(wish.topic)]),
        f"confidence {wish.confidence:.2f}",
        f"said {wish.said}",
        f"held {wish.held}",
        f"broken {wish.broken}",
        f"used {used}",
    ]
    return [f"  {wish.id[:8]}  {one_line(wish.content)}", f"      {' · '.join(facts)}"]


def _concept_line(concept: "Concept") -> str:
    return (
        f"  {one_line(concept.topic)}: {counted(concept.uses, 'use')}, {counted(concept.memories, 'memory')}"
    )


def _session_lines(figures: "SessionFigures", *, with_person: bool) -> list[str]:
    session = figures.row.session
    title = one_line(session.title or figures.row.last_message) or "no message yet"
    archived = " · archived" if session.archived_at else ""
    person = f" · {one_line(figures.person) or 'unknown user'}" if with_person else ""
    return [
        f"  {day_words(session.last_activity_at)}  {title}",
        f"      {counted(figures.row.turns, 'turn')} · {cost_words(figures.cost_usd)}{archived}{person}",
        *(f"      decided: {one_line(each)}" for each in figures.decided),
    ]


def _figure_lines(figure: "Figure") -> list[str]:
    share = "nothing to count yet" if figure.share is None else f"{figure.share:.0%}"
    of = f" ({figure.part:,} of {figure.whole:,})" if figure.whole else ""
    return [f"  {figure.name}: {share}{of}", f"      {figure.counted}"]


def _cost_lines(cost: "Cost") -> list[str]:
    return [f"  {one_line(cost.name)}: {cost_words(cost.usd)}", f"      {cost.counted}"]


def _as_json(board: "Dashboard") -> dict[str, Any]:
    from ragforge.commands.memory_output import as_json

    return {
        "wanted": [{**as_json(each), "kind": wish_kind(each)} for each in board.wanted],
        "concepts": [
            {"topic": each.topic, "memories": each.memories, "uses": each.uses} for each in board.concepts
        ],
        "sessions": [_session_as_json(each) for each in board.sessions],
        "numbers": [
            {
                "name": each.name,
                "share": each.share,
                "part": each.part,
                "whole": each.whole,
                "counted": each.counted,
            }
            for each in board.numbers.figures
        ],
        "memory_cost_usd": board.numbers.memory.usd,
        "chat_cost_usd": board.numbers.chat.usd,
        "people": [{"name": each.name, "cost_usd": each.usd} for each in board.numbers.people],
    }


def _session_as_json(figures: "SessionFigures") -> dict[str, Any]:
    session = figures.row.session
    return {
        "id": session.id,
        "title": session.title,
        "last_activity": session.last_activity_at.isoformat(),
        "turns": figures.row.turns,
        "decided": list(figures.decided),
        "cost_usd": figures.cost_usd,
        "person": figures.person,
        "archived": at.isoformat() if (at := session.archived_at) else None,
    }


VERB = Verb(
    "dashboard",
    "Show your wishes, their topics, the sessions, and how well memory works.",
    DashboardArguments,
    _run,
    shell=_show,
    more="Each number says how it is counted, and of what.",
    reads=True,
)
