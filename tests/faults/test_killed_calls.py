"""ragforge is killed with SIGKILL while a command runs: the next start knows it, and that it never ended."""

import asyncio
import signal
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ragforge.domain.turns import NOT_ENDED, CallStatus, TurnStatus
from ragforge.memory.derive.turn_material import says_nothing
from ragforge.session.history import newest_turns
from ragforge.session.library import newest_session
from ragforge.session.open import close_session, close_workspace, open_workspace, resume_session
from ragforge.session.state import Session
from ragforge.store.neo4j.outbox import Rows, open_outbox
from ragforge.store.neo4j.recovery import interrupt_here
from ragforge.store.neo4j.rows import Label, call_of, call_row, step_key, step_row, turn_row
from ragforge.tui.widgets.tool_line import ToolHead
from ragforge.tui.widgets.turn_record import Called, Said, StoredTurns, records_of
from tests.cli.running import Program
from tests.contract.builders import a_call, a_project, a_request, a_session, a_step, a_turn
from tests.flow.running import MODEL, User, ended, environ, say, say_retry
from tests.processes import until
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text

PATIENCE_S = 60.0
COMMAND = "echo once >> count.txt; touch begun; sleep 100"


@pytest.fixture
async def gemini() -> AsyncIterator[GeminiStandIn]:
    async with GeminiStandIn() as server:
        yield server


@asynccontextmanager
async def resumed_after_kill(tmp_path: Path, gemini: GeminiStandIn) -> AsyncGenerator[Session]:
    """The session of a process that was killed while the first call of its first step ran."""
    program = Program(tmp_path, MODEL, {"GEMINI_API_KEY": gemini.key, "GOOGLE_GEMINI_BASE_URL": gemini.url})
    gemini.script(
        (
            Text("I tidy up."),
            Calls(Call("shell", {"command": COMMAND}), Call("read", {"path": "a.txt"})),
        )
    )
    process = await program.start("-p", "tidy up", "--yolo")
    await until((program.project / "begun").exists, timeout_s=PATIENCE_S)
    process.send_signal(signal.SIGKILL)
    await process.communicate()
    workspace = await open_workspace(cwd=program.project, flags={}, environ=environ(tmp_path, gemini))
    record = await newest_session(workspace.store, project_id=workspace.project.id, cwd=program.project)
    session = (await resume_session(workspace, record)).session
    try:
        yield session
    finally:
        await close_session(session)
        await close_workspace(workspace)


def answers_to_calls(contents: list[Any]) -> list[tuple[str, str]]:
    """Name and text of each answer, after each call was found to have one right behind it."""

    def parts_of(message: Any, kind: str) -> list[Any]:
        return [part[kind] for part in message["parts"] if kind in part]

    answers: list[tuple[str, str]] = []
    for at, message in enumerate(contents):
        asked = parts_of(message, "functionCall")
        if asked:
            heard = parts_of(contents[at + 1], "functionResponse")
            assert [each["name"] for each in asked] == [each["name"] for each in heard]
            answers.extend((each["name"], str(each["response"])) for each in heard)
    return answers


async def test_the_command_that_ran_is_shown_as_interrupted(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with resumed_after_kill(tmp_path, gemini) as session:
        stored = await newest_turns(session.workspace.store, session.live.record.head, 5)
        [turn], [step] = stored.turns, stored.steps
        assert (turn.status, turn.assistant) == (TurnStatus.INTERRUPTED, "I tidy up.")
        assert not step.interrupted
        assert [(call.name, call.status) for call in stored.calls] == [
            ("shell", CallStatus.INTERRUPTED),
            ("read", CallStatus.INTERRUPTED),
        ]
        assert stored.calls[0].args["command"] == COMMAND
        assert {call.result for call in stored.calls} == {NOT_ENDED}
        # And so it is drawn.
        [record] = records_of(StoredTurns(stored.turns, stored.steps, stored.calls))
        said, ran, _ = record.entries
        assert said == Said("I tidy up.")
        assert isinstance(ran, Called)
        assert ToolHead(ran).words() == ("shell", COMMAND, ["interrupted"])


async def test_what_the_turn_did_is_understood_like_that_of_any(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with resumed_after_kill(tmp_path, gemini) as session:
        store = session.workspace.store
        turn = await store.turns.get(str(session.live.record.head))
        assert turn is not None
        assert not says_nothing(turn, await store.calls.of_turns([turn.id]))

        async with asyncio.timeout(PATIENCE_S):
            while not (found := (await store.summaries.covering([turn.id]))[turn.id]):
                await asyncio.sleep(0.02)
        [summary] = found
        assert "shell" in summary.tools


async def test_the_model_hears_that_the_command_never_ended(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with resumed_after_kill(tmp_path, gemini) as session:
        gemini.script(Text("I look first."))
        assert ended(await say(session, "go on")).status is TurnStatus.FINISHED
        heard = answers_to_calls(gemini.asked("streamGenerateContent")[-1].body["contents"])
        assert [name for name, _ in heard] == ["shell", "read"]
        assert all(NOT_ENDED in text for _, text in heard)


async def test_going_on_with_the_turn_does_not_run_the_command_again(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with resumed_after_kill(tmp_path, gemini) as session:
        gemini.script(Text("It had begun."))
        user = User()
        turn = ended(await say_retry(session, user))
        assert turn.status is TurnStatus.FINISHED
        assert (session.cwd / "count.txt").read_text() == "once\n"
        assert not user.asked
        heard = answers_to_calls(gemini.asked("streamGenerateContent")[-1].body["contents"])
        assert NOT_ENDED in heard[0][1]


async def test_a_graph_that_is_away_has_the_calls_of_its_dead_writer_as_interrupted(tmp_path: Path) -> None:
    project = a_project()
    session = a_session(project.id)
    turn = a_turn(session)
    step = a_step(turn, 0, "", a_request(), a_request("shell", command=COMMAND))
    within = {"session_id": session.id, "project_id": project.id}
    outbox = open_outbox(tmp_path / "outbox.db", lock_dir=tmp_path)

    def write(rows: Rows) -> None:
        rows.put(Label.TURN, turn.id, turn_row(turn, project_id=project.id), complete=True)
        rows.put(Label.STEP, step_key(turn.id, 0), step_row(step, session_id=session.id))
        rows.put(Label.CALL, step.message.calls[0].id, call_row(a_call(step), **within))

    await outbox.write(write)
    for _ in range(2):
        await outbox.write(lambda rows: interrupt_here(rows, session.id))
        calls = await outbox.read(
            lambda rows: [call_of(row.props) for row in rows.of_turn(Label.CALL, turn.id)]
        )
        found = sorted((call.position, call.name, call.status, call.result) for call in calls)
        assert found == [
            (0, "read", CallStatus.OK, a_call(step).result),
            (1, "shell", CallStatus.INTERRUPTED, NOT_ENDED),
        ]
    waits = await outbox.read(lambda rows: rows.get(Label.CALL, step.message.calls[1].id))
    assert waits is not None
    assert waits.waits
    await outbox.close()
