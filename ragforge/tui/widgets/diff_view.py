"""A unified diff with signs, line numbers and colours."""

import re
from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace
from textual.app import ComposeResult
from textual.widget import Widget

from ragforge.domain.printable import cut_line, printable
from ragforge.domain.reveal import reveal_lines
from ragforge.domain.words import counted
from ragforge.tui.widgets.more_line import MoreLine
from ragforge.tui.widgets.syntax import coloured
from ragforge.tui.widgets.text_rows import TextLine, TextRows

DIFF_LINES_SHOWN = 40
LINE_CHARS_MAX = 2_000
_NOWHERE = "/dev/null"
_NEW, _REMOVED, _RENAMED = " (new)", " (removed)", " → "
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")


class DiffView(Widget):
    """The diff's first lines, and a line that opens the rest.

    Signs and numbers are in the gutter: only the code is selected and copied.
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


class _Piece(Struct, frozen=True):
    """A line of a diff, with its file and hunk."""

    line: TextLine
    path: str
    hunk: int


def diff_lines(
    diff: str, *, line_chars_max: int | None = LINE_CHARS_MAX, names_one: bool = False
) -> list[TextLine]:
    """Return the lines to draw.

    names_one: name the file even if there is only one; otherwise its name is above the diff.
    """
    pieces = _numbered(printable(diff), names_one=names_one)
    return _coloured(
        [
            replace(piece, line=replace(piece.line, text=cut_line(piece.line.text, line_chars_max)))
            for piece in pieces
        ]
    )


def revealed_diff_lines(diff: str) -> list[TextLine]:
    """Return the lines of one file's diff for approval: complete, invisible characters escaped."""
    pieces = _numbered(diff, names_one=False)
    texts = reveal_lines("\n".join(piece.line.text for piece in pieces)) if pieces else []
    return _coloured(
        [
            replace(piece, line=replace(piece.line, text=text.text, marks=text.marks))
            for piece, text in zip(pieces, texts, strict=True)
        ]
    )


def _coloured(pieces: list[_Piece]) -> list[TextLine]:
    """Yield the lines, each hunk coloured in its file's language."""
    return [
        line
        for (path, _), hunk in groupby(pieces, key=lambda piece: (piece.path, piece.hunk))
        for line in coloured([piece.line for piece in hunk], path)
    ]


def _numbered(diff: str, *, names_one: bool) -> list[_Piece]:
    rows = list(_rows(diff.removesuffix("\n")))
    width = max(1, *(len(number) for number, *_ in rows), 1)
    pieces: list[_Piece] = []
    path, hunk = "", 0
    for number, sign, line, kind in rows:
        if kind == "file":
            path = line.removesuffix(_NEW).removesuffix(_REMOVED).rpartition(_RENAMED)[2]
        hunk += kind == "hunk"
        gutter = f"{'⋯' if kind == 'hunk' else number:>{width}} {sign} "
        pieces.append(_Piece(TextLine(line, gutter, kind), path, hunk))
    if not names_one and sum(kind == "file" for *_, kind in rows) == 1:
        return [piece for piece in pieces if piece.line.kind != "file"]
    return pieces


def _rows(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield number, sign, text and kind of each line. Lines outside a diff are unchanged."""
    old = new = old_left = new_left = 0
    first, before = True, ""
    for line in text.split("\n"):
        # Inside a hunk every line starts with a sign or a space, so this is not one of them.
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
    """Return the file of a diff's header: `--- a/x`, `+++ b/x`."""
    old, new = before.removeprefix("a/"), after.removeprefix("b/")
    if after == _NOWHERE:
        return f"{old}{_REMOVED}"
    if before == _NOWHERE:
        return f"{new}{_NEW}"
    return new if old in ("", new) else f"{old}{_RENAMED}{new}"
