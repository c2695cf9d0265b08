"""What an ignore file says of a path, found at one look, is what its lines say one by one."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from ragforge.files.ignore import IgnoreFile, is_ignored, read_rules

PIECES = (
    "a",
    "b",
    "é",
    "*",
    "**",
    "?",
    "/",
    ".",
    "!",
    "[ab]",
    "[!a]",
    "\\#",
    " ",
    "[(?P<x>]",
    "(",
    "|",
    "+",
    "#",
)
LINES = st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), min_size=2, max_size=6)
NAMES = st.lists(
    st.sampled_from(("a", "b", "ab", "é", ".a", "a(", "P", "?", "#b", "a b")), min_size=1, max_size=3
)


def rules_of(lines: list[str]) -> IgnoreFile:
    with TemporaryDirectory() as folder:
        file = Path(folder) / ".gitignore"
        file.write_text("\n".join(lines))
        return read_rules(file, "/p")


@given(LINES, NAMES.map("/".join), st.booleans())
@example(["a/", "!b"], "a", True)
@example(["[(?P<x>]", "a/"], "P", False)
def test_one_look_says_what_each_line_says(lines: list[str], path: str, is_folder: bool) -> None:
    rules = rules_of(lines)
    each = replace(rules, any_line=None)
    found = is_ignored(f"/p/{path}", (rules,), is_folder=is_folder)
    assert found == is_ignored(f"/p/{path}", (each,), is_folder=is_folder)


def test_common_lines_are_looked_at_at_once() -> None:
    rules = rules_of(["*.pyc", "__pycache__/", "/build/", "!keep.o", "docs/**/x"])
    assert rules.any_line is not None
    assert rules.any_line.search("src/a.py") is None
    assert is_ignored("/p/docs/deep/x", (rules,), is_folder=False)
