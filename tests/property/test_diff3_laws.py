"""The merge of lines against `git merge-file`, and what holds of it whatever git says."""

import subprocess
import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragforge.files.line_changes import line_changes, split_lines
from ragforge.versions.merge.diff3 import Agreed, Clash, joined, merge3, merged_parts

FEW = st.sampled_from(["a", "b", "c", "", "}"])
"""So few that there are many shortest edits, of which git's has to be met."""
WORDS = st.one_of(FEW, st.integers(0, 30).map(lambda number: f"line {number}"))
LABELS = ("ours", "theirs")
GIT_COUNTS_MAX = 127


def git_merge(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, int]:
    """What `git merge-file` makes of them, and the conflicts that it counts."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {"base": base, "ours": ours, "theirs": theirs}.items():
            (Path(folder) / name).write_bytes(content)
        names = ["-L", "ours", "-L", "base", "-L", "theirs", "ours", "base", "theirs"]
        done = subprocess.run(
            ["git", "-c", "merge.conflictStyle=merge", "merge-file", "-p", *names],
            cwd=folder,
            capture_output=True,
            check=False,
        )
    assert done.returncode <= GIT_COUNTS_MAX, done.stderr
    return done.stdout, done.returncode


def assert_as_git(base: bytes, ours: bytes, theirs: bytes) -> None:
    """The merge is git's to the byte; but for line endings where the base has none that could tell them."""
    merged = merge3(base, ours, theirs, labels=LABELS)
    content, conflicts = git_merge(base, ours, theirs)
    assert merged.conflicts == conflicts
    if b"\n" in base:
        assert merged.content == content
    else:
        assert merged.content.replace(b"\r\n", b"\n") == content.replace(b"\r\n", b"\n")


@st.composite
def edited(draw: st.DrawFn, lines: list[str], words: st.SearchStrategy[str]) -> list[str]:
    """The lines after a few edits."""
    lines = list(lines)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(lines)))
        lines[start : start + draw(st.integers(0, 3))] = draw(st.lists(words, max_size=3))
    return lines


@st.composite
def sides(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """Base, ours and theirs; with LF or CRLF or both, with or without an ending of the last line."""
    words = draw(st.sampled_from([FEW, WORDS]))
    base = draw(st.lists(words, max_size=25))
    newlines = draw(st.sampled_from([("\n",), ("\r\n",), ("\n", "\r\n")]))

    def written(lines: list[str]) -> bytes:
        newline = draw(st.sampled_from(newlines))
        text = newline.join(lines)
        return (text + newline * draw(st.booleans()) if lines else text).encode()

    return written(base), written(draw(edited(base, words))), written(draw(edited(base, words)))


@settings(max_examples=300, deadline=None)
@given(sides())
@example((b"", b"a\r\n", b"b\r\n"))
@example((b"a", b"a\r\n", b"a\r\nb\r\n"))
@example((b"1\n2\n3\n4\n5\n", b"1\nX\n3\nY\n5\n", b"1\nP\n3\nQ\n5\n"))
def test_the_result_is_that_of_git_to_the_byte(contents: tuple[bytes, bytes, bytes]) -> None:
    assert_as_git(*contents)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_long_files_with_blank_lines_are_merged_as_git_does(data: st.DataObject) -> None:
    # Lines of which there are many are matched by rules of their own: blank ones between new ones.
    lines = [word for number in range(60) for word in (f"def f{number}():", "    return 1", "")]
    blocks = st.lists(st.sampled_from(["def g():", "    x = 2", "    return 1", ""]), max_size=12)

    def edit() -> bytes:
        after = list(lines)
        for _ in range(data.draw(st.integers(1, 6))):
            start = data.draw(st.integers(0, len(after)))
            after[start : start + data.draw(st.integers(0, 9))] = data.draw(blocks)
        return "\n".join(after).encode()

    contents = ("\n".join(lines).encode(), edit(), edit())
    merged = merge3(*contents, labels=LABELS)
    assert (merged.content, merged.conflicts) == git_merge(*contents)


@given(sides())
def test_what_only_one_side_changed_is_taken(contents: tuple[bytes, bytes, bytes]) -> None:
    base, ours, _ = contents
    assert merge3(base, ours, base).content == ours
    assert merge3(base, base, ours).content == ours
    assert merge3(base, ours, ours).content == ours
    assert not any(merge3(*sides).conflicts for sides in ((base, ours, base), (base, base, ours)))


@given(sides())
def test_without_conflicts_the_order_of_the_sides_does_not_matter(
    contents: tuple[bytes, bytes, bytes],
) -> None:
    base, ours, theirs = contents
    merged, turned = merge3(base, ours, theirs), merge3(base, theirs, ours)
    assert bool(merged.conflicts) == bool(turned.conflicts)
    if not merged.conflicts:
        assert merged.content == turned.content


@given(sides())
def test_no_line_is_made_up_and_none_of_a_conflict_is_lost(contents: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = contents
    parts = merged_parts(*contents)
    known = {*split_lines(ours), *split_lines(theirs)}
    for part in parts:
        texts = (part.content,) if isinstance(part, Agreed) else (part.ours, part.theirs)
        assert all(set(split_lines(text)) <= known for text in texts)
    # Our side of each conflict and what is clear hold every line that we added, in order.
    as_ours = b"".join(part.content if isinstance(part, Agreed) else part.ours for part in parts)
    added = [
        line
        for change in line_changes(split_lines(base), split_lines(ours))
        for line in split_lines(ours)[change.new_start : change.new_end]
    ]
    left = iter(split_lines(as_ours))
    assert all(line in left for line in added)
    assert sum(isinstance(part, Clash) for part in parts) == joined(parts, ("", "")).count(b"<<<<<<<")


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_are_merged_or_kept_whole(base: bytes, ours: bytes, theirs: bytes) -> None:
    merged = merge3(base, ours, theirs)
    assert merged.content == ours or not merged.binary
    assert merged.conflicts == 1 or not merged.binary
    if not merged.binary and b"\0" not in base + ours + theirs:
        assert_as_git(base, ours, theirs)


@given(st.lists(st.integers(0, 6), max_size=40), st.lists(st.integers(0, 6), max_size=40))
def test_the_changes_lead_from_the_one_to_the_other(old: list[int], new: list[int]) -> None:
    olds, news = [b"%d\n" % number for number in old], [b"%d\n" % number for number in new]
    result: list[bytes] = []
    at = 0
    for change in line_changes(olds, news):
        assert change.old_start > at or not result
        assert news[: change.new_start][len(result) :] == olds[at : change.old_start]
        result += olds[at : change.old_start] + news[change.new_start : change.new_end]
        at = change.old_end
    assert result + olds[at:] == news
