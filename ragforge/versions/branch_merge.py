"""Merging another line of work into the files as they are: three ways, file by file."""

import asyncio
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import short_id
from ragforge.domain.moves import MergeMode, Side
from ragforge.domain.printable import escaped
from ragforge.domain.versions import MoveAction, Version
from ragforge.session.state import Session
from ragforge.versions.attempts.candidates import Candidate, Candidates, MergeUndecided
from ragforge.versions.attempts.check_consent import check_command
from ragforge.versions.attempts.models import resolve, validated
from ragforge.versions.attempts.trials import Tell, try_out
from ragforge.versions.head_move import Choices, Ground, Move, carry_out
from ragforge.versions.merge.resolution import Settled, settle
from ragforge.versions.merge.three_way import MergeConflict, VersionMerge, merge_versions
from ragforge.versions.move_result import MoveResult, Sum
from ragforge.versions.moves import may_move
from ragforge.versions.names import HEAD, find_version, shown
from ragforge.versions.state import Head

__all__ = ["MergeMode", "Side", "clashes", "merge", "take_candidate"]

_NOTHING: Mapping[MergeConflict, bytes] = {}


async def merge(
    session: Session,
    name: str,
    *,
    side: Side = Side.MARKERS,
    strategy: MergeMode | None = None,
    ask: bool = False,
    tell: Tell = lambda _: None,
) -> MoveResult:
    """Bring what another line of work changed into the files; the version that is made has both as parents.

    What only one of them changed is taken, and what both did in different places is put together.
    strategy: how the session's model is asked about the rest, each result being tried by the check command;
    what it cannot do becomes as `side` says. ask: where it is not certain which result is the better one,
    raise MergeUndecided with nothing changed; without it the smaller difference is taken.
    Interrupted, nothing is changed. The chat stays where it is. Raises UsageError for an unknown version,
    where the folder is not covered, or where there is no model to ask; StoreError.
    """
    async with may_move(session, begun=False):
        taken, notes = None, list[str]()
        if strategy:
            with _interruptible(session):
                candidates = await _worked_out(session, name, side, strategy, tell)
            taken, notes = candidates.decided(), [*candidates.notes]
            if taken is None and candidates.each and ask:
                raise MergeUndecided(candidates)
            taken = taken or candidates.nearest()
            notes += filter(None, [candidates.why(taken)] if taken else [])
        return await _merged(session, name, side, taken, notes)


async def clashes(session: Session, name: str) -> Sequence[MergeConflict]:
    """The files about which that line and this one disagree; nothing is changed. Raises as `merge`."""
    async with may_move(session, begun=False):
        found, _ = await _three_ways(session, name, await session.worktree.catch_up())
        return found.conflicts


async def take_candidate(
    session: Session, name: str, candidates: Candidates, chosen: str, *, side: Side = Side.MARKERS
) -> MoveResult:
    """The merge as one of the results that were worked out of it. Raises as `merge`."""
    taken = candidates.named(chosen)
    async with may_move(session, begun=False):
        return await _merged(session, name, side, taken, list(candidates.notes))


@contextmanager
def _interruptible(session: Session) -> Generator[None]:
    """While it lasts, what interrupts a turn interrupts this."""
    session.live.running = asyncio.current_task()
    try:
        yield
    finally:
        session.live.running = None


async def _worked_out(session: Session, name: str, side: Side, strategy: MergeMode, tell: Tell) -> Candidates:
    """What models and the check command say, with the folder left to others meanwhile."""
    found, theirs = await _three_ways(session, name, await session.worktree.catch_up())
    [*ours] = await session.workspace.store.versions.get([found.ours])
    purposes = f"ours: {ours[0].title}\ntheirs: {theirs.title}" if ours else ""
    each, notes = await resolve(session, found.conflicts, strategy, purposes=purposes, tell=tell)
    if each and each[0].proposal.is_complete:
        checking = await check_command(session.workspace)
        notes += filter(None, [checking.note])
        if checking.command:
            each = await try_out(session, found, each, command=checking.command, side=side, tell=tell)
    passed = [candidate for candidate in each if candidate.has_passed]
    asked_about = passed if len(passed) == 1 else each
    told = await validated(session, asked_about, purposes=purposes, tell=tell)
    by_name = {candidate.name: candidate for candidate in told}
    each = [by_name.get(candidate.name, candidate) for candidate in each]
    return Candidates(found.ours, theirs.id, tuple(each), tuple(notes))


async def _three_ways(session: Session, name: str, head: Head) -> tuple[VersionMerge, Version]:
    """The merge of the named version into the head, and that version."""
    versions, project_id = session.workspace.store.versions, session.workspace.project.id
    theirs = await find_version(versions, project_id, name, head=head.version)
    labels = (head.branch or HEAD, name)
    found = await merge_versions(versions, session.workspace.blobs, head.version, theirs.id, labels=labels)
    if found.base == theirs.id:
        raise UsageError(f"There is nothing to merge: everything of {name!r} is in this line already.")
    return found, theirs


async def _merged(
    session: Session, name: str, side: Side, taken: Candidate | None, notes: list[str]
) -> MoveResult:
    async with session.worktree.ground() as ground:
        found, theirs = await _three_ways(session, name, await ground.files.state.head(ground.root))
        settled = await settle(found, taken.contents if taken else _NOTHING, side, ground.files.blobs)
        total = Sum(Choices(), notes=[*notes, *_notes_of(taken, found, settled)])
        move = await _move(session, ground, found, theirs)
        total.add(await carry_out(ground, move, settled.wanted, total.choices))
    if move.merged:
        back = typed(f"checkout {short_id(found.ours)}")
        total.notes.append(f"`{back}` goes back to before the merge.")
    for path in (*settled.merged, *settled.marked):
        total.restored.pop(path, None)
    total.merged |= dict.fromkeys(settled.merged)
    total.marked |= dict.fromkeys(settled.marked)
    moved = total.moved(MoveAction.MERGE, (), draft="", chat=False)
    return replace(moved, doubted=bool(taken and taken.doubts))


async def _move(session: Session, ground: Ground, found: VersionMerge, theirs: Version) -> Move:
    goes_ahead = found.base == found.ours
    at = session.live.record.head or ""
    return Move(
        MoveAction.MERGE,
        ground.files.project.id,
        session.id if session.live.stored else "",
        found.ours,
        theirs.id if goes_ahead else found.ours,
        f"merge of {shown(theirs)}",
        branch=(await ground.files.state.head(ground.root)).branch,
        from_turn=at,
        to_turn=at,
        merged="" if goes_ahead else theirs.id,
    )


def _notes_of(taken: Candidate | None, found: VersionMerge, settled: Settled) -> list[str]:
    """What the person must hear of how the files came about."""
    notes: list[str] = []
    if taken:
        notes += [
            f"{each.question.conflict.target}: {each.why} ({taken.name})"
            for each in taken.resolved
            if each.why
        ]
        notes += [f"{taken.name} is doubtful: {doubt}." for doubt in taken.doubts]
        changed = [escaped(each.target) for each in taken.contents if each not in found.conflicts]
        if changed:
            notes.append(f"Changed since it was worked out, so not taken from it: {', '.join(changed)}.")
    return [
        *notes,
        *(f"Left as it is here: {escaped(each.path)}, because {each.kind}." for each in settled.left),
    ]
