"""Migrate a file to the schema of this version, even if other processes do the same at that moment."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import apsw
from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreDamaged, StoreMoved, StoreNewer, StoreUnavailable
from ragforge.store.sqlite.connection import (
    Connection,
    connect,
    make_private_file,
    raw_connection,
    translated,
)

INSTEAD = "choose another store with RAGFORGE_STORE=sqlite:///PATH"
INSTEAD_OF_FOLDER = "choose another folder for its data with RAGFORGE_DATA_DIR"
MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
VERSION_AT, APPLICATION_AT = 60, 68
"""Our schema version and application id in the header. Source: sqlite.org/fileformat.html."""
INDEX, INDEX_LOCK = "-shm", 128
"""The index of a database's log, and its byte that SQLite locks for as long as a connection is open."""


class Schema(Struct, frozen=True):
    """Numbered steps, and the application id in the file's header that identifies our databases."""

    application_id: int
    steps: tuple[str, ...]


def prepare(path: Path, schema: Schema, *, lock_dir: Path) -> None:
    """Create the file if it is missing and run the missing steps, all or none.

    Raises StoreNewer, StoreDamaged if it is not ours or not a database, StoreUnavailable, StoreMoved. One of
    a newer version is only read: none of its files changes.
    """
    _refuse_removed(path)
    if (found := look(path)) and found.application_id == schema.application_id:
        refuse_newer(path, found.version, schema)
    make_private_file(path)
    with translated(path):
        if not _is_ready(path, schema):
            _migrate_alone(path, schema, lock_dir)


class Header(Struct, frozen=True):
    """A database's header. version: how many steps of its schema were run."""

    application_id: int
    version: int


def look(path: Path) -> Header | None:
    """Return the database's header; None if there is no file, an empty one or not a database.

    Neither it nor its log changes, whoever else has it open.
    """
    log = path.with_name(f"{path.name}-wal")
    try:
        # Without waiting: a pipe may be at the path of the database.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            head = file.read(HEADER_BYTES) or b""
        logged = log.exists() and log.stat().st_size > 0
    except (OSError, ValueError):  # the latter for an invalid path
        return None  # opening it says why
    if len(head) < HEADER_BYTES or not head.startswith(MAGIC):
        return None
    if logged:
        return _look_through_log(path)
    application_id, version = (int.from_bytes(head[at : at + 4]) for at in (APPLICATION_AT, VERSION_AT))
    return Header(application_id, version)


def _look_through_log(path: Path) -> Header | None:
    """The newest header may be in the log."""
    try:
        with reading(path) as connection:
            return Header(int(connection.pragma("application_id")), int(connection.pragma("user_version")))
    except apsw.Error:
        return None  # as above


@contextmanager
def reading(path: Path) -> Generator[Connection]:
    """Open a connection that writes nothing into the database or its log, not even when it is closed."""
    connection = cast("Connection", apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY))
    try:
        connection.pragma("busy_timeout", timeouts.SQLITE_BUSY_MS_MAX)
        yield connection
    finally:
        connection.close()


def refuse_newer(path: Path, version: int, schema: Schema, *, instead: str = INSTEAD) -> None:
    """Raise StoreNewer if the database has a version that this program does not know."""
    if version > len(schema.steps):
        raise StoreNewer(
            f"{path} was written by a newer ragforge (schema {version}; this one knows up to "
            f"{len(schema.steps)}). Nothing was changed. Update ragforge, or {instead}."
        )


def _refuse_removed(path: Path) -> None:
    """Raise StoreMoved if another process has a removed one open: a new one would share its log."""
    # The lock first: a process creating a database right now writes the file before the log is opened.
    if _has_content(path) or not _is_locked(path.with_name(path.name + INDEX)) or _has_content(path):
        return
    raise StoreMoved(
        f"The store {path} was removed while another ragforge has it open. If you moved it, move it back. "
        "Otherwise close every ragforge and start it again."
    )


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True  # opening it says why


def _is_locked(index: Path) -> bool:
    try:
        with index.open("r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, INDEX_LOCK)
    except BlockingIOError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _is_ready(path: Path, schema: Schema) -> bool:
    connection = raw_connection(path)
    try:
        connection.pragma("busy_timeout", timeouts.SQLITE_BUSY_MS_MAX)
        version = _version(connection, path, schema)
        return version == len(schema.steps) and connection.pragma("journal_mode") == "wal"
    finally:
        connection.close()


def _version(connection: Connection, path: Path, schema: Schema) -> int:
    version = int(connection.pragma("user_version"))
    (empty,) = next(connection.execute("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)"))
    if not empty and connection.pragma("application_id") != schema.application_id:
        raise StoreDamaged(
            f"{path} is a different kind of database. Choose another file with RAGFORGE_STORE=sqlite:///PATH."
        )
    refuse_newer(path, version, schema)
    return version


def _migrate_alone(path: Path, schema: Schema, lock_dir: Path) -> None:
    try:
        lock_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(lock_dir / "migration.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnavailable(
            f"Cannot use the folder {lock_dir} for locks: {error.strerror}. Make it writable and try again."
        ) from error
    try:
        # Switching to the write-ahead log fails at once if a second process does the same.
        fcntl.flock(lock, fcntl.LOCK_EX)
        connection = connect(path)
        try:
            _migrate(connection, path, schema)
        finally:
            connection.close()
    finally:
        os.close(lock)


def _migrate(connection: Connection, path: Path, schema: Schema) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read inside the transaction: another process may have been faster.
        for number in range(_version(connection, path, schema), len(schema.steps)):
            connection.execute(schema.steps[number])
            connection.pragma("user_version", number + 1)
        connection.pragma("application_id", schema.application_id)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
