"""What is wrong with a database file, and what can be repaired without losing anything."""

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import cast

import apsw

from ragforge.domain import timeouts
from ragforge.domain.errors import RagforgeError, StoreUnavailable
from ragforge.store.file_text import text_faults
from ragforge.store.files import StoreFile
from ragforge.store.role_schemas import schema_of
from ragforge.store.sqlite.connection import Connection, not_a_file, raw_connection

FAULTS_MAX = 20


def file_faults(file: StoreFile, *, deep: bool = True) -> list[str]:
    """Return what is wrong with it, in sentences about "it"; empty if it is sound, or does not exist.

    Changes and creates nothing. deep: all of it is read, not only its beginning.
    """
    if other := not_a_file(file.path):
        return [f"It {other}."]
    try:
        about = file.path.stat()
    except FileNotFoundError:
        return []
    except OSError as error:
        return [f"It cannot be read: {error.strerror}."]
    if not about.st_size:
        link = f" It is a link to {file.path.resolve()}." if file.path.is_symlink() else ""
        return [f"It is empty (0 bytes).{link}"]
    return _readable(file.path) or _database_faults(file, deep=deep)


def repair_indexes(file: StoreFile) -> list[str]:
    """Rebuild the indexes of a damaged database; return what was done. Rows are never touched."""
    if not file_faults(file):
        return []
    try:
        with closing(raw_connection(file.path)) as connection:
            connection.pragma("busy_timeout", timeouts.SQLITE_BUSY_MS_MAX)
            if connection.pragma("application_id") != schema_of(file.role).application_id:
                return []
            before = _integrity(connection)
            try:
                connection.execute("REINDEX")
            except apsw.CorruptError:
                _make_indexes_anew(connection)
            after = _integrity(connection)
    except (apsw.Error, RagforgeError, UnicodeDecodeError):
        return []
    return ["Rebuilt its indexes."] if len(after) < len(before) else []


def _make_indexes_anew(connection: Connection) -> None:
    """For indexes whose own pages cannot be read, not even to empty them."""
    indexes = [
        sql
        for (sql,) in connection.execute(
            "SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
        )
    ]
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.pragma("writable_schema", 1)
        connection.execute("DELETE FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
        # Else SQLite continues with the schema that it has read.
        connection.pragma("writable_schema", "RESET")
        for sql in indexes:
            connection.execute(sql)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("VACUUM")  # releases the old pages


def _readable(path: Path) -> list[str]:
    found: list[str] = []
    for mode, words in (("rb", "read"), ("r+b", "written")):
        try:
            path.open(mode).close()
        except OSError as error:
            found.append(f"It cannot be {words}: {error.strerror}.")
            break
    return found


def _database_faults(file: StoreFile, *, deep: bool) -> list[str]:
    schema = schema_of(file.role)
    found: list[str] = []
    with _told(found), closing(raw_connection(file.path)) as connection:
        connection.pragma("busy_timeout", timeouts.SQLITE_BUSY_MS_MAX)
        version = int(connection.pragma("user_version"))
        (is_empty,) = next(connection.execute("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)"))
        if is_empty:
            return ["It holds no tables."]
        if connection.pragma("application_id") != schema.application_id:
            return ["It is a different kind of database."]
        if version > len(schema.steps):
            return ["It was written by a newer ragforge. Update ragforge."]
        if not deep:
            return []
        found += _integrity(connection)
        found += [
            f"Its table {name} is missing." for name in _tables_missing(connection, schema.steps[:version])
        ]
        broken = list(connection.execute("PRAGMA foreign_key_check"))[:FAULTS_MAX]
        found += [
            f"Row {row} of {table} refers to a {parent} that is missing." for table, row, parent, _ in broken
        ]
    return found + text_faults(file)


def _integrity(connection: Connection) -> list[str]:
    found: list[str] = []
    with _told(found):
        rows = list(connection.execute(f"PRAGMA integrity_check({FAULTS_MAX})"))
        found += [f"SQLite's integrity check: {text}." for (text,) in rows if text != "ok"]
    return found


def _tables_missing(connection: Connection, steps: Sequence[str]) -> list[str]:
    """Return the tables that these steps create and that are missing."""
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
    with closing(cast("Connection", apsw.Connection(":memory:"))) as made:
        for step in steps:
            made.execute(step)
        due = [name for (name,) in made.execute(query)]
    present = {name for (name,) in connection.execute(query)}
    return [name for name in due if name not in present and not name.startswith("sqlite_")]


@contextmanager
def _told(found: list[str]) -> Generator[None]:
    """Add what SQLite raises as one more sentence."""
    try:
        yield
    except apsw.NotADBError:
        found.append("It is not a database.")
    except (apsw.CorruptError, apsw.FormatError, apsw.SQLError, UnicodeDecodeError) as error:
        found.append(f"It is damaged: {error}.")
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreUnavailable("Another process keeps it locked. End that process and try again.") from error
    except apsw.Error as error:
        found.append(f"It cannot be used: {error}.")
