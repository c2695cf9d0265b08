"""What the drawing shows: known ones, and the lines of any tree followed from child to parent."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragforge.domain.versions import Version
from ragforge.store.base_versions import VersionRow
from ragforge.versions.graph import NODE, Graph, GraphLine, graph_lines

AT = datetime(2026, 11, 1, tzinfo=UTC)

Parents = Mapping[str, Sequence[str]]


def rows(parents: Parents) -> list[VersionRow]:
    """In the order in which they are named, the newest first."""
    return [VersionRow(Version(name, "p", tuple(of), AT, "x"), 0) for name, of in parents.items()]


def told(lines: Sequence[GraphLine]) -> list[str]:
    return [f"{line.graph} {line.row.version.id}" if line.row else line.graph for line in lines]


def drawn(parents: Parents) -> str:
    return "\n".join(told(graph_lines(rows(parents))))


DRAWINGS: dict[str, tuple[Parents, str]] = {
    "a line": (
        {"c": "b", "b": "a", "a": ""},
        """
* c
* b
* a""",
    ),
    "two branches": (
        {"d": "b", "c": "b", "b": "a", "a": ""},
        """
* d
| * c
|/
* b
* a""",
    ),
    "a merge": (
        {"d": "cb", "c": "a", "b": "a", "a": ""},
        """
* d
|\\
* | c
| * b
|/
* a""",
    ),
    "three alternatives, tried on": (
        {"f": "d", "e": "c", "d": "a", "c": "a", "b": "a", "a": ""},
        """
* f
| * e
* | d
| * c
|/
| * b
|/
* a""",
    ),
    "a branch that joins under another": (
        {"g": "d", "f": "c", "e": "b", "h": "d", "d": "a", "c": "a", "b": "a", "a": ""},
        """
* g
| * f
| | * e
| | | * h
| |_|/
|/| |
* | | d
| * | c
|/ /
| * b
|/
* a""",
    ),
    "two roots": (
        {"d": "b", "c": "a", "b": "", "a": ""},
        """
* d
| * c
* | b
 /
* a""",
    ),
    "a merge with the branch beside it": (
        {"e": "c", "d": "b", "c": "ab", "b": "a", "a": ""},
        """
* e
| * d
* | c
|\\|
| * b
|/
* a""",
    ),
    "a merge into the branch on the left": (
        {"f": "a", "d": "ab", "c": "b", "b": "a", "a": ""},
        """
* f
| * d
|/|
| | * c
| |/
| * b
|/
* a""",
    ),
}
# Where git needs two lines more, because it draws the first parent's line before the second's.
SHORTER: dict[str, tuple[Parents, str]] = {
    "a merge from the branch on the left": (
        {"f": "a", "d": "ba", "c": "b", "b": "a", "a": ""},
        """
