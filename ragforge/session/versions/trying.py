"""Results of a merge tried out: the check command is run on each, in a copy of the project."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from ragforge.agent.undisturbed import undisturbed
from ragforge.domain.errors import UsageError
from ragforge.history.copies import Room, make_room
from ragforge.history.merge import VersionMerge
from ragforge.session.checking.run import check
from ragforge.session.copies import Places, bring_to, env_in, make_places, remove_copies
from ragforge.session.state import Session
from ragforge.session.versions.candidates import Candidate
from ragforge.session.versions.ground import on_ground
from ragforge.session.versions.settling import Side, settle
from ragforge.tools.threads import in_thread

Tell: TypeAlias = Callable[[str], None]
"""Hears what happens, a line at a time."""


async def try_out(
    session: Session,
    found: VersionMerge,
    candidates: Sequence[Candidate],
    *,
    command: str,
    side: Side,
    tell: Tell,
) -> list[Candidate]:
    """The candidates with what the command says of each, one after the other; the copies are gone then.

    Cancelled, it leaves nothing running. Raises UsageError where copies cannot be made, StoreError.
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
            checked = await check(command, cwd=copy.root, env=env_in(workspace, copy.root))
            tell(f"{candidate.name}: {checked.told(command)}")
            tried.append(replace(candidate, checked=checked))
    finally:
        await undisturbed(remove_copies(workspace, room), cancel_after=True)
    return tried


async def _places(
    session: Session, room: Room, found: VersionMerge, candidates: Sequence[Candidate], side: Side
) -> Places:
    """A copy for each, with the files as that candidate would have them."""
    names = {number: candidate.name for number, candidate in enumerate(candidates, 1)}
    async with on_ground(session) as ground:
        head = await ground.state.head(ground.root)
        if head.version != found.ours:
            raise UsageError(
                "The files were changed while the model was asked, so nothing was merged. Try again."
            )
        places = await make_places(session, ground, room, head=head.version, numbered=names)
        for candidate, copy in zip(candidates, places.copies, strict=True):
            settled = await settle(found, candidate.contents, side, ground.blobs)
            title = f"trying {candidate.name}"
            await bring_to(ground, places, copy.root, settled.wanted, head=head.version, title=title)
    return places
