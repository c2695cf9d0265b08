"""Damaged texts in a database: a flipped bit makes a whole row unreadable."""

from collections.abc import Iterator
from contextlib import closing, suppress

import apsw
from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.words import counted
from ragforge.store.files import StoreFile
from ragforge.store.sqlite.connection import Connection, connect, raw_connection


class _Broken(Struct, frozen=True):
    table: str
    column: str
    content: bytes


def text_faults(file: StoreFile) -> list[str]:
    """Return which columns contain bytes that are not text, in sentences; no other damage is reported."""
    counts: dict[str, int] = {}
    with suppress(apsw.Error, UnicodeDecodeError), closing(raw_connection(file.path)) as connection:
        for broken in _broken(connection):
            place = f"{broken.table}.{broken.column}"
            counts[place] = counts.get(place, 0) + 1
    return [
        f"{counted(count, 'value')} of {place} cannot be read as text." for place, count in counts.items()
    ]


def repair_text(file: StoreFile) -> list[str]:
    """Replace the bytes that are not text, so that the rest can be read again; return what was done."""
    replaced = 0
    with suppress(apsw.Error, UnicodeDecodeError), closing(connect(file.path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for broken in list(_broken(connection)):
            connection.execute(
                f'UPDATE OR IGNORE "{broken.table}" SET "{broken.column}" = ? '
                f'WHERE CAST("{broken.column}" AS BLOB) = ?',
                (broken.content.decode(errors="replace"), broken.content),
            )
            replaced += connection.changes()
        connection.execute("COMMIT")
    return (
        [f"Made {counted(replaced, 'text')} readable: damaged bytes were replaced with \ufffd."]
        if replaced
        else []
    )


def _broken(connection: Connection) -> Iterator[_Broken]:
    connection.pragma("busy_timeout", timeouts.SQLITE_BUSY_MS_MAX)
    tables = [
        name
        for (name,) in connection.execute(
            "SELECT name FROM pragma_table_list "
            "WHERE schema = 'main' AND type = 'table' AND substr(name, 1, 7) != 'sqlite_'"
        )
    ]
    for table in tables:
        columns = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM pragma_table_info(?) WHERE type = 'TEXT'", (table,)
            )
        ]
        if not columns:
            continue
        values = ", ".join(f'CAST("{column}" AS BLOB)' for column in columns)
        for row in connection.execute(f'SELECT {values} FROM "{table}"'):
            for column, content in zip(columns, row, strict=True):
                if content is not None and not _is_text(content):
                    yield _Broken(table, column, content)


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
