"""Moves of the files alone and back again, and of what other sessions made."""

import re

import pytest

from ragforge.domain.errors import UsageError
from ragforge.domain.moves import Part
from ragforge.domain.versions import MoveAction
from ragforge.session.moves import checkout, redo, undo
from ragforge.session.open import fork_session
from ragforge.session.state import Session
from ragforge.versions.attempts.merge import merge
from ragforge.versions.branches import list_branches, start_branch
from ragforge.versions.words import moved_lines
from tests.flow.moving import beside, line_of, root_of, shell, tree, turn, versions_of, write
from tests.standins.gemini import GeminiStandIn


@pytest.mark.parametrize("part", [Part.BOTH, Part.FILES])
async def test_files_that_were_undone_alone_come_again(session: Session, gemini: GeminiStandIn, part: Part):
    await turn(session, gemini, "one", write("a.txt", "1\n"))
    before = tree(root_of(session))
    second = await turn(
        session, gemini, "two", shell("rm a.txt; echo 2 > b.txt; chmod 700 b.txt; mkdir empty")
    )
    after = tree(root_of(session))
    await undo(session, part=Part.FILES)
    assert tree(root_of(session)) == before
    (root_of(session) / "mine.txt").write_text("mine\n")
    moved = await redo(session, part=part)
    assert moved.turns == ()
    assert not moved.chat
    assert session.live.record.head == second.id
    (root_of(session) / "mine.txt").unlink()
    assert tree(root_of(session)) == after
    with pytest.raises(UsageError, match="nothing to redo"):
        await redo(session, part=part)


async def test_what_was_undone_last_comes_again_first_be_it_files_alone_or_a_turn(
    session: Session, gemini: GeminiStandIn
):
    await turn(session, gemini, "one", write("a.txt", "1\n"))
    at_one = tree(root_of(session))
    await turn(session, gemini, "two", write("b.txt", "2\n"))
    at_two = tree(root_of(session))
    await undo(session)
    await undo(session, part=Part.FILES)
    assert tree(root_of(session)) == {}
    await redo(session)
    assert tree(root_of(session)) == at_one
    await redo(session)
    assert tree(root_of(session)) == at_two
    await undo(session)
    await undo(session, part=Part.FILES)
    moved = await redo(session, 2)
    assert tree(root_of(session)) == at_two
    assert len(moved.turns) == 1
    assert moved.chat


async def test_a_redo_of_more_than_was_undone_changes_nothing_and_says_how_much_it_could(
    session: Session, gemini: GeminiStandIn
):
    for number in range(3):
        await turn(session, gemini, f"turn {number}", write(f"{number}.txt", f"{number}\n"))
    done, head = tree(root_of(session)), session.live.record.head
    await undo(session, 2)
    await undo(session, part=Part.FILES)
    before, chat = tree(root_of(session)), session.live.record.head
    with pytest.raises(UsageError, match=r"Only 3 can be redone, not 9\. Nothing was changed"):
        await redo(session, 9)
    assert (tree(root_of(session)), session.live.record.head) == (before, chat)
    await redo(session, 3)
    assert (tree(root_of(session)), session.live.record.head) == (done, head)
    await undo(session, 2)
    with pytest.raises(UsageError, match="Only 2 can be redone, not 3"):
        await redo(session, 3, part=Part.FILES)
    await redo(session, 2, part=Part.FILES)
    assert tree(root_of(session)) == done
    with pytest.raises(UsageError, match="Only 2 can be redone"):
        await redo(session, 3, part=Part.CHAT)


async def test_files_undone_alone_do_not_come_again_after_another_turn(
    session: Session, gemini: GeminiStandIn
):
    await turn(session, gemini, "one", write("a.txt", "1\n"))
    await undo(session, part=Part.FILES)
    await turn(session, gemini, "two", write("b.txt", "2\n"))
    with pytest.raises(UsageError, match="nothing to redo"):
        await redo(session)
    assert set(tree(root_of(session))) == {"b.txt"}


async def test_an_alternative_is_taken_also_by_another_session_than_made_it(
    session: Session, gemini: GeminiStandIn
):
    await turn(session, gemini, "mine", write("a.txt", "1\n"))
    async with beside(session) as other:
        theirs = await turn(other, gemini, "theirs", write("theirs.txt", "theirs\n"))
        await undo(other)
    [version] = await versions_of(session, theirs)
    moved = await checkout(session, version.id)
    assert (moved.restored, moved.kept) == ((), ("theirs.txt",))
    assert moved_lines(moved)[0].startswith("The files stay at version ")
    moved = await checkout(session, version.id, action=MoveAction.TAKE)
    assert (moved.restored, moved.kept) == (("theirs.txt",), ())
    assert moved_lines(moved)[0].startswith("Taken version ")


async def test_a_merge_says_what_goes_back_to_before_it(session: Session, gemini: GeminiStandIn):
    await turn(session, gemini, "begin", write("a.txt", "one\n"))
    await start_branch(session.worktree, "side", "HEAD")
    await turn(session, gemini, "on the side", write("b.txt", "from the side\n"))
    await undo(session)
    await start_branch(session.worktree, "main", "HEAD")
    await turn(session, gemini, "on the main line", shell("echo more >> a.txt"))
    (root_of(session) / "mine.txt").write_text("mine\n")
    before = tree(root_of(session))
    moved = await merge(session, "side")
    assert tree(root_of(session)) != before
    [found] = [re.match(r"`/checkout (\w+)` goes back to before the merge\.", note) for note in moved.notes]
    assert found
    await checkout(session, found[1])
    assert tree(root_of(session)) == before


async def test_a_branch_stays_with_what_was_undone_when_another_way_is_gone(
    session: Session, gemini: GeminiStandIn
):
    await turn(session, gemini, "begin", write("a.txt", "one\n"))
    await turn(session, gemini, "one way", write("b.txt", "left\n"))
    [tip, *_] = await line_of(session)
    await start_branch(session.worktree, "left", "HEAD")
    await undo(session)
    await turn(session, gemini, "another way", write("c.txt", "right\n"))
    await turn(session, gemini, "further", write("d.txt", "right\n"))
    [row] = await list_branches(session.worktree)
    assert (row.branch.version_id, row.current) == (tip.id, False)
    await merge(session, "left")
    assert set(tree(root_of(session))) == {"a.txt", "b.txt", "c.txt", "d.txt"}
    await checkout(session, "left")
    await turn(session, gemini, "on the branch", write("e.txt", "left\n"))
    [row] = await list_branches(session.worktree)
    assert (row.version and row.version.title, row.current) == ("on the branch", True)


async def test_what_an_undo_kept_comes_again_once_the_user_has_put_it_back(
    session: Session, gemini: GeminiStandIn
):
    await turn(session, gemini, "begin", write("a.txt", "0\n"))
    await turn(session, gemini, "one", write("a.txt", "1\n"))
    file = root_of(session) / "a.txt"
    file.write_text("by hand\n")
    assert (await undo(session)).kept == ("a.txt",)
    assert file.read_text() == "by hand\n"
    file.write_text("0\n")
    assert (await redo(session)).restored == ("a.txt",)
    assert file.read_text() == "1\n"


async def test_a_redo_never_takes_a_turn_of_a_fork(session: Session, gemini: GeminiStandIn):
    await turn(session, gemini, "one", write("a.txt", "1\n"))
    fork = await fork_session(session.workspace, session.live.record)
    try:
        await turn(fork, gemini, "theirs", write("b.txt", "2\n"))
        with pytest.raises(UsageError, match="nothing to redo"):
            await redo(session)
    finally:
        assert fork.live.claim
        await fork.live.claim.release()
