"""What alternatives work out, and from where: a request of now, or that of the newest turn anew."""

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
    """A request. anew: the turn that it was made in before; None where it is made now."""

    parts: Parts
    anew: Turn | None = None

    def parts_for(self, way: Way) -> Parts:
        """The message of one way."""
        others = tuple(part for part in self.parts if not isinstance(part, TextPart))
        text = "\n".join(part.text for part in self.parts if isinstance(part, TextPart))
        return (*others, TextPart(way.request(without_approach(text))))

    @property
    def words(self) -> str:
        """What is worked out, in a few words."""
        return f"{named(self.anew)} again" if self.anew else "this"


async def request_of(session: Session, prompt: str) -> Request:
    """The prompt, or where it is empty the newest turn's. Raises UsageError where there is neither."""
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
    """Where all begin: a version, what leads there from the files as they are, and the chat's newest turn."""

    version: str
    wanted: tuple[WantedFile, ...]
    turn: str | None


async def start_of(session: Session, ground: Ground, request: Request) -> Start:
    """Where the files and the chat are, or before the turn that is worked out anew; the lock is held.

    A version is made where the project has none there yet, so that all have one parent.
    Raises UsageError where it is not known what that turn did, StoreError.
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
    """A version that stands for what lies there before the first one."""
    project = ground.files.project
    await keep_project(ground.files.store, project)
    base = Version(id=new_id(), project_id=project.id, parents=(), at=now(), by=USER, title=BEFORE)
    await ground.files.store.versions.add(base)
    return base.id
