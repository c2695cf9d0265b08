"""Contents by their hash on this machine: in a small SQLite database, large ones as separate files.

A content of unknown users (stored by an older ragforge, or without the address of a store) has the time 0
and is never removable.
"""

import asyncio
import hashlib
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from ragforge.config.store_address import bare_url
from ragforge.domain.errors import StoreDamaged, StoreUnavailable
from ragforge.domain.ids import now
from ragforge.store.blob_files import Raw, open_regular, raw_of, read_batch
from ragforge.store.blob_forms import (
    ROW_BYTES_MAX,
    BlobFiles,
    Form,
    Made,
    cannot_write,
    pack,
    unpack,
)
from ragforge.store.blob_proof import unreadable
from ragforge.store.damage_words import explained
from ragforge.store.files import REPAIR, Role, StoreFile
from ragforge.store.schemas import BLOBS
from ragforge.store.sqlite.connection import Connection, Database, Row, connect, translated
from ragforge.store.sqlite.prepare import prepare
from ragforge.store.sqlite.rows import one, to_ms

T = TypeVar("T")

TOUCH_MS = 6 * 3_600_000
"""A content that was requested within the last hours is not marked again."""
SHRINK_BYTES_MIN = 16 * 1024 * 1024
"""Less free space in the database is kept for the next contents."""
SHRINK_LIVE_BYTES_MAX = 256 * 1024 * 1024
"""Nor is it released if more than this is in use: nobody could write while that is copied."""

# ?1: a time. Stored before it, and not requested since.
_UNUSED = "at > 0 AND at < ?1 AND NOT EXISTS (SELECT 1 FROM touched WHERE blob = blob.key AND at >= ?1)"
_INSERT = (
    "INSERT INTO blob (digest, form, data, at) VALUES (?, ?, ?, ?) ON CONFLICT (digest) DO UPDATE "
    "SET form = excluded.form, data = excluded.data, at = CASE at WHEN 0 THEN 0 ELSE excluded.at END"
)
# ?1: the hash. ?2: the time.
_TOUCH = (
    "INSERT INTO touched SELECT key, ?2 FROM blob WHERE digest = ?1 "
    "ON CONFLICT (blob) DO UPDATE SET at = excluded.at"
)


