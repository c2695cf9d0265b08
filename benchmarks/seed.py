"""A store full of history like a coding assistant's: word frequencies follow Zipf's law.

`seed(path, turns=100_000)` from Python, or `python benchmarks/seed.py PATH [TURNS]`. The same number
seeds the same history. Half of it is in the first project, whose id is `project_id(0)`, or all of it if one
project is requested.
"""

import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from ragforge.domain.messages import CallRequest, ModelMessage, TextPart
from ragforge.store.json_text import message_to_json, to_json, user_to_json
from ragforge.store.sqlite.connection import Connection, connect
from ragforge.store.sqlite.index import index_call, index_turn
from ragforge.store.sqlite.migrations import STORE
from ragforge.store.sqlite.owed import owe_turn
from ragforge.store.sqlite.prepare import prepare
from ragforge.store.sqlite.rows import new_key, to_ms

FORMAT = 3
"""Incremented when the seeded history changes."""

PROJECTS = 8
TURNS_A_SESSION = 50
SESSIONS_AT_ONCE = 200
"""Sessions per transaction: a single one of a million turns would be written twice, and the log as large as
the store."""
VOCABULARY = 30_000
STREAM_WORDS = 1_000_000
SYLLABLES = [first + second for first in "bcdfgjklmnprstvz" for second in ("a", "e", "i", "o", "ou")]
FREQUENT = [
    "the",
    "to",
    "of",
    "and",
    "in",
    "is",
    "for",
    "it",
    "this",
    "from",
    "file",
    "test",
    "error",
    "line",
]
START = datetime(2025, 1, 6, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Words:
    """An endless text to take pieces from."""

    stream: list[str]
    chance: random.Random

    def piece(self, low: int, high: int) -> str:
        """Return between `low` and `high` words."""
        start = self.chance.randrange(len(self.stream) - high)
        return " ".join(self.stream[start : start + self.chance.randint(low, high)])


def words_of(chance: random.Random) -> Words:
    """Return a text whose nth most frequent word occurs about 1/n as often as the first."""
    rare = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 5))) for _ in range(VOCABULARY)]
    vocabulary = [*FREQUENT, *rare]
    weights = [1 / (rank + 2.7) for rank in range(len(vocabulary))]
    return Words(chance.choices(vocabulary, weights, k=STREAM_WORDS), chance)


