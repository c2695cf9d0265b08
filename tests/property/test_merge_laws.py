"""Merges of whole trees against `git merge-tree`, and what holds of them whatever git says."""

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ragforge.versions.merge.diff3 import merge3
from ragforge.versions.merge.three_way import ConflictKind, VersionMerge, take_theirs
from tests.merging import open_tree

PATHS = ("a", "b", "d/x", "d/y", "d")
LINES = 8
Folder = Mapping[str, bytes]


def content(path: str, edits: Mapping[int, str]) -> bytes:
    """Lines that no other path has, so that nothing looks renamed."""
    lines = [edits.get(number, f"line {number}") for number in range(LINES)]
    return "".join(f"{path} {line}\n" for line in lines).encode()


EDITS = st.dictionaries(st.integers(0, LINES - 1), st.sampled_from("xyz"), max_size=2)
BECOMES = st.one_of(EDITS, EDITS, st.sampled_from(["as it was", "nothing"]))


@st.composite
def three(draw: st.DrawFn) -> tuple[Folder, Folder, Folder]:
    """Base, ours and theirs; few lines and few words, so that both often edit the same."""
    sides: tuple[dict[str, bytes], ...] = ({}, {}, {})
    for path in PATHS:
        if draw(st.booleans()):
            sides[0][path] = content(path, {})
    _without_clash(sides[0])
    for side in sides[1:]:
        for path in PATHS:
            become = draw(BECOMES)
            if isinstance(become, dict):
                side[path] = content(path, become)
            elif become == "as it was" and path in sides[0]:
                side[path] = sides[0][path]
        _without_clash(side)
    return sides[0], sides[1], sides[2]


def _without_clash(files: dict[str, bytes]) -> None:
    """`d` is a file or a folder: of a folder that holds `d/x` the file goes, else what is in the folder."""
    if "d/x" in files:
        files.pop("d", None)
    elif "d" in files:
        files.pop("d/y", None)


def git_merge(base: Folder, ours: Folder, theirs: Folder, *later: Folder) -> tuple[Folder, set[str]]:
    """What git merges them to, and the paths in conflict. later: both, after each merged the other."""
    with tempfile.TemporaryDirectory() as folder:
        environ = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

        def git(*args: str, content: bytes = b"") -> tuple[int, bytes]:
            names = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
            done = subprocess.run(
                ["git", *names, *args],
                cwd=folder,
                env=environ,
                input=content,
                capture_output=True,
                check=False,
            )
            return done.returncode, done.stdout

        def commit(files: Folder, *parents: str) -> str:
            lines = []
            git("read-tree", "--empty")
            for path, content in files.items():
                digest = git("hash-object", "-w", "--stdin", content=content)[1].decode().strip()
                lines.append(f"100644 {digest}\t{path}\n")
            assert git("update-index", "--index-info", content="".join(lines).encode())[0] == 0
            tree = git("write-tree")[1].decode().strip()
            links = [word for parent in parents for word in ("-p", parent)]
            code, made = git("commit-tree", "-m", "x", tree, *links)
            assert code == 0
            return made.decode().strip()

        git("init", "-q")
        root = commit(base)
        sides = [commit(ours, root), commit(theirs, root)]
        if later:
            # Each merged the other, to its own mind.
            sides = [commit(later[0], *sides), commit(later[1], *reversed(sides))]
        code, told = git("merge-tree", "--write-tree", "--name-only", "--no-messages", *sides)
        assert code in (0, 1), told
        tree, *conflicts = told.decode().split()
        assert bool(conflicts) == bool(code)
        names = git("ls-tree", "-r", "-z", "--name-only", tree)[1].decode().split("\0")[:-1]
        return {name: git("show", f"{tree}:{name}")[1] for name in names}, set(conflicts)


