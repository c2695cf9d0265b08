"""Check the complete database of contents, and rebuild it from what is readable."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

import apsw
from msgspec import Struct

from ragforge.domain.errors import StoreError
from ragforge.domain.ids import now
from ragforge.store.blob_forms import BlobFiles, Form
from ragforge.store.blob_proof import is_sound, is_sound_file
from ragforge.store.damage_words import BROKEN_LINK_HELP, is_broken_link
from ragforge.store.files import ASIDE, StoreFile
from ragforge.store.schemas import BLOBS
from ragforge.store.sqlite.connection import Connection, Row, connect, not_a_file, raw_connection
from ragforge.store.sqlite.prepare import prepare

TAILS = ("", "-wal", "-shm")
ROW_BYTES_MIN = 40
"""No row of a content takes less, so a file has at most so many keys."""


class Rebuilt(Struct, frozen=True):
    """A new database. kept: contents in it. aside: where the old one is now, if there was any."""

    kept: int
    aside: Path | None


def damaged_contents(file: StoreFile) -> list[bytes]:
    """Return the hashes of all damaged contents; each is read and compared. Raises apsw.Error."""
    files = _files(file)
    with closing(raw_connection(file.path)) as connection:
        digests = [digest for (digest,) in connection.execute("SELECT digest FROM blob")]
        return [digest for digest in digests if not is_sound(connection, files, digest)]


def set_aside(file: StoreFile, digests: Sequence[bytes]) -> Path:
    """Move damaged contents, as they are, to files in a folder beside the database; return that folder.

    So the next read of the same content stores it again. Raises OSError, apsw.Error.
    """
    folder = file.path.with_name(f"{file.path.stem}.{ASIDE}")
    folder.mkdir(mode=0o700, exist_ok=True)
    files = _files(file)
    with closing(connect(file.path)) as connection:
        for digest in digests:
            row = next(connection.execute("SELECT form, data FROM blob WHERE digest = ?", (digest,)), None)
            target = folder / digest.hex()
            if row and Form(row[0]).is_file:
                with suppress(FileNotFoundError):
                    files.path(digest).rename(target)
            elif row:
                descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                with os.fdopen(descriptor, "wb") as opened:
                    opened.write(row[1])
            connection.execute("DELETE FROM blob WHERE digest = ?", (digest,))
    return folder


def remove_leftovers(file: StoreFile, *, older_than: datetime) -> int:
    """Remove files of large contents that a crash left unfinished; return how many. Raises OSError."""
    staged = [path for path, digest, _ in _files(file).older_than(older_than.timestamp()) if digest is None]
    for path in staged:
        path.unlink(missing_ok=True)
    return len(staged)


def rebuild(file: StoreFile) -> Rebuilt:
    """Build a new database from all that is readable in the old one, which is set aside, and in its folder.

    Raises StoreError, OSError, apsw.Error.
    """
    if is_broken_link(file.path):
        raise StoreError(f"{file.path} {not_a_file(file.path)}. {BROKEN_LINK_HELP}, and run it again")
    aside = _set_database_aside(file.path)
    prepare(file.path, BLOBS, lock_dir=file.path.parent)
    files = _files(file)
    with closing(connect(file.path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for url in _used_by(aside) if aside else ():
            connection.execute("INSERT OR IGNORE INTO used_by VALUES (?)", (url,))
        for digest, form, data, at in _rows(aside) if aside else ():
            _insert(connection, digest, form, data, at)
            if not is_sound(connection, files, digest):
                connection.execute("DELETE FROM blob WHERE digest = ?", (digest,))
        for digest, form in _large(files):
            _insert(connection, digest, form, b"", 0)
        connection.execute("COMMIT")
        ((kept,),) = connection.execute("SELECT count(*) FROM blob")
    return Rebuilt(kept, aside)


def _files(file: StoreFile) -> BlobFiles:
    return BlobFiles(file.beside or file.path.with_suffix(""))


def _insert(connection: Connection, digest: bytes, form: int, data: bytes, at: int) -> None:
    statement = "INSERT OR IGNORE INTO blob (digest, form, data, at) VALUES (?, ?, ?, ?)"
    connection.execute(statement, (digest, form, data, at))


def _set_database_aside(path: Path) -> Path | None:
    aside = path.with_name(f"{path.name}.{ASIDE}-{now():%Y%m%dT%H%M%S}")
    for tail in TAILS:
        with suppress(FileNotFoundError):
            path.with_name(path.name + tail).rename(aside.with_name(aside.name + tail))
    return aside if aside.exists() else None


def _rows(path: Path) -> Iterator[Row]:
    """Yield every row that can be read: an unreadable page does not hide the others."""
    if not path.is_file():
        return
    with suppress(apsw.Error), closing(raw_connection(path)) as connection:
        # Else SQLite reads nothing of a file that is shorter than it was.
        connection.execute("PRAGMA writable_schema = 1")
        key_max = path.stat().st_size // ROW_BYTES_MIN
        with suppress(apsw.Error):
            ((key_max,),) = connection.execute("SELECT coalesce(max(key), 0) FROM blob")
        for key in range(1, key_max + 1):
            with suppress(apsw.Error):
                yield from list(
                    connection.execute("SELECT digest, form, data, at FROM blob WHERE key = ?", (key,))
                )


def _used_by(path: Path) -> list[str]:
    if not path.is_file():
        return []
    with suppress(apsw.Error, UnicodeDecodeError), closing(raw_connection(path)) as connection:
        connection.execute("PRAGMA writable_schema = 1")
        return [url for (url,) in connection.execute("SELECT url FROM used_by")]
    return []


def _large(files: BlobFiles) -> Iterator[tuple[bytes, Form]]:
    """Return the contents in files, and the form of each."""
    for path in files.folder.glob("??/" + "?" * 64):
        with suppress(ValueError):
            digest = bytes.fromhex(path.name)
            for form in (Form.PLAIN_FILE, Form.PACKED_FILE):
                if is_sound_file(path, form, digest):
                    yield digest, form
                    break
