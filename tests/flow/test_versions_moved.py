"""Undo, redo, rewind and checkout over whole turns: files, chat, heads and the log of moves."""

from pathlib import Path

import pytest

from ragforge.domain.errors import UsageError
from ragforge.domain.messages import text_of
from ragforge.domain.moves import ConflictChoice, Part
from ragforge.domain.versions import RESTORE, USER, MoveAction
from ragforge.session.moves import checkout, redo, rewind, undo
from ragforge.session.open import fork_session, resume_session
from ragforge.session.state import Session
from ragforge.versions.branches import delete_branch, list_branches, start_branch
from ragforge.versions.head_move import Choices, FilesInConflict
from tests.flow.moving import beside, head_of, line_of, root_of, shell, tree, turn, versions_of, write
from tests.standins.gemini import GeminiStandIn

RESTORED = Choices(ConflictChoice.RESTORE)
MERGED = Choices(ConflictChoice.MERGE)


def put(session: Session, path: str, content: str) -> Path:
    file = root_of(session) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


async def head_turn(session: Session) -> str | None:
    """The chat's head: the same in the session and in the store."""
    stored = await session.workspace.store.sessions.get(session.id)
    assert stored is not None
    assert stored.head == session.live.record.head
    return stored.head


async def test_undo_and_redo_go_back_and_forth_with_files_and_chat(session: Session, gemini: GeminiStandIn):
    put(session, "kept.txt", "mine\n")
    before = tree(root_of(session))
    first = await turn(session, gemini, "write a", write("src/a.txt", "one\n"))
    between = tree(root_of(session))
    second = await turn(session, gemini, "change a", write("src/a.txt", "two\n"), shell("rm kept.txt"))
    after = tree(root_of(session))
    assert "kept.txt" not in after

    moved = await undo(session)
    assert tree(root_of(session)) == between
    assert (moved.draft, await head_turn(session)) == ("change a", first.id)
    assert set(moved.restored) == {"src/a.txt", "kept.txt"}
    assert (moved.kept, moved.skipped, moved.notes) == ((), (), ())
    [first_version] = await versions_of(session, first)
    assert (await head_of(session)).version == first_version.id  # no version is made where there is one

    moved = await undo(session)
    assert tree(root_of(session)) == before
    assert (moved.draft, await head_turn(session)) == ("write a", None)

    moved = await redo(session, 2)
    assert tree(root_of(session)) == after
    assert [text_of(each.user) for each in moved.turns] == ["write a", "change a"]
    assert await head_turn(session) == second.id
    [second_version] = await versions_of(session, second)
    assert (await head_of(session)).version == second_version.id
    with pytest.raises(UsageError, match="nothing to redo"):
        await redo(session)


async def test_the_model_hears_nothing_of_what_was_undone(session: Session, gemini: GeminiStandIn):
    await turn(session, gemini, "about apples", write("a.txt", "apples\n"))
    await turn(session, gemini, "about pears", write("a.txt", "pears\n"))
    await undo(session)
    await turn(session, gemini, "about plums")
    # Summaries are asked for meanwhile.
    sent = str(gemini.asked("streamGenerateContent")[-1])
    assert "about apples" in sent
    assert "about pears" not in sent
    assert session.live.view.window.turn_ids


async def test_several_turns_are_undone_at_once_and_logged(session: Session, gemini: GeminiStandIn):
    before = tree(root_of(session))
    turns = [
        await turn(session, gemini, f"turn {number}", write("a.txt", f"{number}\n")) for number in range(3)
    ]
    moved = await undo(session, 3)
    assert tree(root_of(session)) == before
    assert [each.id for each in moved.turns] == [each.id for each in reversed(turns)]
    assert moved.draft == "turn 0"
    versions = session.workspace.store.versions
    [row] = await versions.moves(session.workspace.project.id)
    assert (row.action, row.from_turn, row.to_turn) == (MoveAction.UNDO, turns[2].id, "")
    with pytest.raises(UsageError, match="nothing to undo"):
        await undo(session)
    await redo(session)
    assert await head_turn(session) == turns[0].id
    with pytest.raises(UsageError, match="Only 1 turn of this session can be undone, not 2"):
        await undo(session, 2)


async def test_what_the_user_edited_since_is_kept(session: Session, gemini: GeminiStandIn):
    await turn(session, gemini, "write", write("a.txt", "theirs\n"))
    put(session, "mine.txt", "mine\n")
    await undo(session)
    assert set(tree(root_of(session))) == {"mine.txt"}
    restore, *_ = await line_of(session)
    assert restore.by == RESTORE
    assert [change.path for change in restore.changes] == ["mine.txt"]
    await redo(session)
    assert set(tree(root_of(session))) == {"a.txt", "mine.txt"}


