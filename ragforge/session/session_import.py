"""Sessions imported from somebody else's file: kept apart, so that nothing of them reaches a model.

All that were imported for a project are in one other project without a folder: searches find them, no message
is answered with them, and no background work reads them. Their memories are proposals until the user accepts
them.
"""

import hashlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path, PurePosixPath
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.derivations import Derived, DerivedFilter, Underived
from ragforge.domain.errors import StoreDamaged, UsageError
from ragforge.domain.ids import now, short_id
from ragforge.domain.memories import PERSONAL, Memory, MemoryScope, MemorySource, memory_id
from ragforge.domain.ratings import KIND as RATING
from ragforge.domain.records import RecordKind
from ragforge.domain.shares import PROPOSAL, SHARED, Decision, Proposal, SharedSession
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn
from ragforge.domain.vectors import Embedding
from ragforge.domain.versions import Version
from ragforge.memory.memories import remember
from ragforge.session.bundle import WHAT
from ragforge.session.machine import Library
from ragforge.session.marks import shared_here
from ragforge.store.archive_file import Closing, Header
from ragforge.store.archive_items import Blob, Item, key_of, kind_of, references
from ragforge.store.archive_lines import from_line, to_line
from ragforge.store.base import Blobs, Record, Store, keep_project
from ragforge.store.transfer_move import Move
from ragforge.store.transfer_stream import chunks, lines_of

ALLOWED = frozenset(RecordKind) - {
    *(RecordKind.ASSOCIATION, RecordKind.SPENT, RecordKind.BRANCH, RecordKind.MOVE)
}
PROPOSALS_MAX = 10_000
NAME = "shared sessions"


class Received(Struct, frozen=True):
    """A file that was read to its end and may be imported."""

    session: ConversationSession
    project: Project
    mark: SharedSession
    records: tuple[Record, ...]
    blobs: tuple[Blob, ...]

    @property
    def memories(self) -> list[Memory]:
        """Return the memories that would be proposed."""
        return [each for each in self.records if isinstance(each, Memory)]


async def read_received(file: Path) -> Received:
    """Read the file to its end, and check that it is one session. Raises UsageError or StoreError."""
    items = list[Item]()
    async with aclosing(lines_of(file, what=WHAT)) as lines:
        async for line in lines:
            if not isinstance(line, Header | Closing):
                items.append(line)
    records = [each for each in items if not isinstance(each, Blob)]
    sessions = [each for each in records if isinstance(each, ConversationSession)]
    projects = [each for each in records if isinstance(each, Project)]
    marks = [each for each in records if isinstance(each, Derived) and each.kind == SHARED.label]
    if len(sessions) != 1 or len(projects) != 1 or len(marks) != 1:
        raise _unusable(file, "it does not contain exactly one session")
    for record in records:
        if fault := _fault(record, sessions[0], projects[0]):
            raise _unusable(file, fault)
    known = {(RecordKind(kind_of(each)), key_of(each)) for each in records}
    if any(reference not in known for each in records for reference in references(each)):
        raise _unusable(file, "it contains a record that refers to a missing one")
    mark = SHARED.read(marks[0])
    if mark is None:
        raise _unusable(file, "it does not say who exported it")
    blobs = tuple(each for each in items if isinstance(each, Blob))
    return Received(sessions[0], projects[0], mark, tuple(records), blobs)


def _unusable(file: Path, why: str) -> StoreDamaged:
    return StoreDamaged(f"{file} cannot be imported: {why}. Ask for another export of the session.")


def _fault(record: Record, session: ConversationSession, project: Project) -> str:
    """Return what is wrong with a record of the file; empty for nothing."""
    if RecordKind(kind_of(record)) not in ALLOWED:
        return f"it contains an unexpected record of the kind {kind_of(record)}"
    if isinstance(record, Derived) and record.kind not in (SHARED.label, RATING.label):
        return f"it contains an unexpected record of the kind {record.kind}"
    if getattr(record, "project_id", project.id) != project.id:
        return "it contains a record of another project"
    if not isinstance(record, Memory) and getattr(record, "session_id", session.id) not in ("", session.id):
        return "it contains a record of another session"
    if isinstance(record, Version):
        for change in record.changes:
            path = PurePosixPath(change.path)
            if not change.path or path.is_absolute() or ".." in path.parts or "\0" in change.path:
                return f"the path {change.path!r} in it leads out of the project"
    return ""


class Importer(Struct, frozen=True):
    """Where a session is imported to, for which project, and by whom."""

    store: Store
    blobs: Blobs
    machine_dir: Path
    project_id: str
    person: str


async def import_session(to: Importer, found: Received) -> bool:
    """Save the session, with its memories as proposals; False if it is here already. Raises StoreError."""
    store, blobs = to.store, to.blobs
    if await store.sessions.get(found.session.id):
        return False
    records = _as_shared(to, replace(found, records=await _new(store, found)))
    await keep_project(store, _apart(to, found))
    await blobs.set_used_by(store.url)
    move = Move(store, blobs, machine_dir=to.machine_dir, total=len(records), tell=lambda _: None)

    async def items() -> AsyncGenerator[Item, None]:
        for each in (*found.blobs, *records):
            yield each

    await move.run(chunks(items()), missing={}, again=None)
    return True


