"""What only a store in a file can get wrong."""

import asyncio
import os
import resource
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from ragforge.domain.errors import StoreDamaged, StoreUnavailable, UsageError
from ragforge.domain.search import Query
from ragforge.store.base import Link, RecordKind
from ragforge.store.open import open_store, schemes
from ragforge.store.sqlite.connection import (
    CACHE_KIB,
    PRAGMAS,
    STORE_CACHE_KIB,
    Connection,
    Database,
    Row,
    connect,
    make_private_file,
    translated,
)
from tests.contract.builders import (
    a_call,
    a_project,
    a_request,
    a_step,
    a_turn,
    an_end,
    new_session,
    said,
)
from tests.tool_context import folder_of_nobody


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A store's file with a project in it, closed."""
    path = tmp_path / "ragforge.db"
    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    await store.projects.add(a_project())
    await store.close()
    return path


async def reopen(path: Path) -> None:
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    await store.close()


def test_stores_are_found_by_their_folders() -> None:
    assert "sqlite" in schemes()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mysql://x",
        "sqlite",
        "sqlite:relative.db",
        "sqlite://relative.db",
        "sqlite:////\0",
        "/tmp/x.db",
        "../x",
    ],
)
async def test_wrong_address_names_what_is_right(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="sqlite://"):
        await open_store(url, machine_dir=tmp_path)


async def test_file_and_folders_are_for_their_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        store = await open_store(f"sqlite://{tmp_path}/new/deep/ragforge.db", machine_dir=tmp_path)
        await store.projects.add(a_project())
    finally:
        os.umask(old)
    deep = tmp_path / "new" / "deep"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE(deep.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in deep.iterdir()} == {0o600}
    await store.close()


async def test_every_pragma_is_what_was_asked_for(path: Path) -> None:
    connection = connect(path)
    assert {name: connection.pragma(name) for name, _ in PRAGMAS} == dict(PRAGMAS)
    connection.close()


async def test_a_database_caches_no_more_pages_than_it_is_told(path: Path) -> None:
    for cache_kib in (CACHE_KIB, STORE_CACHE_KIB):
        database = Database(path, cache_kib=cache_kib)

        def write(connection: Connection) -> None:
            connection.execute("CREATE TABLE IF NOT EXISTS filler (content BLOB)")
            connection.executemany("INSERT INTO filler VALUES (zeroblob(?))", [(4_000,)] * 1_000)

        def used_kib(connection: Connection) -> float:
            assert isinstance(connection, apsw.Connection)
            return connection.status(apsw.SQLITE_DBSTATUS_CACHE_USED)[0] / 1024

        await database.write(write)
        assert cache_kib / 2 < await database.write(used_kib) < cache_kib * 1.2
        await database.close()


async def test_a_turn_with_three_calls_is_five_commits(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    session = await new_session(store)
    turn = a_turn(session)
    watcher = connect(path, query_only=True)

    def version() -> int:
        return int(watcher.pragma("data_version"))

    seen = [version()]
    await store.turns.start(turn)
    seen.append(version())
    for index in range(3):
        step = a_step(turn, index, "", a_request())
        await store.calls.add(a_call(step), step)
        seen.append(version())
    await store.turns.end(an_end(turn, last_step=a_step(turn, 3)))
    seen.append(version())
    watcher.close()
    await store.close()
    assert len(set(seen)) == 6


async def test_status_tells_file_and_embedder(path: Path) -> None:
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    before = await store.status()
    assert before.kind.startswith("SQLite 3.")
    assert before.place == str(path)
    assert 0 < before.latency_ms < 10_000
    assert before.counts == {**dict.fromkeys(RecordKind, 0), RecordKind.PROJECT: 1}
    assert before.indexes == {"words": "online"}
    assert before.details.keys() == {"size"}
    await store.vectors.use("static:minilm-256-2", 256)
    assert (await store.status()).details["embedder"] == "static:minilm-256-2, 256 dimensions"
    assert (store.link, await store.drain(timeout_s=0)) == (Link(), Link())
    await store.close()


def test_search_by_words_loads_neither_numpy_nor_neo4j(path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path; from ragforge.store.open import open_store\n"
        "from ragforge.domain.search import Query\n"
        "async def main():\n"
        "    store = await open_store(sys.argv[1], machine_dir=Path(sys.argv[2]))\n"
        "    await store.search.words(Query('zebra'))\n"
        "    await store.search.candidates(Query('zebra'))\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
        "print({'numpy', 'neo4j'} & sys.modules.keys())"
    )
    arguments = [sys.executable, "-c", code, f"sqlite://{path}", str(path.parent)]
    assert subprocess.run(arguments, capture_output=True, text=True, check=True).stdout == "set()\n"


async def test_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("These are my notes, and there are many of them. " * 100)
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="not a database"):
        await reopen(path)
    assert path.read_bytes() == before


