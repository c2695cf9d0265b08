"""How a file of SQLite is made, and brought from one schema to the next."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import StoreNewer
from ragforge.domain.memories import MemoryFilter, MemoryType
from ragforge.domain.search import HitKind, Query
from ragforge.domain.vectors import Nearby, Owner, OwnerKind
from ragforge.store.open import open_store
from ragforge.store.sqlite.connection import connect
from ragforge.store.sqlite.index import index_call, index_memory, index_summary, index_turn
from ragforge.store.sqlite.memories import FEW, NOT_BINDING, WISHES, fitting
from ragforge.store.sqlite.migrations import STORE
from ragforge.store.sqlite.prepare import Schema, prepare
from ragforge.store.sqlite.summaries import LACKING as LACKING_SUMMARIES
from ragforge.store.sqlite.vectors import LACKING as LACKING_VECTORS
from tests.contract.builders import (
    a_memory,
    a_project,
    a_summary,
    an_odd_vector,
    new_session,
)
from tests.contract.builders_versions import new_version
from tests.contract.sqlite_steps import steps_of

OPEN_AND_ADD = """
import asyncio, sys
from pathlib import Path
from typing import Any
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


# What its successor had beside them: a turn that was left, a summary, a vector without a code.
SECOND_ROWS = (
    RELEASED_ROWS.replace("'ada', 'desk');", "'ada', 'desk', '/zoo', NULL);")
    + """
INSERT INTO turn VALUES (4, 't3', 1, 1, 1, 1772625660000, 1772625670000, 'finished', 'gemini:a',
    0, 0, 0, 0, 0.0, 'Feed the yak.', '', '[{"type":"text","text":"Feed the yak."}]', 'No.');
INSERT INTO summary VALUES (5, 's1', 1, 1, 1772625600000, 1, 'extractive', '', '[]', '[]', '[]', '[]', '[]',
    'It was fed.');
INSERT INTO cover VALUES (5, 0, 't1');
INSERT INTO embedding VALUES (1, 0, 1, 1, 1772625600000, 1, 'm', 2, 'hash', x'0000803f00000000');
UPDATE embedder SET changes = 1;
INSERT INTO owed VALUES (4, 0, 1, 1772625660000, 1, 1), (5, 1, 1, 1772625600000, 0, 1);
"""
)


# What came with memories, which its successor leaves as they are.
THIRD_ROWS = (
    SECOND_ROWS.replace("'It was fed.');", "'It was fed.', 0);")
    + """
INSERT INTO memory VALUES (6, 'm1', 'fact', 'project', 1, 's', 0.5, 1.0, 1772625600000, 1772625600000,
    NULL, 0, NULL, 'model', '', 'The zebra is fed.');
INSERT INTO evidence VALUES (6, 0, 't1');
INSERT INTO left_turn VALUES (4);
INSERT INTO owed VALUES (6, 0, 1, 1772625600000, 0, 1);
"""
)


REPLACED_ROWS = """
INSERT INTO memory VALUES (7, 'm2', 'fact', 'project', 1, 's', 0.5, 1.0, 1772625500000, 1772625500000,
    NULL, 0, NULL, 'model', '', 'The zebra is hungry.');
INSERT INTO association VALUES (1, 'updates', 6, 7, 1772625600000);
INSERT INTO owed VALUES (7, 0, 1, 1772625600000, 0, 1);
"""


# The moves of its successors, and what is to be known of them: t2 and t3 go on from t1.
SIXTH_MOVES = (
    ("undo", "t2", "", ("t2", "t1"), ""),
    ("redo", "", "t1", ("t1",), "m0"),
    ("redo", "t1", "t2", ("t2",), "m0"),
    ("undo", "t2", "t2", (), ""),
    ("rewind", "t2", "t2", (), ""),
    ("redo", "t2", "t2", (), "m4"),
    ("redo", "t2", "t2", (), "m3"),
    ("checkout", "t2", "t3", ("t2",), ""),
    ("redo", "t3", "t3", (), ""),
    ("undo", "t3", "t1", ("t3",), ""),
    ("undo", "deleted", "t1", (), ""),
)


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