async def _new(store: Store, found: Received) -> tuple[Record, ...]:
    """Return what is not here yet: another imported session may have the same turns.

    Raises StoreDamaged for a record that is here with other content: it would be replaced.
    """
    here: set[str] = set()
    for kind in (
        RecordKind.TURN,
        RecordKind.STEP,
        RecordKind.TOOL_CALL,
        RecordKind.SUMMARY,
        RecordKind.VERSION,
    ):
        mine = {key_of(each): each for each in found.records if kind_of(each) == kind}
        for stored in await store.archive.fetch(kind, list(mine)):
            if _content(stored) != _content(mine[key_of(stored)]):
                raise UsageError(
                    f"The {kind.replace('_', ' ')} {key_of(stored)} of this file is here already and says "
                    "something else, so nothing was imported. Ask for another export of the session."
                )
            here.add(f"{kind}/{key_of(stored)}")
    return tuple(
        each
        for each in found.records
        if f"{kind_of(each)}/{key_of(each)}" not in here and here.isdisjoint(_owner_of(each))
    )


def _owner_of(record: Record) -> tuple[str, ...]:
    """Return the turn or summary that a vector or a rating belongs to."""
    if isinstance(record, Embedding):
        return (f"{record.owner.kind}/{record.owner.id}",)
    return (f"{record.owner_kind}/{record.owner}",) if isinstance(record, Derived) else ()


def _content(record: Record) -> Record:
    """Return the record without its place."""
    places = {name: "" for name in ("session_id", "project_id") if hasattr(record, name)}
    parents = {"parents": ()} if isinstance(record, Version) else {}
    return cast("Record", replace(cast("Any", record), **places, **parents))


def _apart(to: Importer, found: Received) -> Project:
    """Return the project of everything that was imported for this one."""
    id = hashlib.sha256(f"shared for {to.project_id}".encode()).hexdigest()[:32]
    return Project(id, NAME, found.project.created_at)


def _as_shared(to: Importer, found: Received) -> list[Record]:
    """Yield the records in the separate project, marked, and their memories as proposals."""
    apart = _apart(to, found).id
    session, moment = found.session, now()
    source = Underived(session.id, apart, session.last_activity_at)
    mark = replace(
        found.mark,
        into=to.project_id,
        imported_at=moment,
        imported_by=to.person,
        project=to_line(found.project),
        host=session.host,
        user=session.user,
    )
    kept: list[Record] = [SHARED.record(source, mark)]
    for each in found.records:
        match each:
            case ConversationSession():
                # A project is identified by host and folder: this one belongs to no folder.
                kept.append(replace(each, project_id=apart, host=f"shared by {found.mark.by}", user=""))
            case Memory():
                proposal = Proposal(to_line(each), each.type, each.content)
                kept.append(PROPOSAL.record(source, proposal, name=each.id))
            case Project() | Derived(kind=SHARED.label):
                pass
            case Turn() | Step() | ToolCall():
                kept.append(each)
            case _:
                moved = replace(cast("Any", each), project_id=apart) if hasattr(each, "project_id") else each
                kept.append(cast("Record", moved))
    order = list(RecordKind)
    return sorted(kept, key=lambda each: order.index(RecordKind(kind_of(each))))


class OpenProposal(Struct, frozen=True):
    """A proposal with its record, and who shared its session."""

    record: Derived
    proposal: Proposal
    mark: SharedSession

    @property
    def id(self) -> str:
        """The name by which the user refers to it."""
        return short_id(self.record.name)


async def proposals(store: Store, project_id: str) -> list[OpenProposal]:
    """Return those of sessions imported for the project that are not decided yet, oldest first."""
    marks = await shared_here(store, project_id)
    if not marks:
        return []
    wanted = DerivedFilter(PROPOSAL.label, owners=tuple(marks), limit=PROPOSALS_MAX)
    found = [
        OpenProposal(each, proposal, marks[each.owner])
        for each in await store.derivations.find(wanted)
        if (proposal := PROPOSAL.read(each)) is not None
    ]
    return sorted(
        (each for each in found if each.proposal.decision is Decision.OPEN), key=lambda each: each.record.name
    )


async def decide(library: Library, chosen: Sequence[OpenProposal], decision: Decision) -> None:
    """Accept or refuse the proposals; an accepted one is a memory of the project as if you had said it.

    Raises StoreError.
    """
    for each in chosen:
        if decision is Decision.ACCEPTED:
            await remember(library.store, _accepted(library, each))
        data = replace(each.proposal, decision=decision)
        record = replace(each.record, data=PROPOSAL.data_of(data), at=max(now(), each.record.at))
        await library.store.derivations.save(record)


def _accepted(library: Library, each: OpenProposal) -> Memory:
    memory = from_line(each.proposal.line)
    if not isinstance(memory, Memory):
        raise UsageError(f"The proposal {each.id} is not a memory.")
    owner, project, moment = library.person.id if memory.type in PERSONAL else "", library.project.id, now()
    scope = MemoryScope.PROJECT  # what was imported for one project applies in no other
    id = memory_id(memory.content, scope=scope, project_id=project, session_id="", owner=owner)
    return replace(
        memory,
        id=id,
        project_id=project,
        session_id="",
        scope=scope,
        owner=owner,
        turns=(),
        created_at=moment,
        updated_at=moment,
        source=MemorySource.USER,
        origin=f"shared by {each.mark.by}, accepted by you",
        accessed_at=None,
        access_count=0,
        held=0,
        broken=0,
    )