async def test_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE bookmarks (url)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="another"):
        await reopen(path)
    assert path.read_bytes() == before


async def test_folder_in_the_files_place_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StoreDamaged, match="RAGFORGE_STORE"):
        await reopen(tmp_path)


async def test_file_in_a_folders_place_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="RAGFORGE_STORE"):
        await reopen(tmp_path / "file" / "ragforge.db")


async def test_read_only_folder_is_explained() -> None:
    with folder_of_nobody() as folder:
        folder.chmod(0o500)
        with pytest.raises(StoreUnavailable, match="RAGFORGE_STORE"):
            await reopen(folder / "ragforge.db")


async def test_write_that_the_disk_refuses_is_explained_and_loses_nothing(path: Path) -> None:
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    session = await new_session(store)
    first = await said(store, session)
    written = path.with_name(path.name + "-wal").stat().st_size
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (written + 20_000, unlimited[1]))
    try:
        with pytest.raises(StoreUnavailable, match="disk"):
            await said(store, session, "word " * 100_000, parent=first)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    second = await said(store, session, "Now it fits.", parent=first)
    assert [turn.id for turn in await store.turns.path(second.id)] == [first.id, second.id]
    assert await store.check() == []
    await store.close()


@pytest.mark.parametrize("replaced", [False, True])
async def test_nothing_is_written_where_nobody_would_find_it(path: Path, replaced: bool) -> None:
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    session = await new_session(store)
    first = await said(store, session)
    away = path.rename(path.with_name("away.db"))
    if replaced:
        path.write_bytes(away.read_bytes())
    with pytest.raises(StoreUnavailable, match="removed, moved or replaced"):
        await said(store, session, parent=first)
    away.replace(path)
    second = await said(store, session, parent=first)
    assert [turn.id for turn in await store.turns.path(second.id)] == [first.id, second.id]
    await store.close()


@pytest.mark.parametrize(("free", "said_of_it"), [(0, "the disk is full"), (10**9, "Check its disk")])
def test_what_sqlite_calls_an_io_error_is_a_full_disk_where_nothing_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, said_of_it: str
) -> None:
    # A real full disk would have to be mounted; that SQLite says so then was seen on one.
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=free, f_frsize=1))
    with pytest.raises(StoreUnavailable, match=said_of_it), translated(tmp_path / "ragforge.db"):
        raise apsw.IOError("disk I/O error")


async def test_closed_store_says_so(path: Path) -> None:
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.projects.get("x")


async def test_write_reaches_the_disk_although_its_task_is_cancelled(path: Path) -> None:
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    projects = [a_project() for _ in range(20)]
    tasks = [asyncio.create_task(store.projects.add(project)) for project in projects]
    # All are asked for, most are still queued behind the first.
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert any(task.cancelled() for task in tasks)
    await store.close()
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    assert [await store.projects.get(project.id) for project in projects] == projects
    await store.close()


async def test_cancelled_search_does_not_disturb_the_next(path: Path) -> None:
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    session = await new_session(store)
    turn = await said(store, session, "zebra " * 20_000)
    for _ in range(30):
        task = asyncio.create_task(store.search.words(Query("zebra")))
        await asyncio.sleep(0)
        task.cancel()
        assert [hit.id for hit in await store.search.words(Query("zebra"))] == [turn.id]
    await store.close()


@pytest.mark.parametrize("way", ["read", "read_beside", "write"])
async def test_a_statement_that_somebody_holds_shows_nobody_an_old_state(path: Path, way: str) -> None:
    database, held = Database(path), list[Iterator[Row]]()
    make_private_file(path)

    def leave_unfinished(connection: Connection) -> None:
        rows = connection.execute("SELECT x FROM t")
        assert next(rows) == (1,)
        held.append(rows)

    def count(connection: Connection) -> Row:
        return next(connection.execute("SELECT count(*) FROM t"))

    def add(connection: Connection) -> None:
        connection.execute("INSERT INTO t SELECT x FROM t")

    await database.write(lambda connection: list(connection.execute("CREATE TABLE t (x)")))
    await database.write(lambda connection: list(connection.execute("INSERT INTO t VALUES (1), (2), (3)")))
    await getattr(database, way)(leave_unfinished)
    beside = Database(path)
    await beside.write(add)
    await beside.close()
    assert await getattr(database, way)(count) == (6,)
    await database.write(add)
    assert await getattr(database, way)(count) == (12,)
    await database.close()
