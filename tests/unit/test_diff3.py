"""The merge of lines, case by case; each is also what `git merge-file` makes of it."""

import random
from time import process_time

import pytest

from ragforge.files.line_changes import LineChange, line_changes, split_lines
from ragforge.versions.merge.diff3 import Clash, merge3, merged_parts
from tests.property.test_diff3_laws import git_merge

BASE = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def conflict(ours: bytes, theirs: bytes, newline: bytes = b"\n") -> bytes:
    return b"".join([b"<<<<<<< ours", newline, ours, b"=======", newline, theirs, b">>>>>>> theirs", newline])


CASES = {
    "changes with a line between them are both taken": (
        BASE,
        BASE.replace(b"two", b"TWO"),
        BASE.replace(b"four", b"FOUR"),
        BASE.replace(b"two", b"TWO").replace(b"four", b"FOUR"),
    ),
    "changes of neighbouring lines are a conflict": (
        BASE,
        BASE.replace(b"two", b"TWO"),
        BASE.replace(b"three", b"THREE"),
        BASE.replace(b"two\nthree\n", conflict(b"TWO\nthree\n", b"two\nTHREE\n")),
    ),
    "the same change on both sides is none": (
        BASE,
        BASE.replace(b"two", b"TWO").replace(b"six", b"SIX"),
        BASE.replace(b"two", b"TWO"),
        BASE.replace(b"two", b"TWO").replace(b"six", b"SIX"),
    ),
    "what both sides of a conflict share stands outside it": (
        b"",
        b"head\na\nb\nc\nd\nmine\n",
        b"head\na\nb\nc\nd\nyours\n",
        b"head\na\nb\nc\nd\n" + conflict(b"mine\n", b"yours\n"),
    ),
    "conflicts with three lines between them are one": (
        b"1\na\nb\nc\n2\n",
        b"X\na\nb\nc\nY\n",
        b"P\na\nb\nc\nQ\n",
        conflict(b"X\na\nb\nc\nY\n", b"P\na\nb\nc\nQ\n"),
    ),
    "conflicts with four lines between them are two": (
        b"1\na\nb\nc\nd\n2\n",
        b"X\na\nb\nc\nd\nY\n",
        b"P\na\nb\nc\nd\nQ\n",
        conflict(b"X\n", b"P\n") + b"a\nb\nc\nd\n" + conflict(b"Y\n", b"Q\n"),
    ),
    "conflicts with only blank lines and brackets between them are one": (
        b"1\n}\n\n{\n\n}\n2\n",
        b"X\n}\n\n{\n\n}\nY\n",
        b"P\n}\n\n{\n\n}\nQ\n",
        conflict(b"X\n}\n\n{\n\n}\nY\n", b"P\n}\n\n{\n\n}\nQ\n"),
    ),
    "removed against edited is a conflict with an empty side": (
        BASE,
        BASE.replace(b"four\n", b""),
        BASE.replace(b"four", b"FOUR"),
        BASE.replace(b"four\n", conflict(b"", b"FOUR\n")),
    ),
    "CRLF stays and the markers have it": (
        b"a\r\nb\r\nc\r\n",
        b"a\r\nX\r\nc\r\n",
        b"a\r\nY\r\nc\r\n",
        b"a\r\n" + conflict(b"X\r\n", b"Y\r\n", b"\r\n") + b"c\r\n",
    ),
    "a side that went over to CRLF is in conflict with an edit": (
        b"a\nb\n",
        b"a\r\nb\r\n",
        b"a\nB\n",
        conflict(b"a\r\nb\r\n", b"a\nB\n"),
    ),
    "a last line without an ending stays so": (
        b"a\nb\nc\nd",
        b"A\nb\nc\nd",
        b"a\nb\nc\nD",
        b"A\nb\nc\nD",
    ),
    "a last line without an ending gets one within a conflict": (
        b"a\nb",
        b"a\nX",
        b"a\nY",
        b"a\n" + conflict(b"X\n", b"Y\n"),
    ),
    "bytes that are no UTF-8 stay": (
        b"\xff\n\x80\n\xfe\n",
        b"\xff\n\x80\n\xfe\xfe\n",
        b"\xfd\n\x80\n\xfe\n",
        b"\xfd\n\x80\n\xfe\xfe\n",
    ),
    "a lone carriage return ends no line": (
        b"a\rb\nc\n",
        b"A\rb\nc\n",
        b"a\rB\nc\n",
        conflict(b"A\rb\n", b"a\rB\n") + b"c\n",
    ),
    "both removed all": (b"a\n", b"", b"", b""),
    "one removed all, the other edited": (b"a\n", b"", b"b\n", conflict(b"", b"b\n")),
}


