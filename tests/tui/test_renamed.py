"""The questions about a folder that seems to be a known project under another name, or a clone of several."""

import os
import subprocess

import pytest

from ragforge.session.open import close_session, close_workspace, new_session, open_workspace
from ragforge.store.base import Store
from ragforge.tui.screens.choose import ChooseScreen
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.widgets.plain import PlainText
from tests.contract import builders
from tests.flow.running import say
from tests.standins.gemini import Text
from tests.tui.chat_app import Chat, Lab


@pytest.fixture
async def former_id(lab: Lab) -> str:
    """The project that was elsewhere before its folder came to be the one that is opened."""
    old = lab.project.with_name("old")
    lab.project.rename(old)
    workspace = await open_workspace(cwd=old, flags={}, environ=dict(os.environ))
    session = await new_session(workspace)
    lab.gemini.script(Text("hi"))
    await say(session, "hello")
    await close_session(session)
    await close_workspace(workspace)
    old.rename(lab.project)
    return workspace.project.id


def project_of(chat: Chat) -> str:
    assert chat.screen.conversation is not None
    return chat.screen.conversation.workspace.project.id


async def test_esc_asks_again_and_yes_is_the_project_from_then_on(lab: Lab, former_id: str) -> None:
    async with lab.chat() as chat:
        await chat.answers("escape")
        assert project_of(chat) != former_id
    async with lab.chat() as chat:
        await chat.answers("y")
        await chat.until(lambda: project_of(chat) == former_id, "the project")
    async with lab.chat() as chat:
        await chat.until(lambda: project_of(chat) == former_id, "the project")
        assert not isinstance(chat.top, ConfirmScreen)


async def test_no_is_remembered(lab: Lab, former_id: str) -> None:
    async with lab.chat() as chat:
        await chat.answers("n")
    async with lab.chat() as chat:
        await chat.until(lambda: project_of(chat) != former_id, "a project of its own")
        assert not isinstance(chat.top, ConfirmScreen)


async def test_after_a_yes_the_newest_session_goes_on_where_that_was_asked_for(
    lab: Lab, former_id: str
) -> None:
    async with lab.chat(continue_newest=True) as chat:
        await chat.answers("y")
        await chat.sees("hello")
        await chat.until(lambda: project_of(chat) == former_id, "the project")


async def test_after_a_no_it_is_said_that_there_is_no_session(lab: Lab, former_id: str) -> None:
    async with lab.chat(continue_newest=True) as chat:
        await chat.answers("n")
        await chat.sees("No session was started in")
        assert project_of(chat) != former_id


async def test_of_several_projects_with_its_remote_the_user_chooses_by_who_where_and_when(lab: Lab) -> None:
    remote = "git@example.org:zoo.git"
    for line in (["init", "-q"], ["remote", "add", "origin", remote]):
        subprocess.run(["git", *line], cwd=lab.project, check=True)
    workspace = await open_workspace(cwd=lab.project.parent, flags={}, environ=dict(os.environ))
    await _keep_clone(workspace.store, "zoo", "ada@example.org")
    await _keep_clone(workspace.store, "zoo-fork", "bob@example.org")
    await close_workspace(workspace)
    async with lab.chat() as chat:
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the question")
        asked = "\n".join(each.text for each in chat.top.query(PlainText))
        assert "zoo: last used by ada@example.org in /home/x/zoo" in asked
        key = next(line.split()[0] for line in asked.splitlines() if "  zoo: " in line)
        await chat.pilot.press(key)
        await chat.until(lambda: project_of(chat) == "id of zoo", "the project")
    async with lab.chat() as chat:
        await chat.until(lambda: project_of(chat) == "id of zoo", "the project")
        assert not isinstance(chat.top, ChooseScreen)


async def test_projects_that_share_only_the_first_commit_are_not_said_to_have_the_remote(lab: Lab) -> None:
    for line in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"],
        ["remote", "add", "origin", "git@example.org:mine.git"],
    ):
        subprocess.run(["git", *line], cwd=lab.project, check=True)
    first = subprocess.run(["git", "rev-parse", "HEAD"], cwd=lab.project, check=True, capture_output=True)
    workspace = await open_workspace(cwd=lab.project.parent, flags={}, environ=dict(os.environ))
    for name in ("zoo", "zoo-fork"):
        await _keep_clone(
            workspace.store, name, "ada@example.org", first_commit=first.stdout.decode().strip()
        )
    await close_workspace(workspace)
    async with lab.chat() as chat:
        await chat.until(lambda: isinstance(chat.top, ChooseScreen), "the question")
        asked = "\n".join(each.text for each in chat.top.query(PlainText))
        assert "have the same first commit as this folder" in asked
        assert "zoo-fork: example.org/zoo, last used by ada@example.org" in asked


async def _keep_clone(store: Store, name: str, person: str, **fields: str) -> None:
    project = builders.a_project(id=f"id of {name}", name=name, git_remote="example.org/zoo", **fields)
    await store.projects.add(project)
    await builders.new_session(store, project, person=person, project_path=f"/home/x/{name}")
