"""`ragforge db check`: check every part of the store in turn, and repair what can be repaired."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import apsw
from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from ragforge.config.store_address import parse_store_url
from ragforge.domain.errors import RagforgeError, StoreError, UsageError
from ragforge.domain.ids import now
from ragforge.domain.words import counted
from ragforge.embedders.base import other_embedder
from ragforge.session.databases import contents, opened
from ragforge.session.machine import Machine
from ragforge.session.recall_embedder import close_recall, open_recall
from ragforge.store.backups import recovery_words
from ragforge.store.base import Store
from ragforge.store.blob_repair import damaged_contents, rebuild, remove_leftovers, set_aside
from ragforge.store.file_check import file_faults, repair_indexes
from ragforge.store.file_text import repair_text, text_faults
from ragforge.store.files import (
    BACKUPS,
    Role,
    StoreFile,
    StoreServer,
    contents_file,
    outbox_files,
    store_files,
)
from ragforge.store.local.state import open_local_state
from ragforge.store.survey import own_outboxes, refuse_newer_files
from ragforge.versions.clean_up import lacking, paths_of
from ragforge.versions.record.contents import prove_contents
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.state import HistoryState, open_history_state

Rows: TypeAlias = list[StoreFile | StoreServer]
Tell: TypeAlias = Callable[[str], object]

NAMED_MAX = 5
UNREPAIRED = "unrepaired.json"
"""In the data folder: what the last repair could not repair, by part of the store."""
LEFTOVER_MIN = timedelta(days=1)
"""A temporary file that is younger may belong to a process that is just writing it."""


class Checked(Struct, frozen=True):
    """The result for one row of the table.

    wrong: remaining faults. done: repairs. notes: remarks that are no faults. tried: a repair could not
    mend them.
    """

    title: str
    wrong: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tried: bool = False


async def check_store(machine: Machine, *, repair: bool, tell: Tell) -> list[Checked]:
    """Yield every part of the store in use, in the order of the table.

    tell: receives notices about rows that still wait for a server. Raises StoreError if there is no store at
    all, or it is of a newer version, of which nothing here may be repaired.
    """
    await asyncio.to_thread(refuse_newer_files, machine.data_dir, machine.url)
    rows: Rows = store_files(machine.data_dir, machine.url)
    checked = {
        row: await _conversations(machine, row, repair=repair, tell=tell)
        if row.role is Role.CONVERSATIONS or isinstance(row, StoreServer)
        else await _file(machine, row, repair=repair)
        for row in rows
        if row.role is not Role.CONTENTS
    }
    # Last, because it asks all others what they need.
    checked[contents_file(machine.data_dir)] = await _contents(machine, rows, repair=repair, tell=tell)
    found = [checked[row] for row in rows]
    if repair:
        await asyncio.to_thread(_note_unrepaired, machine.data_dir, found)
        return found
    unrepaired = await asyncio.to_thread(_unrepaired, machine.data_dir)
    return [replace(each, tried=unrepaired.get(each.title) == each.wrong) for each in found]


def _note_unrepaired(folder: Path, checked: Sequence[Checked]) -> None:
    """Record what a repair could not mend, so that it is not suggested again."""
    left = {each.title: each.wrong for each in checked if each.wrong}
    with suppress(OSError):  # without it, it is suggested again
        (folder / UNREPAIRED).write_bytes(json.encode(left)) if left else (folder / UNREPAIRED).unlink()


def _unrepaired(folder: Path) -> dict[str, tuple[str, ...]]:
    with suppress(OSError, DecodeError):
        return json.decode((folder / UNREPAIRED).read_bytes(), type=dict[str, tuple[str, ...]])
    return {}


async def _file(machine: Machine, file: StoreFile, *, repair: bool) -> Checked:
    """A database from which nothing else is derived."""
    wrong = await asyncio.to_thread(file_faults, file)
    done: list[str] = []
    if wrong and repair:
        done = await asyncio.to_thread(_repaired, file)
        wrong = await asyncio.to_thread(file_faults, file)
    if wrong:
        return Checked(file.title, tuple(wrong), tuple(done), (_helps(machine, file),))
    notes = () if file.path.exists() else ("It does not exist yet.",)
    return Checked(file.title, done=tuple(done), notes=notes)


def _helps(machine: Machine, file: StoreFile) -> str:
    """Return the content of a damaged database, and which backup restores it."""
    backup = recovery_words(machine.data_dir, file.path) or f" `{BACKUPS}` lists what can be restored."
    without = " To give up what waited in it, move it away." if file.role is Role.OUTBOX else ""
    return f"It holds {file.facts.holds}, so it is not replaced by an empty one.{backup}{without}"


async def _conversations(
    machine: Machine, row: StoreFile | StoreServer, *, repair: bool, tell: Tell
) -> Checked:
    done: list[str] = []
    if isinstance(row, StoreFile):
        if repair and row.path.is_file():
            done += await asyncio.to_thread(_repaired, row)
        if wrong := await asyncio.to_thread(file_faults, row, deep=False):
            return Checked(row.title, tuple(wrong), tuple(done), (_helps(machine, row),))
    try:
        async with opened(machine, machine.url, tell=tell) as store:
            said = await store.check(repair=True) if repair else []
            left = await store.check()
            archived = await _consolidated(store)
            other = await _other_embedder(machine, store) if isinstance(row, StoreServer) else ""
        if isinstance(row, StoreFile):
            left += await asyncio.to_thread(text_faults, row)
    except StoreError as error:
        if isinstance(row, StoreServer) and not await asyncio.to_thread(_is_outbox_damaged, machine):
            raise
        if isinstance(row, StoreServer):
            return Checked(row.title, notes=(f"Not checked: {error}",))
        if not row.path.exists():
            raise
        said, left, archived, other = [], [str(error)], "", ""
    done += [words for words in said if words not in left]
    beyond = _beyond_repair(machine, row) if repair and left else ""
    return Checked(row.title, tuple(left), tuple(done), tuple(filter(None, (beyond, other, archived))))


def _is_outbox_damaged(machine: Machine) -> bool:
    """Whether the store on a server may only be unusable because of what waits for it on this machine."""
    return any(file_faults(each, deep=False) for each in _waiting(machine))


def _waiting(machine: Machine) -> list[StoreFile]:
    """Return what waits for the server in use; all that waits if it is not known which of it does."""
    if parse_store_url(machine.url) is None:
        return []
    return own_outboxes(machine.data_dir, machine.url) or outbox_files(machine.data_dir)


async def _other_embedder(machine: Machine, store: Store) -> str:
    """Return that the server uses another embedder than the settings; empty if it does not."""
    try:
        recall = open_recall(store, machine.settings, machine.environ)
    except UsageError as error:
        return str(error)
    await close_recall(recall)
    return other_embedder(await store.vectors.in_use(), recall.embedder.name) if recall.embedder else ""


async def _consolidated(store: Store) -> str:
    """Return how many archived sessions are consolidated; empty if none is archived."""
    from ragforge.memory.derive.consolidation import count_archived  # slow to import

    archived, lacking = await count_archived(store)
    if not archived:
        return ""
    done = f"{archived - lacking} of {counted(archived, 'archived session')} consolidated."
    return (
        f"{done} `ragforge sessions consolidate` consolidates the rest of a project now." if lacking else done
    )


def _beyond_repair(machine: Machine, row: StoreFile | StoreServer) -> str:
    """Return what to do about what a repair could not mend."""
    if isinstance(row, StoreServer):
        return (
            "This cannot be repaired. `ragforge db restore FILE` adds what is missing from a backup that you "
            "made with `ragforge db backup`."
        )
    backup = recovery_words(machine.data_dir, row.path) or f" `{BACKUPS}` lists what can be restored."
    return f"This cannot be repaired.{backup}"


async def _contents(machine: Machine, rows: Rows, *, repair: bool, tell: Tell) -> Checked:
    """Read and compare every content; then check what the store and this machine's folders need."""
    file = contents_file(machine.data_dir)
    wrong = await asyncio.to_thread(file_faults, file)
    if wrong and not repair:
        return Checked(file.title, tuple(wrong))
    done: list[str] = []
    if repair:
        try:
            if wrong:
                done += await asyncio.to_thread(_repaired, file)
                wrong = await asyncio.to_thread(file_faults, file)
            if wrong or not file.path.exists():
                done.append(await asyncio.to_thread(_rebuild, file))
            done += await _keep_again(machine, rows)
            left = await asyncio.to_thread(remove_leftovers, file, older_than=now() - LEFTOVER_MIN)
            done += [f"Removed {counted(left, 'temporary file')} left by a crash."] if left else []
        except (RagforgeError, OSError, apsw.Error) as error:
            why = f"It could not be repaired: {error}."
            return Checked(file.title, tuple(wrong) or (why,), tuple(done), (why,) if wrong else ())
    damaged = await _damaged(machine, file)
    if damaged and repair:
        folder = await asyncio.to_thread(set_aside, file, damaged)
        done.append(
            f"Moved {counted(len(damaged), 'damaged content')} that no file has any more to {folder}."
        )
        damaged = []
    wrong, notes = await _lost(machine, rows, {digest.hex() for digest in damaged}, tell=tell)
    return Checked(file.title, tuple(wrong), tuple(done), tuple(notes))