@pytest.mark.parametrize(
    ("choice", "content"),
    [(ConflictChoice.KEEP, "edited\n"), (ConflictChoice.RESTORE, "old\n"), (ConflictChoice.MERGE, None)],
)
async def test_a_file_that_both_changed_is_a_conflict(
    session: Session, gemini: GeminiStandIn, choice: ConflictChoice, content: str | None
):
    await turn(session, gemini, "one", write("a.txt", "old\n"))
    await turn(session, gemini, "two", write("a.txt", "new\n"), write("b.txt", "b\n"))
    file = put(session, "a.txt", "edited\n")
    moved = await undo(session, choices=Choices(choice))
    assert not (root_of(session) / "b.txt").exists()
    assert moved.removed == ("b.txt",)
    by_choice = {
        ConflictChoice.KEEP: moved.kept,
        ConflictChoice.RESTORE: moved.restored,
        ConflictChoice.MERGE: moved.marked,
    }
    assert "a.txt" in by_choice[choice]
    found = file.read_text()
    if content is None:
        assert all(words in found for words in ("<<<<<<<", "edited\n", "old\n", ">>>>>>>"))
    else:
        assert found == content
    # What lay there is never lost.
    edited = next(version for version in await line_of_all(session) if version.by == USER)
    await checkout(session, edited.id, choices=RESTORED)
    assert file.read_text() == "edited\n"


async def line_of_all(session: Session):
    versions = session.workspace.store.versions
    return await versions.get(await versions.all_ids(session.workspace.project.id))


async def test_changes_in_different_places_are_merged(session: Session, gemini: GeminiStandIn):
    lines = [f"line {number}\n" for number in range(10)]
    await turn(session, gemini, "one", write("a.txt", "".join(lines)))
    await turn(session, gemini, "two", write("a.txt", "".join(["THEIRS\n", *lines[1:]])))
    file = put(session, "a.txt", "".join(["THEIRS\n", *lines[1:9], "MINE\n"]))
    moved = await undo(session, choices=MERGED)
    assert file.read_text() == "".join([*lines[:9], "MINE\n"])
    assert moved.merged == ("a.txt",)


async def test_an_edit_between_two_turns_outlasts_the_undo_of_both(session: Session, gemini: GeminiStandIn):
    await turn(session, gemini, "one", write("a.txt", "one\n"))
    file = put(session, "a.txt", "one, and mine\n")
    await turn(session, gemini, "two", shell("echo two >> a.txt"))
    moved = await undo(session, 2)
    assert file.read_text() == "one, and mine\n"
    assert moved.kept == ("a.txt",)
    assert await head_turn(session) is None
    await redo(session, 2)
    assert file.read_text() == "one, and mine\ntwo\n"


async def test_another_sessions_work_stays_in_the_line(session: Session, gemini: GeminiStandIn):
    await turn(session, gemini, "mine", write("mine.txt", "1\n"))
    async with beside(session) as other:
        theirs = await turn(other, gemini, "theirs", write("theirs.txt", "2\n"))
        [version] = await versions_of(other, theirs)
    moved = await undo(session)
    assert set(tree(root_of(session))) == {"theirs.txt"}
    assert (moved.restored, moved.removed) == ((), ("mine.txt",))
    restore, before, *_ = await line_of(session)
    assert (restore.by, before.id) == (RESTORE, version.id)
    await redo(session)
    assert set(tree(root_of(session))) == {"mine.txt", "theirs.txt"}


async def test_redo_after_going_another_way_names_what_else_there_is(session: Session, gemini: GeminiStandIn):
    await turn(session, gemini, "base", write("a.txt", "base\n"))
    old = await turn(session, gemini, "the old way", write("a.txt", "old\n"))
    await undo(session)
    new = await turn(session, gemini, "the new way", write("a.txt", "new\n"))
    await undo(session)
    moved = await redo(session)
    assert await head_turn(session) == new.id
    assert "the old way" in moved.notes[0]
    await undo(session)
    await redo(session, turn=old.id[-8:])
    assert (await head_turn(session), (root_of(session) / "a.txt").read_text()) == (old.id, "old\n")
    await undo(session)
    with pytest.raises(UsageError, match="No turn that was undone here fits 'ffffffff'"):
        await redo(session, turn="ffffffff")


