import asyncio
import hashlib
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragforge.domain.errors import StoreDamaged, StoreUnavailable
from ragforge.store.blobs import SqliteBlobs
from ragforge.store.files import Role, StoreFile
from ragforge.store.sqlite.connection import connect
from tests.damage import NOT_FILES


@pytest.fixture
async def blobs(tmp_path: Path) -> AsyncIterator[SqliteBlobs]:
    blobs = SqliteBlobs(tmp_path / "data" / "blobs.db")
    yield blobs
    await blobs.close()


@pytest.mark.parametrize("data", [b"", b"\x00\xff" * 7, b"line of a log\n" * 100_000], ids=len)
async def test_bytes_come_back_by_their_hash(blobs: SqliteBlobs, data: bytes) -> None:
    digest = await blobs.put(data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert await blobs.get(digest) == data


async def test_same_bytes_are_kept_once_and_compressed(blobs: SqliteBlobs, tmp_path: Path) -> None:
    data = b"line of a log\n" * 100_000
    for _ in range(3):
        await blobs.put(data)
    await blobs.close()
    connection = connect(tmp_path / "data" / "blobs.db")
    ((count, size),) = connection.execute("SELECT count(*), sum(length(data)) FROM blob")
    connection.close()
    assert count == 1
    assert size < len(data) / 50


async def test_missing_content_is_named(blobs: SqliteBlobs) -> None:
    for digest in ("ab" * 32, "not a hash", ""):
        with pytest.raises(StoreUnavailable, match="not in"):
            await blobs.get(digest)


@pytest.mark.parametrize(
    ("kind", "help"),
    [
        ("a pipe", "Run `ragforge db check --repair`."),
        (
            "a link to nothing",
            "Put the file back, or remove the link if the contents are lost, then run `ragf",
        ),
        (
            "a link to itself",
            "Put the file back, or remove the link if the contents are lost, then run `ragf",
        ),
    ],
)
async def test_what_is_no_file_is_named_with_what_helps(
    blobs: SqliteBlobs, tmp_path: Path, kind: str, help: str
) -> None:
    path = tmp_path / "data" / "blobs.db"
    path.parent.mkdir()
    make, words = NOT_FILES[kind]
    make(StoreFile(Role.CONTENTS, path))
    with pytest.raises(StoreDamaged) as refused:
        await blobs.put(b"text")
    assert f"{path} cannot be used: it {words}." in str(refused.value)
    assert help in str(refused.value)


@pytest.mark.parametrize("damage", ["x'00'", "substr(data, 1, 8)", "(SELECT data FROM blob WHERE key = 2)"])
async def test_altered_content_is_never_handed_out(blobs: SqliteBlobs, tmp_path: Path, damage: str) -> None:
    digest = await blobs.put(b"the truth")
    await blobs.put(b"a lie")
    connection = connect(tmp_path / "data" / "blobs.db")
    connection.execute(f"UPDATE blob SET data = CAST({damage} AS BLOB) WHERE key = 1")
    connection.close()
    with pytest.raises(StoreDamaged, match="altered"):
        await blobs.get(digest)


@pytest.mark.parametrize("replaced", [False, True])
async def test_what_is_put_after_the_file_was_removed_is_in_the_one_that_is_there(
    blobs: SqliteBlobs, tmp_path: Path, replaced: bool
) -> None:
    path = tmp_path / "data" / "blobs.db"
    await blobs.put(b"before")
    away = path.rename(tmp_path / "away.db")
    if replaced:
        path.write_bytes(away.read_bytes())
    digest = await blobs.put(b"after")
    other = SqliteBlobs(path)
    assert await other.get(digest) == b"after"
    await other.close()


async def test_two_openings_share_one_file(blobs: SqliteBlobs, tmp_path: Path) -> None:
    other = SqliteBlobs(tmp_path / "data" / "blobs.db")
    digests = await asyncio.gather(*(store.put(b"same") for store in (blobs, other) for _ in range(5)))
    assert len(set(digests)) == 1
    assert await other.get(await blobs.put(b"more")) == b"more"
    await other.close()


async def test_file_is_for_its_owner_alone(blobs: SqliteBlobs, tmp_path: Path) -> None:
    await blobs.put(b"secret")
    assert stat.S_IMODE((tmp_path / "data" / "blobs.db").stat().st_mode) == 0o600


async def test_file_that_is_no_database_is_explained(tmp_path: Path) -> None:
    (tmp_path / "blobs.db").write_bytes(b"not a database at all, " * 100)
    blobs = SqliteBlobs(tmp_path / "blobs.db")
    with pytest.raises(StoreDamaged):
        await blobs.put(b"x")
    await blobs.close()
