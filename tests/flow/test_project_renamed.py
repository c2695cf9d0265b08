"""A project's folder that was renamed: the same project after a yes, with all that was kept of it."""

import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ragforge.domain.approvals import Rule
from ragforge.session.conversation import Conversation
from ragforge.session.moves import redo, undo
from ragforge.session.open import close_session, close_workspace, new_session, open_workspace
from ragforge.session.state import Session
from ragforge.versions.state import Head
from tests.cli.running import Program
from tests.flow.moving import head_of, root_of, shell, tree, turn, write
from tests.flow.running import environ, opened, say
from tests.standins.gemini import GeminiStandIn, Text
from tests.standins.openai import OpenAIStandIn


@asynccontextmanager
async def opened_at(tmp_path: Path, gemini: GeminiStandIn, name: str) -> AsyncGenerator[Conversation]:
    """The folder of that name, as the app opens it."""
    workspace = await open_workspace(cwd=tmp_path / name, flags={}, environ=environ(tmp_path, gemini))
    conversation = Conversation(workspace, await new_session(workspace))
    try:
        yield conversation
    finally:
        await close_session(conversation.session)
        await close_workspace(conversation.workspace)


def commit(folder: Path) -> None:
    """Make the folder a repository with one commit."""
    for command in (
        ["git", "init", "-q"],
        ["git", "-c", "user.email=a@b", "-c", "user.name=a", "commit", "-q", "--allow-empty", "-m", "one"],
    ):
        subprocess.run(command, cwd=folder, check=True)


async def worked_in(tmp_path: Path, gemini: GeminiStandIn) -> tuple[Session, Head]:
    """A project in which a turn changed a file, a draft is left and a rule is set."""
    (tmp_path / "project").mkdir(exist_ok=True)
    (tmp_path / "project" / "a.txt").write_text("before\n")
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        await turn(session, gemini, "one", shell("echo after > a.txt"), write("b.txt", "new\n"))
        local, project = session.workspace.local, session.workspace.project
        await local.trust.add_rules(project.id, [Rule("shell", "make *")])
        await local.prompts.set_draft(f"cwd:{root_of(session)}", "half a thought")
        await local.prompts.set_draft(f"cwd:{root_of(session)}/sub", "another")
        return session, await head_of(session)


