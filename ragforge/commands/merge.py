"""`merge`: merge another line of work into the files."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from ragforge.commands.base import Choose, Follow, HeadMoved, Opens, Option, Outcome, Tell, Verb
from ragforge.commands.check_question import CheckAnswer, question_before, take_answer
from ragforge.commands.move_verbs import PATHS_SHOWN
from ragforge.domain.arguments import Former, ValuesOf, option, word
from ragforge.domain.commands import is_in_shell
from ragforge.domain.errors import UsageError
from ragforge.domain.moves import MergeMode, Side
from ragforge.domain.printable import escaped
from ragforge.domain.words import counted

if TYPE_CHECKING:
    from ragforge.session.state import Session
    from ragforge.versions.attempts.candidates import Candidate, Candidates
    from ragforge.versions.merge.three_way import MergeConflict

OUTPUT_LINES_SHOWN = 8
_SIDES = {
    Side.MARKERS: "write conflict markers with both sides; binary files stay as they are here",
    Side.OURS: "keep them as they are here",
    Side.THEIRS: "take them from the other side",
}
_WITHOUT = {
    Side.MARKERS: "none; write conflict markers with both sides",
    Side.OURS: "none; keep the lines of this side",
    Side.THEIRS: "none; take the lines of the other side",
}


class MergeArguments(Struct, frozen=True, kw_only=True):
    """What to merge, and what to do with conflicts.

    take: the result that was chosen; check: the answer about the check command.
    """

    name: Annotated[
        str, word("NAME|VERSION", "A branch, a label, or a part of an id.", values=ValuesOf.BRANCHES)
    ]
    on_conflict: Annotated[
        Side | None,
        option("--on-conflict", help="What to do with files that both changed in the same place."),
    ] = None
    strategy: Annotated[
        MergeMode | None,
        option(
            "--strategy",
            help="Ask the model to resolve them first, in one way or in both. Of two results, take the "
            "only one that passes history.check_command, or else the one closer to both sides.",
        ),
    ] = None
    take: Annotated[str, option("--take", hidden=True)] = ""
    check: Annotated[CheckAnswer | None, option("--check", hidden=True)] = None

    @property
    def side(self) -> Side:
        """Return what to do with undecided conflicts."""
        return self.on_conflict or Side.MARKERS


async def _run(session: "Session", args: MergeArguments) -> Outcome:
    from ragforge.session.model import NO_MODEL, model_of
    from ragforge.versions.attempts.merge import clashes, merge, take_candidate
    from ragforge.versions.attempts.session_attempts import attempts_of

    if args.check:
        await take_answer(session, args.check)
    if args.take:
        attempts = attempts_of(session)
        if attempts.undecided is None:
            raise UsageError(
                "There are no merge results to choose from. /merge NAME --strategy best creates some."
            )
        candidates, attempts.undecided = attempts.undecided, None
        return HeadMoved(await take_candidate(session, args.name, candidates, args.take, side=args.side))
    attempts_of(session).undecided = None
    if args.strategy:
        first = (
            None if is_in_shell() else await question_before(session, lambda said: _line(args, check=said))
        )
        return first or Follow(_lines(session, args))
    is_asked = args.on_conflict is None and not is_in_shell()
    if is_asked and (conflicts := await clashes(session, args.name)):
        name = model_of(session)
        return _question_about(conflicts, args, model="" if name.provider == NO_MODEL else str(name))
    return HeadMoved(await merge(session, args.name, side=args.side))


def _lines(session: "Session", args: MergeArguments) -> AsyncGenerator[str | Outcome, None]:
    """Yield the progress, and at the end the merge or the question which result to take."""
    from ragforge.versions.attempts.candidates import MergeUndecided
    from ragforge.versions.attempts.merge import merge
    from ragforge.versions.attempts.session_attempts import attempts_of

    async def work(tell: Callable[[str], None]) -> Outcome:
        if not is_in_shell():
            tell("Merging ... If you interrupt it, nothing is changed.")
        try:
            moved = await merge(
                session, args.name, side=args.side, strategy=args.strategy, ask=not is_in_shell(), tell=tell
            )
        except MergeUndecided as undecided:
            attempts_of(session).undecided = undecided.candidates
            return _choice_of(undecided.candidates, args)
        return HeadMoved(moved)

    return _followed(work, stopped="The merge was stopped. Nothing was changed.")


def _line(args: MergeArguments, *, check: CheckAnswer) -> str:
    return VERB.line(replace(args, check=check))


def _question_about(conflicts: "Sequence[MergeConflict]", args: MergeArguments, *, model: str) -> Choose:
    """Return the question what to do with conflicts. model: whom a strategy asks, or ""."""
    shown = [f"{escaped(each.path)}: {each.kind}" for each in conflicts[:PATHS_SHOWN]]
    if len(conflicts) > PATHS_SHOWN:
        shown.append(f"and {len(conflicts) - PATHS_SHOWN} more")
    asks = f"ask {model} for two solutions and compare them; binary files stay as they are here"
    options = [
        Option(side, meaning, VERB.line(replace(args, on_conflict=side, check=None)))
        for side, meaning in _SIDES.items()
    ]
    if model:
        best = replace(args, strategy=MergeMode.BEST, check=None)
        options.append(Option(MergeMode.BEST, asks, VERB.line(best)))
    files = counted(len(conflicts), "file")
    return Choose(
        f"Both sides changed {files}. What should happen to them?", "\n".join(shown), tuple(options)
    )


def _choice_of(candidates: "Candidates", args: MergeArguments) -> Choose:
    """Return the question which result of a merge to take, if any."""
    plain = replace(args, on_conflict=args.side, strategy=None, check=None)
    named = [
        Option(each.name, _standing(each), VERB.line(replace(plain, take=each.name)))
        for each in candidates.each
    ]
    ends = [f"{each.name}, the end of the check:\n{_end(each)}" for each in candidates.each if _end(each)]
    return Choose(
        "Which merge result do you want to take? Nothing was changed yet.",
        "\n\n".join([*candidates.notes, *ends]),
        (*named, Option(args.side, _WITHOUT[args.side], VERB.line(plain))),
        diff="".join(each.diff for each in candidates.each),
    )


def _standing(candidate: "Candidate") -> str:
    """Return its pros and cons, in a line."""
    checked = (
        f"{candidate.checked.words}, {candidate.checked.took_s:.1f} s" if candidate.checked else "not checked"
    )
    objections = [f"objection: {each}" for each in candidate.objections]
    distance = counted(candidate.proposal.lines_changed, "line")
    return "; ".join([checked, f"{distance} away from both sides", *objections])


def _end(candidate: "Candidate") -> str:
    """Return the last lines of its check's output."""
    lines = candidate.checked.output.rstrip().splitlines() if candidate.checked else []
    return "\n".join(lines[-OUTPUT_LINES_SHOWN:])


async def _followed(
    work: Callable[[Callable[[str], None]], Coroutine[Any, Any, Outcome]], *, stopped: str
) -> AsyncGenerator[str | Outcome, None]:
    """Yield the work's progress, a line at a time, then its outcome; or `stopped`, if it was cancelled.

    It ends when nobody listens any more. Raises what the work raises.
    """
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    task = asyncio.create_task(work(lines.put_nowait))
    task.add_done_callback(lambda _: lines.put_nowait(None))
    try:
        while (line := await lines.get()) is not None:
            yield line
        yield Tell(stopped) if task.cancelled() else task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


VERB = Verb(
    "merge",
    "Merge a branch or version into the current files; asks about conflicts.",
    MergeArguments,
    _run,
    more="Changes that only one side made are taken, and changes in different places are combined. The new "
    "version has both as parents. The command line asks no questions: the exit code is 1 if conflict "
    "markers remain, the check failed, or the second model objected.",
    while_running=False,
    opens=Opens.NEWEST_OR_NEW,
    former=tuple(Former(f"--{side}", f"--on-conflict {side}") for side in Side),
)