def _repaired(file: StoreFile) -> list[str]:
    # In this order: a changed text is searched by the indexes.
    return repair_indexes(file) + (repair_text(file) if text_faults(file) else [])


def _rebuild(file: StoreFile) -> str:
    made = rebuild(file)
    where = f"; the damaged one is now {made.aside}" if made.aside else ""
    return f"Rebuilt the database from the {counted(made.kept, 'content')} that can be read{where}."


async def _damaged(machine: Machine, file: StoreFile) -> list[bytes]:
    if not file.path.exists():
        return []
    async with contents(machine) as blobs:
        await blobs.missing([])  # migrates it
    return await asyncio.to_thread(damaged_contents, file)


async def _keep_again(machine: Machine, rows: Rows) -> list[str]:
    """Store missing or damaged contents again, from files that still have them; return what was done."""
    said: list[str] = []
    async with AsyncExitStack() as stack:
        state = await _state(machine, rows, stack)
        blobs = await stack.enter_async_context(contents(machine))
        for root in await state.roots() if state else []:
            content = await state.manifest(root) if state else None
            if content is None or not root.is_dir():
                continue
            proof = await prove_contents(blobs, root, Manifest.from_bytes(content))
            if proof.again:
                said.append(f"Stored the contents of {counted(len(proof.again), 'file')} in {root} again.")
    return said


