"""A command that moves between versions: what it came to, or the question that it cannot go on without."""

from collections.abc import Awaitable, Callable, Sequence

from ragforge.commands.base import Choose, HeadMoved, Option, Outcome
from ragforge.commands.move_arguments import ON_CONFLICT
from ragforge.domain.moves import ConflictChoice, MergeMode, Side
from ragforge.domain.printable import escaped
from ragforge.domain.words import counted
from ragforge.versions.attempts.candidates import Candidate, Candidates
from ragforge.versions.head_move import FilesInConflict
from ragforge.versions.merge.three_way import MergeConflict
from ragforge.versions.move_result import MoveResult
from ragforge.versions.words import moved_lines

PATHS_SHOWN = 8
_MEANING = {
    ConflictChoice.KEEP: "leave them as they are now",
    ConflictChoice.RESTORE: "use the version's content; the current file is kept as a version of its own",
    ConflictChoice.MERGE: "merge both, with markers where both changed the same lines",
}


async def moved_or_asked(moving: Awaitable[MoveResult], line: str) -> Outcome:
    """Where the heads went; or, with nothing touched, what shall become of files that were changed since.

    line: the command as it was typed, without its slash; each answer adds its choice.
    """
    try:
        moved = await moving
    except FilesInConflict as conflict:
        return _question(conflict.paths, line)
    return HeadMoved(tuple(moved_lines(moved)), moved.chat, moved.draft)


def _question(paths: tuple[str, ...], line: str) -> Choose:
    several = f"{len(paths)} files were" if len(paths) > 1 else "A file was"
    shown = [escaped(path) for path in paths[:PATHS_SHOWN]]
    if len(paths) > PATHS_SHOWN:
        shown.append(f"and {len(paths) - PATHS_SHOWN} more")
    options = tuple(
        Option(choice, meaning, f"{line} {ON_CONFLICT} {choice}") for choice, meaning in _MEANING.items()
    )
    question = f"{several} changed since, by you or by another session. What shall become of what is there?"
    return Choose(question, "\n".join(shown), options)


_OUTPUT_LINES_SHOWN = 8


def choice_of(candidates: Candidates, *, take: Callable[[str], str], without: str, side: Side) -> Choose:
    """Which result of a merge shall be taken, if any.

    take: the command line that takes the one of this name. without: the one that merges by the side alone.
    """
    named = [Option(each.name, _standing(each), take(each.name)) for each in candidates.each]
    plain = Option(side, _WITHOUT[side], without)
    ends = [f"{each.name}, the end of the check:\n{_end(each)}" for each in candidates.each if _end(each)]
    return Choose(
        "Which result of the merge shall be taken? Nothing was changed yet.",
        "\n\n".join([*candidates.notes, *ends]),
        (*named, plain),
        diff="".join(each.diff for each in candidates.each),
    )


def question_about(conflicts: Sequence[MergeConflict], *, line: Callable[[str], str], model: str) -> Choose:
    """What shall become of the files that both sides changed.

    line: the command line with an option. model: whom a strategy would ask, if anybody.
    """
    shown = [f"{escaped(each.path)}: {each.kind}" for each in conflicts[:PATHS_SHOWN]]
    if len(conflicts) > PATHS_SHOWN:
        shown.append(f"and {len(conflicts) - PATHS_SHOWN} more")
    asks = f"ask {model} in two ways, and see what it makes of them; what is no text stays as it is here"
    options = [Option(side, meaning, line(f"--{side}")) for side, meaning in _SIDES.items()]
    if model:
        options.append(Option(MergeMode.BEST, asks, line(f"--strategy={MergeMode.BEST}")))
    files = counted(len(conflicts), "file")
    return Choose(f"Both sides changed {files}. What shall become of that?", "\n".join(shown), tuple(options))


_SIDES = {
    Side.MARKERS: "conflict markers show both; what is no text stays as it is here",
    Side.OURS: "they stay as they are here",
    Side.THEIRS: "they become what the other side made of them",
}
_WITHOUT = {
    Side.MARKERS: "none of them; conflict markers show both sides",
    Side.OURS: "none of them; the lines of this side stay",
    Side.THEIRS: "none of them; the lines of the other side are taken",
}


def _standing(candidate: Candidate) -> str:
    """What speaks for and against it, in a line."""
    checked = (
        f"{candidate.checked.words}, {candidate.checked.took_s:.1f} s" if candidate.checked else "not checked"
    )
    objections = [f"objection: {each}" for each in candidate.objections]
    distance = counted(candidate.proposal.lines_changed, "line")
    return "; ".join([checked, f"{distance} away from both sides", *objections])


def _end(candidate: Candidate) -> str:
    """The last lines that its check wrote."""
    lines = candidate.checked.output.rstrip().splitlines() if candidate.checked else []
    return "\n".join(lines[-_OUTPUT_LINES_SHOWN:])
