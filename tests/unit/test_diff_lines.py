"""A diff as lines to draw: which file each part is about."""

from ragforge.tui.widgets.diff_view import diff_lines

NEW = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n"
REMOVED = "--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
RENAMED = "--- a/a.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-one\n+two\n"
CHANGED = "--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1 @@\n-one\n+two\n"


def names(diff: str, *, names_one: bool = False) -> list[str]:
    return [line.text for line in diff_lines(diff, names_one=names_one) if line.kind == "file"]


def test_each_of_several_files_is_named_with_what_became_of_it() -> None:
    found = names(NEW + REMOVED + RENAMED + CHANGED)
    assert found == ["new.txt (new)", "old.txt (removed)", "a.txt → b.txt", "src/x.py"]


def test_one_file_is_named_only_where_nothing_else_names_it() -> None:
    assert names(REMOVED) == []
    assert names(REMOVED, names_one=True) == ["old.txt (removed)"]


def test_removed_and_added_lines_that_look_like_a_head_are_lines() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n-gone\n+++ b/y\n+here\n"
    assert names(diff, names_one=True) == ["x"]
    assert [line.text for line in diff_lines(diff)] == ["-- a/y", "gone", "++ b/y", "here"]
