"""`proposals`: memories that came with shared sessions, to accept or to refuse."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import JsonArguments, Outcome, Report, Tell, Verb
from ragforge.domain.arguments import rest
from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.domain.printable import one_line
from ragforge.domain.shares import Decision
from ragforge.domain.words import day_words

if TYPE_CHECKING:
    from ragforge.session.machine import Library
    from ragforge.session.session_import import OpenProposal
    from ragforge.session.state import Session

ALL = "all"


class DecideArguments(Struct, frozen=True):
    """Which."""

    ids: Annotated[str, rest("ID... | all", "Their ids, or the first characters of them; or `all`.")]


async def _run(session: "Session", args: JsonArguments) -> Outcome:
    return await _show(session.workspace, args)


async def _show(library: "Library", args: JsonArguments) -> Outcome:
    from ragforge.session.session_import import proposals

    found = await proposals(library.store, library.project.id)
    if args.json:
        return Report(data=[_as_json(each) for each in found])
    if not found:
        return Report(notes=("There are no open proposals.",))
    lines = [line for each in found for line in _lines(each)]
    how = "No model sees these until you accept them: proposals accept ID, or proposals refuse ID."
    return Report(lines, (how,))


def _lines(each: "OpenProposal") -> list[str]:
    proposal = each.proposal
    return [
        f"{each.id}  {proposal.type}  {one_line(proposal.content)}",
        f"    shared by {one_line(each.mark.by)}, {day_words(each.mark.exported_at)}",
    ]


def _as_json(each: "OpenProposal") -> dict[str, object]:
    return {
        "id": each.record.name,
        "type": each.proposal.type,
        "content": each.proposal.content,
        "by": each.mark.by,
        "at": each.mark.exported_at.isoformat(),
        "session": each.record.owner,
    }


async def _accept(session: "Session", args: DecideArguments) -> Outcome:
    return await _decide(session.workspace, args.ids, Decision.ACCEPTED)


async def _accept_in_shell(library: "Library", args: DecideArguments) -> Outcome:
    return await _decide(library, args.ids, Decision.ACCEPTED)


async def _refuse(session: "Session", args: DecideArguments) -> Outcome:
    return await _decide(session.workspace, args.ids, Decision.REFUSED)


async def _refuse_in_shell(library: "Library", args: DecideArguments) -> Outcome:
    return await _decide(library, args.ids, Decision.REFUSED)


async def _decide(library: "Library", ids: str, decision: Decision) -> Outcome:
    from ragforge.session.session_import import decide, proposals

    chosen = _chosen(await proposals(library.store, library.project.id), ids.split())
    await decide(library, chosen, decision)
    number = "1 memory" if len(chosen) == 1 else f"{len(chosen):,} memories"
    return Tell(f"{decision.capitalize()} {number}.")


def _chosen(found: "Sequence[OpenProposal]", ids: Sequence[str]) -> "list[OpenProposal]":
    if list(ids) == [ALL]:
        return list(found)
    chosen: list[OpenProposal] = []
    for id in ids:
        fitting = [
            each for each in found if id in (each.id, each.record.name) or each.record.name.startswith(id)
        ]
        if len(fitting) != 1:
            what = f"Several open proposals match {id!r}" if fitting else f"No open proposal matches {id!r}"
            raise UsageError(f"{what}. `{typed('proposals')}` lists them.")
        chosen += [each for each in fitting if each not in chosen]
    return chosen


_ACCEPT = "Accept proposed memories as your own."
_REFUSE = "Drop proposed memories."

VERB = Verb(
    "proposals",
    "List memories that came with shared sessions; accept or refuse them.",
    JsonArguments,
    _run,
    shell=_show,
    reads=True,
    verbs=(
        Verb("accept", _ACCEPT, DecideArguments, _accept, shell=_accept_in_shell),
        Verb("refuse", _REFUSE, DecideArguments, _refuse, shell=_refuse_in_shell),
    ),
)
