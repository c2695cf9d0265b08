import asyncio
import hashlib
import os
import stat
import zlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ragforge.domain.errors import StoreDamaged, StoreNewer, StoreUnavailable
from ragforge.domain.ids import now
from ragforge.store.blob_forms import ROW_BYTES_MAX
from ragforge.store.blobs import SqliteBlobs
from ragforge.store.schemas import BLOBS, BLOBS_FIRST
from ragforge.store.sqlite.connection import connect
from ragforge.store.sqlite.prepare import Schema, prepare
from tests.tool_context import folder_of_nobody

URL = "sqlite:///somewhere/ragforge.db"
LARGE = os.urandom(ROW_BYTES_MAX + 1)
LARGE_TEXT = b"a line of a large log\n" * 100_000
LATER = timedelta(days=400)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
async def blobs(tmp_path: Path) -> AsyncIterator[SqliteBlobs]:
    blobs = SqliteBlobs(tmp_path / "data" / "blobs.db", store_url=URL)
    yield blobs
    await blobs.close()


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "blobs").rglob("*") if path.is_file())


def sql(folder: Path, statement: str) -> list[tuple[object, ...]]:
    connection = connect(folder / "blobs.db")
    try:
        return list(connection.execute(statement))
    finally:
        connection.close()


@pytest.mark.parametrize("size", [0, 1, 399, 400, 4096, 4097, 70_000, ROW_BYTES_MAX, ROW_BYTES_MAX + 1])
@pytest.mark.parametrize("shrinks", [True, False])
async def test_every_size_comes_back(blobs: SqliteBlobs, size: int, shrinks: bool) -> None:
    data = (b"ab" * size)[:size] if shrinks else os.urandom(size)
    assert await blobs.put_many([data, b"other", data]) == [
        digest_of(data),
        digest_of(b"other"),
        digest_of(data),
    ]
    assert await blobs.get(digest_of(data)) == data
    assert await blobs.missing([digest_of(data), "ab" * 32]) == ["ab" * 32]
    taken = (await blobs.sizes())[digest_of(data)]
    assert taken < size / 10 if shrinks and size > 4096 else taken <= size


async def test_many_are_kept_by_one_transaction(blobs: SqliteBlobs, tmp_path: Path) -> None:
    await blobs.put(b"first")
    contents = [str(number).encode() for number in range(3000)]
    watcher = connect(tmp_path / "data" / "blobs.db")
    seen = set[int]()
    putting = asyncio.create_task(blobs.put_many(contents))
    while not putting.done():
        ((count,),) = watcher.execute("SELECT count(*) FROM blob")
        seen.add(count)
        await asyncio.sleep(0)
    watcher.close()
    assert seen <= {1, 3001}, "none of them is there before all are"
    assert await putting == [digest_of(each) for each in contents]


async def test_what_does_not_shrink_is_kept_as_it_is(blobs: SqliteBlobs, tmp_path: Path) -> None:
    noise, text = os.urandom(5000), b"text " * 1000
    await blobs.put_many([noise, text])
    assert sql(tmp_path / "data", "SELECT form, length(data) FROM blob ORDER BY key")[0] == (0, 5000)
    assert (await blobs.sizes())[digest_of(text)] < 500


async def test_large_contents_are_private_files(blobs: SqliteBlobs, tmp_path: Path) -> None:
    await blobs.put_many([LARGE, LARGE_TEXT, b"small"])
    folder = tmp_path / "data"
    digests = {digest_of(LARGE), digest_of(LARGE_TEXT)}
    assert {path.name for path in files_of(folder)} == digests
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files_of(folder))
    assert stat.S_IMODE((folder / "blobs").stat().st_mode) == 0o700
    assert await blobs.get(digest_of(LARGE_TEXT)) == LARGE_TEXT
    sizes = await blobs.sizes()
    assert sizes[digest_of(LARGE)] == len(LARGE)
    assert sizes[digest_of(LARGE_TEXT)] < len(LARGE_TEXT) / 50
    assert sum(sizes.values()) < (len(LARGE) + len(LARGE_TEXT)) * 0.6
    before = [path.stat().st_mtime_ns for path in files_of(folder)]
    await blobs.put_many([LARGE, LARGE_TEXT])
    assert [path.stat().st_mtime_ns for path in files_of(folder)] == before, "what is there is not written"


async def test_a_large_content_that_was_altered_or_removed(blobs: SqliteBlobs, tmp_path: Path) -> None:
    await blobs.put_many([LARGE, LARGE_TEXT])
    for data in (LARGE, LARGE_TEXT):
        (path,) = [each for each in files_of(tmp_path / "data") if each.name == digest_of(data)]
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(StoreDamaged, match="altered"):
            await blobs.get(digest_of(data))
        path.unlink()
        with pytest.raises(StoreUnavailable, match="not in"):
            await blobs.get(digest_of(data))
        assert await blobs.missing([digest_of(data)]) == [digest_of(data)]
        await blobs.put(data)
        assert await blobs.get(digest_of(data)) == data, "putting it again makes it whole"