async def test_redo_asks_where_the_log_cannot_tell(session: Session, gemini: GeminiStandIn):
    """As on a machine that the log has not reached."""
    base = await turn(session, gemini, "base", write("a.txt", "base\n"))

    async def go_back() -> None:
        await undo(session, part=Part.FILES)  # which leaves no turn of the chat
        await session.workspace.store.sessions.set_head(session.id, base.id)
        session.change(head=base.id)

    one = await turn(session, gemini, "one way", write("a.txt", "1\n"))
    await go_back()
    await turn(session, gemini, "another way", write("a.txt", "2\n"))
    await go_back()
    with pytest.raises(UsageError, match=r"Several turns continue from here.*one way.*another way"):
        await redo(session)
    await redo(session, turn=one.id)
    assert (await head_turn(session), (root_of(session) / "a.txt").read_text()) == (one.id, "1\n")


async def test_rewind_goes_to_before_a_turn(session: Session, gemini: GeminiStandIn):
    before = tree(root_of(session))
    await turn(session, gemini, "one", write("a.txt", "1\n"))
    middle = tree(root_of(session))
    first = await head_turn(session)
    await turn(session, gemini, "two", write("a.txt", "2\n"))
    await turn(session, gemini, "three", write("b.txt", "3\n"))
    for number in (-1, 0, 4):
        with pytest.raises(UsageError, match=f"has 3 turns; there is no turn {number}"):
            await rewind(session, number)
    moved = await rewind(session, 2)
    assert tree(root_of(session)) == middle
    assert (moved.draft, await head_turn(session)) == ("two", first)
    await redo(session, 2)
    await rewind(session, 1)
    assert tree(root_of(session)) == before
    with pytest.raises(UsageError, match="has 0 turns; there is no turn 1"):
        await rewind(session, 1)


async def test_files_and_chat_can_move_alone(session: Session, gemini: GeminiStandIn):
    await turn(session, gemini, "one", write("a.txt", "1\n"))
    first = await head_turn(session)
    second = await turn(session, gemini, "two", write("a.txt", "2\n"))
    file = root_of(session) / "a.txt"
    moved = await undo(session, part=Part.CHAT)
    assert (file.read_text(), await head_turn(session), moved.draft) == ("2\n", first, "two")
    await redo(session, part=Part.CHAT)
    moved = await undo(session, part=Part.FILES)
    assert (file.read_text(), await head_turn(session), moved.draft) == ("1\n", second.id, "")


async def test_checkout_goes_anywhere_and_back(session: Session, gemini: GeminiStandIn):
    one = await turn(session, gemini, "one", write("a.txt", "1\n"))
    at_one = tree(root_of(session))
    put(session, "mine.txt", "mine\n")
    two = await turn(session, gemini, "two", write("a.txt", "2\n"), shell("mkdir empty; ln -s a.txt link"))
    at_two = tree(root_of(session))
    [first], [second] = await versions_of(session, one), await versions_of(session, two)

    await checkout(session, first.id)
    assert tree(root_of(session)) == at_one
    assert await head_turn(session) == one.id
    await checkout(session, second.id[-8:])
    assert tree(root_of(session)) == at_two
    assert await head_turn(session) == two.id
    await checkout(session, f"{second.id}~2")
    assert tree(root_of(session)) == at_one
    log = await session.workspace.store.versions.moves(session.workspace.project.id)
    assert [row.action for row in log] == [MoveAction.CHECKOUT] * 3
    with pytest.raises(UsageError, match="no version or branch 'nowhere'"):
        await checkout(session, "nowhere")


async def test_what_was_edited_since_is_kept_by_a_checkout_unless_told(
    session: Session, gemini: GeminiStandIn
):
    one = await turn(session, gemini, "one", write("a.txt", "1\n"))
    await turn(session, gemini, "two", write("a.txt", "2\n"))
    file = put(session, "a.txt", "mine\n")
    [first] = await versions_of(session, one)
    moved = await checkout(session, first.id)
    assert (file.read_text(), moved.kept) == ("mine\n", ("a.txt",))
    await checkout(session, first.id, choices=RESTORED)
    assert file.read_text() == "1\n"
    mine = next(version for version in await line_of_all(session) if version.by == USER)
    await checkout(session, mine.id)
    assert file.read_text() == "mine\n"


async def test_checkout_keeps_what_another_session_changed_unless_told(
    session: Session, gemini: GeminiStandIn
):
    one = await turn(session, gemini, "one", write("a.txt", "1\n"))
    [first] = await versions_of(session, one)
    await turn(session, gemini, "two", write("a.txt", "2\n"))
    async with beside(session) as other:
        await turn(other, gemini, "theirs", write("theirs.txt", "theirs\n"))
    moved = await checkout(session, first.id)
    assert (moved.restored, moved.kept) == (("a.txt",), ("theirs.txt",))
    assert set(tree(root_of(session))) == {"a.txt", "theirs.txt"}
    await checkout(session, first.id, choices=RESTORED)
    assert set(tree(root_of(session))) == {"a.txt"}


