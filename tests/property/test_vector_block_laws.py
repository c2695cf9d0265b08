"""Search finds the same with codes in blocks and without, whatever was written, removed and sealed before."""

from array import array
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragforge.domain.vectors import Embedding, Owner, OwnerKind, Vector
from ragforge.store.sqlite.connection import Connection, connect
from ragforge.store.sqlite.migrations import STORE
from ragforge.store.sqlite.prepare import prepare
from ragforge.store.sqlite.vector_blocks import seal_some, unseal, wrong_blocks
from ragforge.store.sqlite.vector_cache import VectorCache
from ragforge.store.sqlite.vector_tail import WAITS
from ragforge.store.sqlite.vectors import drop_embeddings, move_embeddings, put_embeddings

DIMENSIONS = 4
TURNS = 24
MODELS = ("a", "b")
BLOCK_ROWS_MAX = 4
"""Small, so that blocks are split."""

OWNERS = st.lists(st.integers(1, TURNS), min_size=1, max_size=12, unique=True)


@dataclass(frozen=True, slots=True)
class Embed:
    owners: list[int]
    model: str
    seed: int


@dataclass(frozen=True, slots=True)
class Move:
    owners: list[int]
    session: int


@dataclass(frozen=True, slots=True)
class Drop:
    owners: list[int]
    by_an_older_version: bool


@dataclass(frozen=True, slots=True)
class LoseCodes:
    """As an older version stored vectors, or cut as well."""

    owners: list[int]
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Seal:
    pass


@dataclass(frozen=True, slots=True)
class Look:
    """With a cache that stays."""


Step = Embed | Move | Drop | LoseCodes | Seal | Look
STEPS = st.lists(
    st.one_of(
        st.builds(Embed, OWNERS, st.sampled_from(MODELS), st.integers(0, 99)),
        st.builds(Move, OWNERS, st.sampled_from((1, 2))),
        st.builds(Drop, OWNERS, st.booleans()),
        st.builds(LoseCodes, OWNERS, st.booleans()),
        st.just(Seal()),
        st.just(Seal()),
        st.just(Look()),
    ),
    max_size=14,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """Of two sessions with turns whose keys are 1 to TURNS."""
    path = tmp_path_factory.mktemp("blocks") / "ragforge.db"
    prepare(path, STORE, lock_dir=path.parent)
    connection = connect(path)
    connection.execute("BEGIN")
    connection.execute(
        "INSERT INTO project (key, id, name, created_at, git_remote, first_commit) "
        "VALUES (1, 'p', 'p', 0, '', '')"
    )
    for session in (1, 2):
        connection.execute(
            "INSERT INTO session (key, id, project, cwd, started_at, last_activity_at, title, model, mode, "
            "user, host) VALUES (?, ?, 1, '/', 0, 0, '', '', '', '', '')",
            (session, str(session)),
        )
    for turn in range(1, TURNS + 1):
        connection.execute(
            "INSERT INTO turn VALUES (?, ?, 1, NULL, 0, ?, ?, 'finished', '', 0, 0, 0, 0, 0.0, '', '', "
            "'[]', '', '', 'chat')",
            (turn, f"{turn:04d}", turn, turn),
        )
    connection.execute("COMMIT")
    yield connection
    connection.close()


@contextmanager
def undone(connection: Connection) -> Generator[None]:
    """Nothing of what is written stays."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def take(connection: Connection, step: Step, staying: dict[str, VectorCache]) -> None:
    match step:
        case Embed(owners, model, seed):
            embeddings = [
                Embedding(Owner(OwnerKind.TURN, f"{key:04d}"), model, "hash", a_vector(seed * TURNS + key))
                for key in owners
            ]
            put_embeddings(connection, embeddings)
        case Move(owners, session):
            connection.executemany(
                "UPDATE turn SET session = ? WHERE key = ?", [(session, key) for key in owners]
            )
            move_embeddings(connection, owners)
        case Drop(owners, by_an_older_version):
            if by_an_older_version:
                connection.execute("UPDATE embedder SET removals = removals + 1")
                for table in ("embedding", "vector_code"):
                    connection.executemany(f"DELETE FROM {table} WHERE owner = ?", [(key,) for key in owners])
            else:
                drop_embeddings(connection, owners)
                assert not {*owners} & sealed_owners(connection)
        case LoseCodes(owners, is_cut):
            rows = connection.execute(f"SELECT owner FROM embedding WHERE {WAITS}")
            waiting = {owner for (owner,) in rows} & {*owners}
            connection.executemany("DELETE FROM vector_code WHERE owner = ?", [(key,) for key in waiting])
            if is_cut:
                staying.clear()  # which are not told of damage to what they have read
                connection.executemany(
                    "UPDATE embedding SET vector = x'00' WHERE owner = ?", [(key,) for key in waiting]
                )
        case Seal():
            if next(connection.execute("SELECT count(*) FROM embedding"))[0]:
                waits = (
                    "SELECT 1 FROM embedding JOIN embedder ON (change, owner) > (sealed_change, sealed_owner)"
                )
                if next(connection.execute(waits), None):
                    seal_some(connection, block_rows_max=BLOCK_ROWS_MAX)
                    stored = {owner for (owner,) in connection.execute("SELECT owner FROM embedding")}
                    assert sealed_owners(connection) <= stored
        case Look():
            # One opened on nothing holds whole vectors.
            for (model,) in list(connection.execute("SELECT DISTINCT model FROM embedding")):
                found(connection, model, staying.setdefault(model, coded(connection, model)))


def a_vector(seed: int) -> Vector:
    return array("f", np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32).tobytes())


def coded(connection: Connection, model: str) -> VectorCache:
    """A cache that holds codes, however few there are."""
    return VectorCache(connection, model, DIMENSIONS, whole_floats_max=0)


def sealed_owners(connection: Connection) -> set[int]:
    places = connection.execute("SELECT count, places FROM vector_block")
    return {owner for count, line in places for owner in np.frombuffer(line, "<i8")[:count].tolist()}


def found(connection: Connection, model: str, cache: VectorCache) -> list[dict[int, float]]:
    """Answers in every scope."""
    cache.refresh(connection)
    everywhere = cache.nearest(
        connection,
        a_vector(7),
        project=None,
        session=None,
        since=None,
        until=None,
        kinds=(OwnerKind.TURN,),
        limit=TURNS,
    )
    narrow = cache.nearest(
        connection,
        a_vector(8),
        project=1,
        session=2,
        since=4,
        until=20,
        kinds=(OwnerKind.TURN,),
        limit=3,
    )
    return [everywhere, narrow, cache.scores(connection, a_vector(9), range(TURNS + 2))]


@given(steps=STEPS)
@example(
    [
        Embed([1], "a", 0),
        Drop([1], by_an_older_version=False),
        Look(),
        Embed([1], "a", 0),
        Look(),
        LoseCodes([1], is_cut=True),
    ]
)
@example([Embed([1, 2], "a", 0), Look(), Embed([1], "a", 1), Look()])
def test_search_is_the_same_with_blocks_and_without(store: Connection, steps: list[Step]) -> None:
    staying: dict[str, VectorCache] = {}
    with undone(store):
        for step in steps:
            take(store, step, staying)
        assert wrong_blocks(store) == []
        with_blocks = [found(store, model, coded(store, model)) for model in MODELS]
        stayed = [found(store, model, staying.get(model) or coded(store, model)) for model in MODELS]
        unseal(store)
        assert with_blocks == [found(store, model, coded(store, model)) for model in MODELS] == stayed
