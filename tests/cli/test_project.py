"""`ragforge project`: which projects there are, and which one a folder is."""

import subprocess
from pathlib import Path

from tests.cli.running import Program
from tests.contract.builders import a_project, new_session, said
from tests.faults.graph import opened


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
    assert "same remote or first commit; this folder is kept separate: project (" in apart.err
    (row,) = (await quick.run("project", "list", "--json", cwd=second)).json
    assert (row["name"], row["git_remote"], row["here"]) == ("project", "example.org/zoo", False)
    joined = await quick.run("project", "join", "project", cwd=second)
    assert (joined.code, "is now part of project (" in joined.out) == (0, True), joined.err
    now = await quick.run("memory", "list", cwd=second)
    assert "Zebras" in now.out
    assert "separate" not in now.err
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
    assert (again.code, "is already part of zoo" in again.err) == (2, True)


async def test_projects_are_merged_with_all_that_is_theirs_and_taken_apart(quick: Program) -> None:
    """Rules hold in both; each folder is what it was after the split."""
    other = quick.tmp_path / "okapis"
    other.mkdir()
    for folder, animal in ((quick.project, "gnu"), (other, "okapi")):
        assert (await quick.run("-p", f"about the {animal}", cwd=folder)).code == 0
    here, there = [row["id"] for row in (await quick.run("project", "list", "--json")).json][::-1]
    unasked = await quick.run("project", "merge", "okapis", stdin=b"y\n")
    assert unasked.code == 2
    assert "1 session with 1 turn, 0 memories" in unasked.out
    for wrong in ((here,), ("nowhere",), (there, "--into", there)):
        assert (await quick.run("project", "merge", *wrong, "--yes")).code == 2
    merged = await quick.run("project", "merge", "okapis", "--yes")
    assert (merged.code, f"`ragforge project split --merged {there}`" in merged.err) == (0, True), merged
    assert [row["id"] for row in (await quick.run("project", "list", "--json", cwd=other)).json] == [here]
    for folder in (quick.project, other):
        assert "okapi" in (await quick.run("search", "okapi", cwd=folder)).out
        assert len((await quick.run("sessions", "--json", cwd=folder)).json) == 2
    assert (await quick.run("-p", "more of the okapi", "-c", cwd=other)).code == 0

    split = await quick.run("project", "split", "--merged", there, "--yes")
    assert (split.code, "1 session with 2 turns" in split.out) == (0, True), split
    assert "okapi" not in (await quick.run("search", "okapi")).out
    [row] = (await quick.run("sessions", "--json", cwd=other)).json
    assert (row["turns"], row["last_message"]) == (2, "more of the okapi")
    assert (await quick.run("db", "check")).code == 0


async def test_a_folder_is_split_from_its_project_and_put_back(quick: Program) -> None:
    other = quick.tmp_path / "okapis"
    other.mkdir()
    assert (await quick.run("-p", "about the gnu")).code == 0
    [row] = (await quick.run("project", "list", "--json")).json
    assert (await quick.run("project", "join", row["id"], cwd=other)).code == 0
    nothing = await quick.run("project", "split", cwd=other)
    assert (nothing.code, "No session of this project began in" in nothing.err) == (2, True)
    assert (await quick.run("-p", "about the okapi", cwd=other)).code == 0
    copy = ("db", "copy", "--to", f"sqlite://{other.parent}/second.db")
    assert (await quick.run(*copy)).code == 0
    split = await quick.run("project", "split", "--yes", cwd=other)
    assert (split.code, split.out.startswith("Moved to okapis (")) == (0, True), split
    assert len((await quick.run("sessions", "--json", cwd=other)).json) == 1
    assert len((await quick.run("sessions", "--json")).json) == 1
    assert (await quick.run(*copy)).code == 0
    second = await quick.run("--store", copy[-1], "sessions", "--json", cwd=other)
    assert len(second.json) == 1, second
    back = split.err.split("`")[1].removeprefix("ragforge ").split()
    assert (await quick.run(*back, "--yes")).code == 0
    for folder in (quick.project, other):
        assert len((await quick.run("sessions", "--json", cwd=folder)).json) == 2


async def test_a_project_was_used_last_by_whoever_wrote_in_it_last(alone: Program) -> None:
    async with opened(f"sqlite://{alone.data}/ragforge.db", alone.data) as store:
        project = a_project(name="zoo")
        await store.projects.add(project)
        session = await new_session(store, project, person="ada@example.org", cwd="/home/ada/zoo")
        first = await said(store, session, person="ada@example.org")
        assert "last used by ada@example.org in /home/ada/zoo" in (await alone.run("project", "list")).out
        await said(store, session, "And this.", parent=first, person="bob@example.org")
        listed = (await alone.run("project", "list")).out
    assert "last used by bob@example.org, " in listed
    assert "/home/ada" not in listed
