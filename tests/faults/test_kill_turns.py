"""Whatever moment a process dies at: every turn has its version, and the head says what lies on the disk."""

import asyncio
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from ragforge.domain.messages import TextPart
from ragforge.session.library import newest_session
from ragforge.session.open import close_session, close_workspace, open_workspace, resume_session
from ragforge.session.state import Session
from tests.flow.recorded import answers, assert_head_is_disk, line_now
from tests.flow.running import environ
from tests.scope import TIMES
from tests.standins.gemini import GeminiStandIn

KILLS = 4 * TIMES
TURNS = 3
FIRST, SECOND = (TextPart("Do something."),), (TextPart("And quickly."),)
"""What `turn_writer` says in each."""


@asynccontextmanager
async def writer(project: Path, env: dict[str, str]) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.turn_writer", str(project)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env=env,
    )
    try:
        yield process
    finally:
        process.kill()
        await process.communicate()


async def one_run(
    process: asyncio.subprocess.Process, joined: list[str], *, kill_after_s: float | None
) -> float:
    """Let a child run its turns, killed after so long; how long it took. joined: gets the turns that grew."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{TURNS}\n".encode())
    began_s = time.monotonic()
    async with asyncio.timeout(120):
        word, pid = (await process.stdout.readline()).split()
        assert word == b"pid"
        if kill_after_s is not None:
            await asyncio.sleep(kill_after_s)
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        while (line := await process.stdout.readline()).split()[0] != b"dead":
            if line.startswith(b"joined "):
                joined.append(line.split()[1].decode())
    if kill_after_s is None:
        assert line.split()[2] == b"0"
    return time.monotonic() - began_s


async def assert_nothing_said_is_lost_or_twice(session: Session, joined: list[str]) -> None:
    turns = session.workspace.store.turns
    said = {FIRST, (*FIRST, *SECOND)}
    assert {turn.user for turn in await turns.path(session.live.record.head)} <= said
    assert len(joined) >= TURNS
    assert {turn.user for turn in await turns.read(joined)} == {(*FIRST, *SECOND)}
    assert len(await turns.read(joined)) == len(joined)


async def test_kills_leave_every_turn_its_version(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for number in range(4):
        (project / f"{number}.txt").write_text(f"a file {number}\n" * 20)
    seed, joined = random.randrange(10**9), list[str]()
    chance = random.Random(seed)
    async with GeminiStandIn() as gemini:
        env = environ(tmp_path, gemini)
        gemini.script(*answers(chance))
        async with writer(project, env) as process:
            whole_s = await one_run(process, joined, kill_after_s=None)
            for number in range(KILLS):
                await one_run(process, joined, kill_after_s=chance.uniform(0.1, 1) * whole_s)
                if number % 3 == 0:
                    (project / "own.txt").write_text(f"by hand {number}")
        workspace = await open_workspace(cwd=project, flags={}, environ=env)
        record = await newest_session(workspace.store, project_id=workspace.project.id, cwd=project)
        session = (await resume_session(workspace, record)).session
        try:
            line = await line_now(session)
            await assert_head_is_disk(session)
            await assert_nothing_said_is_lost_or_twice(session, joined)
            versions = workspace.store.versions
            assert await versions.unversioned(session.id) == [], seed
            # Nothing was made twice, and nothing stands aside of the line.
            assert sorted(await versions.all_ids()) == sorted(version.id for version in line), seed
            twice = Counter((each.turn_id, each.changes) for each in line if each.changes and each.turn_id)
            assert not [key for key, count in twice.items() if count > 1], seed
            named = {
                node.digest
                for version in line
                for change in version.changes
                for node in (change.before, change.after)
                if node is not None and node.digest
            }
            assert await workspace.blobs.missing(sorted(named)) == [], seed
            turns = await workspace.store.turns.path(session.live.record.head)
            assert {turn.id for turn in turns} <= {version.turn_id for version in line}, seed
        finally:
            await close_session(session)
            await close_workspace(workspace)