async def merged(
    base: Folder, ours: Folder, theirs: Folder, *later: Folder
) -> tuple[VersionMerge, Folder, Folder]:
    """The merge, the files after it, and those with theirs taken in all conflicts. later: as with git."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_tree(Path(folder)) as tree:
            start = await tree.version_of((), dict(base))
            sides = [
                await tree.version_of(
                    (start,),
                    {path: side.get(path) for path in (*base, *side) if side.get(path) != base.get(path)},
                )
                for side in (ours, theirs)
            ]
            if later:
                crossed = [(sides[0], sides[1]), (sides[1], sides[0])]
                sides = [
                    await tree.version_of(
                        parents,
                        {
                            path: side.get(path)
                            for path in (*before, *side)
                            if side.get(path) != before.get(path)
                        },
                    )
                    for parents, before, side in zip(crossed, (ours, theirs), later, strict=True)
                ]
            merge = await tree.merge(*sides)
            result = await tree.result(merge)
            state = dict(tree.states[merge.ours])
            taken = [wanted for conflict in merge.conflicts for wanted in take_theirs(conflict)]
            for each in (*merge.wanted, *taken):
                state[each.path] = each.wanted
            as_theirs = {path: await tree.blobs.get(node.digest) for path, node in state.items() if node}
            return merge, result, as_theirs


@settings(max_examples=40, deadline=None)
@given(three())
def test_whole_trees_are_merged_as_git_merges_them(sides: tuple[Folder, Folder, Folder]) -> None:
    merge, result, _ = asyncio.run(merged(*sides))
    of_git, disputed = git_merge(*sides)
    conflicts = {conflict.path for conflict in merge.conflicts}
    assert bool(conflicts) == bool(disputed)
    if not conflicts:
        assert result == of_git
    # A file in the way of a folder gets another name from git; of the others each is compared by itself.
    for path in ("a", "b"):
        assert (path in conflicts) == (path in disputed)
        if path not in conflicts:
            assert result.get(path) == of_git.get(path)


@st.composite
def crossed(draw: st.DrawFn) -> tuple[Folder, ...]:
    """Base, both sides, and both after each merged the other; of files that stay where they are."""
    base = {path: content(path, {}) for path in ("a", "b")}
    edits = [draw(st.fixed_dictionaries(dict.fromkeys(base, EDITS))) for _ in range(4)]
    ours, theirs = ({path: content(path, side[path]) for path in base} for side in edits[:2])
    both = {path: edits[0][path] | edits[1][path] for path in base}
    later = ({path: content(path, both[path] | side[path]) for path in base} for side in edits[2:])
    return (base, ours, theirs, *later)


@settings(max_examples=40, deadline=None)
@given(crossed())
def test_lines_that_merged_each_other_are_merged_as_git_merges_them(sides: tuple[Folder, ...]) -> None:
    merge, result, _ = asyncio.run(merged(*sides))
    of_git, disputed = git_merge(*sides)
    conflicts = {conflict.path for conflict in merge.conflicts}
    base, ours, theirs, *_ = sides
    # Where those to start from clash themselves, git compares with their markers, and may then see a conflict
    # where both sides have settled it alike.
    clashing = {path for path in base if merge3(base[path], ours[path], theirs[path]).conflicts}
    assert conflicts <= disputed
    assert disputed - conflicts <= clashing
    for path in {"a", "b"} - disputed:
        assert result[path] == of_git[path]


def test_what_both_sides_settled_alike_is_no_conflict_however_they_came_there() -> None:
    def text(**changed: str) -> Folder:
        lines = [changed.get(f"line{number}", f"line {number}") for number in range(8)]
        return {"b": "".join(f"{line}\n" for line in lines).encode()}

    base, ours, theirs = text(), text(line0="x", line4="y"), text(line4="x")
    settled, further = text(line0="x", line4="x"), text(line0="x", line2="x", line4="x")
    merge, result, _ = asyncio.run(merged(base, ours, theirs, settled, further))
    assert not merge.conflicts
    assert result == further


@settings(max_examples=40, deadline=None)
@given(three())
def test_nothing_of_either_side_gets_lost(sides: tuple[Folder, Folder, Folder]) -> None:
    base, ours, theirs = sides
    merge, result, as_theirs = asyncio.run(merged(*sides))
    conflicts = {conflict.path for conflict in merge.conflicts}
    for path in {*ours, *theirs} - conflicts:
        mine, yours, before = ours.get(path), theirs.get(path), base.get(path)
        if mine != before and yours in (before, mine):
            assert result.get(path) == mine
        elif yours != before and mine == before:
            assert result.get(path) == yours
    # A conflict leaves ours as it is, and theirs can be had.
    for conflict in merge.conflicts:
        assert result.get(conflict.path) == ours.get(conflict.path)
        if conflict.kind is not ConflictKind.FOLDER:
            assert as_theirs.get(conflict.path) == theirs.get(conflict.path)


@settings(max_examples=20, deadline=None)
@given(three())
def test_the_order_of_the_sides_matters_to_nothing_but_the_labels(
    sides: tuple[Folder, Folder, Folder],
) -> None:
    base, ours, theirs = sides
    merge, result, _ = asyncio.run(merged(base, ours, theirs))
    turned, other, _ = asyncio.run(merged(base, theirs, ours))
    assert bool(merge.conflicts) == bool(turned.conflicts)
    if not merge.conflicts:
        assert result == other