async def _lost(
    machine: Machine, rows: Rows, damaged: set[str], *, tell: Tell
) -> tuple[list[str], list[str]]:
    """Return damaged and missing contents: what is wrong, and what a clean-up may have removed."""
    harm = f"Damaged: {counted(len(damaged), 'content')}"
    wrong = [f"{harm}."] if damaged else []
    conversations = (row for row in rows if row.role is Role.CONVERSATIONS)
    if not all(map(_can_open, (*conversations, *_waiting(machine)))):
        return wrong, ["What the conversations need from it is unknown while their own database is damaged."]
    async with AsyncExitStack() as stack:
        state = await _state(machine, rows, stack)
        local = None
        if any(row.role is Role.MACHINE and _can_open(row, exists=True) for row in rows):
            local = await open_local_state(machine.data_dir)
            stack.push_async_callback(local.close)
        store = await stack.enter_async_context(opened(machine, machine.url, tell=tell))
        blobs = await stack.enter_async_context(contents(machine))
        try:
            found = await lacking(store, blobs, state, local)
            if damaged:
                wrong = [f"{harm}{_few(await paths_of(store, damaged))}."]
            if found.needed:
                words = (
                    f"Missing: {counted(len(found.needed), 'content')} that versions or conversations need"
                )
                wrong.append(f"{words}{_few(await paths_of(store, found.needed))}.")
        except StoreError as error:
            return wrong, [f"What is needed from it is unknown: {error}"]
    older = (
        f"Missing: {counted(len(found.older), 'content')} of older versions. A clean-up may have removed it."
    )
    return wrong, [older] if found.older else []


def _few(paths: Sequence[str]) -> str:
    """Return the first of them after a colon, and how many more there are."""
    more = f" and {len(paths) - NAMED_MAX:,} more" if len(paths) > NAMED_MAX else ""
    return f": {', '.join(paths[:NAMED_MAX])}{more}" if paths else ""


async def _state(machine: Machine, rows: Rows, stack: AsyncExitStack) -> HistoryState | None:
    """Return the current versions of folders; None if that file is missing or damaged."""
    if not any(row.role is Role.VERSIONS and _can_open(row, exists=True) for row in rows):
        return None
    state = await open_history_state(machine.data_dir)
    stack.push_async_callback(state.close)
    return state


def _can_open(row: StoreFile | StoreServer, *, exists: bool = False) -> bool:
    if isinstance(row, StoreServer):
        return True
    return not file_faults(row, deep=False) and (row.path.exists() or not exists)
