"""What versions are found by, and how they are compared from the beginning on."""

import pytest

from ragforge.commands.base import Report, Tell, run_command
from ragforge.domain.errors import UsageError
from ragforge.domain.versions import MERGE, RESTORE, Version
from ragforge.session.moves import checkout, undo
from ragforge.session.state import Session
from ragforge.versions.attempts.merge import merge
from ragforge.versions.branches import start_branch
from ragforge.versions.comparison import compare
from tests.flow.moving import line_of, read, root_of, shell, turn, write
from tests.standins.gemini import GeminiStandIn


async def the_version(session: Session, version_id: str) -> Version:
    [version] = await session.workspace.store.versions.get([version_id])
    return version


async def test_a_restore_is_found_by_what_it_changed(session: Session, gemini: GeminiStandIn):
    file = root_of(session) / "a.txt"
    file.write_text("one\n")
    await turn(session, gemini, "two", read("a.txt"), write("a.txt", "two\n"), write("b.txt", "made\n"))
    file.write_text("altogether mine\n")
    version = await the_version(session, (await undo(session)).version)
    assert version.by == RESTORE
    assert "altogether mine" in version.words
    assert (version.lines_added, version.lines_removed) == (1, 1)


@pytest.mark.parametrize(
    "command", ["branch here", "branches", "diff HEAD HEAD", "rename my __init__ *file*"]
)
async def test_users_words_are_no_markup_in_what_a_command_says(
    session: Session, gemini: GeminiStandIn, command: str
):
    words = "my __init__ *file*"
    await turn(session, gemini, words, write("a.txt", "one\n"))
    if command == "branches":
        await start_branch(session.worktree, "here", "HEAD")
    name, _, args = command.partition(" ")
    said = await run_command(session, name, args)
    text = said.text if isinstance(said, Tell) else said.shown if isinstance(said, Report) else ""
    assert f"`{words}`" in text


async def test_a_report_with_a_fence_in_it_stays_one_block():
    assert Report(["```", "*a*"]).shown == "````text\n```\n*a*\n````"


async def test_a_merge_is_found_by_what_it_changed(session: Session, gemini: GeminiStandIn):
    await turn(session, gemini, "begin", write("a.txt", "one\n"))
    await start_branch(session.worktree, "side", "HEAD")
    await turn(session, gemini, "on the side", write("b.txt", "from the side\n"))
    await undo(session)
    await start_branch(session.worktree, "main", "HEAD")
    await turn(session, gemini, "on the main line", shell("echo more >> a.txt"))
    version = await the_version(session, (await merge(session, "side")).version)
    assert version.by == MERGE
    assert "from the side" in version.words
    assert (version.lines_added, version.lines_removed) == (1, 0)


async def test_the_first_version_is_compared_with_the_beginning(session: Session, gemini: GeminiStandIn):
    await turn(session, gemini, "begin", write("a.txt", "one\n"))
    [first] = await line_of(session)
    compared = await compare(session.worktree, f"{first.id}~", first.id)
    assert compared.start == "the beginning"
    assert [(each.change.path, each.lines_added) for each in compared.files] == [("a.txt", 1)]
    with pytest.raises(UsageError, match="only 0 versions"):
        await compare(session.worktree, f"{first.id}~2", first.id)
    with pytest.raises(UsageError, match="the beginning"):
        await checkout(session, f"{first.id}~")
