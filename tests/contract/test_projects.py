from datetime import timedelta

from msgspec.structs import replace

from ragforge.domain.ids import new_id
from ragforge.store.base import Store
from tests.contract.builders import NOON, a_project


async def test_unknown_project_is_none(store: Store) -> None:
    assert await store.projects.get("nowhere") is None


async def test_project_of_the_same_id_is_replaced(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    await store.projects.add(replace(project, name="renamed", git_remote="r"))
    assert await store.projects.get(project.id) == replace(project, name="renamed", git_remote="r")


async def test_clones_are_found_by_remote_or_first_commit_newest_first(store: Store) -> None:
    remote, one = new_id(), new_id()
    old = a_project(git_remote=remote, first_commit=one)
    new = a_project(git_remote="other", first_commit=one, created_at=NOON + timedelta(days=1))
    for project in (old, new, a_project()):
        await store.projects.add(project)
    assert await store.projects.find(first_commit=one) == [new, old]
    assert await store.projects.find(git_remote=remote, first_commit=one) == [new, old]
    assert await store.projects.find(git_remote=remote) == [old]
    every = await store.projects.every()
    assert [each for each in every if each in (old, new)] == [new, old]


async def test_empty_remote_matches_no_project_without_one(store: Store) -> None:
    await store.projects.add(a_project())
    assert await store.projects.find() == []
    assert await store.projects.find(git_remote="", first_commit="") == []


async def test_project_is_found_by_text_that_no_encoding_holds(store: Store) -> None:
    remote = f"{new_id()} \ud83d.git"
    project = a_project(git_remote=remote, first_commit="\0")
    await store.projects.add(project)
    assert [found.id for found in await store.projects.find(git_remote=remote)] == [project.id]
    assert await store.projects.find(git_remote=f"{remote} \udce9") == []
