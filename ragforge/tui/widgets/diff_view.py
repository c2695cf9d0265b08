"""A unified diff with signs, line numbers and colours."""

import re
from collections.abc import Iterator

from textual.app import ComposeResult
from textual.widget import Widget

from ragforge.domain.printable import cut_line, printable
from ragforge.domain.reveal import reveal_lines
from ragforge.domain.words import counted
from ragforge.tui.widgets.more_line import MoreLine
from ragforge.tui.widgets.text_rows import TextLine, TextRows

DIFF_LINES_SHOWN = 40
LINE_CHARS_MAX = 2_000
_NOWHERE = "/dev/null"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")


class DiffView(Widget):
    """The diff's first lines, and a line that opens the rest.

    Signs and numbers lie in the gutter: what is selected and copied is the code alone.
    Numbers are the new file's, those of removed lines the old one's.
    """

    def __init__(self, diff: str, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._lines = diff_lines(diff)

    def compose(self) -> ComposeResult:
        """The lines, and how many are left out."""
        yield TextRows(self._lines[:DIFF_LINES_SHOWN])
        hidden = len(self._lines) - DIFF_LINES_SHOWN
        if hidden > 0:
            yield MoreLine(f"… {counted(hidden, 'more line')}")

    def on_more_line_pressed(self, event: MoreLine.Pressed) -> None:
        """Show all."""
        event.stop()
        self.query_one(TextRows).set_lines(self._lines)
        event.line.remove()


def diff_lines(
    diff: str, *, line_chars_max: int | None = LINE_CHARS_MAX, names_one: bool = False
) -> list[TextLine]:
    """The lines to draw.

    names_one: the file is named also where there is one alone; otherwise its name stands above the diff.
    """
    lines = _numbered(printable(diff), names_one=names_one)
    return [TextLine(cut_line(line.text, line_chars_max), line.gutter, line.kind) for line in lines]


def revealed_diff_lines(diff: str) -> list[TextLine]:
    """The lines of one file's diff to consent to: whole, what cannot be seen spelled out."""
    lines = _numbered(diff, names_one=False)
    texts = reveal_lines("\n".join(line.text for line in lines)) if lines else []
    return [
        TextLine(text.text, line.gutter, line.kind, text.marks)
        for line, text in zip(lines, texts, strict=True)
    ]


def _numbered(diff: str, *, names_one: bool) -> list[TextLine]:
    rows = list(_rows(diff.removesuffix("\n")))
    if not names_one and sum(kind == "file" for *_, kind in rows) == 1:
        rows = [row for row in rows if row[-1] != "file"]
    width = max(1, *(len(number) for number, *_ in rows), 1)
    return [
        TextLine(line, f"{'⋯' if kind == 'hunk' else number:>{width}} {sign} ", kind)
        for number, sign, line, kind in rows
    ]


def _rows(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Number, sign, text and kind of each line. What is no diff comes out as it is."""
    old = new = old_left = new_left = 0
    first, before = True, ""
    for line in text.split("\n"):
        # Inside a hunk every line begins with a sign or a space, so this is not one of them.
        if found := _HUNK.match(line):
            old, new = int(found[1]), int(found[3])
            old_left, new_left = int(found[2] or 1), int(found[4] or 1)
            if not first or found[5]:
                yield "", " ", found[5], "hunk"
            first = False
            continue
        if old_left <= 0 and new_left <= 0:
            if line.startswith(("--- ", "+++ ")):
                if line.startswith("--- "):
                    before = line[4:]
                else:
                    yield "", " ", _file_name(before, line[4:]), "file"
                    first = True
            elif line.startswith("\\"):
                yield "", "\\", line[2:], "note"
            elif line:
                yield "", " ", line, "plain"
            continue
        match line[:1]:
            case "+":
                yield str(new), "+", line[1:], "added"
                new, new_left = new + 1, new_left - 1
            case "-":
                yield str(old), "-", line[1:], "removed"
                old, old_left = old + 1, old_left - 1
            case "\\":
                yield "", "\\", line[2:], "note"
            case _:
                yield str(new), " ", line[1:], "plain"
                old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1


def _file_name(before: str, after: str) -> str:
    """The file of a diff's head: `--- a/x`, `+++ b/x`."""
    old, new = before.removeprefix("a/"), after.removeprefix("b/")
    if after == _NOWHERE:
        return f"{old} (removed)"
    if before == _NOWHERE:
        return f"{new} (new)"
    return new if old in ("", new) else f"{old} → {new}"