async def test_files_are_kept_as_they_are_now(blobs: SqliteBlobs, tmp_path: Path) -> None:
    names = {"a": b"one", "b": LARGE, "c": LARGE_TEXT, "same": b"one", "empty": b"", "\udce9t\udce9": b"name"}
    for name, content in names.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "link").symlink_to("no where")
    os.mkfifo(tmp_path / "pipe")
    paths = [*names, "link", "pipe", "nothing", "."]
    kept = await blobs.put_files([tmp_path / name for name in paths])
    expected = [digest_of(content) for content in names.values()]
    assert kept == [*expected, digest_of(b"no where"), None, None, None]
    assert await blobs.get(digest_of(b"no where")) == b"no where"
    assert await blobs.get(digest_of(LARGE_TEXT)) == LARGE_TEXT
    assert await blobs.put_files([]) == []
    assert len(files_of(tmp_path / "data")) == 2


async def test_a_file_that_cannot_be_read_is_none() -> None:
    with folder_of_nobody() as folder:
        (folder / "mine").write_bytes(b"x")
        (folder / "mine").chmod(0)
        blobs = SqliteBlobs(folder / "data" / "blobs.db")
        assert await blobs.put_files([folder / "mine"]) == [None]
        await blobs.close()


async def test_files_beyond_one_batch_are_all_kept(blobs: SqliteBlobs, tmp_path: Path) -> None:
    for number in range(70):  # more than is held in memory at once
        (tmp_path / str(number)).write_bytes(number.to_bytes(2, "big") * (ROW_BYTES_MAX // 4))
    paths = [tmp_path / str(number) for number in range(70)]
    kept = await blobs.put_files(paths)
    assert kept == [digest_of(path.read_bytes()) for path in paths]
    assert await blobs.missing([digest for digest in kept if digest]) == []


async def test_a_full_disk_keeps_nothing_and_says_so(tmp_path: Path) -> None:
    with folder_of_nobody() as folder:
        data = folder / "data"
        blobs = SqliteBlobs(data / "blobs.db", store_url=URL)
        await blobs.put(b"small")
        (data / "blobs").mkdir()
        (data / "blobs").chmod(0o500)
        with pytest.raises(StoreUnavailable, match="Cannot store a content"):
            await blobs.put_many([LARGE, b"other"])
        assert await blobs.missing([digest_of(LARGE), digest_of(b"other")]) == [
            digest_of(LARGE),
            digest_of(b"other"),
        ]
        (data / "blobs").chmod(0o700)
        assert files_of(data) == []
        await blobs.close()


def old_database(folder: Path) -> bytes:
    """A database as ragforge kept it before, with one content; that content."""
    folder.mkdir()
    prepare(folder / "blobs.db", Schema(BLOBS.application_id, (BLOBS_FIRST,)), lock_dir=folder)
    data = b"a result of a tool\n" * 100
    connection = connect(folder / "blobs.db")
    row = (hashlib.sha256(data).digest(), zlib.compress(data))
    connection.execute("INSERT INTO blob (digest, data) VALUES (?, ?)", row)
    connection.close()
    return data


async def test_an_older_database_stays_readable_and_none_of_it_is_removable(tmp_path: Path) -> None:
    data = old_database(tmp_path / "data")
    blobs = SqliteBlobs(tmp_path / "data" / "blobs.db", store_url=URL)
    assert await blobs.get(digest_of(data)) == data
    await blobs.put_many([data, b"new"])
    assert set(await blobs.removable(now() + LATER)) == {digest_of(b"new")}
    await blobs.close()


async def test_an_older_ragforge_refuses_the_new_database(blobs: SqliteBlobs, tmp_path: Path) -> None:
    await blobs.put(b"x")
    with pytest.raises(StoreNewer):
        prepare(tmp_path / "data/blobs.db", Schema(BLOBS.application_id, (BLOBS_FIRST,)), lock_dir=tmp_path)


async def test_only_what_nobody_asked_for_is_removable(blobs: SqliteBlobs, tmp_path: Path) -> None:
    await blobs.put_many([b"old", b"put again", b"touched", LARGE])
    long_ago = int((datetime.now(UTC) - LATER).timestamp() * 1000)
    sql(tmp_path / "data", f"UPDATE blob SET at = {long_ago}")
    digests = [digest_of(each) for each in (b"old", b"put again", b"touched", LARGE)]
    limit = now() - timedelta(days=1)
    removable = await blobs.removable(limit)
    assert set(removable) == set(digests)
    assert removable[digest_of(LARGE)] == len(LARGE)
    await blobs.put(b"put again")
    assert await blobs.touch([digest_of(b"touched"), "ab" * 32, "no hash"]) == ["ab" * 32, "no hash"]
    assert set(await blobs.removable(limit)) == {digest_of(b"old"), digest_of(LARGE)}
    freed = await blobs.delete(digests, unused_since=limit)
    assert freed == len(LARGE) + len(b"old")
    assert await blobs.missing(digests) == [digest_of(b"old"), digest_of(LARGE)]
    assert files_of(tmp_path / "data") == []
    assert await blobs.delete(digests) == len(b"put again") + len(b"touched")
    assert await blobs.sizes() == {}


async def test_contents_of_nobody_known_are_never_removable(tmp_path: Path) -> None:
    path = tmp_path / "blobs.db"
    known, unknown = SqliteBlobs(path, store_url=URL), SqliteBlobs(path)
    await known.put_many([b"known", b"both"])
    await unknown.put_many([b"both", b"unknown"])
    await known.put_many([b"unknown", b"both"])
    assert set(await known.removable(now() + LATER)) == {digest_of(b"known")}
    assert await known.used_by() == [URL]
    await known.close()
    await unknown.close()


async def test_stores_are_remembered_by_what_they_put_or_find_there(tmp_path: Path) -> None:
    path = tmp_path / "blobs.db"
    first = SqliteBlobs(path, store_url=URL)
    second = SqliteBlobs(path, store_url="bolt://me:secret@graph:7687")
    await first.put(b"x")
    await second.put(b"x")
    assert await first.used_by() == ["bolt://me@graph:7687", URL]
    await first.set_used_by("sqlite:///copy.db")
    await first.set_used_by(URL, used=False)
    assert await second.used_by() == ["bolt://me@graph:7687", "sqlite:///copy.db"]
    await first.close()
    await second.close()


async def test_what_was_left_behind_is_tidied_up(blobs: SqliteBlobs, tmp_path: Path) -> None:
    await blobs.put(LARGE)
    folder = tmp_path / "data" / "blobs"
    (folder / "0123456789abcdef.staged").write_bytes(b"never came into place")
    orphan = digest_of(b"its row was never written")
    (folder / orphan[:2]).mkdir(exist_ok=True)
    (folder / orphan[:2] / orphan).write_bytes(b"its row was never written")
    young = now() - timedelta(days=1)
    assert await blobs.tidy(young) == 0
    assert len(files_of(tmp_path / "data")) == 3
    assert await blobs.tidy(now() + LATER) == len(b"never came into place") + len(
        b"its row was never written"
    )
    assert [path.name for path in files_of(tmp_path / "data")] == [digest_of(LARGE)]
    assert await blobs.get(digest_of(LARGE)) == LARGE


async def test_free_room_is_given_back(blobs: SqliteBlobs, tmp_path: Path) -> None:
    digests = await blobs.put_many([os.urandom(900_000) for _ in range(30)])
    await blobs.delete(digests)
    assert await blobs.tidy(now()) > 20_000_000
    await blobs.close()
    assert (tmp_path / "data" / "blobs.db").stat().st_size < 1_000_000


async def test_what_is_being_put_when_it_is_cancelled_is_kept_whole(tmp_path: Path) -> None:
    for delay_s in (0.0, 0.002, 0.01, 0.05):
        blobs = SqliteBlobs(tmp_path / str(delay_s) / "blobs.db", store_url=URL)
        await blobs.put(b"the database is there")
        putting = asyncio.create_task(blobs.put_many([LARGE, LARGE_TEXT, b"small"]))
        await asyncio.sleep(delay_s)
        putting.cancel()
        await asyncio.gather(putting, return_exceptions=True)
        await blobs.close()
        again = SqliteBlobs(tmp_path / str(delay_s) / "blobs.db")
        missing = await again.missing([digest_of(each) for each in (LARGE, LARGE_TEXT, b"small")])
        assert len(missing) in {0, 3}
        assert len(files_of(tmp_path / str(delay_s))) == (0 if missing else 2)
        await again.close()


async def test_putting_and_deleting_at_once_never_loses_a_file(tmp_path: Path) -> None:
    path = tmp_path / "blobs.db"
    one, other = SqliteBlobs(path, store_url=URL), SqliteBlobs(path, store_url=URL)
    for _ in range(20):
        await asyncio.gather(one.put(LARGE), other.delete([digest_of(LARGE)]))
        if not await one.missing([digest_of(LARGE)]):
            assert await other.get(digest_of(LARGE)) == LARGE
    await one.put(LARGE)
    assert await one.get(digest_of(LARGE)) == LARGE
    await one.close()
    await other.close()