async def test_schema_2_is_brought_up_to_date_with_its_summaries_and_vectors(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    prepare(path, Schema(STORE.application_id, STORE.steps[:2]), lock_dir=tmp_path)
    connection = connect(path)
    connection.execute(SECOND_ROWS)
    for turn in (1, 3, 4):
        index_turn(connection, turn)
    index_call(connection, 2)
    index_summary(connection, 5)
    connection.close()

    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    assert await store.check() == []
    assert (await store.status()).schema == len(STORE.steps)
    assert await store.turns.abandoned(["t1", "t2", "t3"]) == {"t3"}, "the head had moved away from it"
    (summary,) = await store.summaries.of_session("s")
    assert (summary.text, summary.covers) == ("It was fed.", ("t1",))
    assert await store.summaries.outdated() == []
    (near,) = await store.vectors.nearest(Nearby(an_odd_vector(1, 0), "m"))
    assert (near.owner, near.score) == (Owner(OwnerKind.TURN, "t1"), 1.0)
    session = await store.sessions.get("s")
    assert session is not None
    await store.memories.save(a_memory(session, "The zebra is fed.", turns=("t3",)))
    (hit,) = await store.search.words(Query("zebra", kinds=(HitKind.MEMORY,)))
    assert hit.abandoned
    assert await store.check() == []
    await store.close()


async def test_schema_3_is_brought_up_to_date_and_its_turns_lack_no_version(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    prepare(path, Schema(STORE.application_id, STORE.steps[:3]), lock_dir=tmp_path)
    connection = connect(path)
    connection.execute(THIRD_ROWS + REPLACED_ROWS)
    for turn in (1, 3, 4):
        index_turn(connection, turn)
    index_call(connection, 2)
    index_summary(connection, 5)
    for memory in (6, 7):
        index_memory(connection, memory)
    connection.close()

    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    await store.check(repair=True)  # the vector without a code
    assert await store.check() == []
    assert (await store.status()).schema == len(STORE.steps)
    fed, hungry = await store.memories.get(["m1", "m2"])
    assert (fed.content, fed.valid_from, fed.valid_to) == ("The zebra is fed.", fed.created_at, None)
    assert (hungry.valid_from, hungry.valid_to) == (hungry.created_at, fed.created_at)
    assert hungry.origin == "saved by the model"
    assert await store.turns.abandoned(["t1", "t2", "t3"]) == {"t3"}
    assert {turn.person for turn in await store.turns.read(["t1", "t2", "t3"])} == {"ada@desk"}
    # Those that ended before there were versions lack none; from now on all that end do.
    assert await store.versions.unversioned("s") == []
    session = await store.sessions.get("s")
    assert session is not None
    claim = await store.sessions.claim("s")
    assert await store.versions.unversioned("s") == ["t2"]
    await claim.release()
    old = await new_version(store, session, turn_id="t3", words="+zebra = 1")
    new = await new_version(store, session, old, turn_id="t2")
    assert await store.versions.unversioned("s") == []
    assert await store.versions.line(new.id) == [new, old]
    (hit,) = await store.search.words(Query("zebra", kinds=(HitKind.VERSION,)))
    assert (hit.id, hit.abandoned) == (old.id, True)
    assert await store.check() == []
    await store.close()


async def test_moves_of_schema_6_are_told_what_they_did(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    prepare(path, Schema(STORE.application_id, STORE.steps[:6]), lock_dir=tmp_path)
    connection = connect(path)
    connection.execute(THIRD_ROWS)
    for key, kind in ((7, "preference"), (8, "identity")):
        connection.execute(
            "INSERT INTO memory VALUES (?, 'm' || ?1, ?2, 'project', 1, ?3, 0.5, 1.0, 0, 0, NULL, 0, NULL, "
            "'model', '', 'Feed it.')",
            (key, kind, "s" if key == 7 else "deleted"),
        )
    connection.executemany(
        "INSERT INTO move (project, id, session, at, action, from_version, to_version, from_turn, to_turn) "
        "VALUES (1, ?, 's', ?, ?, '', '', ?, ?)",
        [(f"m{number}", 1772625700000 + number // 2, *row[:3]) for number, row in enumerate(SIXTH_MOVES)],
    )
    connection.close()

    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    moves = (await store.versions.moves("p", session_id="s"))[::-1]
    assert [(move.turns, move.undoes) for move in moves] == [row[3:] for row in SIXTH_MOVES]
    assert {(move.kept, tuple(move.aside), move.command_id) for move in moves} == {(None, (), "")}
    owners = [memory.owner for memory in await store.memories.get(["m1", "m7", "m8"])]
    assert owners == ["", "ada@desk", ""], "what they are and prefer is theirs, where it is known whose"
    await store.close()


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


async def test_query_latency(tmp_path: Path) -> None:
    """As rows read: few memories among many are found without reading the others."""
    path = tmp_path / "ragforge.db"
    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    large, small = await new_session(store), await new_session(store)
    ours = [a_memory(small, f"Zebra {number}.", importance=number / 10) for number in range(3)]
    for memory in (a_memory(large, "An okapi."), *ours):
        await store.memories.save(memory)
    connection = connect(path)
    row = next(connection.execute("SELECT * FROM memory WHERE content = 'An okapi.'"))
    columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(memory)")]
    few, many = MemoryFilter(small.project_id), MemoryFilter(large.project_id, limit=2)
    place = {"project_id": large.project_id, "person": ""}

    def asked() -> dict[str, tuple[str, Any]]:
        return {
            "few": fitting(connection, few),
            "of another type": fitting(connection, replace(many, types=(MemoryType.TODO,))),
            "the most important": fitting(connection, many),
            "rules": fitting(connection, replace(many, binding=True)),
            "wishes that bind": (WISHES.format(others=""), place),
            "wishes": (WISHES.format(others=NOT_BINDING), place),
        }

    # The machine takes some steps for each row that it reads.
    costs: list[dict[str, int]] = []
    known = 0
    for count in (FEW, 10 * FEW):
        added = [
            {
                **dict(zip(columns, row, strict=True)),
                "key": 1000 + at,
                "id": f"m{at}",
                "importance": at / count,
            }
            for at in range(known, count)
        ]
        connection.executemany(f"INSERT INTO memory VALUES (:{', :'.join(columns)})", added)
        known = count
        costs.append({name: steps_of(path, *query)[0] for name, query in asked().items()})
    assert [memory.id for memory in await store.memories.find(few)] == [memory.id for memory in ours[::-1]]
    assert costs[1] == costs[0]
    every, _ = steps_of(path, "SELECT content FROM memory WHERE content > '' ORDER BY +id", {})
    assert every > 10 * FEW > 3 * max(costs[1].values()), "what reads all is told apart"
    connection.close()
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
    errors = [process.communicate("go\n", timeout=120)[1] for process in processes]
    assert errors == [""] * len(processes)

    async def count() -> int:
        store = await open_store(url, machine_dir=tmp_path)
        found = await store.projects.find(first_commit="same")
        await store.close()
        return len(found)

    assert asyncio.run(count()) == len(processes)
