"""Which project a folder is, where this machine has forgotten it: the store knows it too."""

import socket
from pathlib import Path

from ragforge.store.files import machine_file
from tests.cli.running import Program
from tests.flow.running import environ, opened, say
from tests.standins.gemini import GeminiStandIn, Text
from tests.standins.openai import OpenAIStandIn


def forget(data: Path) -> None:
    """Lose this machine's own state."""
    path = machine_file(data).path
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()


async def test_a_session_keeps_where_its_project_is(tmp_path: Path, gemini: GeminiStandIn) -> None:
    gemini.script(Text("hi"))
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        await say(session, "hello")
        kept = await session.workspace.store.sessions.get(session.id)
    assert kept
    assert (kept.project_path, kept.host) == (str(tmp_path / "project"), socket.gethostname())


async def test_sessions_and_versions_are_found_though_this_machine_forgot_the_folder(tmp_path: Path) -> None:
    async with OpenAIStandIn() as server:
        program = Program(tmp_path, "stand-in:test-model")
        program.configure(f'[endpoints.stand-in]\nbase_url = "{server.base_url}"\n')
        session = (await program.run("-p", "the parser fails", "--output-format", "json")).json["session"]
        forget(program.data)
        told = await program.run("-p", "hello", "--output-format", "json", cwd=tmp_path)
        assert "was lost, and a new one was made" in told.err
        assert "was lost" not in (await program.run("-p", "hello", cwd=tmp_path)).err
        rows = (await program.run("sessions", "--json")).json
        assert [row["id"] for row in rows] == [session]
        again = await program.run("-c", "-p", "it goes on", "--output-format", "json")
        assert again.json["session"] == session
        # Another folder is another project as before.
        other = tmp_path / "other"
        other.mkdir()
        assert (await program.run("sessions", "--json", cwd=other)).json == []


async def test_the_same_path_on_another_machine_is_another_project(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini)
    gemini.script(Text("hi"))
    async with opened(tmp_path, env) as session:
        session.change(host="elsewhere")
        await say(session, "hello")
        project = session.workspace.project.id
    forget(tmp_path / "data")
    async with opened(tmp_path, env) as session:
        assert session.workspace.project.id != project
