"""ragforge is killed with SIGKILL while a tool of a turn's first step is at work: undo takes it back."""

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ragforge.domain.turns import TurnStatus
from ragforge.session.library import newest_session
from ragforge.session.open import close_session, close_workspace, open_workspace, resume_session
from ragforge.versions.record.backfill import came_to_nothing
from tests.cli.running import Program
from tests.flow.recorded import shell
from tests.flow.running import MODEL, environ
from tests.processes import until
from tests.standins.gemini import Call, Calls, GeminiStandIn

PATIENCE_S = 60.0


@pytest.fixture
def program(tmp_path: Path, gemini: GeminiStandIn) -> Program:
    return Program(tmp_path, MODEL, {"GEMINI_API_KEY": gemini.key, "GOOGLE_GEMINI_BASE_URL": gemini.url})


async def killed_at(program: Program, gemini: GeminiStandIn, command: str, sign: str) -> None:
    """A first turn whose first command is at work when the process is killed."""
    gemini.script(shell(command))
    process = await program.start("-p", "destroy it", "--yolo")
    await until((program.project / sign).exists, timeout_s=PATIENCE_S)
    process.send_signal(signal.SIGKILL)
    await process.communicate()


async def test_undo_takes_back_what_the_first_command_of_a_first_turn_did(
    program: Program, gemini: GeminiStandIn
) -> None:
    precious = program.project / "precious.txt"
    precious.write_text("never read by anybody")
    await killed_at(program, gemini, "rm precious.txt; touch gone; sleep 100", "gone")
    ran = await program.run("undo")
    assert ran.code == 0, ran.err
    assert "interrupted by a crash" in ran.err + ran.out
    assert precious.read_text() == "never read by anybody"
    assert not (program.project / "gone").exists()
    ran = await program.run("redo")
    assert ran.code == 0, ran.err
    assert not precious.exists()


@pytest.mark.parametrize("command", ["touch made; sleep 100", "touch {outside}; sleep 100"])
async def test_its_words_are_not_offered_as_if_nothing_had_run(
    tmp_path: Path, program: Program, gemini: GeminiStandIn, command: str
) -> None:
    outside = tmp_path / "outside"
    sign = str(outside) if "outside" in command else "made"
    await killed_at(program, gemini, command.format(outside=outside), sign)
    workspace = await open_workspace(cwd=program.project, flags={}, environ=environ(tmp_path, gemini))
    record = await newest_session(workspace.store, project_id=workspace.project.id, cwd=program.project)
    resumed = await resume_session(workspace, record)
    try:
        assert resumed.draft == ""
        [turn] = await workspace.store.turns.path(resumed.session.live.record.head)
        assert turn.status is TurnStatus.INTERRUPTED
        assert not await came_to_nothing(resumed.session.workspace.store, turn)
    finally:
        await close_session(resumed.session)
        await close_workspace(workspace)


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Nobody else writes to the database while it lasts."""
    connection = sqlite3.connect(database, isolation_level=None, timeout=10)
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
    finally:
        connection.close()


async def killed_after_rename(program: Program, gemini: GeminiStandIn, path: str, content: str) -> None:
    """A first turn whose tool has written the file, killed before that is noted as done."""
    file = program.project / path
    gemini.script(Calls(Call("write", {"path": path, "content": content})))
    process = await program.start("-p", "write it", "--yolo")
    # The temporary file is there once the plan is noted; from then on nothing more can be.
    await until(lambda: any(program.project.glob(".*.ragforge-tmp")) or file.exists(), timeout_s=PATIENCE_S)
    with locked(program.data / "history.db"):
        await until(file.exists, timeout_s=PATIENCE_S)
        process.send_signal(signal.SIGKILL)
        await process.communicate()


LARGE = "a line of the file\n" * 150_000


async def test_undo_takes_back_a_write_that_was_killed_before_its_record(
    program: Program, gemini: GeminiStandIn
) -> None:
    await killed_after_rename(program, gemini, "made.txt", LARGE)
    ran = await program.run("undo")
    assert ran.code == 0, ran.err
    assert not (program.project / "made.txt").exists()
    ran = await program.run("redo")
    assert ran.code == 0, ran.err
    assert (program.project / "made.txt").read_text() == LARGE


async def test_what_the_user_wrote_over_it_since_is_kept_and_named(
    program: Program, gemini: GeminiStandIn
) -> None:
    await killed_after_rename(program, gemini, "made.txt", LARGE)
    (program.project / "made.txt").write_text("by hand")
    ran = await program.run("undo")
    assert "made.txt" in ran.out + ran.err
    assert (program.project / "made.txt").read_text() == "by hand"
    assert ran.code == 1
