"""Contents by their hash, in a small SQLite database of their own on this machine."""

import asyncio
import hashlib
import zlib
from collections.abc import Sequence
from pathlib import Path

from ragforge.domain.errors import StoreDamaged, StoreUnavailable
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.prepare import Schema, prepare
from ragforge.store.sqlite.rows import one

FIRST = """
CREATE TABLE blob (
    key INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    data BLOB NOT NULL -- compressed by zlib
) STRICT;
"""

BLOBS = Schema(application_id=0x72616762, steps=(FIRST,))  # `ragb`


class SqliteBlobs:
    """Implements `Blobs`. The file is made at the first use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = Database(path)
        self._preparing = asyncio.Lock()
        self._is_prepared = False

    async def put(self, data: bytes) -> str:
        """Keep the bytes, once; the hash in hex."""
        await self._prepare()
        digest, compressed = await asyncio.to_thread(lambda: (hashlib.sha256(data), zlib.compress(data)))

        def write(connection: Connection) -> None:
            connection.execute(
                "INSERT OR IGNORE INTO blob (digest, data) VALUES (?, ?)", (digest.digest(), compressed)
            )

        await self._database.write(write)
        return digest.hexdigest()

    async def get(self, digest: str) -> bytes:
        """The bytes, verified by their hash.

        Raises StoreUnavailable when they are missing, StoreDamaged when they were altered.
        """
        await self._prepare()
        wanted = _from_hex(digest)

        def read(connection: Connection) -> bytes:
            row = one(connection, "SELECT data FROM blob WHERE digest = ?", (wanted,))
            if row is None:
                raise StoreUnavailable(
                    f"The content {digest[:12]} is not in {self._path}. It was stored on another machine, "
                    "or that file was removed."
                )
            return self._verified(row[0], wanted)

        return await self._database.read(read)

    async def missing(self, digests: Sequence[str]) -> list[str]:
        """Those that are not here, in their order."""
        await self._prepare()

        def read(connection: Connection) -> list[str]:
            there = "SELECT 1 FROM blob WHERE digest = ?"
            return [digest for digest in digests if one(connection, there, (_from_hex(digest),)) is None]

        return await self._database.read(read)

    async def close(self) -> None:
        """Release the database."""
        await self._database.close()

    async def _prepare(self) -> None:
        async with self._preparing:
            if not self._is_prepared:
                await asyncio.to_thread(prepare, self._path, BLOBS, lock_dir=self._path.parent)
                self._is_prepared = True

    def _verified(self, compressed: bytes, wanted: bytes) -> bytes:
        try:
            data = zlib.decompress(compressed)
        except zlib.error:
            data = None
        if data is None or hashlib.sha256(data).digest() != wanted:
            raise StoreDamaged(
                f"The content {wanted.hex()[:12]} in {self._path} was altered: its hash does not fit. "
                "Restore that file from a backup."
            )
        return data


def _from_hex(digest: str) -> bytes:
    try:
        return bytes.fromhex(digest)
    except ValueError:
        # No content has such a name, so none is found.
        return b""
