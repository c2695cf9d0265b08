"""Try the results of a merge: run the check command on each, in a copy of the project."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from ragforge.domain.cancellation import in_thread, undisturbed
from ragforge.domain.errors import UsageError
from ragforge.domain.moves import Side
from ragforge.session.state import Session
from ragforge.versions.attempts.candidates import Candidate
from ragforge.versions.attempts.check_run import check
from ragforge.versions.copies.file_copies import Room, make_room
from ragforge.versions.copies.project_copies import Places, bring_to, env_in, make_places, remove_copies
from ragforge.versions.merge.resolution import settle
from ragforge.versions.merge.three_way import VersionMerge

Tell: TypeAlias = Callable[[str], None]
"""Receives progress, a line at a time."""


async def try_out(
    session: Session,
    found: VersionMerge,
    candidates: Sequence[Candidate],
    *,
    command: str,
    side: Side,
    tell: Tell,
) -> list[Candidate]:
    """Return the candidates with the results of the command, run one after the other; removes the copies.

    If cancelled, no process keeps running. Raises UsageError if copies cannot be made, StoreError.
    """
    workspace = session.workspace
    tried: list[Candidate] = []
    room = await in_thread(lambda _: make_room(workspace.data_dir))
    try:
        places = await _places(session, room, found, candidates, side)
        for note in places.notes:
            tell(note)
        for candidate, copy in zip(candidates, places.copies, strict=True):
            tell(f"{candidate.name}: the check runs in a copy of the project.")
            checked = await check(command, cwd=copy.root, env=env_in(workspace.child_env, copy.root))
            tell(f"{candidate.name}: {checked.told(command)}")
            tried.append(replace(candidate, checked=checked))
    finally:
        await undisturbed(remove_copies(workspace.history, room), cancel_after=True)
    return tried


async def _places(
    session: Session, room: Room, found: VersionMerge, candidates: Sequence[Candidate], side: Side
) -> Places:
    """Make a copy for each, with the files of that candidate."""
    names = {number: candidate.name for number, candidate in enumerate(candidates, 1)}
    async with session.worktree.ground() as ground:
        head = await ground.files.state.head(ground.root)
        if head.version != found.ours:
            raise UsageError(
                "The files changed while the model was answering, so nothing was merged. Try again."
            )
        places = await make_places(
            ground,
            room,
            head=head.version,
            numbered=names,
            session_id=session.id,
            turn=session.live.record.head,
        )
        for candidate, copy in zip(candidates, places.copies, strict=True):
            settled = await settle(found, candidate.contents, side, ground.files.blobs)
            title = f"trying {candidate.name}"
            await bring_to(ground, places, copy.root, settled.wanted, head=head.version, title=title)
    return places
