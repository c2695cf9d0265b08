"""Restore a backup set: its copies replace the databases, which are set aside."""

import fcntl
import os
import shutil
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import product
from pathlib import Path

from msgspec import Struct

from ragforge.config.paths import sync_folder
from ragforge.domain.errors import StoreDamaged, StoreNewer, StoreUnavailable, UsageError
from ragforge.domain.ids import now
from ragforge.store.backup_copies import alone, synced_hash
from ragforge.store.backups import BackupSet, CopiedFile, backups_folder, get_backup, path_of
from ragforge.store.files import Role, StoreFile, conversations_row, store_files
from ragforge.store.role_schemas import schema_of
from ragforge.store.sqlite.connection import not_a_file
from ragforge.store.sqlite.prepare import INDEX, INDEX_LOCK, look, prepare

BESIDE = ("-wal", "-shm", "-journal")
"""SQLite's files beside a database. They belong to the previous database and must never meet another."""
SHARED_FIRST, SHARED_BYTES = 0x40000002, 510
"""The bytes of a database that SQLite locks for as long as a connection to it is open."""
OPEN_LOCKS = (("", SHARED_FIRST, SHARED_BYTES), (INDEX, INDEX_LOCK, 1))
"""The suffixes. One remains if a database was removed while it is open."""
STAGED = ".recovering"


class BroughtBack(Struct, frozen=True):
    """What was restored, and where the previous databases are now.

    kept: outboxes that were not replaced, because rows in them may not have been sent yet.
    """

    made: BackupSet
    files: tuple[Path, ...]
    aside: tuple[Path, ...]
    kept: tuple[Path, ...] = ()


def recover_backup(folder: Path, name: str, *, only: Collection[Role] = ()) -> BroughtBack:
    """Replace the databases by the set's copies; they are set aside first, and none is deleted.

    only: these roles. folder: the data folder. Idempotent.
    Raises UsageError for an unknown name or role, StoreUnavailable while another process has
    one of the databases open, StoreDamaged for an altered copy, StoreNewer; nothing is changed then.
    """
    made = get_backup(folder, name)
    wanted = [file for file in made.files if not only or file.role in only]
    if not wanted:
        has = ", ".join(dict.fromkeys(file.role for file in made.files))
        raise UsageError(f"Backup {name} has none of {', '.join(sorted(only))}. It has: {has}.")
    files, kept = _without_live_outboxes(folder, wanted, only)
    for file in files:
        _check_schema(file, name)
    paths = {each.path for each in store_files(folder, made.store) if isinstance(each, StoreFile)}
    paths |= {path_of(folder, file) for file in files}
    with alone(folder) as is_alone, _nobody_else(paths):
        if not is_alone:
            raise StoreUnavailable(
                "Another process is making or restoring a backup. Try again when it is done."
            )
        try:
            staged = _stage_all(folder, made, files)
            aside = _replace_all([(path_of(folder, file), staged[file.name]) for file in files])
        except OSError as error:
            raise StoreUnavailable(
                f"Backup {name} was not restored: {error.strerror} ({error.filename}). Free some space "
                "and make the folder writable, then run the same command again."
            ) from error
    return BroughtBack(made, tuple(path_of(folder, file) for file in files), tuple(aside), kept)


def begin_empty(folder: Path, url: str) -> list[Path]:
    """Create an empty store at the address if there is none; return what was set aside of the previous one.

    Raises UsageError for a store that is not empty, StoreUnavailable while another process has it open.
    """
    row = conversations_row(url)
    if not isinstance(row, StoreFile):
        raise UsageError("--empty works only for a store in a file. Empty a server's database on the server.")
    if look(row.path) is not None:
        raise UsageError(
            f"{row.path} is a database, so nothing was changed. --empty only replaces a lost database."
        )
    with alone(folder), _nobody_else([row.path]):
        aside = _set_aside(row.path, {})
        prepare(row.path, schema_of(row.role), lock_dir=folder / "locks")
    return aside


