"""A session as a file for somebody else: the records of a backup, without secrets."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.derivations import DerivedFilter, Underived
from ragforge.domain.errors import StoreError
from ragforge.domain.ids import now
from ragforge.domain.json import JsonValue
from ragforge.domain.memories import MemoryType
from ragforge.domain.ratings import KIND as RATING
from ragforge.domain.records import RecordKind
from ragforge.domain.redact import MARK, Redactor
from ragforge.domain.shares import PROPOSAL, SHARED, SharedSession
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn
from ragforge.domain.vectors import Owner, OwnerKind
from ragforge.domain.versions import Version
from ragforge.domain.words import counted
from ragforge.session.marks import read_mark
from ragforge.store.archive_file import BackupWriter, header
from ragforge.store.archive_items import DESCRIPTIONS, Blob, blobs_of, key_of, kind_of
from ragforge.store.archive_lines import from_line, from_plain, sha256_hex, to_line
from ragforge.store.base import Blobs, Record, Store

WHAT = "session"
"""How the first line identifies the file."""
_MORE_TEXTS: Mapping[RecordKind, tuple[str, ...]] = {
    RecordKind.PROJECT: ("name", "git_remote"),
    RecordKind.SESSION: ("title", "cwd", "project_path"),
    RecordKind.MEMORY: ("content", "topic", "applies_to"),
}
_KEPT = frozenset({"result_blob"})


class Bundle(Struct, frozen=True):
    """The contents to be written. records: in the order of an archive.

    masked: secrets that were masked. left_out: files with a secret, by path. missing: hashes of contents that
    are not on this machine.
    """

    session: ConversationSession
    records: tuple[Record, ...]
    blobs: Mapping[str, bytes]
    masked: int
    left_out: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def words(self) -> str:
        """Return its size, in one sentence."""
        counts = Counter(kind_of(each) for each in self.records)
        nouns = {"turn": "turn", "tool_call": "tool call", "summary": "summary", "version": "version"}
        found = [counted(counts[kind], noun) for kind, noun in nouns.items() if counts[kind]]
        if memories := counts[RecordKind.MEMORY]:
            found.append("1 memory" if memories == 1 else f"{memories:,} memories")
        found += [counted(len(self.blobs), "content")] if self.blobs else []
        return ", ".join(found) or "nothing"

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notices for the user."""
        named = ", ".join(self.left_out)
        return (
            *((f"Masked {counted(self.masked, 'secret')}.",) if self.masked else ()),
            *((f"Left out, because a secret is in it: {named}.",) if self.left_out else ()),
            *((f"Not on this machine: {counted(len(self.missing), 'content')}.",) if self.missing else ()),
        )


class _Masking:
    """Removes secrets from records, and counts them."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.count = 0

    def record(self, record: Record) -> Record:
        """Return the record without secrets; an answer then loses the provider's own form."""
        kind = RecordKind(kind_of(record))
        description = DESCRIPTIONS[kind]
        plain = cast("dict[str, Any]", json.loads(to_line(record)))
        for name in (*description.texts, *_MORE_TEXTS.get(kind, ())):
            line = description.line.get(name, name)
            if name not in _KEPT and line in plain:
                plain[line] = self._redactor.json(cast("JsonValue", plain[line]))
        clean = cast("Record", from_plain(plain))
        if clean == record:
            return record
        self._count(to_line(record), to_line(clean))
        if isinstance(clean, Step):
            return replace(clean, message=replace(clean.message, native=None))
        return clean

    def text(self, data: bytes) -> bytes:
        """Return the content without secrets; one that is not text is unchanged."""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return data
        clean = self._redactor.text(text)
        self._count(text, clean)
        return clean.encode("utf-8")

    def holds_secret(self, data: bytes) -> bool:
        """Whether the content has a secret."""
        text = data.decode("utf-8", "replace")
        return self._redactor.text(text) != text

    def _count(self, before: str, after: str) -> None:
        self.count += max(0, after.count(MARK) - before.count(MARK))


async def read_bundle(
    store: Store, blobs: Blobs, redactor: Redactor, session: ConversationSession, *, files: bool, by: str
) -> Bundle:
    """Collect what is on the path to the session's head, without secrets. Raises StoreError.

    files: with the versions of the project's files and their contents. by: the id of who exports it.
    """
    mark = await read_mark(store, session.id)
    turns = [replace(turn, session_id=session.id) for turn in await store.turns.path(session.head)]
    ids = [turn.id for turn in turns]
    steps, calls = await store.turns.steps(ids), await store.calls.of_turns(ids)
    summaries = await _summaries(store, session, ids)
    versions = await _versions(store, session, ids) if files else []
    said: list[Record] = [*await _project(store, session, mark), _own(session, mark), *turns, *steps, *calls]
    found = [*said, *summaries, *await _memories(store, session, ids, by), *await _ratings(store, ids)]
    masking = _Masking(redactor)
    kept, contents, left_out, missing = await _contents(blobs, masking, [*calls, *turns], versions)
    cleaned = await asyncio.to_thread(
        lambda: [masking.record(kept.get(key_of(each), each)) for each in found]
    )
    cleaned = [_at_home(each, mark) for each in cleaned]
    same = {key_of(each) for each, was in zip(cleaned, found, strict=True) if _told(each) == _told(was)}
    source = Underived(session.id, "", session.last_activity_at)
    shared = SharedSession(mark.by if mark else by, mark.exported_at if mark else now())
    project = next(each.id for each in cleaned if isinstance(each, Project))
    marked = replace(SHARED.record(source, shared), project_id=project)
    vectors = await store.vectors.get(_owners([each for each in found if key_of(each) in same]))
    whole = [_at_home(masking.record(each), mark) for each in versions]
    records = [*cleaned, marked, *vectors, *whole]
    order = list(RecordKind)
    records.sort(key=lambda each: order.index(RecordKind(kind_of(each))))
    return Bundle(session, tuple(records), contents, masking.count, left_out, missing)


