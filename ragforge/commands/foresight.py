"""`foresight`: turns with many changes and little information, how well they were predicted, and by whom."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from ragforge.commands.base import Open, Opens, Outcome, Report, Verb
from ragforge.domain.arguments import shell_option, word
from ragforge.domain.commands import has_screens
from ragforge.domain.messages import text_of
from ragforge.domain.words import counted, first_words

if TYPE_CHECKING:
    from ragforge.session.foresight import ForeseenTurn, Foreseer, MarkedTurn
    from ragforge.session.state import Session

TURNS_MAX = 500
RANKED_IN_SHELL = 20


class ForesightArguments(Struct, frozen=True):
    """How many turns."""

    limit: Annotated[
        int | None, Meta(ge=1, le=TURNS_MAX), word("N", "The newest N turns; 50 by default.")
    ] = None
    json: Annotated[bool, shell_option("--json", help="Print JSON.")] = False


async def _run(session: "Session", args: ForesightArguments) -> Outcome:
    from ragforge.session.foresight import (
        TURNS_SHOWN,
        check_enabled,
        curves,
        ranked,
        read_foreseers,
        read_marks,
        read_turns,
    )

    library, head = session.workspace, session.live.record.head
    check_enabled(library)
    if has_screens():
        return Open("foresight", str(args.limit or ""))
    limit = args.limit or TURNS_SHOWN
    read = await read_turns(library, head, limit=limit)
    marks, foreseers = await read_marks(library, read), await read_foreseers(library)
    settings = library.settings.foresight
    drawn = curves(read, individual=settings.depth_individual, collective=settings.depth_collective)
    turns = read[-limit:]
    figures = list(zip(drawn.individual, drawn.collective, strict=True))[-limit:]
    if args.json:
        rows = [_as_json(each, marks.get(each.turn.id), *u) for each, u in zip(turns, figures, strict=True)]
        return Report(data={"turns": rows, "foreseers": list(map(_foreseer_json, foreseers))})
    return Report([*_turn_lines(ranked(turns), marks), "", *_foreseer_lines(foreseers)])


def _turn_lines(turns: "list[ForeseenTurn]", marks: "dict[str, MarkedTurn]") -> list[str]:
    if not turns:
        return ["There are no figures yet. They appear in the background after a turn has changed files."]
    lines = ["Worth a look: much changed, little described"]
    for each in turns[:RANKED_IN_SHELL]:
        made = each.made
        rating = "-" if made is None or (own := made.predictability_individual) is None else f"{own}"
        units = counted(made.units_individual or 0, "line") if made else ""
        said = first_words(text_of(each.turn.user))
        lines.append(f"  {each.first_u:>8,}  turn {each.number}: {said} ({units}, foreseen {rating} of 10)")
        if (marked := marks.get(each.turn.id)) and marked.marks:
            lines.append(f"            {'; '.join(mark.words for mark in marked.marks)}")
    return lines


def _foreseer_lines(foreseers: "list[Foreseer]") -> list[str]:
    from ragforge.session.foresight import COUNT_MIN

    lines = [f"Who foresees this project (means of at least {COUNT_MIN}, 0 to 10)"]
    for each in foreseers:
        means = (("rating", each.rating), ("by words", each.words), ("by meaning", each.meaning))
        told = [f"{name} {value:.1f}" for name, value in means if value is not None]
        told += [] if each.share is None else [f"{each.share:.0%} of {each.files} foreseen files changed"]
        counts = counted(each.rated, "prediction")
        lines.append(
            f"  {each.month}  {each.model or 'without a model'}: {', '.join([*told, counts + ' rated'])}"
        )
    return lines if foreseers else [*lines, "  nothing yet"]


def _as_json(
    each: "ForeseenTurn", marked: "MarkedTurn | None", individual: int | None, collective: int | None
) -> dict[str, Any]:
    import msgspec

    return {
        "turn": each.number,
        "id": each.turn.id,
        "message": text_of(each.turn.user),
        "u_individual": individual,
        "u_collective": collective,
        "u_of_turn": each.first_u,
        "marks": [mark.words for mark in marked.marks] if marked else [],
        "expected": msgspec.to_builtins(each.expected),
        "record": msgspec.to_builtins(each.made),
    }


def _foreseer_json(each: "Foreseer") -> dict[str, Any]:
    import msgspec

    return msgspec.to_builtins(each)


VERB = Verb(
    "foresight",
    "Compare each turn with what was expected, and list turns in which few words changed much.",
    ForesightArguments,
    _run,
    opens=Opens.LOOK,
    reads=True,
    more="U is the size of a turn's changes in bits, minus the size of their description. Means need ten "
    "ratings.",
)
