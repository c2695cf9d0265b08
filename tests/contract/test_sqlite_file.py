"""What only a store in a file can get wrong."""

import asyncio
import os
import resource
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ragforge.domain.errors import StoreDamaged, StoreNewer, StoreUnavailable, UsageError
from ragforge.domain.search import Query
from ragforge.domain.turns import Step, ToolCall, Turn
from ragforge.domain.vectors import Nearby, Owner, OwnerKind
from ragforge.store.base import Link, RecordKind
from ragforge.store.open import open_store, schemes
from ragforge.store.sqlite.connection import PRAGMAS, connect
from ragforge.store.sqlite.index import index_call, index_turn
from ragforge.store.sqlite.migrations import STORE
from ragforge.store.sqlite.prepare import Schema, prepare
from ragforge.store.sqlite.summaries import LACKING as LACKING_SUMMARIES
from ragforge.store.sqlite.vectors import LACKING as LACKING_VECTORS
from tests.contract.builders import (
    a_call,
    a_project,
    a_request,
    a_step,
    a_summary,
    a_turn,
    a_vector,
    an_embedding,
    an_end,
    conversation,
    new_session,
    owners_of,
    said,
)
from tests.tool_context import folder_of_nobody

OPEN_AND_ADD = """
import asyncio, sys
from pathlib import Path
from ragforge.domain.ids import new_id, now
from ragforge.domain.turns import Project
from ragforge.store.open import open_store

async def main():
    sys.stdin.readline()
    store = await open_store(sys.argv[1], machine_dir=Path(sys.argv[2]))
    await store.projects.add(Project(new_id(), "one", now(), first_commit="same"))
    await store.close()

print("ready", flush=True)
asyncio.run(main())
"""


# As the first released version wrote them.
RELEASED_ROWS = """
INSERT INTO project VALUES (1, 'p', 'zoo', 1772625600000, '', '');
INSERT INTO session VALUES (1, 's', 1, 3, '/zoo', 1772625600000, 1772625700000, 'Zoo', 'gemini:a', 'ask',
    NULL, 'ada', 'desk');
INSERT INTO turn VALUES (1, 't1', 1, NULL, 0, 1772625600000, 1772625650000, 'finished', 'gemini:a',
    1, 2, 3, 4, 0.5, 'Feed the zebra.', '', '[{"type":"text","text":"Feed the zebra."}]', 'It is fed.');
INSERT INTO step VALUES (1, 0, 'gemini', 'a', 1, 2, 3, 4, 0.5, 0,
    '{"text":"It is fed.","thoughts":"","native":null,"calls":[]}');
INSERT INTO tool_call VALUES (2, 'c', 1, 0, 0, 'read', 'ok', 1772625600000, 12, 5, NULL, '', '[]',
    '{"path":"zebra.py"}', 'hello', '');
INSERT INTO turn VALUES (3, 't2', 1, 1, 1, 1772625700000, NULL, 'running', 'gemini:a',
    0, 0, 0, 0, 0.0, 'And the zebra now?', '', '[{"type":"text","text":"And the zebra now?"}]', '');
"""


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


async def test_newer_schema_is_refused_and_left_alone(path: Path) -> None:
    connection = connect(path)
    connection.pragma("user_version", len(STORE.steps) + 1)
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreNewer, match="newer"):
        await reopen(path)
    assert path.read_bytes() == before


