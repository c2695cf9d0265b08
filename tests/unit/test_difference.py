"""Diffs, counts and words of changes, read from a real blob store."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain.redact import MARK, Redactor
from ragforge.domain.versions import WORDS_CHARS_MAX, Change, ChangeKind, Node, NodeKind, Provenance
from ragforge.store.blobs import SqliteBlobs
from ragforge.versions.difference import (
    FILES_MAX,
    TEXT_BYTES_MAX,
    Difference,
    as_text,
    differences,
    lines_changed,
    words_of,
)

FOLDER = Node(NodeKind.FOLDER, "", 0o755)


@pytest.fixture
async def blobs(tmp_path: Path) -> AsyncIterator[SqliteBlobs]:
    blobs = SqliteBlobs(tmp_path / "blobs.db")
    yield blobs
    await blobs.close()


async def kept(
    blobs: SqliteBlobs, content: bytes, *, mode: int = 0o644, kind: NodeKind = NodeKind.FILE
) -> Node:
    return Node(kind, await blobs.put(content), mode, len(content))


def change(path: str, before: Node | None, after: Node | None, renamed_from: str = "") -> Change:
    return Change(path, before, after, Provenance.TOOL, renamed_from)


async def difference(
    blobs: SqliteBlobs, before: bytes | None, after: bytes | None, path: str = "a.txt"
) -> Difference:
    nodes = [None if content is None else await kept(blobs, content) for content in (before, after)]
    [found] = await differences([change(path, *nodes)], blobs)
    return found


async def test_a_changed_file_is_shown_as_a_unified_diff_and_counted(blobs: SqliteBlobs) -> None:
    found = await difference(blobs, b"one\ntwo\nthree\n", b"one\n2\nthree\nfour\n")
    assert found.diff == ("--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n")
    assert (found.lines_added, found.lines_removed, found.note) == (2, 1, "")


async def test_new_and_removed_files_say_so_in_the_header(blobs: SqliteBlobs) -> None:
    new = await difference(blobs, None, b"a\n")
    gone = await difference(blobs, b"a\n", None)
    assert new.diff == "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+a\n"
    assert gone.diff == "--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert lines_changed([new, gone, new]) == (2, 1)


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        (None, b"", "empty file"),
        (b"", None, "empty file"),
        (b"a\r\n", b"a\n", "only line endings or the encoding differ"),
        (b"\0\1", b"\0\2\3", "binary (2 bytes → 3 bytes)"),
        (None, b"\0\1", "binary (2 bytes)"),
    ],
)
async def test_what_no_diff_shows_is_named(
    blobs: SqliteBlobs, before: bytes | None, after: bytes | None, note: str
) -> None:
    found = await difference(blobs, before, after)
    assert (found.diff, found.note, found.lines_added, found.lines_removed) == ("", note, 0, 0)
    assert as_text([found]) == f"a.txt: {note}\n"


async def test_lines_that_look_like_headers_are_counted_as_lines(blobs: SqliteBlobs) -> None:
    found = await difference(blobs, b"-- a\n++ b\nx\x0c+y\n", b"x\x0c+y\n++ c\n")
    assert (found.lines_added, found.lines_removed) == (1, 2)


async def test_modes_links_and_folders_are_named(blobs: SqliteBlobs) -> None:
    plain, program = await kept(blobs, b"a\n"), await kept(blobs, b"a\n", mode=0o755)
    link = await kept(blobs, b"target", kind=NodeKind.LINK, mode=0)
    other = await kept(blobs, b"elsewhere", kind=NodeKind.LINK, mode=0)
    found = await differences(
        [
            change("mode", plain, program),
            change("link", plain, link),
            change("moved", link, other),
            change("empty", None, FOLDER),
        ],
        blobs,
    )
    assert [one.note for one in found] == ["mode 644 → 755", "file became link", "", "folder added"]
    assert found[0].diff == ""
    assert "-target\n" in found[2].diff
    assert "+elsewhere\n" in found[2].diff


async def test_a_renamed_file_is_shown_once_with_what_changed_in_it(blobs: SqliteBlobs) -> None:
    old, new = await kept(blobs, b"a\nb\n"), await kept(blobs, b"a\nB\n")
    same = [change("old", old, None), change("new", None, old, "old")]
    assert [one.note for one in await differences(same, blobs)] == ["renamed to new", "renamed from old"]
    assert not any(one.diff for one in await differences(same, blobs))
    _, edited = await differences([*same, change("new", old, new)], blobs)
    assert (edited.note, edited.change.kind) == ("renamed from old", ChangeKind.RENAMED)
    assert edited.diff == "--- a/old\n+++ b/new\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n"


async def test_several_changes_of_a_path_are_one_and_none_where_it_came_back(blobs: SqliteBlobs) -> None:
    one, two, three = [await kept(blobs, content) for content in (b"1\n", b"2\n", b"3\n")]
    found = await differences(
        [change("a", one, two), change("b", one, two), change("a", two, three), change("b", two, one)],
        blobs,
    )
    assert [each.change.path for each in found] == ["a"]
    assert found[0].diff.endswith("-1\n+3\n")


async def test_large_files_and_those_of_another_machine_are_named(blobs: SqliteBlobs) -> None:
    large = Node(NodeKind.FILE, "0" * 64, 0o644, TEXT_BYTES_MAX + 1)
    absent = Node(NodeKind.FILE, hashlib.sha256(b"there").hexdigest(), 0o644, 5)
    found = await differences([change("large", None, large), change("absent", None, absent)], blobs)
    assert [one.note for one in found] == [
        "too large to compare (1.0 MB)",
        "the content is not on this machine",
    ]


async def test_of_very_many_files_the_first_are_compared_and_all_are_named(blobs: SqliteBlobs) -> None:
    node = await kept(blobs, b"a\n")
    found = await differences([change(str(n), None, node) for n in range(FILES_MAX + 2)], blobs)
    assert sum(bool(one.diff) for one in found) == FILES_MAX
    assert [one.note for one in found[-2:]] == ["not compared: too many files changed"] * 2


async def test_words_are_paths_and_changed_lines_without_secrets(blobs: SqliteBlobs) -> None:
    found = [
        await difference(blobs, b"stay\nold\n", b"stay\nnew hunter2hunter2\n", "src/a.py"),
        await difference(blobs, None, b"key = AIza" + b"k3Zq9" * 7 + b"\n\n", "b.env"),
    ]
    words = words_of(found, Redactor(["hunter2hunter2"]).text)
    assert words.split("\n") == ["src/a.py", "b.env", "old", f"new {MARK}", f"key = {MARK}"]


async def test_words_of_a_large_change_leave_room_for_the_others(blobs: SqliteBlobs) -> None:
    large = b"".join(b"generated line %d\n" % number for number in range(20_000))
    found = [
        await difference(blobs, None, large, "large.txt"),
        await difference(blobs, None, b"y" * 5000 + b"\nneedle\n", "long-line.txt"),
        await difference(blobs, None, b"small\n", "small.txt"),
    ]
    words = words_of(found, str)
    assert len(words) <= WORDS_CHARS_MAX
    assert words.startswith("large.txt\nlong-line.txt\nsmall.txt\n")
    assert {"needle", "small", "generated line 0"} <= set(words.split("\n"))
    assert len(words) > WORDS_CHARS_MAX * 0.9


async def test_no_secret_is_cut_in_two_by_the_limit(blobs: SqliteBlobs) -> None:
    lines = b"".join(b"%03d hunter2hunter2\n" % number for number in range(200))
    found = [await difference(blobs, None, lines)]
    for chars_max in range(20, 120):
        words = words_of(found, Redactor(["hunter2hunter2"]).text, chars_max=chars_max)
        assert len(words) <= chars_max
        assert "hunter" not in words


async def test_names_that_break_a_line_are_escaped(blobs: SqliteBlobs) -> None:
    found = await difference(blobs, b"a\n", b"b\n", "odd\nname\udcff")
    assert found.diff.startswith("--- a/odd\\nname\\udcff\n")
    words_of([found], str).encode()


async def test_units_are_lines_but_for_files_that_nobody_writes_line_by_line(blobs: SqliteBlobs) -> None:
    lines = b"".join(b"%d\n" % number for number in range(9))
    huge, binary = await kept(blobs, b"x\n" * TEXT_BYTES_MAX), await kept(blobs, b"\0\1")
    far = Node(NodeKind.FILE, hashlib.sha256(b"elsewhere").hexdigest(), 0o644, 9)
    expected = {
        1: [
            change("Cargo.lock", None, await kept(blobs, lines)),
            change("web/dist/app.js", await kept(blobs, lines), None),
            change("api.go", None, await kept(blobs, b"// Code generated by x. DO NOT EDIT.\n" + lines)),
            change("dump.sql", None, huge),
            change("icon.png", None, binary),
        ],
        0: [change("mode", binary, replace(binary, mode=0o755)), change("folder", None, FOLDER)],
        9: [change("a.txt", None, await kept(blobs, lines))],
        None: [change("far.txt", None, far)],
    }
    for units, changes in expected.items():
        assert [each.units for each in await differences(changes, blobs)] == [units] * len(changes)
    for node in (huge, binary):
        moved = [change("old", node, None), change("new", None, node, renamed_from="old")]
        assert [each.units for each in await differences(moved, blobs)] == [0, 0]
