"""A program whose store goes away while it runs: it can go on, and nothing that has ended is asked twice."""

import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack, aclosing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from ragforge.commands.base import UserQuestion
from ragforge.commands.program_run import RunFront
from ragforge.commands.run import RunArguments, execution_for
from ragforge.domain.approvals import ApprovalAnswer, ConsentAnswer
from ragforge.domain.errors import StoreError
from ragforge.domain.usage import Purpose
from ragforge.session.state import Session
from ragforge.store.sqlite import connection
from tests.faults.graph import arrived, url_of
from tests.faults.programs import ASKED, NAME, PROGRAM
from tests.flow.running import environ, opened
from tests.flow.test_program_stopped import newest, run
from tests.servers.neo4j import Neo4jServer
from tests.servers.proxy import Proxy
from tests.standins.gemini import GeminiStandIn

BUSY_MS_MAX = 200
HOLD = """\
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


async def run_until(session: Session, said_first: str, then: Callable[[], object], heard: list[str]) -> None:
    """Put what the program says into `heard`; once it said this, `then` is called."""
    front = RunFront(inputs=["the question"])
    execution = await execution_for(session, RunArguments(NAME), front.front)
    async with aclosing(front.follow(execution)) as said:
        async for each in said:
            if isinstance(each, UserQuestion):
                each.reply(ApprovalAnswer(ConsentAnswer.ONCE))
            heard.append(str(each))
            if str(each).startswith(said_first):
                then()


@contextmanager
def held_by_another_process(database: Path) -> Generator[None]:
    """Nobody writes to the database while it lasts: within a process the two SQLite would not see it."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline() == b"held\n"
        yield
        process.stdin.close()


async def program_calls(session: Session) -> int:
    """How many calls `/cost` counts as programs' in the project."""
    rows = await session.workspace.store.usage.by_model(project_id=session.workspace.project.id)
    return sum(row.calls for row in rows if row.purpose is Purpose.PROGRAM)


def asked_models(gemini: GeminiStandIn) -> int:
    return len(gemini.asked("streamGenerateContent"))


async def test_a_store_that_another_process_holds_stops_the_run_which_goes_on_afterwards(
    tmp_path: Path, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    pragmas = dict(connection.PRAGMAS) | {"busy_timeout": BUSY_MS_MAX}
    monkeypatch.setattr(connection, "PRAGMAS", tuple(pragmas.items()))
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        (session.cwd / NAME).write_text(PROGRAM)
        await run(session)
        whole, calls = await newest(session), asked_models(gemini)
        database = session.workspace.data_dir / "ragforge.db"
        with ExitStack() as held:
            hold = partial(held.enter_context, held_by_another_process(database))
            heard: list[str] = []
            with pytest.raises(StoreError, match="another process has kept it locked"):
                await run_until(session, "planner (", hold, heard)
        assert "--resume continues it" in heard[-1]
        before = asked_models(gemini)
        is_done, asked, _ = await newest(session)
        assert not is_done
        await run(session, resume=True)
        assert await newest(session) == whole
        assert whole[1] == ASKED
        # What had ended before the store was held is asked no more; the one in flight may be.
        assert asked_models(gemini) - before <= calls - len(asked)


async def test_a_run_goes_on_while_its_server_is_away_and_arrives_there_later(
    server: Neo4jServer, proxy: Proxy, tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_STORE=url_of(server, port=proxy.port))

    def leave() -> None:
        proxy.refuse()
        proxy.cut()

    async with opened(tmp_path, env) as session:
        (session.cwd / NAME).write_text(PROGRAM)
        await run(session)
        whole, calls = await newest(session), asked_models(gemini)
        counted = await program_calls(session)
        assert whole[:2] == (True, ASKED)
        # What is said meanwhile waits on this machine.
        await run_until(session, "planner (", leave, [])
        assert session.workspace.store.link.away
        assert await newest(session) == whole
        await proxy.accept()
        await arrived(session.workspace.store)
        assert await newest(session) == whole
        assert asked_models(gemini) == 2 * calls
        assert await program_calls(session) == 2 * counted