class SqliteBlobs:
    """Implements `Blobs`. The file is created on first use."""

    def __init__(self, path: Path, *, store_url: str = "") -> None:
        """Contents in the database at the path, for the store of this address.

        Without an address, stored contents are never removable.
        """
        self._path = path
        self._file = StoreFile(Role.CONTENTS, path, beside=path.with_suffix(""))
        self._store_url = bare_url(store_url)
        self._files = BlobFiles(path.with_suffix(""))
        self._database = Database(path)
        self._preparing = asyncio.Lock()
        self._is_prepared = self._is_noted = False
        self._inode = 0
        self._putting: set[asyncio.Task[dict[bytes, bytes]]] = set()

    async def put(self, data: bytes) -> str:
        return (await self.put_many([data]))[0]

    async def put_many(self, contents: Sequence[bytes]) -> list[str]:
        await self._prepare()
        raw = await asyncio.to_thread(lambda: list(map(raw_of, contents)))
        await self._put(raw)
        return [each.digest.hex() for each in raw]

    async def put_files(self, paths: Sequence[Path], *, anew: bool = False) -> list[str | None]:
        """Like `put_many`, for the files as they are now; None for one that cannot be read.

        A link is stored as its target. Very many files are stored in several transactions.
        anew: existing contents are replaced, because they are damaged.
        """
        await self._prepare()
        waiting = iter(paths)
        found: list[str | None] = []
        while batch := await asyncio.to_thread(lambda: list(read_batch(waiting))):
            kept = await self._put([each for each in batch if each], anew=anew)
            digests = [kept.get(each.digest) if each else None for each in batch]
            found += [digest.hex() if digest else None for digest in digests]
        return found

    async def get(self, digest: str) -> bytes:
        await self._prepare()
        wanted = _from_hex(digest)

        def read(connection: Connection) -> bytes:
            row = one(connection, "SELECT form, data FROM blob WHERE digest = ?", (wanted,))
            form, data = row or (Form.PLAIN, None)
            if row and Form(form).is_file:
                data = self._read_file(wanted)
            if data is None:
                raise StoreUnavailable(
                    f"The content {digest[:12]} is not in {self._path}. It was stored on another machine, "
                    "or that file was removed."
                )
            return self._verified(form, data, wanted)

        return await self._read(read)

    async def missing(self, digests: Sequence[str]) -> list[str]:
        await self._prepare()

        def read(connection: Connection) -> list[str]:
            return [digest for digest in digests if self._row(connection, _from_hex(digest)) is None]

        return await self._read(read)

    async def unreadable(
        self, digests: Sequence[str], *, large: Collection[str] = (), read: Collection[str] = ()
    ) -> list[str]:
        await self._prepare()
        wanted, files, reading = ([_from_hex(each) for each in part] for part in (digests, large, read))
        # On a new connection: an open one trusts the pages it has in memory.
        with explained(self._file):
            found = await self._database.read_afresh(
                lambda connection: unreadable(connection, self._files, wanted, large=files, read=reading)
            )
        return [digest.hex() for digest in found]

    async def touch(self, digests: Sequence[str]) -> list[str]:
        await self._prepare()
        there = await self._mark(list(map(_from_hex, digests)))
        return [digest for digest in digests if _from_hex(digest) not in there]

    async def sizes(self) -> Mapping[str, int]:
        await self._prepare()
        return await self._read(
            lambda connection: self._sized(
                connection.execute("SELECT digest, form, length(data) FROM blob ORDER BY key")
            )
        )

    async def removable(self, unused_since: datetime) -> Mapping[str, int]:
        await self._prepare()
        before = to_ms(unused_since)
        return await self._read(
            lambda connection: self._sized(
                connection.execute(f"SELECT digest, form, length(data) FROM blob WHERE {_UNUSED}", (before,))
            )
        )

    async def used_by(self) -> list[str]:
        await self._prepare()
        return await self._read(
            lambda connection: [url for (url,) in connection.execute("SELECT url FROM used_by ORDER BY url")]
        )

    async def set_used_by(self, store_url: str, *, used: bool = True) -> None:
        await self._prepare()
        statement = (
            "INSERT OR IGNORE INTO used_by VALUES (?)" if used else "DELETE FROM used_by WHERE url = ?"
        )
        await self._write(lambda connection: connection.execute(statement, (bare_url(store_url),)))

    async def delete(self, digests: Sequence[str], *, unused_since: datetime | None = None) -> int:
        await self._prepare()
        before = to_ms(unused_since) if unused_since else None

        def remove(connection: Connection) -> int:
            # What somebody wants removed at once is overwritten; a clean-up has no need of that.
            connection.pragma("secure_delete", int(before is None))
            freed = 0
            for digest in map(_from_hex, digests):
                rows = list(
                    connection.execute(
                        f"DELETE FROM blob WHERE digest = ?2 AND (?1 IS NULL OR {_UNUSED}) "
                        "RETURNING digest, form, length(data)",
                        (before, digest),
                    )
                )
                freed += sum(self._sized(iter(rows)).values())
            return freed

        freed = await self._write(remove)
        await self._remove_files([_from_hex(digest) for digest in digests])
        return freed

    async def tidy(self, unused_since: datetime) -> int:
        await self._prepare()

        old = await asyncio.to_thread(self._files.older_than, unused_since.timestamp())
        freed = 0
        for path, digest, size in old:
            if digest is None:
                await asyncio.to_thread(path.unlink, missing_ok=True)
            else:
                await self._remove_files([digest])
            freed += 0 if path.exists() else size
        return freed + await asyncio.to_thread(self._shrink)

    async def close(self) -> None:
        """Finish pending writes and release the database."""
        if self._putting:
            await asyncio.wait(self._putting)
        await self._database.close()

    async def _prepare(self) -> None:
        """Open the database; open it again if its file was removed, emptied or replaced meanwhile."""
        async with self._preparing:
            if self._is_prepared and self._find_inode() != self._inode:
                old, self._database = self._database, Database(self._path)
                self._is_prepared = self._is_noted = False
                await old.close()
            if not self._is_prepared:
                with explained(self._file):
                    await asyncio.to_thread(prepare, self._path, BLOBS, lock_dir=self._path.parent)
                self._is_prepared, self._inode = True, self._find_inode()

    def _find_inode(self) -> int:
        """The size of the database; 0 if there is none, or an empty one."""
        try:
            found = self._path.stat()
        except OSError:
            return 0
        return found.st_ino if found.st_size else 0

    async def _read(self, job: Callable[[Connection], T]) -> T:
        with explained(self._file):
            return await self._database.read(job)

    async def _write(self, job: Callable[[Connection], T]) -> T:
        with explained(self._file):
            return await self._database.write(job)

    async def _put(self, raw: Iterable[Raw], *, anew: bool = False) -> dict[bytes, bytes]:
        """Store what is missing; return by hash the hash stored, because a file may change meanwhile.

        Continues when cancelled, so that no file is left half written.
        """
        task = asyncio.ensure_future(self._put_all(raw, anew=anew))
        self._putting.add(task)
        task.add_done_callback(self._putting.discard)
        return await asyncio.shield(task)

    async def _put_all(self, raw: Iterable[Raw], *, anew: bool = False) -> dict[bytes, bytes]:
        distinct = {each.digest: each for each in raw}
        there = set[bytes]() if anew else await self._mark(distinct)
        fresh = [each for digest, each in distinct.items() if digest not in there]
        made: list[tuple[bytes, Made]] = []
        try:
            if fresh:
                await asyncio.to_thread(self._make_all, fresh, made)
                await self._write(lambda connection: self._insert(connection, [m for _, m in made]))
        except OSError as error:
            raise cannot_write(self._files.folder, error) from error
        finally:
            for _, each in made:
                self._files.discard(each)
        return {digest: digest for digest in there} | {digest: each.digest for digest, each in made}

    async def _mark(self, digests: Iterable[bytes]) -> set[bytes]:
        """Return those that are here, which count as requested now."""
        at = to_ms(now())

        def look(connection: Connection) -> tuple[set[bytes], list[bytes]]:
            found = {digest: row for digest in digests if (row := self._row(connection, digest))}
            if self._store_url and not self._is_noted:
                noted = "SELECT 1 FROM used_by WHERE url = ?"
                self._is_noted = one(connection, noted, (self._store_url,)) is not None
            return set(found), [
                digest
                for digest, (key, _, put_at) in found.items()
                if self._must_mark(connection, key, put_at, at)
            ]

        def mark(connection: Connection) -> set[bytes]:
            self._note(connection)
            gone: set[bytes] = set()
            for digest in old:
                if self._store_url:
                    connection.execute(_TOUCH, (digest, at))
                else:
                    connection.execute("UPDATE blob SET at = 0 WHERE digest = ?", (digest,))
                if not connection.changes():
                    gone.add(digest)
            return gone

        there, old = await self._read(look)
        if old or (there and self._store_url and not self._is_noted):
            there -= await self._write(mark)
        return there

    def _must_mark(self, connection: Connection, key: int, put_at: int, at: int) -> bool:
        if put_at == 0:
            return False
        if not self._store_url:
            return True
        if put_at >= at - TOUCH_MS:
            return False
        touched = one(connection, "SELECT at FROM touched WHERE blob = ?", (key,))
        return touched is None or touched[0] < at - TOUCH_MS

    def _note(self, connection: Connection) -> None:
        if self._store_url and not self._is_noted:
            connection.execute("INSERT OR IGNORE INTO used_by VALUES (?)", (self._store_url,))

    def _row(self, connection: Connection, digest: bytes) -> Row | None:
        """Return the key, the form and the time of a content that is here."""
        row = one(connection, "SELECT key, form, at FROM blob WHERE digest = ?", (digest,))
        if row and row[1] >= Form.PLAIN_FILE and not self._files.is_there(digest):
            return None
        return row

    def _make_all(self, fresh: Iterable[Raw], made: list[tuple[bytes, Made]]) -> None:
        """Yield each content, ready to be stored; a file that has become unreadable is left out."""
        for each in fresh:
            if each.path:
                try:
                    file = open_regular(each.path)
                except OSError:
                    continue
                if file:
                    with file:
                        made.append((each.digest, self._files.stage(file)))
            elif len(each.data) > ROW_BYTES_MAX:
                made.append((each.digest, self._files.stage(io.BytesIO(each.data))))
            else:
                made.append((each.digest, Made(each.digest, *pack(each.data))))

    def _insert(self, connection: Connection, made: Sequence[Made]) -> None:
        at = to_ms(now()) if self._store_url else 0
        self._note(connection)
        for each in made:
            # Within the transaction, so that nobody removes the file of a content that is just being stored.
            if each.staged:
                self._files.place(each)
        connection.executemany(_INSERT, ((each.digest, each.form, each.data, at) for each in made))

    async def _remove_files(self, digests: Sequence[bytes]) -> None:
        def remove(connection: Connection) -> None:
            for digest in digests:
                if one(connection, "SELECT 1 FROM blob WHERE digest = ?", (digest,)) is None:
                    self._files.remove(digest)

        if self._files.folder.is_dir():
            await self._write(remove)

    def _sized(self, rows: Iterator[Row]) -> dict[str, int]:
        return {
            digest.hex(): self._files.size(digest) if Form(form).is_file else size
            for digest, form, size in rows
        }

    def _read_file(self, digest: bytes) -> bytes | None:
        try:
            return self._files.read(digest)
        except OSError as error:
            raise StoreUnavailable(
                f"Cannot read {self._files.path(digest)}: {error.strerror}. Make it readable and try again."
            ) from error

    def _verified(self, form: int, kept: bytes, wanted: bytes) -> bytes:
        data = unpack(form, kept)
        if data is None or hashlib.sha256(data).digest() != wanted:
            where = self._files.path(wanted) if Form(form).is_file else self._path
            raise StoreDamaged(
                f"The content {wanted.hex()[:12]} in {where} was altered: its hash does not match. "
                f"Run `{REPAIR}`, which stores it again if a file still has it."
            )
        return data

    def _shrink(self) -> int:
        """Release free space in the database, if it is much and nobody else uses it; return the bytes."""
        with suppress(StoreUnavailable), translated(self._path):
            connection = connect(self._path)
            try:
                connection.pragma("busy_timeout", 0)
                page, pages = int(connection.pragma("page_size")), int(connection.pragma("page_count"))
                free = int(connection.pragma("freelist_count")) * page
                if free < SHRINK_BYTES_MIN or pages * page - free > SHRINK_LIVE_BYTES_MAX:
                    return 0
                connection.execute("VACUUM")
                return free
            finally:
                connection.close()
        return 0


def _from_hex(digest: str) -> bytes:
    try:
        return bytes.fromhex(digest)
    except ValueError:
        # No content has such a name, so none is found.
        return b""
