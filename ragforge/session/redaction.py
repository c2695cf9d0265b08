"""`forget --everywhere`: remove a statement from everything stored, or restore it from where it is sealed."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import cast

from msgspec import Struct

from ragforge.config.store_address import bare_url
from ragforge.domain.errors import StoreError, UsageError
from ragforge.domain.memories import Memory, MemoryScope
from ragforge.domain.records import RecordKind
from ragforge.domain.words import counted
from ragforge.memory.forgotten import Forgotten, forgotten_with
from ragforge.memory.periods import renew_periods
from ragforge.memory.redaction import Redacted, Whole, redactions, without
from ragforge.session.history import session_window
from ragforge.session.state import Session, Workspace
from ragforge.store.archive_items import blobs_of, key_of, kind_of
from ragforge.store.archive_lines import from_line, to_line
from ragforge.store.backup_copies import renew_backups
from ragforge.store.backups import list_backups
from ragforge.store.base import Record
from ragforge.store.local.state import Sealed

_NAMES = {
    RecordKind.SESSION: "session title",
    RecordKind.TURN: "turn",
    RecordKind.STEP: "model answer",
    RecordKind.TOOL_CALL: "tool call",
    RecordKind.SUMMARY: "summary",
    RecordKind.DERIVED: "derived record",
    RecordKind.VERSION: "version",
}


class RedactionPlan(Struct, frozen=True):
    """What would change. memories: the one that was named, then those that say the same."""

    memories: tuple[Memory, ...]
    counts: Mapping[RecordKind, int]
    backups: int

    @property
    def words(self) -> str:
        """Return the amount, in words."""
        found = [counted(len(self.memories), "memory")]
        found += [counted(self.counts[kind], name) for kind, name in _NAMES.items() if self.counts.get(kind)]
        found += [f"{counted(self.backups, 'backup')} of the program"] if self.backups else []
        return ", ".join(found)


async def plan_redaction(workspace: Workspace, memory: Memory) -> RedactionPlan:
    """Count what says the memory. Raises StoreError, also while a server with the history is away."""
    memories = await forgotten_with(workspace.store, memory)
    found = await _find(workspace, memories, _whole_result(workspace, memories, keep=False))
    backups = await asyncio.to_thread(list_backups, workspace.data_dir, store=workspace.store.url)
    return RedactionPlan(
        tuple(memories), Counter(RecordKind(kind_of(each.before)) for each in found), len(backups)
    )


async def redact(session: Session, memory: Memory, *, at_once: bool) -> RedactionPlan:
    """Remove what says the memory from the store, this machine's state and the program's backups.

    It stays sealed on this machine until the next clean-up, unless `at_once`. Raises as `plan_redaction`, and
    UsageError while a turn runs.
    """
    workspace = session.workspace
    if session.busy:
        raise UsageError(session.why_busy)
    plan = await plan_redaction(workspace, memory)
    memories = list(plan.memories)
    ids = [each.id for each in memories]
    found = await _find(workspace, memories, _whole_result(workspace, memories, keep=True))
    stored = await workspace.store.memories.get(ids)
    links = await workspace.store.memories.associations(ids)
    before = [*(each.before for each in found), *stored, *links]
    sealed = list[Redacted]()
    if at_once:
        sealed = await _cut_sealed(workspace, memories)
        await workspace.local.seals.remove(memory.id)
    else:  # before anything is removed: after an interruption it can be restored
        await workspace.local.seals.seal(memory.id, memory.content, [to_line(each) for each in before])
    await workspace.store.archive.rewrite([each.after for each in found], without=ids)
    # What they had replaced is valid again, and nothing shows that they had.
    others = {end for link in links for end in (link.from_id, link.to_id)}.difference(ids)
    await renew_periods(workspace.store, others)
    if at_once:
        await _remove_results(workspace, [*found, *sealed])
    await workspace.local.redact(Forgotten(memories).cut)
    await asyncio.to_thread(renew_backups, workspace.data_dir, workspace.store.url)
    await _refill(session)
    return plan


async def put_back(session: Session, id_part: str = "") -> str:
    """Restore what was removed last, or the memory whose id starts so; return what it says.

    Raises UsageError if nothing is sealed, or if something that shares a record with it was removed
    later; StoreError.
    """
    local = session.workspace.local
    newer: dict[str, str] = {}
    for sealed in await local.seals.sealed():
        records = _records_of(sealed)
        if sealed.memory_id.startswith(id_part):
            break
        newer |= {f"{kind_of(each)}/{key_of(each)}": sealed.content for each in records}
    else:
        raise UsageError("Nothing that was forgotten everywhere can be restored here.")
    for record in records:
        if later := newer.get(f"{kind_of(record)}/{key_of(record)}"):
            raise UsageError(f"Restore first what was removed after it from the same place: {later}")
    await session.workspace.store.archive.rewrite(records, without=[])
    put_back_ids = [each.id for each in records if isinstance(each, Memory)]
    await renew_periods(session.workspace.store, put_back_ids)
    await local.seals.remove(sealed.memory_id)
    await _refill(session)
    return sealed.content


async def remove_sealed(workspace: Workspace, *, dry_run: bool = False) -> int:
    """Remove sealed statements for good, in backups too; return how many. Raises StoreError."""
    if dry_run:
        return len(await workspace.local.seals.sealed())
    removed = await workspace.local.seals.remove()
    if removed:
        await asyncio.to_thread(renew_backups, workspace.data_dir, workspace.store.url)
    return removed


def _records_of(sealed: Sealed) -> list[Record]:
    return [cast("Record", from_line(line)) for line in sealed.lines]


async def _cut_sealed(workspace: Workspace, memories: Sequence[Memory]) -> list[Redacted]:
    """Remove what the memories say from other sealed records; return the records that it was in."""
    forgotten, whole = Forgotten(memories), _whole_result(workspace, memories, keep=True)
    changed: list[Redacted] = []
    for sealed in await workspace.local.seals.sealed():
        if forgotten.holds(sealed.content):
            await workspace.local.seals.remove(sealed.memory_id)
            continue
        kept: list[Record] = []
        for record in _records_of(sealed):
            if isinstance(record, Memory) and forgotten.holds(record.content):
                continue
            kept.append(await without(record, forgotten, whole))
            if kept[-1] != record:
                changed.append(Redacted(record, kept[-1]))
        await workspace.local.seals.seal(sealed.memory_id, sealed.content, [to_line(each) for each in kept])
    return changed


async def _find(workspace: Workspace, memories: Sequence[Memory], whole: Whole) -> list[Redacted]:
    is_global = memories[0].scope is MemoryScope.GLOBAL
    project = None if is_global else memories[0].project_id
    async with aclosing(redactions(workspace.store, memories, project_id=project, whole=whole)) as found:
        return [each async for each in found]


def _whole_result(workspace: Workspace, memories: Sequence[Memory], *, keep: bool) -> Whole:
    """Return the hash of a complete tool result without what the memories say. keep: also store it."""
    cut = Forgotten(memories).cut

    async def whole(digest: str) -> str:
        try:
            text = (await workspace.blobs.get(digest)).decode("utf-8")
        except (StoreError, UnicodeDecodeError):
            return digest
        without = await asyncio.to_thread(cut, text)
        if without == text:
            return digest
        return await workspace.blobs.put(without.encode("utf-8")) if keep else ""

    return whole


async def _remove_results(workspace: Workspace, found: Sequence[Redacted]) -> None:
    """Remove the complete results that were replaced, unless something else may need the same content."""
    gone = {blob for each in found for blob in blobs_of(each.before)}
    gone -= {blob for each in found for blob in blobs_of(each.after)}
    own = bare_url(workspace.store.url)
    if not gone or any(url != own for url in await workspace.blobs.used_by()):
        return
    async with aclosing(workspace.store.archive.dump()) as records:
        async for record in records:
            gone -= set(blobs_of(record))
    await workspace.blobs.delete(sorted(gone))


async def _refill(session: Session) -> None:
    """Build the session's next request from what is stored now."""
    session.live.view.window = await session_window(session, session.live.record.head)
    session.workspace.background.wake()
