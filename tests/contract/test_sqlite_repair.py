"""What is found wrong with a file of SQLite, and made right."""

import os
from pathlib import Path

import pytest

from ragforge.domain.errors import StoreDamaged
from ragforge.domain.search import Query
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Step, ToolCall, Turn
from ragforge.domain.vectors import Nearby
from ragforge.store.base import Store
from ragforge.store.open import open_store
from ragforge.store.sqlite.connection import connect
from tests.contract.builders import (
    a_call,
    a_derived,
    a_memory,
    a_request,
    a_step,
    a_summary,
    a_vector,
    an_embedding,
    conversation,
    new_session,
    owners_of,
)


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
    assert len([line for line in await store.check() if "is truncated or empty" in line]) == 3
    done = " ".join(await store.check(repair=True))
    assert "Removed 3 embeddings" in done
    assert await store.check() == []
    assert await store.vectors.lacking("m") == owners_of(turns[2::-1])
    assert len(await store.vectors.get(owners_of(turns))) == 1
    await store.close()


async def summarised(
    store: Store, session: ConversationSession
) -> tuple[list[Turn], Step, list[Summary], Summary]:
    """Turns and a call of the first, a summary of each and one of the last two, vectors, a derived record."""
    turns = await conversation(store, session, 3)
    step = a_step(turns[0], 0, "", a_request("read", path="okapi.py"))
    await store.calls.add(a_call(step), step)
    level_1 = [a_summary(session, f"part {turn.index}", turn) for turn in turns]
    top = a_summary(session, "zebra", *level_1[1:])
    for summary in (*level_1, top):
        await store.summaries.save(summary)
    await store.vectors.save([an_embedding(each, 1, 0, model="m") for each in (*turns, top)])
    await store.derivations.save(a_derived(session))
    return turns, step, level_1, top


async def test_repair_makes_again_what_follows_from_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    session = await new_session(store)
    turns, step, level_1, top = await summarised(store, session)
    kept = [record async for record in store.archive.dump() if isinstance(record, Turn | Step | ToolCall)]
    break_what_follows(path, gone=level_1[1].id, lost=turns[2].id)

    found = " ".join(await store.check())
    for sentence in (
        f"Turn {turns[1].id} cannot be found by search",
        f"Summary {top.id} cannot be found by search",
        "Row 999 of the search index refers to nothing",
        f"Summary {top.id} covers something that is not stored",
        f"Summary {level_1[2].id} covers something that is not stored",
        "The embedding of row 997 belongs to nothing",
        "belongs to something that is not stored",
        "The embedding of row 1 has a different scope",
        f"Turn {turns[1].id} has ended without a summary, but is not listed as lacking one",
        "Row 998 of the list",
    ):
        assert sentence in found
    done = " ".join(await store.check(repair=True))
    for sentence in (
        "Rebuilt the search index",
        "links of summaries to something that is not stored",
        "that covered nothing",
        "embeddings",
        "derived",
    ):
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


def break_what_follows(path: Path, *, gone: str, lost: str) -> None:
    """Damage what can be made again from the rest: indexes, covers, the list of what lacks a summary, places.

    gone: a summary that is removed by itself. lost: a turn that is covered as one that is nowhere.
    """
    connection = connect(path)
    connection.pragma("foreign_keys", 0)
    connection.execute("DELETE FROM words WHERE rowid > 1")
    connection.execute("UPDATE derived SET owner = 'gone'")
    connection.execute("INSERT INTO words (rowid, user) VALUES (999, 'nothing')")
    connection.execute("DELETE FROM summary WHERE id = ?", (gone,))
    connection.execute("DELETE FROM cover WHERE summary NOT IN (SELECT key FROM summary)")
    connection.execute("UPDATE cover SET covered = 'nowhere' WHERE covered = ?", (lost,))
    connection.execute("DELETE FROM owed")
    connection.execute("INSERT INTO owed VALUES (998, 0, 1, 1, 1, 1)")
    connection.execute(
        "INSERT INTO embedding SELECT 997, level, project, session, at, change, model, dimensions, "
        "text_hash, vector FROM embedding LIMIT 1"
    )
    connection.execute("UPDATE embedding SET project = 77 WHERE owner = 1")
    connection.close()


async def test_damaged_pages_are_reported_not_raised_raw(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    await (await open_store(f"sqlite://{path}", machine_dir=tmp_path)).close()
    # What an empty store holds describes the tables: without it none could be opened.
    first = path.stat().st_size
    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    session = await new_session(store)
    turns = await conversation(store, session, 60)
    await store.close()
    content = bytearray(path.read_bytes())
    content[first:] = os.urandom(len(content) - first)
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
    assert f"Turn {turns[2].id} is not one level below its parent" in found
    assert "refers to a turn that is not stored" in found
    assert "search index refers to nothing" in found


async def test_repair_makes_again_what_memories_are_found_by_and_what_is_left(tmp_path: Path) -> None:
    path = tmp_path / "ragforge.db"
    store = await open_store(f"sqlite://{path}", machine_dir=tmp_path)
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    await store.sessions.set_head(session.id, turns[1].id)
    kept, forgotten = a_memory(session, "the zebra", turns[0]), a_memory(session, "the okapi", turns[2])
    for memory in (kept, forgotten):
        await store.memories.save(memory)
    await store.vectors.save([an_embedding(each, 1, 0, model="m") for each in (kept, forgotten, turns[0])])
    await store.memories.forget([forgotten.id], forgotten.created_at)
    before = await store.memories.get([kept.id, forgotten.id])
    connection = connect(path)
    connection.execute("DELETE FROM words WHERE rowid = (SELECT key FROM memory WHERE id = ?)", (kept.id,))
    connection.execute("INSERT INTO words (rowid, user) SELECT key, 'okapi' FROM memory WHERE forgotten_at")
    connection.execute("UPDATE embedding SET level = -1")
    connection.execute("DELETE FROM left_turn")
    connection.execute("INSERT INTO left_turn VALUES (1), (999)")
    connection.execute("INSERT INTO vector_code VALUES (998, x'00')")
    connection.close()
    found = " ".join(await store.check())
    for sentence in (
        f"Memory {kept.id} cannot be found by search",
        "of the search index refers to nothing",
        "has a different scope than its owner",
        f"Turn {turns[0].id} is listed as abandoned although it is not",
        f"Turn {turns[2].id} is listed as abandoned although it is not",
        "Row 999 of the list of abandoned turns",
        "The code of row 998 belongs to no embedding",
    ):
        assert sentence in found
    assert await store.check(repair=True)
    assert await store.check() == []
    assert await store.memories.get([kept.id, forgotten.id]) == before
    assert {hit.id for hit in await store.search.words(Query("zebra okapi"))} == {kept.id}
    near = await store.vectors.nearest(Nearby(a_vector(1, 0), "m"))
    assert {each.owner.id for each in near} == {kept.id, turns[0].id}
    assert await store.turns.abandoned([turn.id for turn in turns]) == {turns[2].id}
    await store.close()
