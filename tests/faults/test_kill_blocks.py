"""Codes in blocks are those of their vectors, however those who wrote them died."""

import random
import subprocess
import sys
import time
from array import array
from pathlib import Path

from ragforge.domain.vectors import OwnerKind
from ragforge.store.open import open_store
from ragforge.store.sqlite.connection import Connection, connect
from ragforge.store.sqlite.vector_blocks import wrong_blocks
from ragforge.store.sqlite.vector_cache import WHOLE_FLOATS_MAX, VectorCache
from tests.contract.builders import a_project, a_session
from tests.scope import TIMES

MODELS = ("a", "b")
TURNS = 3_000
ROUNDS = 2 * TIMES
SAVED_MAX = 4
MOMENT_S_MAX = 0.1


async def test_blocks_fit_after_two_writers_at_once_are_killed(tmp_path: Path) -> None:
    path, locks = tmp_path / "ragforge.db", tmp_path / "locks"
    url = f"sqlite://{path}"
    await prepare(url, path, locks)
    chance = random.Random()
    for _ in range(ROUNDS):
        writers = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.faults.vector_writer", url, str(locks), model, str(TURNS)],
                stdout=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[2],
            )
            for model in MODELS
        ]
        for writer in writers:
            assert writer.stdout is not None
            for _ in range(chance.randint(1, SAVED_MAX)):
                assert writer.stdout.readline() == "saved\n"
            time.sleep(chance.uniform(0, MOMENT_S_MAX))
            writer.kill()
        for writer in writers:
            writer.communicate()
    connection = connect(path, query_only=True)
    assert wrong_blocks(connection) == []
    (sealed,) = next(connection.execute("SELECT sum(count) FROM vector_block"))
    (stored,) = next(connection.execute("SELECT count(*) FROM embedding"))
    by_blocks, by_rows = (
        [nearest(connection, model, whole_floats_max) for model in MODELS]
        for whole_floats_max in (0, WHOLE_FLOATS_MAX)
    )
    connection.close()
    assert sealed > TURNS / 3
    assert by_blocks == by_rows
    # A turn has one vector, of the model that wrote last: of the other there may be none left.
    assert sum(map(len, by_rows)) == stored > TURNS / 3


def nearest(connection: Connection, model: str, whole_floats_max: int) -> dict[int, float]:
    """The scores of all turns that have a vector of the model."""
    cache = VectorCache(connection, model, 8, whole_floats_max=whole_floats_max)
    cache.refresh(connection)
    return cache.nearest(
        connection,
        array("f", [1] * 8),
        project=None,
        session=None,
        since=None,
        until=None,
        kinds=(OwnerKind.TURN,),
        limit=TURNS,
    )


async def prepare(url: str, path: Path, locks: Path) -> None:
    """A session of TURNS turns."""
    store = await open_store(url, machine_dir=locks)
    project = a_project()
    await store.projects.add(project)
    await store.sessions.add(a_session(project.id))
    await store.close()
    connection = connect(path)
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO turn SELECT ?, ?, key, NULL, 0, 1, 1, 'finished', '', 0, 0, 0, 0, 0.0, '', '', '[]', "
        "'', '', 'chat' FROM session",
        [(turn + 1, f"{turn:04d}") for turn in range(TURNS)],
    )
    connection.execute("COMMIT")
    connection.close()
