"""Branches, and the moves of heads."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import Conflict
from ragforge.domain.versions import MoveAction
from ragforge.store.base import Store
from tests.contract.builders import NOON, a_project, new_session
from tests.contract.builders_versions import a_branch, a_move, an_operation, new_line, new_version


@pytest.mark.emptied
async def test_branch_points_to_where_it_was_set_last(store: Store) -> None:
    session = await new_session(store)
    first, second = await new_line(store, session, 2)
    branch = a_branch(first, "try/it")
    await store.versions.set_branch(branch)
    assert await store.versions.branches(session.project_id) == [branch]
    moved = replace(branch, version_id=second.id, at=second.at)
    back = replace(branch, at=second.at + timedelta(minutes=1))
    for each in (moved, moved, back):
        await store.versions.set_branch(each)
        assert await store.versions.branches(session.project_id) == [each]
    assert await store.check() == []


async def test_branches_come_by_name_and_are_the_projects_own(store: Store) -> None:
    here, there = await new_session(store), await new_session(store)
    version, other = await new_version(store, here), await new_version(store, there)
    names = ["b", "a/b", "é", "Z", "日本"]
    for name in names:
        await store.versions.set_branch(a_branch(version, name))
    elsewhere = a_branch(other, "b")
    await store.versions.set_branch(elsewhere)
    found = await store.versions.branches(here.project_id)
    assert found == [a_branch(version, name) for name in sorted(names)]
    assert await store.versions.branches(there.project_id) == [elsewhere]
    assert await store.versions.branches("nowhere") == []


async def test_deleted_branch_takes_no_version_with_it(store: Store) -> None:
    session = await new_session(store)
    version = await new_version(store, session)
    await store.versions.set_branch(a_branch(version, "a"))
    await store.versions.set_branch(a_branch(version, "b"))
    assert await store.versions.delete_branch(session.project_id, "a")
    assert not await store.versions.delete_branch(session.project_id, "a")
    assert not await store.versions.delete_branch("nowhere", "b")
    assert await store.versions.branches(session.project_id) == [a_branch(version, "b")]
    assert await store.versions.get([version.id]) == [version]
    await store.versions.set_branch(a_branch(version, "a"))
    assert len(await store.versions.branches(session.project_id)) == 2


async def test_branch_points_to_a_version_of_its_project(store: Store) -> None:
    here, there = await new_session(store), await new_session(store)
    version = await new_version(store, here)
    for wrong in (
        a_branch(version, version_id="nowhere"),
        a_branch(version, project_id=there.project_id),
        a_branch(version, project_id="nowhere"),
    ):
        with pytest.raises(Conflict, match="nowhere|" + version.id):
            await store.versions.set_branch(wrong)
    assert await store.versions.branches(here.project_id) == await store.versions.branches(there.project_id)


@pytest.mark.emptied
async def test_moves_come_newest_first_and_are_kept_once(store: Store) -> None:
    session = await new_session(store)
    other = await new_session(store, await store.projects.get(session.project_id))
    await store.versions.add_move(a_move(await new_session(store)))
    moves = [
        a_move(session, action=action, at=NOON + timedelta(minutes=at), from_version="a", to_version="b")
        for at, action in enumerate(MoveAction)
    ]
    moves.append(a_move(other, at=NOON, from_turn="t2", to_turn="t1"))
    moves.append(a_move(other, at=NOON, **an_operation("t2", "t1", undoes=moves[0].id)))
    moves.append(a_move(other, at=NOON, kept={}))  # it looked, and kept nothing
    for move in (*moves, *moves):
        await store.versions.add_move(move)
    await store.versions.add_move(replace(moves[0], to_version="elsewhere"))
    wanted = sorted(moves, key=lambda move: (move.at, move.id), reverse=True)
    assert await store.versions.moves(session.project_id) == wanted
    assert await store.versions.moves(session.project_id, limit=2) == wanted[:2]
    assert await store.versions.moves(session.project_id, limit=0) == []
    assert await store.versions.moves(session.project_id, limit=None) == wanted
    of_session = await store.versions.moves(session.project_id, session_id=session.id)
    assert of_session == [move for move in wanted if move.session_id == session.id]
    assert await store.versions.moves(session.project_id, session_id="nowhere") == []
    assert await store.versions.moves("nowhere") == []
    assert await store.check() == []


async def test_move_of_no_project_is_refused(store: Store) -> None:
    with pytest.raises(Conflict, match="nowhere"):
        await store.versions.add_move(a_move(a_project(id="nowhere")))
