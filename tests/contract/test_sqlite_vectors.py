"""Vectors by the ten thousand, in a file: what is read of them, and what that misses."""

import asyncio
import shutil
import threading
from array import array
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ragforge.domain.search import Query
from ragforge.domain.vectors import Nearby, Owner, OwnerKind
from ragforge.store.open import open_store
from ragforge.store.sqlite import SqliteStore
from ragforge.store.sqlite.connection import connect
from ragforge.store.sqlite.rows import from_ms
from ragforge.store.sqlite.vector_blocks import wrong_blocks
from ragforge.store.sqlite.vector_cache import WHOLE_FLOATS_MAX
from ragforge.store.sqlite.vector_codes import BYTES, codes_of, words_of
from ragforge.store.sqlite.vector_shelves import Coded, units
from ragforge.store.sqlite.vector_tail import write_codes
from tests.contract.builders import a_project, a_session, an_embedding, conversation, said

MODEL = "static:minilm-256-2"
DIMENSIONS = 256
COUNT = 8_000
"""So many are not held whole."""
FEW = 1_900
"""So many are."""
SMALL = 900
"""Turns of the second session: so few are compared exactly."""


@cache
def clustered(count: int, *, seed: int) -> NDArray[np.float32]:
    """Points around fifty centres that all lie to one side, as the vectors of real texts do."""
    random = np.random.default_rng(11)
    centres = random.standard_normal((50, DIMENSIONS)) + random.standard_normal(DIMENSIONS)
    random = np.random.default_rng(seed)
    points = centres[random.integers(0, len(centres), count)] + random.standard_normal((count, DIMENSIONS))
    return points.astype(np.float32)


def as_vector(point: NDArray[np.float32]) -> "array[float]":
    return array("f", point.tobytes())


def turn_id(key: int) -> str:
    return f"{key:08d}"


def fill(path: Path, vectors: NDArray[np.float32]) -> None:
    """Turns and their vectors, written as the store writes them, but for the words."""
    connection = connect(path)
    connection.execute("BEGIN")
    (project,) = next(connection.execute("SELECT key FROM project"))
    small, large = [row[0] for row in connection.execute("SELECT key FROM session ORDER BY id")]
    for key, vector in enumerate(vectors, start=1):
        session, place = (small if key <= SMALL else large), (key, 0, project)
        connection.execute(
            "INSERT INTO turn VALUES (?, ?, ?, NULL, 0, ?, ?, 'finished', '', 0, 0, 0, 0, 0.0, '', '', "
            "'[]', '', '', 'chat')",
            (key, turn_id(key), session, key, key),
        )
        connection.execute(
            "INSERT INTO embedding VALUES (?, ?, ?, ?, ?, 1, ?, ?, 'hash', ?)",
            (*place, session, key, MODEL, DIMENSIONS, vector.tobytes()),
        )
    connection.execute("UPDATE embedder SET changes = changes + 1")
    write_codes(connection, list(range(1, len(vectors) + 1)))
    connection.execute("COMMIT")
    # One file, to be copied.
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


