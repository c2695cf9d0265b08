"""`ragforge project`: which projects there are, and which one a folder is."""

import subprocess
from pathlib import Path

from tests.cli.running import Program


def clone(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for line in (["init", "-q"], ["remote", "add", "origin", "git@example.org:zoo.git"]):
        subprocess.run(["git", *line], cwd=folder, check=True)
    return folder


async def test_a_clone_says_that_it_stays_apart_until_it_joins(quick: Program) -> None:
    first, second = clone(quick.project), clone(quick.tmp_path / "clone")
    assert (await quick.run("memory", "add", "Zebras eat hay.", cwd=first)).code == 0
    apart = await quick.run("memory", "list", cwd=second)
    assert "Zebras" not in apart.out
    assert "shares its origin with another project and stays apart: project (" in apart.err
    (row,) = (await quick.run("project", "list", "--json", cwd=second)).json
    assert (row["name"], row["git_remote"], row["here"]) == ("project", "example.org/zoo", False)
    joined = await quick.run("project", "join", "project", cwd=second)
    assert (joined.code, "is part of project (" in joined.out) == (0, True), joined.err
    now = await quick.run("memory", "list", cwd=second)
    assert "Zebras" in now.out
    assert "apart" not in now.err
    assert (await quick.run("project", "list", cwd=second)).out.startswith(f"* {row['id']}  project (")
    left = await quick.run("project", "leave", cwd=second)
    assert f"`ragforge project join {row['id']}` goes back" in left.err
    assert "Zebras" not in (await quick.run("memory", "list", cwd=second)).out


async def test_a_project_that_cannot_be_told_is_joined_by_nobody(quick: Program) -> None:
    other, third = quick.tmp_path / "a" / "zoo", quick.tmp_path / "b" / "zoo"
    for folder in (other, third):
        folder.mkdir(parents=True)
        assert (await quick.run("memory", "add", f"We are in {folder}.", cwd=folder)).code == 0
    ids = [row["id"] for row in (await quick.run("project", "list", "--json")).json]
    several = await quick.run("project", "join", "zoo")
    assert several.code == 2
    assert all(id in several.err for id in ids)
    for named, words in (("okapi", "There is no project"), (ids[0][-3:], "There is no project")):
        unknown = await quick.run("project", "join", named)
        assert (unknown.code, words in unknown.err) == (2, True), unknown
    assert (await quick.run("project", "join", ids[0][-8:])).code == 0
    again = await quick.run("project", "join", ids[0])
    assert (again.code, "is part of zoo already" in again.err) == (2, True)
