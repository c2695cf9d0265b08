"""Lines of text that wrap at any character, errors between words; they are copied as they were, unwrapped."""

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from ragforge.domain.printable import printable

_TAB = "    "
_CELLS_MIN = 2
"""The width of the widest character."""


class TextLine(Struct, frozen=True):
    """One logical line. `gutter` is drawn before it and never selected; `kind` names its colours.

    marks: pairs of offsets of what is drawn as spelled out. spans: begin, end and kind of the pieces that are
    coloured as code, in their order.
    """

    text: str
    gutter: str = ""
    kind: str = "plain"
    marks: tuple[tuple[int, int], ...] = ()
    spans: tuple[tuple[int, int, str], ...] = ()


class _Row(Struct, frozen=True):
    """One row of the screen: a piece of line `y`, from character `x`."""

    y: int
    x: int
    text: str


class TextRows(Widget):
    """Preformatted text: tool output, commands, diffs. Content is literal: markup is not interpreted."""

    KINDS: ClassVar[tuple[str, ...]] = (
        "plain",
        "added",
        "removed",
        "hunk",
        "note",
        "file",
        "warning",
        "error",
    )
    CODE: ClassVar[tuple[str, ...]] = ("keyword", "string", "comment", "number", "name")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"text-rows--{kind}" for kind in (*KINDS, *CODE, "gutter", "mark")
    }
    ALLOW_SELECT = True

    def __init__(self, lines: Sequence[TextLine] | str = "", *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._lines = _to_lines(lines)
        self._gutter_cells = _gutter_cells(self._lines)
        self._rows: list[_Row] = []
        self._rows_width = -1

    @property
    def lines(self) -> Sequence[TextLine]:
        """The logical lines."""
        return self._lines

    def set_lines(self, lines: Sequence[TextLine] | str) -> None:
        """Show these lines instead."""
        self._lines = _to_lines(lines)
        self._gutter_cells = _gutter_cells(self._lines)
        self._rows_width = -1
        self.refresh(layout=True)

    @property
    def gutter_cells(self) -> int:
        """The width of the widest gutter: the text of every line that has one begins beside it."""
        return self._gutter_cells

    def _fold(self, width: int) -> list[_Row]:
        if width != self._rows_width:
            self._rows_width = width
            room = max(_CELLS_MIN, width - self._gutter_cells_in(width))
            self._rows = [
                row
                for y, line in enumerate(self._lines)
                for row in _fold_line(y, line.text, room, at_words=line.kind == "error")
            ]
        return self._rows

    def _gutter_cells_in(self, width: int) -> int:
        """Return the gutter's width if it leaves room for text, else 0: the text comes first."""
        return self.gutter_cells if width - self.gutter_cells >= _CELLS_MIN else 0

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Return all the width there is."""
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows of the wrapped lines."""
        return len(self._fold(width))

    def render_line(self, y: int) -> Strip:
        """Draw one row: gutter, text with offsets for selection, and the line's background to the edge."""
        width = self.size.width
        rows = self._fold(width)
        if y >= len(rows):
            return Strip.blank(width, self.rich_style)
        row = rows[y]
        line = self._lines[row.y]
        style = self.get_component_rich_style(f"text-rows--{line.kind}")
        segments: list[Segment] = []
        if line.gutter and (cells := self._gutter_cells_in(width)):
            gutter = line.gutter if row.x == 0 else ""
            gutter_style = style + self.get_component_rich_style("text-rows--gutter", partial=True)
            segments.append(Segment(gutter + " " * (cells - cell_len(gutter)), gutter_style))
        segments.extend(self._text_segments(row, style))
        return Strip(segments).extend_cell_length(width, style).crop(0, width)

    def _text_segments(self, row: _Row, style: Style) -> list[Segment]:
        """Return the row's text in pieces with their offsets, the selected and spelled out ones marked."""
        selection = self.text_selection
        span = selection.get_span(row.y) if selection is not None else None
        start, end = span if span is not None else (0, 0)
        length = len(row.text)
        first = min(max(start - row.x, 0), length)
        last = length if end == -1 else min(max(end - row.x, first), length)
        selected = style + self.selection_style
        marked = style + self.get_component_rich_style("text-rows--mark", partial=True)
        marks = [
            (max(begin - row.x, 0), min(stop - row.x, length))
            for begin, stop in self._lines[row.y].marks
            if begin < row.x + length and stop > row.x
        ]
        code = [
            (max(begin - row.x, 0), min(stop - row.x, length), kind)
            for begin, stop, kind in self._lines[row.y].spans
            if begin < row.x + length and stop > row.x
        ]
        ends = (border for begin, stop, *_ in (*marks, *code) for border in (begin, stop))
        segments: list[Segment] = []
        for begin, stop in pairwise(sorted({0, first, last, length, *ends})):
            is_marked = any(start <= begin < end for start, end in marks)
            kind = next((kind for start, end, kind in code if start <= begin < end), "")
            plain = (
                style + self.get_component_rich_style(f"text-rows--{kind}", partial=True) if kind else style
            )
            own = selected if first <= begin < last else marked if is_marked else plain
            offset = Style.from_meta({"offset": (row.x + begin, row.y)})
            segments.append(Segment(row.text[begin:stop].replace("\t", _TAB), own + offset))
        return segments

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, its lines as they were."""
        return extract("\n".join(line.text for line in self._lines), selection), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.refresh()


def extract(text: str, selection: Selection) -> str:
    """Return the selected part of a text.

    Unlike in Textual's own, lines end only at newlines, and offsets past the last line are not an error.
    """
    lines = text.split("\n")
    first = selection.start.y if selection.start is not None else 0
    last = min(selection.end.y if selection.end is not None else len(lines) - 1, len(lines) - 1)
    if first > last:
        return ""
    chosen = lines[first : last + 1]
    if selection.end is not None and selection.end.y == last:
        chosen[-1] = chosen[-1][: selection.end.x]
    if selection.start is not None:
        chosen[0] = chosen[0][selection.start.x :]
    return "\n".join(chosen)


def _to_lines(lines: Sequence[TextLine] | str) -> Sequence[TextLine]:
    if isinstance(lines, str):
        return [TextLine(text) for text in printable(lines).split("\n")]
    return lines


def _gutter_cells(lines: Sequence[TextLine]) -> int:
    return max((cell_len(gutter) for gutter in {line.gutter for line in lines}), default=0)


def _fold_line(y: int, text: str, room: int, *, at_words: bool = False) -> list[_Row]:
    """Return the rows of one line: as many characters in each as fit, or as many words."""
    is_simple = text.isascii() and "\t" not in text
    rows: list[_Row] = []
    start, end = 0, 0
    while (end := start + room if is_simple else _end_of_row(text, start, room)) < len(text):
        if at_words:
            end = _end_of_words(text, start, end)
        rows.append(_Row(y, start, text[start:end]))
        start = end
    if at_words and rows and not text[start:].strip():
        return rows  # only spaces are left
    return [*rows, _Row(y, start, text[start:])]


def _end_of_row(text: str, start: int, room: int) -> int:
    """Return where the characters from `start` on no longer fit; after one of them at least."""
    used = 0
    for x in range(start, len(text)):
        used += len(_TAB) if text[x] == "\t" else cell_len(text[x])
        if used > room and x > start:
            return x
    return len(text)


def _end_of_words(text: str, start: int, end: int) -> int:
    """Return the end of the row's last whole word, with the space after it, drawn only if it fits."""
    if text[end] == " ":
        return end + 1
    space = text.rfind(" ", start, end)
    return space + 1 if space > start and text[start:space].strip() else end
