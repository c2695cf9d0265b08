"""Merges of two versions, in a real store with a real blob store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragforge.domain.errors import UsageError
from ragforge.domain.ids import new_id
from ragforge.domain.versions import Node, NodeKind
from ragforge.versions.merge import three_way as merging
from ragforge.versions.merge.ancestors import common_bases
from ragforge.versions.merge.three_way import ConflictKind
from ragforge.versions.tree import WantedFile
from tests.merging import Tree, open_tree

FOLDER = Node(NodeKind.FOLDER, "", 0o755)
LINES = [f"line {number}" for number in range(12)]
TEXT = "\n".join(LINES).encode() + b"\n"


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[Tree]:
    async with open_tree(tmp_path) as tree:
        yield tree


def edited(line: int, text: str = "changed") -> bytes:
    return TEXT.replace(f"{LINES[line]}\n".encode(), f"{text}\n".encode())


async def test_what_one_side_changed_is_taken(tree: Tree) -> None:
    result = await tree.clean(
        {"both": b"1\n", "mine": b"1\n", "yours": b"1\n", "gone": b"1\n", "kept": b"1\n"},
        {"mine": b"2\n", "new-mine": b"3\n"},
        {"yours": b"2\n", "new-yours": b"3\n", "gone": None},
    )
    assert result == {
        "both": b"1\n",
        "mine": b"2\n",
        "yours": b"2\n",
        "kept": b"1\n",
        "new-mine": b"3\n",
        "new-yours": b"3\n",
    }


async def test_what_both_did_alike_is_no_conflict(tree: Tree) -> None:
    merge = await tree.sides(
        {"a": b"1\n", "gone": b"1\n"},
        {"a": b"2\n", "new": b"3\n", "gone": None},
        {"a": b"2\n", "new": b"3\n", "gone": None},
    )
    assert (merge.wanted, merge.conflicts, merge.merged) == ((), (), ())


async def test_edits_of_different_lines_come_together(tree: Tree) -> None:
    merge = await tree.sides({"a": TEXT}, {"a": edited(1)}, {"a": edited(9)})
    assert merge.merged == ("a",)
    assert await tree.result(merge) == {"a": edited(1).replace(b"line 9\n", b"changed\n")}


async def test_edits_of_the_same_line_are_a_conflict_with_its_text(tree: Tree) -> None:
    conflict = await tree.conflict({"a": TEXT}, {"a": edited(5, "mine")}, {"a": edited(5, "yours")})
    assert (conflict.kind, conflict.path, conflict.clashes) == (ConflictKind.CONTENT, "a", 1)
    assert conflict.base
    assert conflict.text == TEXT.replace(b"line 5\n", b"<<<<<<< ours\nmine\n=======\nyours\n>>>>>>> theirs\n")
    [marked] = await merging.take_content(conflict, conflict.text, tree.blobs)
    assert (marked.path, marked.expected) == ("a", conflict.ours)
    assert marked.wanted
    assert await tree.blobs.get(marked.wanted.digest) == conflict.text
    assert merging.take_theirs(conflict) == [WantedFile("a", conflict.ours, conflict.theirs)]


async def test_both_added_a_file(tree: Tree) -> None:
    conflict = await tree.conflict({}, {"a": b"same\nmine\n"}, {"a": b"same\nyours\n"})
    assert (conflict.kind, conflict.base) == (ConflictKind.ADDED, None)
    assert conflict.text == b"same\n<<<<<<< ours\nmine\n=======\nyours\n>>>>>>> theirs\n"


@pytest.mark.parametrize("ours_removed", [True, False])
async def test_removed_against_edited(tree: Tree, ours_removed: bool) -> None:
    sides = [{"a": None}, {"a": b"2\n"}]
    conflict = await tree.conflict({"a": b"1\n"}, *(sides if ours_removed else sides[::-1]))
    assert (conflict.kind, conflict.text) == (ConflictKind.REMOVED, None)
    assert (conflict.ours is None, conflict.theirs is None) == (ours_removed, not ours_removed)
    assert merging.take_theirs(conflict) == [WantedFile("a", conflict.ours, conflict.theirs)]


async def test_a_renamed_file_gets_the_edits_of_the_other_side(tree: Tree) -> None:
    base = {"old": TEXT, "other": b"1\n"}
    renamed, changed = {"old": None, "new": TEXT}, {"old": edited(3)}
    expected = {"new": edited(3), "other": b"1\n"}
    assert await tree.clean(base, renamed, changed) == expected
    assert await tree.clean(base, changed, renamed) == expected


async def test_a_file_that_was_renamed_and_edited_is_known_by_its_lines(tree: Tree) -> None:
    base, both = {"old": TEXT}, edited(1).replace(b"line 9\n", b"changed\n")
    renamed, changed = {"old": None, "new": edited(1)}, {"old": edited(9)}
    assert await tree.clean(base, renamed, changed) == {"new": both}
    assert await tree.clean(base, changed, renamed) == {"new": both}
    other = {"old": None, "new": b"nothing alike\n" * 12}
    assert (await tree.sides(base, other, changed)).conflicts[0].kind is ConflictKind.REMOVED


async def test_a_conflict_in_a_file_that_theirs_renamed_lies_at_the_new_name_when_decided(
    tree: Tree,
) -> None:
    conflict = await tree.conflict(
        {"old": TEXT}, {"old": edited(5, "mine")}, {"old": None, "new": edited(5, "yours")}
    )
    assert (conflict.path, conflict.target, conflict.theirs_path) == ("old", "new", "new")
    wanted = await merging.take_content(conflict, b"decided\n", tree.blobs)
    assert [(each.path, each.expected) for each in wanted] == [("old", conflict.ours), ("new", None)]
    assert wanted[0].wanted is None
    assert merging.take_theirs(conflict) == [
        WantedFile("old", conflict.ours, None),
        WantedFile("new", None, conflict.theirs),
    ]


async def test_both_renamed_a_file(tree: Tree) -> None:
    base = {"old": TEXT}
    same = await tree.clean(base, {"old": None, "new": edited(1)}, {"old": None, "new": TEXT})
    assert same == {"new": edited(1)}
    conflict = await tree.conflict(base, {"old": None, "mine": edited(1)}, {"old": None, "yours": edited(9)})
    assert (conflict.kind, conflict.path, conflict.theirs_path) == (
        ConflictKind.RENAMED,
        "mine",
        "yours",
    )
    assert (conflict.text or b"").count(b"changed\n") == 2
    assert [each.path for each in merging.take_theirs(conflict)] == ["mine", "yours"]


async def test_renamed_against_removed(tree: Tree) -> None:
    conflict = await tree.conflict({"old": TEXT}, {"old": None, "new": TEXT}, {"old": None})
    assert (conflict.kind, conflict.path, conflict.theirs) == (ConflictKind.REMOVED, "new", None)


async def test_a_new_name_that_the_other_side_uses_is_no_rename(tree: Tree) -> None:
    merge = await tree.sides(
        {"old": TEXT}, {"old": None, "new": TEXT}, {"old": edited(3), "new": b"theirs\n"}
    )
    assert {conflict.path: conflict.kind for conflict in merge.conflicts} == {
        "old": ConflictKind.REMOVED,
        "new": ConflictKind.ADDED,
    }


async def test_binary_and_large_files_are_conflicts_without_a_text(tree: Tree) -> None:
    conflict = await tree.conflict({"a": b"\0\1"}, {"a": b"\0\2"}, {"a": b"\0\3"})
    assert (conflict.kind, conflict.text) == (ConflictKind.BINARY, None)
    large = [Node(NodeKind.FILE, str(n) * 64, 0o644, merging.BYTES_MAX + n) for n in (1, 2, 3)]
    conflict = await tree.conflict({"a": large[0]}, {"a": large[1]}, {"a": large[2]})
    assert (conflict.kind, conflict.text) == (ConflictKind.TOO_LARGE, None)


async def test_a_content_of_another_machine_is_named(tree: Tree) -> None:
    absent = Node(NodeKind.FILE, "0" * 64, 0o644, 3)
    conflict = await tree.conflict({"a": b"1\n"}, {"a": b"2\n"}, {"a": absent})
    assert conflict.kind is ConflictKind.MISSING
    # Where nothing has to be read for it, it is no conflict.
    assert [each.wanted for each in (await tree.sides({"a": b"1\n"}, {}, {"a": absent})).wanted] == [absent]


async def test_modes_are_merged_apart_from_contents(tree: Tree) -> None:
    program = await tree.node(TEXT, 0o755)
    merge = await tree.sides({"a": TEXT}, {"a": edited(1)}, {"a": program})
    [wanted] = merge.wanted
    assert wanted.wanted
    assert wanted.wanted.mode == 0o755
    assert await tree.result(merge) == {"a": edited(1)}
    conflict = await tree.conflict(
        {"a": TEXT}, {"a": await tree.node(edited(1), 0o600)}, {"a": await tree.node(edited(9), 0o755)}
    )
    assert (conflict.kind, conflict.clashes) == (ConflictKind.MODE, 0)
    assert (conflict.text or b"").count(b"changed\n") == 2


async def test_links_are_taken_whole_or_are_a_conflict(tree: Tree) -> None:
    one, two, three = [await tree.link(target) for target in (b"one", b"two", b"three")]
    assert await tree.clean({"a": one}, {}, {"a": two}) == {"a": b"two"}
    for ours, theirs in ((two, three), (b"a file\n", two), (two, b"a file\n")):
        conflict = await tree.conflict({"a": one}, {"a": ours}, {"a": theirs})
        assert (conflict.kind, conflict.text) == (ConflictKind.KIND, None)


async def test_empty_folders_come_and_go_and_are_in_nobodys_way(tree: Tree) -> None:
    merge = await tree.sides(
        {"gone": FOLDER, "f": FOLDER}, {"f": None, "f/x": b"1\n"}, {"gone": None, "new": FOLDER}
    )
    assert [(each.path, each.wanted) for each in merge.wanted] == [("gone", None), ("new", FOLDER)]
    # Ours emptied the folder, theirs put one more file into it.
    assert await tree.clean({"f/x": b"1\n"}, {"f/x": None, "f": FOLDER}, {"f/y": b"2\n"}) == {"f/y": b"2\n"}


async def test_a_file_in_the_way_of_a_folder_is_a_conflict(tree: Tree) -> None:
    conflict = await tree.conflict({}, {"a": b"file\n"}, {"a/b": b"in a folder\n"})
    assert (conflict.kind, conflict.path, conflict.ours) == (ConflictKind.FOLDER, "a/b", None)
    conflict = await tree.conflict({}, {"a/b/c": b"in a folder\n"}, {"a": b"file\n"})
    assert (conflict.kind, conflict.path) == (ConflictKind.FOLDER, "a")
    # What theirs replaced by a folder is no longer in the way.
    assert await tree.clean({"a": b"file\n"}, {"x": b"1\n"}, {"a": None, "a/b": b"2\n"}) == {
        "x": b"1\n",
        "a/b": b"2\n",
    }


async def test_a_file_that_theirs_moves_to_where_ours_has_a_folder_stays(tree: Tree) -> None:
    merge = await tree.sides({"old": TEXT}, {"old": edited(1), "new/x": b"1\n"}, {"old": None, "new": TEXT})
    [conflict] = merge.conflicts
    assert (merge.wanted, conflict.kind, conflict.path, conflict.target) == (
        (),
        ConflictKind.FOLDER,
        "old",
        "new",
    )
    assert await tree.result(merge) == {"old": edited(1), "new/x": b"1\n"}


async def test_the_base_is_the_nearest_that_both_come_from(tree: Tree) -> None:
    root = await tree.version(a=b"1\n")
    fork = await tree.version(root, b=b"1\n")
    ours = await tree.version(await tree.version(fork, c=b"1\n"), c=b"2\n")
    theirs = await tree.version(fork, d=b"1\n")

    async def bases(one: str, other: str) -> list[str]:
        return (await common_bases(tree.store.versions, one, other))[1]

    assert await bases(ours, theirs) == [fork]
    assert await bases(ours, ours) == [ours]
    assert await bases(ours, root) == [root]
    assert await bases(ours, await tree.version(z=b"1\n")) == []
    with pytest.raises(UsageError, match="no version"):
        await bases(ours, new_id())
    left = await tree.version_of((ours, theirs), {})
    right = await tree.version_of((theirs, ours), {})
    assert await bases(left, right) == [theirs, ours], "the newest first"


async def test_what_was_merged_before_is_not_merged_again(tree: Tree) -> None:
    root = await tree.version(a=TEXT)
    ours, theirs = await tree.version(root, a=edited(1)), await tree.version(root, a=edited(9))
    first = await tree.merge(ours, theirs)
    [wanted] = first.wanted
    merged = await tree.version_of((ours, theirs), {"a": wanted.wanted})
    again = await tree.merge(merged, theirs)
    assert (again.base, again.wanted, again.conflicts) == (theirs, (), ())
    # Theirs goes on from what was merged: the base is no first parent of ours.
    later = await tree.version(theirs, a=edited(9).replace(b"line 5\n", b"later\n"))
    second = await tree.merge(merged, later)
    assert (second.base, second.conflicts) == (theirs, ())
    result = await tree.result(second)
    assert result["a"] == edited(1).replace(b"line 9\n", b"changed\n").replace(b"line 5\n", b"later\n")


async def crossed(tree: Tree, one: bytes, other: bytes, both: bytes) -> tuple[str, str]:
    """Two lines of which each merged the other before, to the same."""
    root = await tree.version(a=TEXT)
    ours, theirs = await tree.version(root, a=one), await tree.version(root, a=other)
    node = {"a": await tree.node(both)}
    return await tree.version_of((ours, theirs), node), await tree.version_of((theirs, ours), node)


async def test_where_each_side_merged_the_other_both_bases_count(tree: Tree) -> None:
    both = edited(1).replace(b"line 9\n", b"changed\n")
    left, right = await crossed(tree, edited(1), edited(9), both)
    # To whoever went by one of the bases alone, each side would have changed lines 1 and 9.
    ours = await tree.version(left, a=both.replace(b"changed\n", b"mine\n", 1))
    theirs = await tree.version(right, a=both.replace(b"line 9\n", b"").replace(b"line 5\n", b"yours\n"))
    merge = await tree.merge(ours, theirs)
    assert merge.conflicts == ()
    assert (await tree.result(merge))["a"] == both.replace(b"changed\n", b"mine\n", 1).replace(
        b"line 5\n", b"yours\n"
    )


async def test_bases_that_clash_are_settled_by_what_both_sides_made_of_them(tree: Tree) -> None:
    one, other = edited(1), TEXT.replace(b"line 1\n", b"otherwise\n")
    both = TEXT.replace(b"line 1\n", b"agreed\n")
    left, right = await crossed(tree, one, other, both)
    merge = await tree.merge(left, await tree.version(right, a=both.replace(b"line 9\n", b"later\n")))
    assert merge.conflicts == ()
    assert (await tree.result(merge))["a"] == both.replace(b"line 9\n", b"later\n")


async def test_lines_that_cross_again_and_again_have_bases_of_bases(tree: Tree) -> None:
    content = TEXT
    left, right = await crossed(tree, edited(1), edited(9), edited(1).replace(b"line 9\n", b"changed\n"))
    content = await tree.blobs.get((tree.states[left]["a"] or Node(NodeKind.FILE)).digest)
    for number in range(2, 8):
        content = content.replace(b"line %d\n" % number, b"round %d\n" % number)
        node = {"a": await tree.node(content)}
        left, right = await tree.version_of((left, right), node), await tree.version_of((right, left), node)
    ours = await tree.version(left, a=content.replace(b"round 3\n", b"mine\n"))
    theirs = await tree.version(right, a=content.replace(b"round 5\n", b"yours\n"))
    merge = await tree.merge(ours, theirs)
    assert merge.conflicts == ()
    result = content.replace(b"round 3\n", b"mine\n").replace(b"round 5\n", b"yours\n")
    assert (await tree.result(merge))["a"] == result


async def test_ours_that_has_nothing_new_becomes_theirs(tree: Tree) -> None:
    root = await tree.version(a=b"1\n", b=b"1\n")
    theirs = await tree.version(await tree.version(root, a=b"2\n"), b=None)
    merge = await tree.merge(root, theirs)
    assert merge.base == root
    assert await tree.result(merge) == {"a": b"2\n"}
    assert merge.merged == ()


async def test_what_lay_there_before_the_first_version_is_merged_too(tree: Tree) -> None:
    root = await tree.version(a=b"1\n")
    theirs = await tree.version(root, a=b"2\n", b=b"1\n")
    tree.states[""] = {"a": None}
    merge = await tree.merge("", theirs)
    assert (merge.base, merge.conflicts) == ("", ())
    assert await tree.result(merge) == {"a": b"2\n", "b": b"1\n"}


async def test_a_path_that_a_line_never_names_lies_there_as_before(tree: Tree) -> None:
    # Both lines begin with what lay on the disk: the first change of a path says what that was.
    root = await tree.version(other=b"1\n")
    tree.states[root]["a"] = await tree.node(TEXT)
    ours, theirs = await tree.version(root, x=b"1\n"), await tree.version(root, a=edited(1))
    merge = await tree.merge(ours, theirs)
    assert (await tree.result(merge))["a"] == edited(1)
    other = await tree.merge(theirs, await tree.version(root, a=edited(9)))
    assert (await tree.result(other))["a"] == edited(1).replace(b"line 9\n", b"changed\n")


async def test_long_lines_of_versions_are_read_down_to_the_base(tree: Tree) -> None:
    fork = await tree.version(await tree.version(a=TEXT), a=edited(0))
    ours = theirs = fork
    for number in range(120):
        ours = await tree.version_of((ours,), {f"mine{number % 7}": b"%d\n" % number})
    theirs = await tree.version_of((theirs,), {"a": edited(9)})
    merge = await tree.merge(ours, theirs)
    assert merge.base == fork
    assert [each.path for each in merge.wanted] == ["a"]