async def test_after_a_yes_an_earlier_turn_is_undone_where_the_folder_lies_now(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    before, head = await worked_in(tmp_path, gemini)
    after = tree(tmp_path / "project")
    (tmp_path / "project").rename(tmp_path / "renamed")
    async with opened_at(tmp_path, gemini, "renamed") as conversation:
        [former] = conversation.workspace.former
        assert (former.project, former.path) == (before.workspace.project, tmp_path / "project")
        assert conversation.workspace.project != former.project
        await conversation.join(former.project)
        assert conversation.workspace.project == former.project
        assert conversation.workspace.former == ()
        assert await conversation.workspace.history.head(tmp_path / "renamed") == head
        assert await conversation.workspace.history.roots() == [tmp_path / "renamed"]
        await conversation.resume(before.id)
        session = conversation.session
        assert session.live.consent.rules == (Rule("shell", "make *"),)
        local = session.workspace.local
        assert await local.prompts.draft(f"cwd:{tmp_path}/renamed") == "half a thought"
        assert await local.prompts.draft(f"cwd:{tmp_path}/renamed/sub") == "another"
        moved = await undo(session)
        assert (moved.restored, moved.removed, moved.kept) == (("a.txt",), ("b.txt",), ())
        assert (tmp_path / "renamed" / "a.txt").read_text() == "before\n"
        await redo(session)
        assert tree(tmp_path / "renamed") == after
        assert not (tmp_path / "project").exists()
    async with opened_at(tmp_path, gemini, "renamed") as conversation:
        assert conversation.workspace.project == former.project
        assert conversation.workspace.former == ()
    # Renamed once more, and back to where it was known first: that path is the project's already.
    (tmp_path / "renamed").rename(tmp_path / "project")
    async with opened_at(tmp_path, gemini, "project") as conversation:
        await conversation.resume(before.id)
        assert (await undo(conversation.session)).removed == ("b.txt",)


async def test_what_the_user_edited_after_the_rename_is_not_taken_back(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    before, head = await worked_in(tmp_path, gemini)
    (tmp_path / "project").rename(tmp_path / "renamed")
    (tmp_path / "renamed" / "mine.txt").write_text("mine\n")
    async with opened_at(tmp_path, gemini, "renamed") as conversation:
        await conversation.join(conversation.workspace.former[0].project)
        await conversation.resume(before.id)
        moved = await undo(conversation.session)
        edited, *_ = await conversation.workspace.store.versions.children(head.version)
        assert [change.path for change in edited.changes] == ["mine.txt"]
        assert (moved.restored, moved.removed) == (("a.txt",), ("b.txt",))
        assert (tmp_path / "renamed" / "mine.txt").read_text() == "mine\n"


async def test_a_repository_with_a_commit_is_the_same_without_asking(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    (tmp_path / "project").mkdir()
    commit(tmp_path / "project")
    before, head = await worked_in(tmp_path, gemini)
    (tmp_path / "project").rename(tmp_path / "renamed")
    async with opened_at(tmp_path, gemini, "renamed") as conversation:
        assert conversation.workspace.project == before.workspace.project
        assert conversation.workspace.former == ()
        assert await conversation.workspace.history.head(tmp_path / "renamed") == head


@pytest.mark.parametrize("folder", [".", "sub"])
async def test_the_newest_session_is_continued_at_the_new_path(tmp_path: Path, folder: str) -> None:
    async with OpenAIStandIn() as server:
        program = Program(tmp_path, "stand-in:test-model")
        program.configure(f'[endpoints.stand-in]\nbase_url = "{server.base_url}"\n')
        commit(program.project)
        (program.project / "sub").mkdir()
        assert (await program.run("-p", "hello", cwd=program.project / folder)).err == ""
        renamed = program.project.rename(tmp_path / "renamed")
        elsewhere = "." if folder == "sub" else "sub"
        assert (await program.run("-c", "-p", "again", cwd=renamed / elsewhere)).code != 0
        # A session whose folder there is again goes on there, and not here.
        program.project.mkdir()
        assert (await program.run("-c", "-p", "again", cwd=renamed / folder)).code != 0
        program.project.rmdir()
        ran = await program.run("-c", "-p", "again", cwd=renamed / folder)
        assert ran.code == 0, ran
        [session] = (await program.run("sessions", "--json", cwd=renamed)).json
        assert session["turns"] == 2


async def test_after_turns_as_a_new_project_the_earlier_versions_hold_again(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    before, head = await worked_in(tmp_path, gemini)
    (tmp_path / "project").rename(tmp_path / "renamed")
    async with opened_at(tmp_path, gemini, "renamed") as conversation:
        await turn(conversation.session, gemini, "as a new project", write("c.txt", "new\n"))
        assert await head_of(conversation.session) != head
    async with opened_at(tmp_path, gemini, "renamed") as conversation:
        await conversation.join(conversation.workspace.former[0].project)
        assert await conversation.workspace.history.head(tmp_path / "renamed") == head
        await conversation.resume(before.id)
        assert (await undo(conversation.session)).removed == ("b.txt",)
        assert (tmp_path / "renamed" / "c.txt").read_text() == "new\n"


async def test_it_is_asked_until_there_is_an_answer_and_never_again_after_a_no(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    await worked_in(tmp_path, gemini)
    (tmp_path / "project").rename(tmp_path / "renamed")
    async with opened_at(tmp_path, gemini, "renamed") as conversation:
        gemini.script(Text("hi"))
        await say(conversation.session, "as a new project")
        own = conversation.workspace.project
    async with opened_at(tmp_path, gemini, "renamed") as conversation:
        [former] = conversation.workspace.former
        assert conversation.workspace.project == own != former.project
        await conversation.decline(former)
    async with opened_at(tmp_path, gemini, "renamed") as conversation:
        assert conversation.workspace.project == own
        assert conversation.workspace.former == ()


@pytest.mark.parametrize("how", ["copied", "anew", "emptied"])
async def test_a_folder_that_is_another_one_is_not_asked_about(
    tmp_path: Path, gemini: GeminiStandIn, how: str
) -> None:
    await worked_in(tmp_path, gemini)
    project, other = tmp_path / "project", tmp_path / "other"
    if how == "copied":
        shutil.copytree(project, other)
    elif how == "anew":
        other.mkdir()
        shutil.rmtree(project)
    else:  # as where the file system gave its number to a new folder
        project.rename(other)
        for path in other.iterdir():
            path.unlink()
        (other / "else.txt").write_text("else\n")
    async with opened_at(tmp_path, gemini, "other") as conversation:
        assert conversation.workspace.former == ()
        assert await conversation.workspace.history.head(other) == Head()


async def test_a_run_without_anybody_to_ask_names_the_former_project(tmp_path: Path) -> None:
    async with OpenAIStandIn() as server:
        program = Program(tmp_path, "stand-in:test-model")
        program.configure(f'[endpoints.stand-in]\nbase_url = "{server.base_url}"\n')
        assert (await program.run("-p", "hello")).err == ""
        program.project.rename(tmp_path / "renamed")
        ran = await program.run("-p", "hello", cwd=tmp_path / "renamed")
        assert ran.code == 0
        assert f"seems to be the project project, which was at {program.project}." in ran.err
        assert "start `ragforge` here and answer yes" in ran.err
        assert len((await program.run("sessions", "--json", cwd=tmp_path / "renamed")).json) == 1
