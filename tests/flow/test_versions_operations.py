"""What the log says that moves did, and how a redo goes by it, also where it says nothing."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import UsageError
from ragforge.domain.moves import Part
from ragforge.domain.versions import CheckoutLog, MoveAction
from ragforge.session.moves import checkout, redo, undo
from ragforge.session.state import Session
from ragforge.store.sqlite.connection import connect
from ragforge.store.transfer import restore, verified
from ragforge.versions import moves
from ragforge.versions.head_move import ChatHead
from tests.contract.builders_archive import FORMAT_2
from tests.flow.moving import beside, read, root_of, tree, turn, versions_of, write
from tests.standins.gemini import GeminiStandIn


async def log_of(session: Session) -> list[CheckoutLog]:
    """The session's moves, oldest first."""
    workspace = session.workspace
    return (await workspace.store.versions.moves(workspace.project.id, session_id=session.id))[::-1]


def forget_what_moves_did(session: Session) -> None:
    """Leave of each move what the release before kept of it."""
    path = session.workspace.store.url.removeprefix("sqlite://")
    connection = connect(Path(path))
    connection.execute("UPDATE move SET command = '', undoes = '', turns = '[]', kept = NULL, aside = '{}'")
    connection.close()


async def test_the_log_says_which_turns_moved_by_which_command_and_what_was_kept(
    session: Session, gemini: GeminiStandIn
):
    file = root_of(session) / "a.txt"
    one = await turn(session, gemini, "one", write("a.txt", "1\n"), write("b.txt", "1\n"))
    file.write_text("by hand\n")
    two = await turn(session, gemini, "two", read("a.txt"), write("a.txt", "2\n"))
    three = await turn(session, gemini, "three", write("c.txt", "3\n"))
    (root_of(session) / "c.txt").unlink()
    await undo(session, 3)
    newer, older = await log_of(session)
    assert (newer.turns, older.turns) == ((three.id, two.id), (one.id,))
    assert newer.command_id == older.command_id != ""
    assert newer.kept == {"c.txt": None}
    assert older.kept
    assert (set(older.kept), older.kept["a.txt"] is None) == ({"a.txt"}, False)

    await redo(session, 3)
    *_, first, second, third = await log_of(session)
    assert [each.turns for each in (first, second, third)] == [(one.id,), (two.id,), (three.id,)]
    assert [each.undoes for each in (first, second, third)] == [older.id, newer.id, newer.id]
    assert len({newer.command_id, *(each.command_id for each in (first, second, third))}) == 2
    assert not (root_of(session) / "c.txt").exists()

    await undo(session, part=Part.FILES)
    await redo(session)
    undone, redone = (await log_of(session))[-2:]
    assert (undone.turns, redone.undoes) == ((three.id,), undone.id)
    [version] = await versions_of(session, one)
    await checkout(session, version.id)
    [*_, left] = await log_of(session)
    assert (left.action, left.turns) == (MoveAction.CHECKOUT, (three.id, two.id))


async def test_a_log_that_does_not_say_what_moves_did_is_redone_all_the_same(
    session: Session, gemini: GeminiStandIn
):
    file = root_of(session) / "a.txt"
    await turn(session, gemini, "one", write("a.txt", "1\n"))
    await turn(session, gemini, "two", read("a.txt"), write("a.txt", "2\n"), write("b.txt", "2\n"))
    await turn(session, gemini, "three", write("c.txt", "3\n"))
    after = tree(root_of(session))
    await undo(session, 2)
    await redo(session)
    await undo(session, part=Part.FILES)
    await redo(session)
    forget_what_moves_did(session)
    await redo(session)
    assert tree(root_of(session)) == after
    with pytest.raises(UsageError, match="nothing to redo"):
        await redo(session)

    file.write_text("1\n")
    await undo(session, 2)
    forget_what_moves_did(session)
    assert (await redo(session)).kept == ("a.txt",)
    assert file.read_text() == "1\n"


async def test_a_backup_of_the_release_before_is_redone(session: Session, tmp_path: Path):
    workspace = session.workspace
    found = await verified(FORMAT_2)
    await restore(found, workspace.store, workspace.blobs, machine_dir=tmp_path)
    [record] = [row.session for row in await workspace.store.sessions.recent()]
    project = await workspace.store.projects.get(record.project_id)
    assert project
    worktree = session.worktree
    restored = replace(worktree, files=replace(worktree.files, project=project), session_id=record.id)

    async def follow(_: str) -> None:
        pass

    chat = ChatHead(record.id, record.head or "", follow)
    redone = await moves.redo(restored, chat, part=Part.CHAT)
    assert [turn.index for turn in redone.turns] == [2]
    with pytest.raises(UsageError, match="nothing to redo"):
        await moves.redo(restored, chat, part=Part.CHAT)
    log = await workspace.store.versions.moves(project.id)
    assert log[0].undoes == log[-1].id


async def test_two_sessions_that_move_at_once_redo_each_their_own(session: Session, gemini: GeminiStandIn):
    mine = await turn(session, gemini, "mine", write("mine.txt", "mine\n"))
    async with beside(session) as other:
        theirs = await turn(other, gemini, "theirs", write("theirs.txt", "theirs\n"))
        after = tree(root_of(session))
        for _ in range(2):
            await asyncio.gather(undo(session), undo(other))
            assert tree(root_of(session)) == {}
            await asyncio.gather(redo(session), redo(other))
            assert tree(root_of(session)) == after
        for each, own in ((session, mine), (other, theirs)):
            first, second, third, fourth = await log_of(each)
            assert {move.turns for move in (first, second, third, fourth)} == {(own.id,)}
            assert (second.undoes, fourth.undoes) == (first.id, third.id)