* f
| * d
|/|
| | * c
| |/
| * b
|/
* a""",
    ),
}


@pytest.mark.parametrize("name", DRAWINGS | SHORTER)
def test_it_is_drawn_as_it_is_known(name: str) -> None:
    parents, expected = (DRAWINGS | SHORTER)[name]
    assert "\n" + drawn(parents) == expected


@pytest.mark.parametrize("name", DRAWINGS)
def test_git_draws_the_same(name: str, tmp_path: Path) -> None:
    parents, _ = DRAWINGS[name]
    nobody = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    plain = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PATH": os.environ["PATH"],
        **nobody,
    }

    def git(*args: str, at: int = 0) -> str:
        moment = f"{1_700_000_000 + at} +0000"
        env = {**plain, "GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        done = subprocess.run(
            ["git", *args], cwd=tmp_path, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.rstrip("\n")

    git("init", "-q")
    tree = git("write-tree")
    ids: dict[str, str] = {}
    for at, (version, of) in enumerate(reversed(parents.items())):
        above = [word for parent in of for word in ("-p", ids[parent])]
        ids[version] = git("commit-tree", tree, "-m", version, *above, at=at)
    theirs = git("log", "--graph", "--date-order", "--format=%s", *(ids[name] for name in parents))
    # Git leaves more room before the words where lines spread out below.
    assert [line.split() for line in theirs.splitlines()] == [
        line.split() for line in drawn(parents).splitlines()
    ]


def test_nothing_is_drawn_of_nothing() -> None:
    assert graph_lines([]) == []


def test_each_line_says_where_its_version_stands() -> None:
    lines = graph_lines(rows({"c": "a", "b": "a", "a": ""}))
    assert [(line.row.version.id, line.column) for line in lines if line.row] == [
        ("c", 0),
        ("b", 1),
        ("a", 0),
    ]


def test_a_parent_that_came_first_gets_no_line() -> None:
    assert drawn({"a": "", "b": "a", "c": "b"}) == "* a\n* b\n* c"


def test_many_children_of_one_stay_narrow() -> None:
    lines = graph_lines(rows({**{f"child {number}": ["root"] for number in range(5000)}, "root": []}))
    assert max(len(line.graph) for line in lines) == len("| *")


@st.composite
def histories(draw: st.DrawFn) -> dict[str, list[str]]:
    count = draw(st.integers(1, 12))
    parents: dict[str, list[str]] = {}
    for number in range(count):
        older = [str(other) for other in range(number + 1, count)]
        near = st.sampled_from(older[:5]) if older else st.nothing()
        wanted = draw(st.sampled_from([1, 1, 1, 2, 2, 0])) if older else 0
        parents[str(number)] = draw(
            st.lists(near, min_size=min(wanted, len(older)), max_size=wanted, unique=True)
        )
    return parents


def followed(lines: Sequence[GraphLine]) -> dict[str, set[str]]:
    """To which nodes the lines lead down from each node, going straight on where they cross."""
    ends: dict[str, set[str]] = {}
    under_way: set[tuple[str, int, bool]] = set()  # from whom, at which column, whether running to the left
    left_by = ("", 0)  # the node that stands right above
    for line in lines:
        text = line.graph + "   "
        further: set[tuple[str, int, bool]] = set()
        for child, column, leftwards in under_way:
            if text[2 * column] == NODE:
                assert line.row is not None
                ends[child].add(line.row.version.id)
            elif (child, column) == left_by:
                further |= {(child, *to) for to in _down(text, column)}
            else:
                further.add((child, *_next(text, column, leftwards=leftwards)))
        left_by = ("", 0)
        if line.row:
            left_by = (line.row.version.id, line.column)
            ends[left_by[0]] = set()
            assert text[2 * line.column] == NODE
            if line.row.version.parents:  # what stands below a root does not hang on it
                further.add((*left_by, False))
        under_way = further
    return ends


def _down(text: str, column: int) -> set[tuple[int, bool]]:
    """Where lines lead that leave the node above this column."""
    found = {(column, False)} if text[2 * column] == "|" else set[tuple[int, bool]]()
    if column and text[2 * column - 1] == "/":
        found.add(_left(text, column))
    if text[2 * column + 1] == "\\":
        found.add((column + 1, False))
    return found


def _next(text: str, column: int, *, leftwards: bool) -> tuple[int, bool]:
    slash = column > 0 and text[2 * column - 1] == "/"
    if slash and (leftwards or text[2 * column] != "|"):
        return _left(text, column)
    if text[2 * column] == "|":
        return column, False
    assert text[2 * column + 1] == "\\", f"a line breaks off at column {column} of {text!r}"
    return column + 1, False


def _left(text: str, column: int) -> tuple[int, bool]:
    column -= 1
    while column and text[2 * column - 1] == "_":
        column -= 1
    return column, True


@given(histories())
def test_whoever_follows_the_lines_comes_from_each_child_to_its_parents(
    parents: dict[str, list[str]],
) -> None:
    lines = graph_lines(rows(parents))
    assert followed(lines) == {name: set(of) for name, of in parents.items()}, "\n" + "\n".join(told(lines))


@given(histories(), st.integers(1, 4))
def test_pages_make_the_same_drawing(parents: dict[str, list[str]], size: int) -> None:
    graph, all_rows = Graph(), rows(parents)
    pages = [graph.add(all_rows[start : start + size]) for start in range(0, len(all_rows), size)]
    assert [line for page in pages for line in page] == graph_lines(all_rows)


@given(histories())
def test_each_version_stands_once_in_its_order_and_nothing_is_wide(parents: dict[str, list[str]]) -> None:
    lines = graph_lines(rows(parents))
    assert [line.row.version.id for line in lines if line.row] == list(parents)
    assert all(line.graph == line.graph.rstrip() for line in lines)
    assert max(line.graph.count(NODE) for line in lines) == 1
