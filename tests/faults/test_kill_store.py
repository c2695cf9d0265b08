"""What was acknowledged is there, however the process that wrote it died."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ragforge.domain.turns import TurnStatus
from ragforge.store.base import Store
from ragforge.store.open import open_store
from tests.contract.builders import a_project, a_session, said
from tests.scope import TIMES

KILLS = 25 * TIMES
ACKNOWLEDGED_MAX = 24
"""A process is killed after at most so many answers; a turn has four."""
MOMENT_S_MAX = 0.004


@dataclass(slots=True)
class Acknowledged:
    """What a writer said is stored."""

    start: list[str] = field(default_factory=list[str])
    call: list[str] = field(default_factory=list[str])
    end: list[str] = field(default_factory=list[str])

    def hear(self, line: str) -> str:
        """Keep what the line says; its first word."""
        kind, identifier = line.split()[:2]
        if kind in ("start", "call", "end"):
            getattr(self, kind).append(identifier)
        return kind


@contextmanager
def writer(url: str, locks: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.store_writer", url, str(locks)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        cwd=Path(__file__).parents[2],
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def test_nothing_acknowledged_is_lost_to_kills(tmp_path: Path) -> None:
    url, locks = f"sqlite://{tmp_path}/ragforge.db", tmp_path / "locks"
    session_id = await prepared(url, locks)
    chance = random.Random()
    acknowledged = Acknowledged()
    with writer(url, locks) as process:
        for _ in range(KILLS):
            kill_one(process, session_id, acknowledged, chance)

    store = await open_store(url, machine_dir=locks)
    await all_is_there(store, acknowledged)
    # A lock dies with its process: nothing stands in the way of going on.
    await store.sessions.claim(session_id)
    session = await store.sessions.get(session_id)
    assert session is not None
    path = await store.turns.path(session.head)
    assert {turn.id for turn in path} >= set(acknowledged.start)
    assert {turn.status for turn in path} <= {TurnStatus.FINISHED, TurnStatus.INTERRUPTED}
    assert await store.check() == []
    await said(store, session, "And on.", parent=path[-1])
    await store.close()
    assert len(acknowledged.start) > KILLS


def kill_one(
    process: subprocess.Popen[str], session_id: str, acknowledged: Acknowledged, chance: random.Random
) -> None:
    """Let it write, and kill it at a random moment after a random number of answers."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{session_id} 1000000\n")
    child, heard, to_hear = 0, 0, chance.randint(0, ACKNOWLEDGED_MAX)
    while not child or heard < to_hear:
        line = process.stdout.readline()
        kind = acknowledged.hear(line)
        assert kind != "dead", line
        heard += kind in ("start", "call", "end")
        child = int(line.split()[1]) if line.startswith("pid") else child
    # No waiting for anything: this is what makes the moment random within a write.
    time.sleep(chance.random() * MOMENT_S_MAX)
    os.kill(child, signal.SIGKILL)
    while acknowledged.hear(line := process.stdout.readline()) != "dead":
        pass
    assert line.split() == ["dead", str(child), str(int(signal.SIGKILL))]


async def test_two_processes_write_different_sessions_at_once(tmp_path: Path) -> None:
    url, locks = f"sqlite://{tmp_path}/ragforge.db", tmp_path / "locks"
    sessions = [await prepared(url, locks) for _ in range(2)]
    turns = 60
    heard = [Acknowledged(), Acknowledged()]
    with writer(url, locks) as first, writer(url, locks) as second:
        for process, session_id in zip((first, second), sessions, strict=True):
            assert process.stdin is not None
            process.stdin.write(f"{session_id} {turns}\n")
        for process, acknowledged in zip((first, second), heard, strict=True):
            assert process.stdout is not None
            while acknowledged.hear(line := process.stdout.readline()) != "dead":
                pass
            assert line.split()[2] == "0"

    store = await open_store(url, machine_dir=locks)
    for session_id, acknowledged in zip(sessions, heard, strict=True):
        await all_is_there(store, acknowledged)
        session = await store.sessions.get(session_id)
        assert session is not None
        path = await store.turns.path(session.head)
        assert [turn.id for turn in path] == acknowledged.start
        assert len(path) == turns
    assert await store.check() == []
    await store.close()


async def prepared(url: str, locks: Path) -> str:
    """The id of a new session in the store."""
    store = await open_store(url, machine_dir=locks)
    project = a_project()
    session = a_session(project.id)
    await store.projects.add(project)
    await store.sessions.add(session)
    await store.close()
    return session.id


async def all_is_there(store: Store, acknowledged: Acknowledged) -> None:
    """Every word, call and answer that was acknowledged."""
    turns = await asyncio.gather(*(store.turns.get(identifier) for identifier in acknowledged.start))
    assert all(turn is not None for turn in turns)
    calls = {call.id for call in await store.calls.of_turns(acknowledged.start)}
    assert calls >= set(acknowledged.call)
    for identifier in acknowledged.end:
        turn = await store.turns.get(identifier)
        assert turn is not None
        assert turn.assistant == f"answer of {identifier}"