async def test_who_wants_to_be_asked_is_asked_before_anything_is_touched(
    session: Session, gemini: GeminiStandIn
):
    one = await turn(session, gemini, "one", write("a.txt", "1\n"))
    two = await turn(session, gemini, "two", write("a.txt", "2\n"), write("b.txt", "2\n"))
    put(session, "a.txt", "mine\n")
    before, [first] = tree(root_of(session)), await versions_of(session, one)
    with pytest.raises(FilesInConflict) as asked:
        await undo(session, choices=Choices(ask=True))
    assert asked.value.paths == ("a.txt",)
    async with beside(session) as other:
        await turn(other, gemini, "theirs", write("theirs.txt", "theirs\n"))
    with pytest.raises(FilesInConflict) as asked:
        await checkout(session, first.id, choices=Choices(ask=True))
    assert asked.value.paths == ("theirs.txt",)
    assert await head_turn(session) == two.id
    assert tree(root_of(session)).items() >= before.items()
    assert await session.workspace.store.versions.moves(session.workspace.project.id) == []


async def test_branches_follow_new_versions(session: Session, gemini: GeminiStandIn):
    base = await turn(session, gemini, "base", write("a.txt", "base\n"))
    [version] = await versions_of(session, base)
    started = await start_branch(session.worktree, "left")
    assert (started.current, started.branch.version_id) == (True, version.id)
    await turn(session, gemini, "left", write("a.txt", "left\n"))
    await start_branch(session.worktree, "right", version.id[-8:])
    await checkout(session, "right")
    assert (root_of(session) / "a.txt").read_text() == "base\n"
    right = await turn(session, gemini, "right", write("a.txt", "right\n"))
    assert len(await versions_of(session, right)) == 1
    rows = {row.branch.name: row for row in await list_branches(session.worktree)}
    assert {name: row.current for name, row in rows.items()} == {"left": False, "right": True}
    assert {row.version.title for row in rows.values() if row.version} == {"left", "right"}
    await checkout(session, "left")
    assert (root_of(session) / "a.txt").read_text() == "left\n"
    assert (await head_of(session)).branch == "left"
    with pytest.raises(UsageError, match="The branch 'right' already exists"):
        await start_branch(session.worktree, "right")
    await delete_branch(session.worktree, "left")
    assert (await head_of(session)).branch == ""
    with pytest.raises(UsageError, match="no branch 'left'"):
        await delete_branch(session.worktree, "left")


async def test_a_branch_needs_a_version_and_after_the_first_undo_there_is_none_here(
    session: Session, gemini: GeminiStandIn
):
    with pytest.raises(UsageError, match="These files have no versions yet"):
        await start_branch(session.worktree, "early")
    one = await turn(session, gemini, "one", write("a.txt", "1\n"))
    [version] = await versions_of(session, one)
    await undo(session)
    with pytest.raises(UsageError, match="at the beginning, before the first version") as refused:
        await start_branch(session.worktree, "early")
    assert "`/redo` redoes" in str(refused.value)
    assert not (await start_branch(session.worktree, "named", version.id)).current
    put(session, "b.txt", "mine\n")  # what was edited here is a version of its own
    started = await start_branch(session.worktree, "mine")
    assert started.current
    assert started.version
    assert [change.path for change in started.version.changes] == ["b.txt"]
    assert [row.branch.name for row in await list_branches(session.worktree)] == ["mine", "named"]


async def test_a_fork_undoes_its_own_turns_only(session: Session, gemini: GeminiStandIn):
    await turn(session, gemini, "one", write("a.txt", "1\n"))
    fork = await fork_session(session.workspace, session.live.record)
    try:
        with pytest.raises(UsageError, match="belongs to the other session"):
            await undo(fork)
        await turn(fork, gemini, "two", write("a.txt", "2\n"))
        await undo(fork)
        assert (root_of(session) / "a.txt").read_text() == "1\n"
        assert fork.live.record.head == session.live.record.head
        with pytest.raises(UsageError, match="forked from"):
            await rewind(fork, 1)
    finally:
        assert fork.live.claim
        await fork.live.claim.release()


async def test_nothing_moves_while_it_must_not(session: Session, gemini: GeminiStandIn):
    with pytest.raises(UsageError, match="has no messages yet"):
        await undo(session)
    await turn(session, gemini, "one", write("a.txt", "1\n"))
    shown = (await resume_session(session.workspace, session.live.record, read_only=True)).session
    with pytest.raises(UsageError, match="open elsewhere"):
        await undo(shown)
    session.activity.moving = True
    with pytest.raises(UsageError, match="Files are being moved"):
        await undo(session)
    session.activity.moving = False
    await undo(session)
