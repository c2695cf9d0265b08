"""A move that a crash cut off between the files and the heads: the next start brings the heads along."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ragforge.domain.json import JsonObject
from ragforge.domain.versions import MoveAction
from ragforge.session.moves import redo
from ragforge.session.open import close_session, resume_session
from ragforge.session.state import Session
from ragforge.versions.head_move import Move
from ragforge.versions.restore.operation import apply
from ragforge.versions.restore.plan import make_plan
from ragforge.versions.tree import backward
from tests.flow.moving import head_of, line_of, root_of, shell, turn, versions_of, write
from tests.flow.running import environ, opened
from tests.standins.gemini import GeminiStandIn


def as_it_is(values: JsonObject) -> JsonObject:
    return values


def as_before(values: JsonObject) -> JsonObject:
    """The move as the release before wrote it down."""
    names = (
        *("action", "project_id", "session_id", "head", "target", "title", "branch", "turns", "from_turn"),
        *("to_turn", "aside", "merged", "id", "version_id", "at"),
    )
    return {"draft": "two", **{name: values[name] for name in names}}


async def cut_off(
    session: Session, first, second, written: Callable[[JsonObject], JsonObject] = as_it_is
) -> None:
    """An undo of the second turn, up to where its files are done and its heads are not."""
    async with session.worktree.ground() as ground:
        own = await versions_of(session, second)
        move = Move(
            action=MoveAction.UNDO,
            project_id=ground.files.project.id,
            session_id=session.id,
            from_version=(await head_of(session)).version,
            target=own[0].parents[0],
            title="undo of turn 2",
            turns=(second.id,),
            from_turn=second.id,
            to_turn=first.id,
        )
        plan = await make_plan(
            ground.root, backward(own), {}, ground.files.blobs, title=move.title, then=written(move.to_json())
        )
        await apply(plan, ground.files.state, ground.files.blobs)


@pytest.mark.parametrize("written", [as_it_is, as_before])
async def test_the_heads_follow_the_files_at_the_next_start(
    tmp_path: Path, gemini: GeminiStandIn, written: Callable[[JsonObject], JsonObject]
):
    env = environ(tmp_path, gemini)
    async with opened(tmp_path, env) as session:
        first = await turn(session, gemini, "one", write("a.txt", "1\n"))
        second = await turn(session, gemini, "two", write("a.txt", "2\n"), shell("mkdir -p x; echo 2 > x/b"))
        [version] = await versions_of(session, first)
        await cut_off(session, first, second, written)
        record = session.live.record
    async with opened(tmp_path, env) as later:
        assert any(
            "undo of turn 2 was interrupted and is now complete" in each
            for each in later.workspace.loaded.notices
        )
        assert (root_of(later) / "a.txt").read_text() == "1\n"
        assert not (root_of(later) / "x").exists()
        assert (await head_of(later)).version == version.id
        assert await later.workspace.history.journal(root_of(later)) is None
        store = later.workspace.store
        stored = await store.sessions.get(record.id)
        assert stored is not None
        assert stored.head == first.id
        [row] = await store.versions.moves(later.workspace.project.id)
        assert (row.action, row.from_turn, row.to_turn) == (MoveAction.UNDO, second.id, first.id)
        assert row.turns == (second.id,)
        resumed = (await resume_session(later.workspace, stored)).session
        await redo(resumed)
        assert (root_of(later) / "x" / "b").read_text() == "2\n"
        await close_session(resumed)


async def test_what_was_edited_before_the_next_start_is_not_lost(tmp_path: Path, gemini: GeminiStandIn):
    env = environ(tmp_path, gemini)
    async with opened(tmp_path, env) as session:
        first = await turn(session, gemini, "one", write("a.txt", "1\n"))
        second = await turn(session, gemini, "two", write("a.txt", "2\n"))
        await cut_off(session, first, second)
        (root_of(session) / "a.txt").write_text("mine\n")
        (root_of(session) / "other.txt").write_text("mine too\n")
    async with opened(tmp_path, env) as later:
        assert (root_of(later) / "a.txt").read_text() == "mine\n"
        async with later.worktree.ground():
            pass
        assert {change.path for version in (await line_of(later))[:-1] for change in version.changes} == {
            "a.txt",
            "other.txt",
        }
        nodes = [
            change.after
            for version in await line_of(later)
            for change in version.changes
            if change.path == "a.txt" and change.after
        ]
        assert await later.workspace.blobs.get(nodes[0].digest) == b"mine\n"
