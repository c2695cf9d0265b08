"""The request of alternatives and their starting point: a new prompt, or the newest turn's again."""

from msgspec import Struct

from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import new_id, now
from ragforge.domain.messages import Parts, TextPart
from ragforge.domain.turns import Turn
from ragforge.domain.versions import USER, Version
from ragforge.session.state import Session
from ragforge.store.base import keep_project
from ragforge.versions.attempts.alternatives import BEFORE, beginning_of
from ragforge.versions.attempts.approaches import Way, without_approach
from ragforge.versions.head_move import Ground, lines_of
from ragforge.versions.state import Head
from ragforge.versions.tree import WantedFile, between
from ragforge.versions.turns import named


class Request(Struct, frozen=True):
    """A request. anew: the turn that is tried again; None for a new prompt."""

    parts: Parts
    anew: Turn | None = None

    def parts_for(self, way: Way) -> Parts:
        """Return the message of one way."""
        others = tuple(part for part in self.parts if not isinstance(part, TextPart))
        text = "\n".join(part.text for part in self.parts if isinstance(part, TextPart))
        return (*others, TextPart(way.request(without_approach(text))))

    @property
    def words(self) -> str:
        """The request, in a few words."""
        return f"{named(self.anew)} again" if self.anew else "this"


async def request_of(session: Session, prompt: str) -> Request:
    """Return the prompt, or the newest turn's if it is empty. Raises UsageError if there is neither."""
    if prompt.strip():
        return Request((TextPart(prompt),))
    head = session.live.record.head
    newest = await session.workspace.store.turns.get(head) if head else None
    if newest is None:
        raise UsageError(
            f"Add a prompt: `{typed('alternatives 3 PROMPT')}`. There is no earlier request to repeat."
        )
    return Request(newest.user, newest)


class Start(Struct, frozen=True):
    """Where all start: a version, the changes to it from the current files, and the chat's newest turn."""

    version: str
    wanted: tuple[WantedFile, ...]
    turn: str | None


async def start_of(session: Session, ground: Ground, request: Request) -> Start:
    """Return the current state, or the one before the turn that is tried again; the lock is held.

    If the project has no version there, one is made, so that all have the same parent.
    Raises UsageError if it is unknown what that turn changed, StoreError.
    """
    versions, head = ground.files.store.versions, await ground.files.state.head(ground.root)
    turn = request.anew
    if turn is None:
        base = head.version
        if not base:
            base = await _new_beginning(ground)
            await ground.files.state.set_head(ground.root, Head(base, head.branch))
        return Start(base, (), session.live.record.head)
    own = await versions.of_turns([turn.id])
    if not own:
        raise UsageError(
            f"What {named(turn)} did to the files was not recorded, so it cannot be repeated from the "
            f"earlier state. `{typed('alternatives 3 PROMPT')}` continues from here."
        )
    if own[0].parents:
        base = own[0].parents[0]
    else:
        known = await beginning_of(versions, ground.files.project.id)
        base = known.id if known else await _new_beginning(ground)
    lines = await lines_of(versions, head.version, base)
    return Start(base, tuple(between(*lines)), turn.parent)


async def _new_beginning(ground: Ground) -> str:
    """Return a version that stands for the state before the first one."""
    project = ground.files.project
    await keep_project(ground.files.store, project)
    base = Version(id=new_id(), project_id=project.id, parents=(), at=now(), by=USER, title=BEFORE)
    await ground.files.store.versions.add(base)
    return base.id
