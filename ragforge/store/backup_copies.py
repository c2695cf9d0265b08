"""Make a backup set: a consistent copy of each database, called a set once all of it is on the disk."""

import hashlib
import os
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Any, cast

import apsw
import msgspec

from ragforge.config.paths import sync_folder
from ragforge.config.store_address import bare_url
from ragforge.domain.errors import StoreDamaged, StoreUnavailable, remedy
from ragforge.domain.ids import now
from ragforge.files.locks import open_lock, try_lock
from ragforge.store.backups import (
    FACTS,
    PARTIAL,
    BackupSet,
    CopiedFile,
    Reason,
    backups_folder,
    is_due,
    list_backups,
    remove_old,
    remove_sets,
)
from ragforge.store.files import CHECK, Backup, Role, StoreFile, store_files
from ragforge.store.sqlite.connection import Connection, translated
from ragforge.store.sqlite.prepare import reading

PAGES_AT_ONCE = 500
"""How much is copied before checking whether to stop."""
CHECK_STEPS = 20_000
"""Instructions of SQLite's virtual machine, between such checks while a copy is verified."""
FREE_BYTES_MAX = 64 * 1024 * 1024
"""As much space as the copies take stays free, and no more than this: turns are stored meanwhile."""
LOCK = "backup.lock"

COUNTED = {"sessions": "session", "turns": "turn", "versions": "version"}
ORDER = (Role.MACHINE, Role.VERSIONS, Role.OUTBOX, Role.CONVERSATIONS)
"""The order in which the databases' states are taken: each refers only to what a later one has."""


class BackupStopped(Exception):
    """It was asked to stop; nothing of the set remains."""


def make_backup(folder: Path, url: str, *, reason: Reason, stop: Event | None = None) -> BackupSet | None:
    """Make a set of the store at this address and of this machine's state, complete on the disk.

    Returns None if there is nothing to back up, if another process is making one, and if a daily one is not
    due. folder: the data folder. If it cannot be completed, nothing of it remains and no older set is
    removed. Raises StoreUnavailable (a full disk), StoreDamaged, BackupStopped.
    """
    files = [file for file in store_files(folder, url) if isinstance(file, StoreFile) and _is_copied(file)]
    if not any(file.path.stat().st_size for file in files):
        return None
    with alone(folder) as is_alone:
        if not is_alone or (reason is Reason.DAILY and not is_due(folder, url, now())):
            return None
        made = _make(folder, bare_url(url), files, reason, stop or Event())
        if made:
            remove_old(folder)
        return made


def renew_backups(folder: Path, url: str) -> None:
    """Replace the sets of the store at this address, if there are any, by one of its current state.

    Raises as `make_backup`, and StoreUnavailable while another process makes one; the old sets are kept then.
    """
    old = list_backups(folder, store=url)
    if not old:
        return
    if make_backup(folder, url, reason=Reason.ASKED) is None:
        raise StoreUnavailable(
            f"The {len(old)} backups before this are still there, because another ragforge is making one "
            "right now. Try again in a minute."
        )
    remove_sets(folder, old)


def _is_copied(file: StoreFile) -> bool:
    return file.facts.backup is Backup.COPIED and file.path.is_file()


