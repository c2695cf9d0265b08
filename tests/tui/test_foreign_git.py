"""The question about a repository that does not know the folder from which `.git` leads to it."""

import subprocess
from pathlib import Path

import pytest

from ragforge.domain.approvals import foreign_rule
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.widgets.plain import PlainText
from tests.tui.chat_app import Chat, Lab


@pytest.fixture
def private(lab: Lab) -> Path:
    """Somebody's repository, to which the project's `.git` leads."""
    folder = lab.tmp_path.resolve() / "private"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "secret-branch"], cwd=folder, check=True)
    lab.set_environ()
    (lab.project / ".git").write_text(f"gitdir: {folder}/.git\n")
    return folder / ".git"


async def asked(chat: Chat) -> ConfirmScreen:
    await chat.until(lambda: isinstance(chat.top, ConfirmScreen), "the question")
    assert isinstance(chat.top, ConfirmScreen)
    return chat.top


async def test_yes_reads_it_at_once_and_is_remembered_for_that_repository(lab: Lab, private: Path) -> None:
    async with lab.chat() as chat:
        await asked(chat)
        assert "secret-branch" not in chat.status
        await chat.answers("y")
        await chat.until(lambda: "secret-branch" in chat.status, "the branch")
        conversation = chat.screen.conversation
        assert conversation is not None
        assert foreign_rule(private) in conversation.session.live.consent.rules
    async with lab.chat() as chat:
        await chat.until(lambda: "secret-branch" in chat.status, "the branch")
        assert not isinstance(chat.top, ConfirmScreen)
    other = private.parent.parent / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    (lab.project / ".git").write_text(f"gitdir: {other}/.git\n")
    async with lab.chat() as chat:
        await asked(chat)
        await chat.answers("n")


async def test_no_leaves_it_unread_and_says_how_to_allow_it(lab: Lab, private: Path) -> None:
    async with lab.chat() as chat:
        await asked(chat)
        await chat.answers("n")
        await chat.sees(f"The repository {private} is not read")
        await chat.sees(f"/permissions add git({private})")
        assert "secret-branch" not in chat.status
    async with lab.chat() as chat:
        await asked(chat)
        await chat.answers("escape")


async def test_each_is_asked_about_where_there_are_several(lab: Lab, private: Path) -> None:
    (lab.project / ".git").unlink()
    subprocess.run(["git", "init", "-q", "-b", "own-branch", str(lab.project)], check=True)
    places = [private.parent / "first", private / "objects"]
    borrowed = lab.project / ".git" / "objects" / "info" / "alternates"
    borrowed.write_text("".join(f"{place}\n" for place in places))
    async with lab.chat() as chat:
        for place in places:
            question = await asked(chat)
            assert str(place) in question.query(PlainText)[1].text
            assert "own-branch" not in chat.status
            await chat.answers("y")
        await chat.until(lambda: "own-branch" in chat.status, "the branch")
    async with lab.chat() as chat:
        await chat.until(lambda: "own-branch" in chat.status, "the branch")
        assert not isinstance(chat.top, ConfirmScreen)
