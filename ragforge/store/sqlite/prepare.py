"""Bringing a file to the schema that this version knows, whoever else does the same at that moment."""

import fcntl
import os
from pathlib import Path

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreDamaged, StoreNewer, StoreUnavailable
from ragforge.store.sqlite.connection import (
    Connection,
    connect,
    make_private_file,
    raw_connection,
    translated,
)


class Schema(Struct, frozen=True):
    """Numbered steps, and the mark in the file's header that tells our databases from others."""

    application_id: int
    steps: tuple[str, ...]


def prepare(path: Path, schema: Schema, *, lock_dir: Path) -> None:
    """Make the file where it is missing and take the steps that it lacks, all or none.

    Raises StoreNewer, StoreDamaged where it is not ours or no database, StoreUnavailable.
    """
    make_private_file(path)
    with translated(path):
        if not _is_ready(path, schema):
            _migrate_alone(path, schema, lock_dir)


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
            f"{path} is a database of another kind. Choose another file with RAGFORGE_STORE=sqlite:///PATH."
        )
    if version > len(schema.steps):
        raise StoreNewer(
            f"{path} was written by a newer ragforge (schema {version}; this one knows up to "
            f"{len(schema.steps)}). Update ragforge, or choose another store with RAGFORGE_STORE=sqlite:///PATH."
        )
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
        # Switching to the write-ahead log fails at once where a second process does the same.
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
        # Read inside the transaction: another process may have been quicker.
        for number in range(_version(connection, path, schema), len(schema.steps)):
            connection.execute(schema.steps[number])
            connection.pragma("user_version", number + 1)
        connection.pragma("application_id", schema.application_id)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