async def test_released_schema_1_is_brought_up_to_date_with_all_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    released = Schema(STORE.application_id, STORE.steps[:1])
    prepare(path, released, lock_dir=tmp_path)
    connection = connect(path)
    connection.execute(RELEASED_ROWS)
    for turn in (1, 3):
        index_turn(connection, turn)
    index_call(connection, 2)
    connection.close()

    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    assert await store.check() == []
    assert (await store.status()).schema == len(STORE.steps)
    (row,) = await store.sessions.recent()
    assert (row.session.id, row.session.title, row.session.project_path, row.turns) == ("s", "Zoo", "", 2)
    path_found = await store.turns.path("t2")
    assert [(turn.id, turn.assistant) for turn in path_found] == [("t1", "It is fed."), ("t2", "")]
    assert len(await store.turns.steps(["t1"])) == len(await store.calls.of_turns(["t1"])) == 1
    assert {hit.id for hit in await store.search.words(Query("zebra"))} == {"t1", "t2", "c"}
    # What ended in the old version lacks a summary and a vector like anything else.
    assert [turn.id for turn in await store.summaries.lacking()] == ["t1"]
    assert await store.vectors.lacking("any") == [Owner(OwnerKind.TURN, "t1")]
    await store.summaries.save(a_summary(row.session, "okapi", path_found[0]))
    assert await store.summaries.lacking() == []
    assert await store.check() == []
    await store.close()


