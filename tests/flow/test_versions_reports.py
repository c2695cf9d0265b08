"""What users of other assistants report of their undo, as what must not happen here.

Each test is named after its report: the project and the number of the issue there.
"""

import asyncio
import subprocess
from pathlib import Path

import pytest

from ragforge.domain.errors import UsageError
from ragforge.domain.moves import ConflictChoice, Part
from ragforge.domain.versions import USER
from ragforge.session.moves import checkout, redo, rewind, undo
from ragforge.session.open import close_session, resume_session
from ragforge.session.state import Session
from ragforge.session.turn import interrupt
from ragforge.versions.head_move import Choices
from tests.flow.moving import beside, read, root_of, shell, tree, turn, write
from tests.flow.running import say
from tests.standins.gemini import Call, Calls, GeminiStandIn, Hang, Text

MESS = "mkdir -p a/b empty; echo x > a/b/c; chmod 600 a/b/c; ln -s c a/d"


def git(root: Path, *args: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
    ran = subprocess.run(["git", *identity, *args], cwd=root, capture_output=True, text=True, check=True)
    return ran.stdout


def repository(root: Path) -> None:
    git(root, "init", "-q")
    (root / "tracked.txt").write_text("committed\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")


async def test_undo_in_one_session_reverts_anothers_work__opencode_33940(
    session: Session, gemini: GeminiStandIn
):
    """Undo in one chat took back what another chat had done since."""
    await turn(session, gemini, "task of chat 1", write("one.txt", "1\n"))
    async with beside(session) as other:
        await turn(other, gemini, "task of chat 2", write("two.txt", "2\n"), shell("echo 2 > three.txt"))
        await undo(session)
        assert set(tree(root_of(session))) == {"two.txt", "three.txt"}
        await undo(other)
        assert tree(root_of(session)) == {}


async def test_undo_restored_weeks_old_files__opencode_10287(session: Session, gemini: GeminiStandIn):
    """Undo brought files back to what they were weeks and commits ago, not to before the message."""
    root = root_of(session)
    repository(root)
    await turn(session, gemini, "look around", shell("cat tracked.txt"))
    for number in range(3):
        (root / "tracked.txt").write_text(f"committed later {number}\n")
        (root / f"new{number}.txt").write_text("new\n")
        git(root, "add", ".")
        git(root, "commit", "-qm", f"commit {number}")
    before = tree(root)
    await turn(session, gemini, "a small change", write("small.txt", "x\n"))
    await undo(session)
    after = tree(root)
    assert {path: found for path, found in after.items() if not path.startswith(".git")} == {
        path: found for path, found in before.items() if not path.startswith(".git")
    }
    assert git(root, "status", "--porcelain") == ""


async def test_undo_destroyed_unstaged_work_and_redo_was_incomplete__opencode_13558(
    session: Session, gemini: GeminiStandIn
):
    """A fresh session without any edits: its undo took the unstaged work of others, its redo not all back."""
    root = root_of(session)
    repository(root)
    async with beside(session) as other:
        await turn(other, gemini, "work", write("unstaged.txt", "work\n"), shell("echo more >> tracked.txt"))
    (root / "mine.txt").write_text("mine\n")
    git(root, "add", "mine.txt")
    (root / "mine.txt").write_text("mine, changed after staging\n")
    before, status = tree(root), git(root, "status", "--porcelain")
    await turn(session, gemini, "just a question")
    await undo(session)
    assert (tree(root), git(root, "status", "--porcelain")) == (before, status)
    await redo(session)
    assert (tree(root), git(root, "status", "--porcelain")) == (before, status)
    assert git(root, "show", ":mine.txt") == "mine\n"


async def test_undo_deleted_a_file_the_agent_only_tried_to_read__opencode_46783(
    session: Session, gemini: GeminiStandIn
):
    """Asked for a file that was not there yet; the user moved it in, and undo removed it."""
    await turn(session, gemini, "read the download", read("download.txt"))
    file = root_of(session) / "download.txt"
    file.write_text("precious\n")
    moved = await undo(session)
    assert (file.read_text(), moved.restored, moved.draft) == ("precious\n", (), "read the download")


async def test_rewind_fails_silently_with_two_terminals__gemini_cli_20855(
    session: Session, gemini: GeminiStandIn
):
    """With two of them running in one folder, rewind moved the chat and left the code as it was."""
    async with beside(session) as other:
        await turn(other, gemini, "theirs", write("theirs.txt", "1\n"))
        await turn(session, gemini, "mine", write("mine.txt", "1\n"))
        await turn(other, gemini, "theirs again", write("theirs.txt", "2\n"))
        moved = await rewind(session, 1)
        assert moved.removed == ("mine.txt",)
        assert not (root_of(session) / "mine.txt").exists()
        moved = await rewind(other, 2)
        assert (root_of(session) / "theirs.txt").read_text() == "1\n"


async def test_undo_of_the_chat_only_leaves_the_tree_dirty__kimi_cli_599(
    session: Session, gemini: GeminiStandIn
):
    """Undo took the message away and left what it had done."""
    before = tree(root_of(session))
    await turn(
        session, gemini, "make a mess", shell("mkdir -p a/b; echo x > a/b/c; chmod 600 a/b/c; ln -s c a/d")
    )
    assert tree(root_of(session)) != before
    await undo(session)
    assert tree(root_of(session)) == before
    assert session.live.record.head is None


async def test_undo_without_redo__aider_1427(session: Session, gemini: GeminiStandIn):
    """One undo too many could not be taken back."""
    await turn(session, gemini, "one", write("a.txt", "1\n"))
    await turn(session, gemini, "two", shell("rm a.txt; echo 2 > b.txt"))
    after = tree(root_of(session))
    head = session.live.record.head
    await undo(session, 2)
    await redo(session, 2)
    assert (tree(root_of(session)), session.live.record.head) == (after, head)


async def test_what_git_never_knew_is_gone__codex_9203(session: Session, gemini: GeminiStandIn):
    """A command deleted files that were not tracked, and changes that were not committed."""
    root = root_of(session)
    repository(root)
    (root / "untracked").mkdir()
    (root / "untracked" / "notes.txt").write_text("never added\n")
    (root / "tracked.txt").write_text("not committed\n")
    before = {path: found for path, found in tree(root).items() if not path.startswith(".git")}
    await turn(session, gemini, "clean up", shell("git clean -fdq && git checkout -q -- ."))
    assert not (root / "untracked").exists()
    await undo(session)
    assert {path: found for path, found in tree(root).items() if not path.startswith(".git")} == before


async def test_rewind_takes_chat_and_files_and_leaves_git_alone__codex_11626(
    session: Session, gemini: GeminiStandIn
):
    """Built on git, undo clobbered the index and filled the repository with objects of its own."""
    root = root_of(session)
    repository(root)
    (root / "staged.txt").write_text("staged\n")
    git(root, "add", "staged.txt")
    git_before = {path: found for path, found in tree(root).items() if path.startswith(".git")}
    await turn(session, gemini, "one", write("a.txt", "1\n"))
    await turn(session, gemini, "two", write("staged.txt.bak", "1\n"), shell("echo x >> tracked.txt"))
    await rewind(session, 1)
    await redo(session)
    assert (root / "a.txt").read_text() == "1\n"
    assert {path: found for path, found in tree(root).items() if path.startswith(".git")} == git_before


async def test_edits_made_after_are_lost_by_a_rewind__claude_code_16023(
    session: Session, gemini: GeminiStandIn
):
    """Files were written, edited by hand, and a rewind lost the edits for good."""
    await turn(session, gemini, "write it", write("a.txt", "theirs\n"))
    file = root_of(session) / "a.txt"
    file.write_text("theirs, and mine\n")
    moved = await rewind(session, 1)
    assert (file.read_text(), moved.kept) == ("theirs, and mine\n", ("a.txt",))
    # Even who says that it shall be overwritten can have it back.
    await redo(session)
    await rewind(session, 1, choices=Choices(ConflictChoice.RESTORE))
    versions = session.workspace.store.versions
    every = await versions.get(await versions.all_ids(session.workspace.project.id))
    mine = next(version for version in every if version.by == USER)
    await checkout(session, mine.id, choices=Choices(ConflictChoice.RESTORE))
    assert file.read_text() == "theirs, and mine\n"


async def test_rewind_restores_both_or_either_and_no_manual_edit__codex_12558(
    session: Session, gemini: GeminiStandIn
):
    """Wanted: files and chat, or one of them, back to a message that returns to the prompt; no edit by hand
    touched; and all that after the session was resumed too."""
    root = root_of(session)
    await turn(session, gemini, "the first", write("a.txt", "1\n"))
    await turn(session, gemini, "the second", write("b.txt", "2\n"))
    (root / "mine.txt").write_text("by hand\n")
    chat = session.live.record.head
    moved = await rewind(session, 2, part=Part.CHAT)
    assert (set(tree(root)), moved.draft) == ({"a.txt", "b.txt", "mine.txt"}, "the second")
    assert session.live.record.head != chat
    await redo(session, part=Part.CHAT)
    moved = await rewind(session, 2, part=Part.FILES)
    assert (set(tree(root)), session.live.record.head, moved.draft) == ({"a.txt", "mine.txt"}, chat, "")
    record = await session.workspace.store.sessions.get(session.id)
    assert record is not None
    await close_session(session)
    resumed = (await resume_session(session.workspace, record)).session
    moved = await rewind(resumed, 1)
    assert (set(tree(root)), moved.draft, resumed.live.record.head) == ({"mine.txt"}, "the first", None)
    assert (root / "mine.txt").read_text() == "by hand\n"
    await close_session(resumed)


async def test_what_a_cancelled_tool_did_is_undone_too__opencode_5911(
    session: Session, gemini: GeminiStandIn
):
    """A command was interrupted after it had written a file, and undo knew nothing of that."""
    root = root_of(session)
    gemini.script(Calls(Call("shell", {"command": "echo test > newfile.txt; echo ready; sleep 600"})), Hang())
    turning = asyncio.create_task(say(session, "go"))
    async with asyncio.timeout(180):
        while not (root / "newfile.txt").exists():
            await asyncio.sleep(0.01)
    await interrupt(session)
    await turning
    assert (root / "newfile.txt").exists()
    await undo(session)
    assert tree(root) == {}


async def test_an_edit_while_the_agent_only_planned_is_reverted__opencode_12201(
    session: Session, gemini: GeminiStandIn
):
    """The assistant changed nothing, the user did, and undo reverted the user."""
    file = root_of(session) / "plan.txt"
    file.write_text("ambiguous\n")
    await turn(session, gemini, "make a plan", read("plan.txt"))
    file.write_text("clear\n")
    await undo(session)
    assert file.read_text() == "clear\n"


async def test_undo_says_so_when_there_is_nothing(session: Session, gemini: GeminiStandIn):
    gemini.script(Text("Hello."))
    await turn(session, gemini, "hi")
    await undo(session)
    with pytest.raises(UsageError, match="nothing to undo"):
        await undo(session)