def seed(path: Path, *, turns: int, calls: int = 1, number: int = 1, projects: int = PROJECTS) -> None:
    """Create and fill the store at `path`."""
    prepare(path, STORE, lock_dir=path.parent / "locks")
    connection = connect(path)
    chance = random.Random(number)
    words = words_of(chance)
    connection.execute("BEGIN IMMEDIATE")
    _add_projects(connection)
    for session in range(-(-turns // TURNS_A_SESSION)):
        first = session * TURNS_A_SESSION
        own = range(first, min(turns, first + TURNS_A_SESSION))
        _add_session(connection, session, words, own, calls, projects)
        if session % SESSIONS_AT_ONCE == SESSIONS_AT_ONCE - 1:
            connection.execute("COMMIT")
            connection.execute("BEGIN IMMEDIATE")
    connection.execute("COMMIT")
    connection.pragma("wal_checkpoint", "truncate")
    connection.close()


def seeded(path: Path, *, turns: int, projects: int = PROJECTS) -> Path:
    """Return the path, at which a seeded store is. It is created once and copied from then on."""
    kept = Path(tempfile.gettempdir()) / f"ragforge-seed-{len(STORE.steps)}-{FORMAT}-{turns}-{projects}.db"
    if not kept.exists():
        growing = kept.with_suffix(f".{os.getpid()}")
        seed(growing, turns=turns, projects=projects)
        growing.rename(kept)
    shutil.copyfile(kept, path)
    # Otherwise the next fsync would pay for the copy.
    os.sync()
    return path


def project_id(index: int) -> str:
    """Return the id of a seeded project."""
    return identifier(1, index)


def session_id(index: int) -> str:
    """Return the id of a seeded session."""
    return identifier(2, index)


def turn_id(index: int) -> str:
    """Return the id of a seeded turn."""
    return identifier(3, index)


def identifier(kind: int, index: int) -> str:
    """Return an id of UUIDv7's shape."""
    return str(UUID(int=(0x0190_0000_0000 << 80) | (7 << 76) | (2 << 62) | (kind << 48) | index))


def _add_projects(connection: Connection) -> None:
    connection.executemany(
        "INSERT INTO project (id, name, created_at, git_remote, first_commit) VALUES (?, ?, ?, '', '')",
        [(project_id(index), f"project-{index}", to_ms(START)) for index in range(PROJECTS)],
    )


def _add_session(
    connection: Connection, session: int, words: Words, turns: range, calls: int, projects: int
) -> None:
    # Every other session belongs to the first project; the rest share the others.
    project = 0 if session % 2 else session // 2 % projects
    last = to_ms(_moment(turns[-1]))
    connection.execute(
        "INSERT INTO session (id, project, head, cwd, started_at, last_activity_at, title, model, mode, "
        "user, host) VALUES (?, ?, NULL, ?, ?, ?, ?, 'gemini:a', 'ask', 'ada', 'desk')",
        (
            session_id(session),
            project + 1,
            f"/home/ada/project-{project}",
            to_ms(_moment(turns[0])),
            last,
            words.piece(2, 6),
        ),
    )
    key = connection.last_insert_rowid()
    keys: list[int] = []
    for depth, turn in enumerate(turns):
        keys.append(_add_turn(connection, key, keys[-1] if keys else None, depth, turn, words, calls))
    connection.execute("UPDATE session SET head = ? WHERE key = ?", (keys[-1], key))
    for turn_key in keys:
        index_turn(connection, turn_key)


def _add_turn(
    connection: Connection,
    session: int,
    parent: int | None,
    depth: int,
    turn: int,
    words: Words,
    calls: int,
) -> int:
    at = to_ms(_moment(turn))
    said, answer = words.piece(8, 40), words.piece(40, 250)
    key = new_key(connection)
    connection.execute(
        "INSERT INTO turn (key, id, session, parent, depth, started_at, ended_at, status, model, "
        "input_tokens, cached_tokens, output_tokens, thought_tokens, cost_usd, "
        "first_words, error, user, assistant) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, 'finished', 'gemini:a', 4000, 1000, 300, 100, 0.002, ?, '', ?, ?)",
        (
            key,
            turn_id(turn),
            session,
            parent,
            depth,
            at,
            at + 9000,
            said[:200],
            user_to_json((TextPart(said),)),
            answer,
        ),
    )
    for index, (name, args) in enumerate(_calls(words, calls)):
        request = CallRequest(identifier(4, turn * 1000 + index), name, dict(args))
        _add_step(
            connection, key, index, ModelMessage("gemini", "some-model", words.piece(5, 20), (request,))
        )
        call_key = new_key(connection)
        connection.execute(
            "INSERT INTO tool_call (key, id, turn, step, position, name, status, started_at, duration_ms, "
            "result_chars, provider_id, images, args, result, diff) "
            "VALUES (?, ?, ?, ?, 0, ?, 'ok', ?, 12, 900, '', '[]', ?, ?, '')",
            (call_key, request.id, key, index, name, at, to_json(args), words.piece(20, 200)),
        )
        index_call(connection, call_key)
    _add_step(connection, key, calls, ModelMessage("gemini", "a", answer))
    owe_turn(connection, key)
    return key


def _add_step(connection: Connection, turn: int, number: int, message: ModelMessage) -> None:
    connection.execute(
        "INSERT INTO step VALUES (?, ?, ?, ?, 4000, 1000, 300, 100, 0.001, 0, ?)",
        (turn, number, message.provider, message.model, message_to_json(message)),
    )


def _calls(words: Words, count: int) -> Iterator[tuple[str, dict[str, str]]]:
    for _ in range(count):
        name = words.chance.choice(["read", "edit", "shell", "grep"])
        path = f"src/{words.piece(1, 1)}/{words.piece(1, 1)}.py"
        yield name, {"command": f"pytest -q {path}"} if name == "shell" else {"path": path}


def _moment(turn: int) -> datetime:
    return START + timedelta(minutes=4 * turn)


def main() -> None:
    path, turns = Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    began = time.perf_counter()
    seed(path, turns=turns)
    print(f"{turns} turns in {time.perf_counter() - began:.1f} s, {path.stat().st_size / 1e6:.0f} MB: {path}")


if __name__ == "__main__":
    # `make bench` runs every file here; without a path there is nothing to seed.
    if len(sys.argv) > 1:
        main()