async def opened(folder: Path) -> SqliteStore:
    store = await open_store(f"sqlite://{folder}/ragforge.db", machine_dir=folder)
    assert isinstance(store, SqliteStore)
    return store


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a store of more vectors than are held whole, closed."""
    folder = tmp_path_factory.mktemp("many")

    async def prepare() -> None:
        store = await opened(folder)
        project = a_project()
        await store.projects.add(project)
        for name in ("a small one", "b large one"):
            await store.sessions.add(a_session(project.id, id=name))
        await store.vectors.use(MODEL, DIMENSIONS)
        await store.close()

    asyncio.run(prepare())
    fill(folder / "ragforge.db", clustered(COUNT, seed=1))
    return folder


@pytest.fixture(scope="module")
def sealed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the same, whose codes stand in blocks: an embedder in use puts them there."""
    assert sealed_owners(folder) == set()
    sealed = tmp_path_factory.mktemp("sealed")
    shutil.copy(folder / "ragforge.db", sealed)

    async def seal() -> None:
        store = await opened(sealed)
        await store.vectors.use(MODEL, DIMENSIONS)
        await store.close()

    asyncio.run(seal())
    connection = connect(sealed / "ragforge.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return sealed


@pytest.fixture
async def store(folder: Path) -> AsyncIterator[SqliteStore]:
    """That store, for reading."""
    store = await opened(folder)
    yield store
    await store.close()


@pytest.fixture(params=["rows", "blocks"])
async def own_store(
    folder: Path, sealed: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[SqliteStore]:
    """A copy of it, at `tmp_path`, whose codes are read by the row, or stand in blocks."""
    shutil.copy((sealed if request.param == "blocks" else folder) / "ragforge.db", tmp_path)
    store = await opened(tmp_path)
    yield store
    await store.close()


def nearest_of(vectors: NDArray[np.float32], point: NDArray[np.float32], limit: int) -> list[str]:
    """By comparing with each."""
    cosines = vectors @ point / np.linalg.norm(vectors, axis=1)
    return [turn_id(row + 1) for row in np.argsort(-cosines)[:limit].tolist()]


def sealed_owners(folder: Path) -> set[int]:
    """Whose codes stand in blocks."""
    connection = connect(folder / "ragforge.db", query_only=True)
    places = connection.execute("SELECT count, places FROM vector_block")
    owners = {owner for count, lines in places for owner in np.frombuffer(lines, "<i8")[:count].tolist()}
    assert wrong_blocks(connection) == []
    connection.close()
    return owners


async def found(store: SqliteStore, point: NDArray[np.float32], limit: int = 20, **scope: str) -> list[str]:
    nearby = Nearby(as_vector(point), MODEL, limit=limit, **scope)
    return [near.owner.id for near in await store.vectors.nearest(nearby)]


@pytest.mark.parametrize("limit", [5, 20, 100])
async def test_of_many_at_least_95_in_100_are_the_nearest(store: SqliteStore, limit: int) -> None:
    assert FEW * DIMENSIONS < WHOLE_FLOATS_MAX < COUNT * DIMENSIONS
    vectors = clustered(COUNT, seed=1)
    shares = [
        len({*nearest_of(vectors, point, limit)} & {*await found(store, point, limit)}) / limit
        for point in clustered(25, seed=2)
    ]
    assert sum(shares) / len(shares) >= 0.95
    assert min(shares) >= 0.8


async def test_in_a_small_scope_exactly_the_nearest_are_found(store: SqliteStore) -> None:
    vectors = clustered(COUNT, seed=1)[:SMALL]
    for point in clustered(5, seed=3):
        assert await found(store, point, session_id="a small one") == nearest_of(vectors, point, 20)


async def test_scores_are_those_of_the_vectors_not_of_their_codes(store: SqliteStore) -> None:
    vectors = clustered(COUNT, seed=1)
    nearest = await store.vectors.nearest(Nearby(as_vector(vectors[7]), MODEL))
    assert nearest
    for near in nearest:
        row = vectors[int(near.owner.id) - 1].astype(np.float64)
        cosine = row @ vectors[7] / np.linalg.norm(row) / np.linalg.norm(vectors[7].astype(np.float64))
        assert near.score == pytest.approx((1 + cosine) / 2, abs=1e-6)


async def test_what_was_stored_without_codes_is_found_alike(
    store: SqliteStore, own_store: SqliteStore, tmp_path: Path
) -> None:
    connection = connect(tmp_path / "ragforge.db")
    connection.execute("DELETE FROM vector_code WHERE owner % 3 = 0")
    connection.close()
    for point in clustered(5, seed=4):
        assert await found(own_store, point) == await found(store, point)


async def test_an_embedder_in_use_puts_what_there_is_into_blocks_that_find_the_same(
    store: SqliteStore, sealed: Path
) -> None:
    # What is left is too little for a block.
    assert sealed_owners(sealed) == set(range(1, COUNT + 1))
    in_blocks = await opened(sealed)
    for point in clustered(10, seed=8):
        for nearby in (
            Nearby(as_vector(point), MODEL, limit=100),
            Nearby(as_vector(point), MODEL, session_id="b large one"),
            Nearby(as_vector(point), MODEL, since=from_ms(2_500), until=from_ms(6_000)),
        ):
            assert await in_blocks.vectors.nearest(nearby) == await store.vectors.nearest(nearby)
    await in_blocks.close()


@pytest.mark.parametrize("codes", ["x'00'", "zeroblob(length(codes))"])
async def test_damaged_block_is_told_and_made_again(sealed: Path, tmp_path: Path, codes: str) -> None:
    shutil.copy(sealed / "ragforge.db", tmp_path)
    store = await opened(tmp_path)
    point = clustered(1, seed=9)[0]
    before = await found(store, point)
    connection = connect(tmp_path / "ragforge.db")
    connection.execute(f"UPDATE vector_block SET codes = {codes} WHERE first = 0")
    connection.close()
    again = await opened(tmp_path)
    if codes == "x'00'":
        assert await found(again, point) == before, "by the rows"
    assert "The block of codes from row 0 on does not match its embeddings." in await store.check()
    await store.check(repair=True)
    assert sealed_owners(tmp_path) == set(range(1, COUNT + 1))
    assert await found(again, point) == await found(store, point) == before
    for each in (store, again):
        await each.close()


@pytest.mark.parametrize("length", [1e-22, 1e18, 1e22])
async def test_direction_alone_counts_where_32_bits_do_not_hold_a_length(
    own_store: SqliteStore, length: float
) -> None:
    session = await own_store.sessions.get("b large one")
    assert session is not None
    (turn,) = await conversation(own_store, session, 1)
    point = clustered(1, seed=6)[0]
    stretched = (point * np.float32(length)).astype(np.float32)
    await own_store.vectors.save([an_embedding(turn, vector=as_vector(stretched), model=MODEL)])
    assert (await found(own_store, point))[0] == turn.id


async def test_what_is_deleted_between_words_and_meaning_is_left_out(own_store: SqliteStore) -> None:
    near = await own_store.sessions.get("a small one")
    assert near is not None
    gone, stays = a_session(near.project_id), a_session(near.project_id)
    for session in (gone, stays):
        await own_store.sessions.add(session)
        await said(own_store, session, "The zebra.")
    database = own_store._database
    may_go_on = threading.Event()
    holding = asyncio.create_task(database.read_beside(lambda _: may_go_on.wait(20)))
    nearby = Nearby(as_vector(clustered(1, seed=7)[0]), MODEL)
    searching = asyncio.create_task(own_store.search.candidates(Query("zebra"), nearby))
    for _ in range(5):
        # Behind what reads the words.
        await database.read(lambda _: None)
    await own_store.sessions.delete(gone.id)
    may_go_on.set()
    assert await holding
    assert {each.session_id for each in await searching if each.words is not None} == {stays.id}


async def test_vectors_that_come_go_or_change_are_noticed_among_many(
    own_store: SqliteStore, tmp_path: Path
) -> None:
    store = own_store
    point = clustered(1, seed=5)[0]
    before = await found(store, point)
    session = await store.sessions.get("b large one")
    assert session is not None
    (turn,) = await conversation(store, session, 1)
    await store.vectors.save([an_embedding(turn, vector=as_vector(point), model=MODEL)])
    assert (await found(store, point))[:2] == [turn.id, before[0]]
    far = an_embedding(turn, vector=as_vector(-point), model=MODEL, owner=Owner(OwnerKind.TURN, before[0]))
    await store.vectors.save([far])
    assert (await found(store, point))[:2] == [turn.id, before[1]]
    await store.sessions.delete("b large one")
    assert {*await found(store, point)} <= {turn_id(key) for key in range(1, SMALL + 1)}
    connection = connect(tmp_path / "ragforge.db", query_only=True)
    assert next(connection.execute("SELECT count(*) FROM vector_code")) == (SMALL,)
    connection.close()
    assert max(sealed_owners(tmp_path), default=0) <= SMALL, "nothing of what was deleted stays"


async def test_store_that_outgrows_memory_goes_over_to_codes(own_store: SqliteStore, tmp_path: Path) -> None:
    store = own_store
    connection = connect(tmp_path / "ragforge.db")
    connection.execute(f"CREATE TEMP TABLE kept AS SELECT * FROM embedding WHERE owner > {FEW}")
    connection.execute(f"DELETE FROM embedding WHERE owner > {FEW}")
    point = clustered(1, seed=6)[0]
    vectors = clustered(COUNT, seed=1)
    assert await found(store, point) == nearest_of(vectors[:FEW], point, 20)
    connection.execute("INSERT INTO embedding SELECT * FROM kept")
    connection.execute(f"UPDATE embedding SET change = 2 WHERE owner > {FEW}")
    connection.execute("UPDATE embedder SET changes = 2")
    connection.close()
    exact, now_found = nearest_of(vectors, point, 20), await found(store, point)
    assert len({*exact} & {*now_found}) >= 18


def test_all_of_a_question_proposes_more_of_the_nearest_than_its_code_alone() -> None:
    random = np.random.default_rng(5)
    points = units(random.standard_normal((12_000, 256)).astype(np.float32))
    questions = units(random.standard_normal((10, 256)).astype(np.float32))
    rows, codes = np.arange(len(points)), b"".join(codes_of(points))
    shelf = Coded(256)
    shelf.grow(len(points))
    shelf.put(rows.tolist(), codes)
    by_question, by_code = 0, 0
    for question in questions:
        nearest = {*np.argsort(-(points @ question))[:100].tolist()}
        proposed = shelf.proposed(as_vector(question), rows, 100, owners=rows)
        differing = np.bitwise_count(words_of(codes) ^ words_of(codes_of(question[np.newaxis])[0])).sum(
            axis=1
        )
        by_question += len(nearest & {*proposed.tolist()})
        by_code += len(nearest & {*np.argsort(differing)[: proposed.size].tolist()})
    assert by_question >= 0.99 * 1_000
    assert by_question > by_code + 20


@pytest.mark.parametrize("dimensions", [1, 2, 3, 255, 256, 257, 1024, 1025, 4096])
def test_codes_of_all_dimensions_tell_near_from_far(dimensions: int) -> None:
    random = np.random.default_rng(dimensions)
    points = random.standard_normal((20, dimensions)).astype(np.float32)
    codes = codes_of(points)
    assert {len(code) for code in codes} == {BYTES}
    assert codes_of(points[3:4]) == codes[3:4], "whatever stands beside it"
    bits = np.unpackbits(
        np.frombuffer(b"".join([*codes, *codes_of(-points)]), np.uint8).reshape(40, BYTES), axis=1
    )
    for row in range(20):
        assert (bits[row] != bits[20 + row]).mean() > 0.95, "the opposite direction"
    if dimensions >= 255:
        a, b = points[0], points[1]
        between = (bits[0] != bits[1]).mean()
        angle = np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) / np.pi
        assert between == pytest.approx(angle, abs=0.08)
