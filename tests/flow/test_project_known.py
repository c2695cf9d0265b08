"""Which project a folder is, where this machine has forgotten it: the store knows it too."""

import socket
from pathlib import Path

from msgspec.structs import replace

from ragforge.session.open import close_session, fork_session, resume_session
from ragforge.session.project import own_folder
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


async def test_a_session_that_somebody_else_began_goes_on_in_the_users_own_folder(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    theirs, mine = tmp_path / "theirs" / "src", tmp_path / "project" / "src"
    for folder in (theirs, mine):
        folder.mkdir(parents=True)
    gemini.script(Text("hi"))
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        workspace = session.workspace
        session.change(person="ada@example.org", cwd=str(theirs), project_path=str(theirs.parent))
        await say(session, "hello")
        record = session.live.record
        await close_session(session)
        resumed = await resume_session(workspace, record)
        assert resumed.session.live.record.cwd == str(mine)
        assert resumed.session.workspace.place == workspace.place
        (told,) = resumed.notices
        assert f"started in {theirs} on {record.host} by ada@example.org and continues in {mine}." in told
        await close_session(resumed.session)
        fork = await fork_session(workspace, record)
        assert (fork.live.record.cwd, fork.live.record.project_path) == (str(mine), str(mine.parent))
        await close_session(fork)
        # Of old sessions it is not known where the project was; what is nowhere in it goes on at its root.
        for place in ({"project_path": ""}, {"cwd": str(theirs.parent / "gone")}):
            assert await own_folder(workspace, replace(record, **place)) == mine.parent
        assert await own_folder(workspace, replace(record, person=workspace.person.id)) is None
        elsewhere = replace(record, person=workspace.person.id, host="elsewhere")
        assert await own_folder(workspace, elsewhere) == mine
        assert await own_folder(workspace, replace(record, cwd=str(mine))) is None
        assert await own_folder(workspace, replace(record, project_id="another")) is None