async def test_cut_vector_is_told_and_never_near(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    turns = await conversation(store, await new_session(store), 4)
    await store.vectors.save([an_embedding(turn, 1, 0, model="m") for turn in turns])
    connection = connect(path)
    for turn, blob in zip(turns, (b"", b"\0" * 7, b"\0" * 8), strict=False):
        connection.execute(
            "UPDATE embedding SET vector = ?, change = change + 1 "
            "WHERE owner = (SELECT key FROM turn WHERE id = ?)",
            (blob, turn.id),
        )
    connection.execute("UPDATE embedder SET changes = changes + 1")
    connection.close()
    near = await store.vectors.nearest(Nearby(a_vector(1, 0), "m"))
    assert [each.owner.id for each in near] == [turns[3].id]
    with pytest.raises(StoreDamaged, match=turns[0].id):
        await store.vectors.get(owners_of(turns))
    assert len([line for line in await store.check() if "is cut or empty" in line]) == 3
    done = " ".join(await store.check(repair=True))
    assert "Removed 3 embeddings" in done
    assert await store.check() == []
    assert await store.vectors.lacking("m") == owners_of(turns[2::-1])
    assert len(await store.vectors.get(owners_of(turns))) == 1
    await store.close()


async def test_repair_makes_again_what_follows_from_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    step = a_step(turns[0], 0, "", a_request("read", path="okapi.py"))
    await store.calls.add(a_call(step), step)
    level_1 = [a_summary(session, f"part {turn.index}", turn) for turn in turns]
    top = a_summary(session, "zebra", *level_1[1:])
    for summary in (*level_1, top):
        await store.summaries.save(summary)
    await store.vectors.save([an_embedding(each, 1, 0, model="m") for each in (*turns, top)])
    kept = [record async for record in store.archive.dump() if isinstance(record, Turn | Step | ToolCall)]
    connection = connect(path)
    connection.pragma("foreign_keys", 0)
    connection.execute("DELETE FROM words WHERE rowid > 1")
    connection.execute("INSERT INTO words (rowid, user) VALUES (999, 'nothing')")
    connection.execute("DELETE FROM summary WHERE id = ?", (level_1[1].id,))
    connection.execute("DELETE FROM cover WHERE summary NOT IN (SELECT key FROM summary)")
    connection.execute("UPDATE cover SET covered = 'nowhere' WHERE covered = ?", (turns[2].id,))
    connection.execute("DELETE FROM owed")
    connection.execute("INSERT INTO owed VALUES (998, 0, 1, 1, 1, 1)")
    connection.execute(
        "INSERT INTO embedding SELECT 997, level, project, session, at, change, model, dimensions, "
        "text_hash, vector FROM embedding LIMIT 1"
    )
    connection.execute("UPDATE embedding SET project = 77 WHERE owner = 1")
    connection.close()

    found = " ".join(await store.check())
    for sentence in (
        f"Turn {turns[1].id} cannot be found by search",
        f"Summary {top.id} cannot be found by search",
        "Row 999 of the search index stands for nothing",
        f"Summary {top.id} covers something that is not stored",
        f"Summary {level_1[2].id} covers something that is not stored",
        "The embedding of row 997 belongs to nothing",
        "The embedding of row 1 is filed under another place",
        f"Turn {turns[1].id} ended and has no summary, but is not listed so",
        "Row 998 of the list",
    ):
        assert sentence in found
    done = " ".join(await store.check(repair=True))
    for sentence in ("search index anew", "covers that led nowhere", "stood for nothing", "embeddings"):
        assert sentence in done
    assert await store.check() == []
    assert await store.check(repair=True) == []
    # Its part, and then it itself, stood for nothing any more.
    assert await store.summaries.of_session(session.id) == [level_1[0]]
    assert [turn.id for turn in await store.summaries.lacking()] == [turns[1].id, turns[2].id]
    assert {hit.id for hit in await store.search.words(Query("okapi"))} == {
        turns[0].id,
        step.message.calls[0].id,
    }
    records = [record async for record in store.archive.dump() if isinstance(record, Turn | Step | ToolCall)]
    assert records == kept
    await store.close()


async def test_status_tells_file_and_embedder(path: Path) -> None:
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    before = await store.status()
    assert before.kind.startswith("SQLite 3.")
    assert before.place == str(path)
    assert 0 < before.latency_ms < 10_000
    assert before.counts == {**dict.fromkeys(RecordKind, 0), RecordKind.PROJECT: 1}
    assert before.indexes == {"words": "online"}
    assert before.details.keys() == {"size"}
    await store.vectors.use("static:256", 256)
    assert (await store.status()).details["embedder"] == "static:256, 256 dimensions"
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


async def test_what_nothing_lacks_is_known_without_reading_the_history(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    await store.close()
    connection = connect(path)
    values = {"project": None, "limit": 100, "model": "m", "dimensions": None}
    for sql in (LACKING_SUMMARIES, LACKING_VECTORS):
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        # `owed` holds what is to do: it alone may be read from end to end.
        scanned = {line for line in plan if line.startswith("SCAN")}
        assert scanned <= {"SCAN owed", "SCAN lacking"}
    connection.close()


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


async def test_damaged_pages_are_reported_not_raised_raw(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    session = await new_session(store)
    turns = await conversation(store, session, 40)
    await store.close()
    content = bytearray(path.read_bytes())
    # The first 24 pages describe the tables: without those the store could not even be opened.
    content[4096 * 24 :] = os.urandom(len(content) - 4096 * 24)
    path.write_bytes(content)
    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    try:
        found = await store.check()
    except StoreDamaged as error:
        found = [str(error)]
    assert found
    with pytest.raises(StoreDamaged):
        await store.turns.path(turns[-1].id)
    await store.close()


async def test_check_names_what_was_lost(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    connection = connect(path)
    connection.pragma("foreign_keys", 0)
    connection.execute("DELETE FROM turn WHERE id = ?", (turns[1].id,))
    connection.execute("UPDATE session SET head = 999")
    connection.close()
    found = " ".join(await store.check())
    await store.close()
    assert f"Session {session.id} has a head that is not stored" in found
    assert f"Turn {turns[2].id} does not stand one below its parent" in found
    assert "refers to a turn that is not stored" in found
    assert "search index stands for nothing" in found


async def test_folder_in_the_files_place_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="RAGFORGE_STORE"):
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


def test_many_processes_may_open_a_new_store_at_once(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/new/ragforge.db"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_AND_ADD, url, str(tmp_path / "locks")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    errors = [process.communicate("go\n", timeout=30)[1] for process in processes]
    assert errors == [""] * len(processes)

    async def count() -> int:
        store = await open_store(url, machine_dir=tmp_path)
        found = await store.projects.find(first_commit="same")
        await store.close()
        return len(found)

    assert asyncio.run(count()) == len(processes)
