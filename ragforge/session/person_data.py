"""All of one user's data in a store: exported as records, or removed.

What they said in a session that others continued keeps its place, without its words: the others' history
stays complete.
"""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import aclosing
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain.derivations import Derived, DerivedOwner
from ragforge.domain.errors import SessionBusy, StoreError, UsageError
from ragforge.domain.foresight import KIND
from ragforge.domain.json import each_text
from ragforge.domain.memories import Association, Memory
from ragforge.domain.messages import TextPart
from ragforge.domain.records import RecordKind
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Person, Project, Step, ToolCall, Turn
from ragforge.domain.usage import Spent
from ragforge.domain.versions import Version
from ragforge.domain.words import counted
from ragforge.files.atomic import write_atomic
from ragforge.memory.foresight_records import record_of_nobody
from ragforge.session.library import delete_session
from ragforge.session.persons import person_named
from ragforge.store.archive_items import Blob, blobs_of, kind_of
from ragforge.store.archive_lines import to_line
from ragforge.store.backup_copies import renew_backups
from ragforge.store.base import Blobs, Record, Store
from ragforge.store.local.state import LocalState

REMOVED = "removed"
REWRITTEN_AT_ONCE = 500
UNREACHED = (
    "Not covered: backups and exports written to files, local data of other machines (drafts, prompts, "
    "rows waiting for the server), and the project's files with their git history."
)


class _Found(Struct):
    """What is known while all records are read."""

    turns: set[str] = field(default_factory=set[str])
    others: set[str] = field(default_factory=set[str])
    """Sessions with a turn of somebody else."""
    begun: set[str] = field(default_factory=set[str])
    summaries: set[str] = field(default_factory=set[str])
    """Summaries that cover any of their turns."""
    mixed: set[str] = field(default_factory=set[str])
    """Of these, those that cover others' too."""
    memories: set[str] = field(default_factory=set[str])


class PersonData(Struct, frozen=True):
    """The user's data. records: in the order of an archive. alone: sessions in which nobody else wrote.

    mixed: summaries that also cover turns of others.
    """

    person: str
    records: tuple[Record, ...]
    alone: frozenset[str]
    mixed: frozenset[str]

    def count(self, kind: RecordKind) -> int:
        """Return how many records of the kind there are."""
        return sum(kind_of(each) == kind for each in self.records)

    @property
    def words(self) -> str:
        """Return the amount, in words."""
        memories = self.count(RecordKind.MEMORY)
        found = (
            counted(self.count(RecordKind.TURN), "turn"),
            counted(self.count(RecordKind.SUMMARY), "summary").replace("summarys", "summaries"),
            "1 memory" if memories == 1 else f"{memories:,} memories",
            counted(self.count(RecordKind.VERSION), "version"),
        )
        return ", ".join(found)


async def person_of(store: Store, named: str, user: Person) -> str:
    """Return the id of the user meant, of all known in the store. Raises UsageError."""
    known = {*await store.turns.everybody()}
    async with aclosing(store.archive.dump()) as records:
        async for record in records:
            match record:
                case ConversationSession():
                    known.add(record.begun_by(user))
                case Memory(owner=owner):
                    known.add(owner)
                case _:
                    pass
    return person_named(named, known)


async def read_person(store: Store, person: str, user: Person) -> PersonData:
    """Return all of the user's data. Reads everything stored, twice. Raises StoreError."""
    found = _Found()
    async with aclosing(store.archive.dump()) as records:
        async for record in records:
            _note(found, record, person, user)
    kept: list[Record] = []
    async with aclosing(store.archive.dump()) as records:
        async for record in records:
            if _is_theirs(found, record, person):
                kept.append(record)
    sessions = {each.session_id for each in kept if isinstance(each, Turn)} | found.begun
    alone = frozenset(sessions - found.others)
    return PersonData(person, tuple(kept), alone, frozenset(found.mixed))


def _note(found: _Found, record: Record, person: str, user: Person) -> None:
    match record:
        case ConversationSession():
            if record.begun_by(user) == person:
                found.begun.add(record.id)
        case Turn():
            if record.person == person:
                found.turns.add(record.id)
            else:
                found.others.add(record.session_id)
        case Summary(covers=covers):
            theirs = [each for each in covers if each in found.turns or each in found.summaries]
            if theirs:
                found.summaries.add(record.id)
            if theirs and (len(theirs) < len(covers) or not found.mixed.isdisjoint(covers)):
                found.mixed.add(record.id)
        case Memory(turns=turns, owner=owner):
            if owner == person or (not owner and turns and found.turns.issuperset(turns)):
                found.memories.add(record.id)
        case _:
            pass


def _is_theirs(found: _Found, record: Record, person: str) -> bool:
    match record:
        case ConversationSession():
            return record.id in found.begun
        case Turn():
            return record.id in found.turns
        case Step() | ToolCall() | Version():
            return record.turn_id in found.turns
        case Summary():
            return record.id in found.summaries
        case Memory():
            return record.id in found.memories
        case Association():
            return record.from_id in found.memories and record.to_id in found.memories
        case Derived(owner_kind=DerivedOwner.TURN):
            return record.owner in found.turns
        case Derived(owner_kind=DerivedOwner.SESSION):
            return record.owner in found.begun - found.others
        case Spent():
            return record.person == person
        case _:
            return False


