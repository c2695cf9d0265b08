"""Merge another line of work into the current files: three-way, file by file."""

from collections.abc import Mapping, Sequence

from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import new_id, short_id
from ragforge.domain.moves import Side
from ragforge.domain.printable import escaped
from ragforge.domain.versions import MoveAction, Version
from ragforge.versions.head_move import ChatHead, Choices, Ground, Move, MoveResult, Sum, carry_out
from ragforge.versions.merge.resolution import settle
from ragforge.versions.merge.three_way import MergeConflict, VersionMerge, merge_versions
from ragforge.versions.names import HEAD, find_version, shown
from ragforge.versions.project_files import ProjectFiles
from ragforge.versions.record.recorder import Worktree
from ragforge.versions.state import Head

_NOTHING: Mapping[MergeConflict, bytes] = {}


async def merge(
    worktree: Worktree,
    chat: ChatHead,
    name: str,
    *,
    side: Side = Side.MARKERS,
    resolved: Mapping[MergeConflict, bytes] = _NOTHING,
    notes: Sequence[str] = (),
) -> MoveResult:
    """Merge another line of work into the files; the new version has both as parents.

    Changes of only one side are taken, and changes of both in different places are combined.
    resolved: results for conflicts; other conflicts are handled as `side` says. notes: what to tell the user
    about how they were resolved. The conversation does not move. Raises UsageError for an unknown version or
    an untracked folder; StoreError.
    """
    async with worktree.ground() as ground:
        head = await ground.files.state.head(ground.root)
        found, theirs = await three_ways(ground.files, name, head)
        settled = await settle(found, resolved, side, ground.files.blobs)
        total = Sum(Choices(), notes=list(notes))
        changed = [escaped(each.target) for each in resolved if each not in found.conflicts]
        if changed:
            total.notes.append(f"Not taken, because they changed since then: {', '.join(changed)}.")
        total.notes += [
            f"Kept as it is here: {escaped(each.path)}, because {each.kind}." for each in settled.left
        ]
        move = _move(ground, head, found, theirs, session_id=worktree.session_id, turn=chat.turn)
        total.add(await carry_out(ground, move, settled.wanted, total.choices))
    if move.merged:
        back = typed(f"checkout {short_id(found.ours)}")
        total.notes.append(f"`{back}` goes back to before the merge.")
    for path in (*settled.merged, *settled.marked):
        total.restored.pop(path, None)
    total.merged |= dict.fromkeys(settled.merged)
    total.marked |= dict.fromkeys(settled.marked)
    return total.moved(MoveAction.MERGE, (), draft="", chat=False)


async def clashes(worktree: Worktree, chat: ChatHead, name: str) -> Sequence[MergeConflict]:
    """Return the files in conflict between that line and this one; changes nothing. Raises like `merge`."""
    found, _ = await three_ways(worktree.files, name, await worktree.catch_up())
    return found.conflicts


async def three_ways(files: ProjectFiles, name: str, head: Head) -> tuple[VersionMerge, Version]:
    """Return the merge of the named version into the head, and that version."""
    versions, project_id = files.store.versions, files.project.id
    theirs = await find_version(versions, project_id, name, head=head.version)
    labels = (head.branch or HEAD, name)
    found = await merge_versions(versions, files.blobs, head.version, theirs.id, labels=labels)
    if found.base == theirs.id:
        raise UsageError(f"Nothing to merge: everything in {name!r} is already here.")
    return found, theirs


def _move(
    ground: Ground, head: Head, found: VersionMerge, theirs: Version, *, session_id: str, turn: str
) -> Move:
    goes_ahead = found.base == found.ours
    return Move(
        action=MoveAction.MERGE,
        project_id=ground.files.project.id,
        session_id=session_id,
        from_version=found.ours,
        target=theirs.id if goes_ahead else found.ours,
        title=f"merge of {shown(theirs)}",
        branch=head.branch,
        from_turn=turn,
        to_turn=turn,
        merged="" if goes_ahead else theirs.id,
        command_id=new_id(),
    )
