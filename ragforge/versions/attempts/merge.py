"""Merge for a session: a model may resolve conflicts, and the check command may test the results."""

from collections.abc import Sequence

from msgspec.structs import replace

from ragforge.domain.moves import MergeMode, Side
from ragforge.memory.forgotten import read_forgotten
from ragforge.session.moves import moving, of_session
from ragforge.session.state import Session
from ragforge.versions import branch_merge
from ragforge.versions.attempts.candidates import Candidate, Candidates, MergeUndecided
from ragforge.versions.attempts.check_consent import check_command
from ragforge.versions.attempts.models import resolve, validated
from ragforge.versions.attempts.trials import Tell, try_out
from ragforge.versions.branch_merge import three_ways
from ragforge.versions.head_move import ChatHead, MoveResult

clashes = of_session(branch_merge.clashes)


async def merge(
    session: Session,
    name: str,
    *,
    side: Side = Side.MARKERS,
    strategy: MergeMode | None = None,
    ask: bool = False,
    tell: Tell = lambda _: None,
) -> MoveResult:
    """Merge another line of work into the files; see `branch_merge.merge`.

    strategy: how the session's model is asked about conflicts; the check command tests each result.
    Conflicts it cannot resolve are handled as `side` says. ask: if it is uncertain which result is better,
    raise MergeUndecided with nothing changed; otherwise take the smaller difference.
    If interrupted, nothing is changed. Raises also UsageError if there is no model to ask.
    """
    async with moving(session) as chat:
        taken, notes = None, list[str]()
        if strategy:
            with session.activity.interruptible():
                candidates = await _worked_out(session, name, side, strategy, tell)
            taken, notes = candidates.decided(), [*candidates.notes]
            if taken is None and candidates.each and ask:
                raise MergeUndecided(candidates)
            taken = taken or candidates.nearest()
            notes += filter(None, [candidates.why(taken)] if taken else [])
        return await _merged(session, chat, name, side, taken, notes)


async def take_candidate(
    session: Session, name: str, candidates: Candidates, chosen: str, *, side: Side = Side.MARKERS
) -> MoveResult:
    """Complete the merge with one of its candidate results. Raises as `merge`."""
    taken = candidates.named(chosen)
    async with moving(session) as chat:
        return await _merged(session, chat, name, side, taken, candidates.notes)


async def _worked_out(session: Session, name: str, side: Side, strategy: MergeMode, tell: Tell) -> Candidates:
    """Return what models and the check command say; the folder is unlocked meanwhile."""
    worktree = session.worktree
    found, theirs = await three_ways(worktree.files, name, await worktree.catch_up())
    [*ours] = await session.workspace.store.versions.get([found.ours])
    forgotten = await read_forgotten(session.workspace.store, session.workspace.project.id)
    purposes = forgotten.cut(f"ours: {ours[0].title}\ntheirs: {theirs.title}") if ours else ""
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


async def _merged(
    session: Session, chat: ChatHead, name: str, side: Side, taken: Candidate | None, notes: Sequence[str]
) -> MoveResult:
    if taken is None:
        return await branch_merge.merge(session.worktree, chat, name, side=side, notes=notes)
    whys = [
        f"{each.question.conflict.target}: {each.why} ({taken.name})" for each in taken.resolved if each.why
    ]
    doubts = [f"{taken.name} is doubtful: {doubt}." for doubt in taken.doubts]
    notes = [*notes, *whys, *doubts]
    moved = await branch_merge.merge(
        session.worktree, chat, name, side=side, resolved=taken.contents, notes=notes
    )
    return replace(moved, doubted=bool(taken.doubts))
