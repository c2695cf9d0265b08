"""The whole pipeline under load: a model that fails and is slow, and processes that are killed.

RAGFORGE_LOAD_TURNS, RAGFORGE_LOAD_KILLS and RAGFORGE_LOAD_STORE say how much and where.
"""

import asyncio
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragforge.domain.summaries import Summary
from ragforge.domain.vectors import Owner, OwnerKind
from ragforge.memory.derive.levels import due
from ragforge.store.base import RecordKind, keep_project
from tests.contract.builders import a_session, conversation
from tests.flow.beside import beside, by_the_model
from tests.flow.running import environ
from tests.scope import ALL
from tests.standins.gemini import GeminiStandIn, ServerError, Slow

TURNS = int(os.environ.get("RAGFORGE_LOAD_TURNS", "100" if ALL else "50"))
KILLS = int(os.environ.get("RAGFORGE_LOAD_KILLS", "10" if ALL else "5"))
STORE = os.environ.get("RAGFORGE_LOAD_STORE", "")
TURNS_A_SESSION = 50
FAILS, IS_SLOW, SLOW_S = 0.10, 0.05, 0.3
END_S_MAX = 60 + TURNS


def unreliable(chance: random.Random) -> Any:
    """A reply that fails one time in ten and is slow one in twenty."""
    good = by_the_model("It was understood, as far as that goes, and there is no more to be said of it.")

    def reply(request: Any) -> Any:
        luck = chance.random()
        if luck < FAILS:
            return ServerError()
        return (Slow(SLOW_S), good(request)) if luck < FAILS + IS_SLOW else good(request)

    return reply


async def test_every_turn_has_its_summary_and_vector_once_whatever_fails_and_dies(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    chance = random.Random()
    gemini.always_structured(unreliable(chance))
    env = environ(tmp_path, gemini, RAGFORGE_RETRY_ATTEMPTS_MAX="1")
    env |= {"RAGFORGE_MEMORY_RAW_CHARS_MAX": "400", "RAGFORGE_MEMORY_LEVEL_CHARS_MAX": "300"}
    env |= {"RAGFORGE_MEMORY_COST_USD_PER_DAY_MAX": "1000"}
    env |= {"RAGFORGE_STORE": STORE} if STORE else {}
    turns = await filled(tmp_path, env)
    async with workers(tmp_path, env) as child:
        for kill in range(1, KILLS + 1):
            pid = await child.started()
            # At a random moment while it works: after some more calls, or in the middle of one.
            await gemini.wait_for_structured(kill * TURNS // (KILLS + 2), timeout_s=END_S_MAX)
            await asyncio.sleep(chance.random() * 0.02)
            os.kill(pid, signal.SIGKILL)
            assert await child.ended() == int(signal.SIGKILL)
        await child.started()
        async with asyncio.timeout(END_S_MAX):
            assert await child.ended() == 0
    await all_is_done_once(tmp_path, env, turns)
    # A failure costs a second call, a kill those that were under way, a stand-in one more.
    assert len(gemini.structured()) < TURNS * 1.6 + KILLS * 10


async def filled(tmp_path: Path, env: dict[str, str]) -> list[str]:
    """Ids of the turns of some sessions, as an earlier run left them."""
    turns: list[str] = []
    async with beside(tmp_path, env | {"RAGFORGE_MEMORY_ENABLED": "false"}) as session:
        store, project = session.workspace.store, session.workspace.project
        await keep_project(store, project)
        while len(turns) < TURNS:
            another = a_session(project.id)
            await store.sessions.add(another)
            count = min(TURNS_A_SESSION, TURNS - len(turns))
            turns += [
                turn.id
                for turn in await conversation(
                    store, another, count, answer="It was looked at, and is in order. " * 3
                )
            ]
    return turns


async def all_is_done_once(tmp_path: Path, env: dict[str, str], turns: list[str]) -> None:
    async with beside(tmp_path, env | {"RAGFORGE_MEMORY_ENABLED": "false"}) as session:
        store, embedder = session.workspace.store, session.workspace.recall.embedder
        assert embedder is not None
        sessions = [row.session.id for row in await store.sessions.recent()]
        summaries = [each for one in sessions for each in await store.summaries.of_session(one)]
        first = [summary for summary in summaries if summary.level == 1]
        assert Counter(summary.covers for summary in first) == Counter((turn,) for turn in turns)
        covered = Counter((summary.level, child) for summary in summaries for child in summary.covers)
        assert max(covered.values()) == 1
        assert {summary.level for summary in summaries} >= {1, 2}
        assert not any([await due(store, one, session.workspace.settings.memory) for one in sessions])
        assert await store.vectors.lacking(embedder.name) == []
        await each_has_one_vector(store, turns, summaries, embedder.name)
        assert await store.check() == []


async def each_has_one_vector(store: Any, turns: list[str], summaries: list[Summary], model: str) -> None:
    owners = [Owner(OwnerKind.TURN, turn) for turn in turns]
    owners += [Owner(OwnerKind.SUMMARY, summary.id) for summary in summaries]
    embeddings = [
        embedding
        for start in range(0, len(owners), 500)
        for embedding in await store.vectors.get(owners[start : start + 500])
    ]
    assert [embedding.owner for embedding in embeddings] == owners
    assert {embedding.model for embedding in embeddings} == {model}
    counts = await store.archive.counts()
    assert counts[RecordKind.EMBEDDING] == len(owners) + counts[RecordKind.MEMORY]


@dataclass
class Workers:
    """The process whose children do the work."""

    process: asyncio.subprocess.Process

    async def started(self) -> int:
        """The id of a new child."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")
        return int((await self._line("pid"))[0])

    async def ended(self) -> int:
        """How it ended: 0, or the signal."""
        return int((await self._line("dead"))[1])

    async def _line(self, kind: str) -> list[str]:
        assert self.process.stdout is not None
        first, *rest = (await self.process.stdout.readline()).decode().split()
        assert first == kind
        return rest


@asynccontextmanager
async def workers(tmp_path: Path, env: dict[str, str]) -> AsyncIterator[Workers]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.flow.load_worker", str(tmp_path)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=env,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )
    try:
        yield Workers(process)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