async def export_person(
    store: Store, blobs: Blobs, data: PersonData, file: Path, *, force: bool
) -> tuple[int, int]:
    """Write their data to a file, a record per line as in a backup; return how many, and how many lack.

    Summaries of others' turns too are left out. Only the user of this machine can read the file.
    Raises UsageError if the file exists already or cannot be written, StoreError.
    """
    if file.exists() and not force:
        raise UsageError(f"{file} exists already. Give another name, or add --force to replace it.")
    records = [each for each in data.records if not (isinstance(each, Summary) and each.id in data.mixed)]
    projects = {
        each.project_id for each in records if isinstance(each, ConversationSession | Memory | Version)
    }
    lines = [to_line(each) for each in await _projects(store, projects)]
    lines += [to_line(each) for each in records]
    missing = 0
    for digest in dict.fromkeys(digest for each in records for digest in blobs_of(each)):
        try:
            lines.append(to_line(Blob(digest, await blobs.get(digest))))
        except StoreError:
            missing += 1
    content = "".join(f"{line}\n" for line in lines).encode()
    await asyncio.to_thread(_write, file, content)
    return len(lines), missing


async def _projects(store: Store, ids: Collection[str]) -> list[Project]:
    return [each for each in await store.projects.every() if each.id in ids]


def _write(file: Path, content: bytes) -> None:
    try:
        file.unlink(missing_ok=True)
        write_atomic(file.absolute(), content, expected=None)
        file.chmod(0o600)
    except OSError as error:
        raise UsageError(f"Cannot write {file}: {error.strerror or error}. Choose another place.") from error


class Removal(Struct, frozen=True):
    """What a removal would do. whole: sessions that are deleted; kept: turns that keep their place."""

    data: PersonData
    whole: tuple[str, ...]
    kept: int

    @property
    def words(self) -> str:
        """Return what is removed, what stays and what is not reached, in sentences."""
        data = self.data
        mixed = len(data.mixed)
        sentences = [
            f"{data.person} has {data.words} here.",
            f"{counted(len(self.whole), 'session')} without turns of other users would be deleted.",
            f'{counted(self.kept, "turn")} that other users built on would stay, with "{REMOVED}" in place '
            "of messages, answers and tool results."
            if self.kept
            else "",
            "1 summary that also covers other users' turns would be emptied." if mixed == 1 else "",
            f"{mixed:,} summaries that also cover other users' turns would be emptied." if mixed > 1 else "",
            "What stays: the cost and the folder of the remaining turns, without a name, and versions of the "
            "project's files.",
            UNREACHED,
        ]
        return "\n".join(filter(None, sentences))


async def plan_removal(store: Store, data: PersonData) -> Removal:
    """Count what would be removed. Raises StoreError."""
    whole: list[str] = []
    for session in sorted(data.alone):
        would = await store.sessions.delete(session, dry_run=True)
        if not would.kept_turns:
            whole.append(session)
    gone = frozenset(whole)
    kept = sum(isinstance(each, Turn) and each.session_id not in gone for each in data.records)
    return Removal(data, tuple(whole), kept)


async def remove_person(store: Store, local: LocalState, plan: Removal, data_dir: Path) -> list[str]:
    """Remove their data; return sessions that are open elsewhere, which stay. Raises StoreError.

    It can be interrupted and repeated.
    """
    busy: list[str] = []
    for session in plan.whole:
        try:
            await delete_session(store, local, session)
        except SessionBusy:
            busy.append(session)
    staying = {*busy}
    gone = frozenset(plan.whole) - staying
    turns = {each.id: each for each in plan.data.records if isinstance(each, Turn)}
    texts = [
        emptied
        for each in plan.data.records
        if (emptied := _emptied(each)) is not None and _session_of(each, turns) not in gone
    ]
    for start in range(0, len(texts), REWRITTEN_AT_ONCE):
        await store.archive.rewrite(texts[start : start + REWRITTEN_AT_ONCE], without=[])
    memories = [each.id for each in plan.data.records if isinstance(each, Memory)]
    await store.archive.rewrite([], without=memories)
    if not busy:
        await store.turns.disown(plan.data.person)
    await asyncio.to_thread(renew_backups, data_dir, store.url)
    return busy


def _session_of(record: Record, turns: Mapping[str, Turn]) -> str:
    match record:
        case ConversationSession():
            return record.id
        case Turn() | Summary():
            return record.session_id
        case Step() | ToolCall() | Version():
            turn = turns.get(record.turn_id)
            return turn.session_id if turn else ""
        case Derived():
            turn = turns.get(record.owner)
            return turn.session_id if turn else record.owner
        case _:
            return ""


def _emptied(record: Record) -> "Record | None":
    """Return the record without its words; None if it has none to replace."""
    match record:
        case ConversationSession():
            return replace(record, title=REMOVED if record.title else "")
        case Turn():
            return replace(
                record, user=(TextPart(REMOVED),), assistant=REMOVED if record.assistant else "", error=""
            )
        case Step(message=message):
            calls = tuple(replace(each, args={}) for each in message.calls)
            text = REMOVED if message.text else ""
            return replace(record, message=replace(message, text=text, calls=calls, native=None, thoughts=""))
        case ToolCall():
            return replace(record, args={}, result=REMOVED, diff="", result_blob=None)
        case Summary():
            return replace(record, text=REMOVED, findings=(), topics=(), constraints=())
        case Version():
            return replace(record, title=REMOVED if record.title else "", note="")
        case Derived(kind=KIND.label):
            return record_of_nobody(record)
        case Derived():
            return replace(record, data=each_text(record.data, lambda text: REMOVED if text else ""))
        case _:
            return None