def _told(record: Record) -> object:
    """Return the text that a vector is made of."""
    if isinstance(record, Turn):
        return record.user, record.assistant
    return record.text if isinstance(record, Summary) else None


def _owners(records: Sequence[Record]) -> list[Owner]:
    kinds = {Turn: OwnerKind.TURN, Summary: OwnerKind.SUMMARY}
    return [Owner(kinds[type(each)], each.id) for each in records if isinstance(each, Turn | Summary)]


async def _project(store: Store, session: ConversationSession, mark: SharedSession | None) -> list[Record]:
    if mark:
        return [cast("Record", from_line(mark.project))]
    project = await store.projects.get(session.project_id)
    return [project] if project else [Project(session.project_id, "", session.started_at)]


def _own(session: ConversationSession, mark: SharedSession | None) -> ConversationSession:
    """Return the session as it is at its origin, with its own turns only."""
    session = replace(session, forked_from=None)
    return replace(session, host=mark.host, user=mark.user) if mark else session


def _at_home(record: Record, mark: SharedSession | None) -> Record:
    """Return the record in its original project."""
    if mark is None or not hasattr(record, "project_id"):
        return record
    home = cast("Project", from_line(mark.project))
    return cast("Record", replace(cast("Any", record), project_id=home.id))


async def _summaries(store: Store, session: ConversationSession, turns: Sequence[str]) -> list[Summary]:
    """Return those that cover only these turns, by level."""
    covering = await store.summaries.covering(turns)
    every = {each.id: each for over in covering.values() for each in over}
    known = set(turns)
    kept: list[Summary] = []
    for each in sorted(every.values(), key=lambda each: (each.level, each.at, each.id)):
        if known.issuperset(each.covers):
            known.add(each.id)
            kept.append(replace(each, session_id=session.id))
    return kept


async def _memories(
    store: Store, session: ConversationSession, turns: Sequence[str], by: str
) -> list[Record]:
    """Return memories based only on these turns that are everybody's or the user's, without owners."""
    proposed = await store.derivations.find(DerivedFilter(PROPOSAL.label, owners=(session.id,), limit=10_000))
    if proposed:
        read = [PROPOSAL.read(each) for each in reversed(proposed)]
        return [cast("Record", from_line(each.line)) for each in read if each]
    return [
        replace(each, replaced=False, abandoned=False)
        for each in await store.memories.of_turns(turns)
        if set(each.turns) <= set(turns)
        and not (each.forgotten_at or each.replaced or each.abandoned)
        and each.owner in ("", by)
        and each.type is not MemoryType.IDENTITY
    ]


async def _ratings(store: Store, turns: Sequence[str]) -> list[Record]:
    ids = [f"{RATING.label}/{RATING.owner}/{turn}" for turn in turns]
    return list(await store.archive.fetch(RecordKind.DERIVED, ids))


async def _versions(store: Store, session: ConversationSession, turns: Sequence[str]) -> list[Version]:
    """Return those of the turns, each based on its predecessor among them."""
    found = await store.versions.of_turns(turns)
    known = {each.id for each in found}
    return [
        replace(each, session_id=session.id, parents=tuple(id for id in each.parents if id in known))
        for each in found
    ]


async def _contents(
    blobs: Blobs, masking: _Masking, said: Sequence[Record], versions: Sequence[Version]
) -> tuple[dict[str, Record], dict[str, bytes], tuple[str, ...], tuple[str, ...]]:
    """Return records with new hashes, the contents, paths that were left out, and missing hashes."""
    kept: dict[str, Record] = {}
    contents: dict[str, bytes] = {}
    missing: dict[str, None] = {}
    left_out: dict[str, None] = {}
    for record in said:
        for digest in blobs_of(record):
            try:
                data = await blobs.get(digest)
            except StoreError:
                missing[digest] = None
                continue
            if isinstance(record, ToolCall) and digest == record.result_blob:
                data = await asyncio.to_thread(masking.text, data)
                kept[record.id] = replace(record, result_blob=sha256_hex(data))
            contents[sha256_hex(data)] = data
    for version in versions:
        for change in version.changes:
            for node in (change.before, change.after):
                if node is None or not node.digest or node.digest in contents:
                    continue
                try:
                    data = await blobs.get(node.digest)
                except StoreError:
                    missing[node.digest] = None
                    continue
                if await asyncio.to_thread(masking.holds_secret, data):
                    left_out[change.path] = None
                else:
                    contents[node.digest] = data
    return kept, contents, tuple(left_out), tuple(missing)


async def write_bundle(bundle: Bundle, file: Path) -> int:
    """Write the file, and return its size in bytes. Raises UsageError or StoreUnavailable."""
    items = [*(Blob(digest, data) for digest, data in bundle.blobs.items()), *bundle.records]

    def write() -> int:
        with BackupWriter(file, header(origin="ragforge", schema=0, what=WHAT), force=False) as out:
            out.write(items)
            out.finish(missing=bundle.missing)
        return file.stat().st_size

    return await asyncio.to_thread(write)