@pytest.mark.parametrize("case", CASES)
def test_lines_are_merged(case: str) -> None:
    base, ours, theirs, expected = CASES[case]
    merged = merge3(base, ours, theirs)
    assert merged.content == expected
    assert merged.conflicts == expected.count(b"<<<<<<< ours")
    assert (merged.content, merged.conflicts) == git_merge(base, ours, theirs)


@pytest.mark.parametrize(
    ("ours", "theirs", "newline"),
    [
        (b"X\r\n", b"Y\r\n", b"\r\n"),
        (b"X", b"Y\r\nZ\r\n", b"\r\n"),
        (b"X\n", b"Y\r\n", b"\n"),
        (b"X", b"Y", b"\n"),
    ],
)
def test_where_a_file_was_removed_and_written_anew_the_sides_tell_the_line_ending(
    ours: bytes, theirs: bytes, newline: bytes
) -> None:
    ended = [side if side.endswith(b"\n") else side + newline for side in (ours, theirs)]
    assert merge3(b"", ours, theirs).content == conflict(*ended, newline)


def test_labels_stand_behind_the_markers_on_one_line() -> None:
    merged = merge3(b"a\n", b"b\n", b"c\n", labels=("the files on disk", "turn 3:\n« undo »"))
    assert merged.content == ("<<<<<<< the files on disk\nb\n=======\nc\n>>>>>>> turn 3: « undo »\n".encode())
    assert merge3(b"a\n", b"b\n", b"c\n", labels=("", "\udcff")).content == (
        b"<<<<<<<\nb\n=======\nc\n>>>>>>> \xff\n"
    )


def test_binary_contents_that_both_changed_are_a_conflict_as_a_whole() -> None:
    merged = merge3(b"\0a", b"\0b", b"\0c")
    assert (merged.content, merged.conflicts, merged.binary) == (b"\0b", 1, True)
    merged = merge3(b"text\n", b"\0b", b"\0c")
    assert merged.binary


def test_binary_contents_that_one_side_changed_are_taken() -> None:
    for contents in ((b"\0a", b"\0b", b"\0a"), (b"\0a", b"\0a", b"\0b"), (b"\0a", b"\0b", b"\0b")):
        merged = merge3(*contents)
        assert (merged.content, merged.conflicts, merged.binary) == (b"\0b", 0, False)


def test_a_conflict_is_told_by_its_sides() -> None:
    [clash] = [part for part in merged_parts(b"a\nb\n", b"a\nX\n", b"a\nY\n") if isinstance(part, Clash)]
    assert (clash.ours, clash.theirs, clash.newline) == (b"X\n", b"Y\n", b"\n")


def test_a_new_passage_beside_its_like_is_one_change() -> None:
    old = split_lines(b"def a():\n    pass\n\ndef c():\n    pass\n")
    new = split_lines(b"def a():\n    pass\n\ndef b():\n    pass\n\ndef c():\n    pass\n")
    assert line_changes(old, new) == [LineChange(3, 3, 3, 6)]


def test_two_long_files_that_have_little_in_common_are_compared_in_some_seconds() -> None:
    lines = [b"%d\n" % number for number in range(10_000)]
    ours, theirs = list(lines), list(lines)
    random.Random(1).shuffle(ours)
    random.Random(2).shuffle(theirs)
    before = process_time()
    merged = merge3(b"".join(lines), b"".join(ours), b"".join(theirs))
    # Unbounded it is 10,000 times 10,000 steps, many minutes; the limit allows for slow machines.
    assert process_time() - before < 30
    assert merged.conflicts