def _without_live_outboxes(
    folder: Path, wanted: Sequence[CopiedFile], only: Collection[Role]
) -> tuple[list[CopiedFile], tuple[Path, ...]]:
    """An older outbox would resend rows over newer ones on the server: an existing one is kept."""
    kept = [
        file
        for file in wanted
        if file.role is Role.OUTBOX and Role.OUTBOX not in only and path_of(folder, file).exists()
    ]
    return [file for file in wanted if file not in kept], tuple(path_of(folder, file) for file in kept)


def _check_schema(file: CopiedFile, name: str) -> None:
    known = len(schema_of(file.role).steps)
    if file.schema > known:
        raise StoreNewer(
            f"Backup {name} was made by a newer ragforge (schema {file.schema} of {file.name}; this one "
            f"knows up to {known}). Nothing was changed. Update ragforge and try again."
        )


@contextmanager
def _nobody_else(paths: Iterable[Path]) -> Generator[None]:
    """Lock the databases: no other process has one open, and none can open one meanwhile."""
    with ExitStack() as locked:
        for path, (end, first, count) in product(sorted(paths), OPEN_LOCKS):
            if not end and not_a_file(path):
                continue
            with suppress(FileNotFoundError):
                descriptor = os.open(path.with_name(path.name + end), os.O_RDWR | os.O_CLOEXEC)
                locked.callback(os.close, descriptor)
                try:
                    fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, count, first)
                except OSError as error:
                    raise StoreUnavailable(
                        f"Another process has {path} open. Nothing was changed. Close every ragforge and "
                        "try again."
                    ) from error
        yield


def _stage_all(folder: Path, made: BackupSet, files: Sequence[CopiedFile]) -> dict[str, Path]:
    """Make synced copies of the set's copies beside the places where they belong."""
    staged: dict[str, Path] = {}
    try:
        for file in files:
            source, target = backups_folder(folder) / made.name / file.name, path_of(folder, file)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            copy = target.with_name(target.name + STAGED)
            staged[file.name] = copy
            copy.unlink(missing_ok=True)
            os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
            shutil.copyfile(source, copy)
            if synced_hash(copy) != file.sha256:
                raise StoreDamaged(
                    f"The copy {source} was altered since it was made. Nothing was changed. Choose another "
                    "backup: ragforge db backups"
                )
    except BaseException:
        for copy in staged.values():
            copy.unlink(missing_ok=True)
        raise
    return staged


def _replace_all(staged: Sequence[tuple[Path, Path]]) -> list[Path]:
    """Put each copy in place of its database; return where the previous ones are now.

    In the set's order: if interrupted, each database still refers only to what exists.
    """
    folders: dict[Path, Path] = {}
    moved: list[Path] = []
    for target, copy in staged:
        moved += _set_aside(target, folders)
        copy.rename(target)
        sync_folder(target.parent)
    return moved


def _set_aside(target: Path, folders: dict[Path, Path]) -> list[Path]:
    """Move the database with its log away; return where it is now. folders: for the files beside it."""
    moved: list[Path] = []
    # The database first: one without its log would look complete, a missing one is noticed.
    for path in (target, *(target.with_name(target.name + end) for end in BESIDE)):
        if os.path.lexists(path):  # a broken link too
            if target.parent not in folders:
                folders[target.parent] = _aside_folder(target.parent)
            aside = folders[target.parent] / path.name
            path.rename(aside)
            sync_folder(aside.parent)
            moved += [aside] if path == target else []
    return moved


def _aside_folder(parent: Path) -> Path:
    """Return a new folder named after this moment, on the same disk."""
    stamp, number = f"set-aside-{now():%Y%m%dT%H%M%SZ}", 1
    while True:
        aside = parent / (stamp if number == 1 else f"{stamp}-{number}")
        try:
            aside.mkdir(mode=0o700)
        except FileExistsError:
            number += 1
        else:
            return aside