def _make(
    folder: Path, store: str, files: Sequence[StoreFile], reason: Reason, stop: Event
) -> BackupSet | None:
    _refuse_where_full(folder, files)
    made_at = now()
    name = _free_name(backups_folder(folder), f"{made_at:%Y%m%dT%H%M%SZ}")
    partial = backups_folder(folder) / f"{name}{PARTIAL}"
    try:
        partial.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial.mkdir(mode=0o700)
        copies, counts = _copy_all(folder, files, partial, stop)
        if counts is None:
            return None
        made = BackupSet(name, made_at, reason, store, tuple(copies), counts)
        _write(partial / FACTS, msgspec.json.format(msgspec.json.encode(made)))
        sync_folder(partial)
        partial.rename(backups_folder(folder) / name)
        sync_folder(backups_folder(folder))
        return made
    except OSError as error:
        raise StoreUnavailable(
            f"No backup was made in {backups_folder(folder)}: {error.strerror}. Free some space there and "
            "make it writable."
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _refuse_where_full(folder: Path, files: Sequence[StoreFile]) -> None:
    needed = sum(file.path.stat().st_size for file in files)
    left_free, free = min(needed, FREE_BYTES_MAX), shutil.disk_usage(folder).free
    if free < needed + left_free:
        raise StoreUnavailable(
            f"No backup was made in {backups_folder(folder)}: the disk is full. It takes {_mb(needed)} and "
            f"leaves {_mb(left_free)} for other data; {_mb(free)} are free. Free up space there."
        )


def _mb(count: int) -> str:
    return f"{count / 1024**2:.1f} MB"


def _copy_all(
    folder: Path, files: Sequence[StoreFile], target: Path, stop: Event
) -> tuple[list[CopiedFile], Mapping[str, int] | None]:
    """Make the copies; return them and the contents of the conversations, None if these are empty."""
    with ExitStack() as stack:
        sources = [
            (file, stack.enter_context(_state_of(file.path)))
            for file in sorted(files, key=lambda file: ORDER.index(file.role))
        ]
        counts: Mapping[str, int] = {}
        for file, connection in sources:
            if file.role is Role.CONVERSATIONS:
                counts = _counts(connection)
                if not any(counts.values()):
                    return [], None
        copies = [_copy(folder, file, connection, target, stop) for file, connection in sources]
    return copies, counts


@contextmanager
def _state_of(path: Path) -> Generator[Connection]:
    """Open a connection that sees one state of the database from now on, whatever is written meanwhile."""
    with translated(path), reading(path) as connection:
        connection.execute("BEGIN")
        next(connection.execute("SELECT count(*) FROM sqlite_schema"))
        yield connection


def _counts(connection: Connection) -> Mapping[str, int]:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    return {
        noun: next(connection.execute(f"SELECT count(*) FROM {table}"))[0]
        for noun, table in COUNTED.items()
        if table in tables
    }


def _copy(folder: Path, file: StoreFile, connection: Connection, target: Path, stop: Event) -> CopiedFile:
    path = file.path
    name = f"outbox-{path.name}" if file.role is Role.OUTBOX else path.name
    copy = target / name
    os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    with translated(copy):
        copied = cast("Any", apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE))
        try:
            # An interrupted set is discarded; a complete one is synced below.
            copied.pragma("journal_mode", "off")
            copied.pragma("synchronous", 0)
            with copied.backup("main", connection, "main") as backup:
                while not backup.done:
                    if stop.is_set():
                        raise BackupStopped
                    backup.step(PAGES_AT_ONCE)
        finally:
            copied.close()
    schema = _check(copy, path, stop)
    relative = path.relative_to(folder) if path.is_relative_to(folder) else path
    return CopiedFile(file.role, name, str(relative), copy.stat().st_size, synced_hash(copy), schema)


def _check(copy: Path, path: Path, stop: Event) -> int:
    """Verify the copy and return its schema: a damaged one must not displace older sets."""
    # Immutable: no file is created beside it, and no other process writes it.
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with translated(path):
        connection = cast("Any", apsw.Connection(f"{copy.absolute().as_uri()}?immutable=1", flags=flags))
        try:
            connection.set_progress_handler(stop.is_set, CHECK_STEPS)
            ((found,),) = connection.execute("PRAGMA quick_check(1)")
            schema = int(connection.pragma("user_version"))
        except apsw.InterruptError as error:
            raise BackupStopped from error
        finally:
            connection.close()
    if found != "ok":
        raise StoreDamaged(
            f"{path} is damaged ({found}), so no backup was made of it; older ones are kept. Run: {CHECK}"
        )
    return schema


def synced_hash(path: Path) -> str:
    """Return the SHA-256 of the file in hex, after syncing its content."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def _free_name(folder: Path, name: str) -> str:
    number, free = 1, name
    while (folder / free).exists() or (folder / f"{free}{PARTIAL}").exists():
        number += 1
        free = f"{name}-{number}"
    return free


@contextmanager
def alone(folder: Path) -> Generator[bool]:
    """Whether no other process is making or restoring a set; none starts while this is held."""
    path = folder / "locks" / LOCK
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = open_lock(path)
    except OSError as error:
        raise StoreUnavailable(
            f"Cannot lock {path}: {error.strerror}. {remedy(error)} and try again."
        ) from error
    try:
        yield try_lock(lock)
    finally:
        os.close(lock)
