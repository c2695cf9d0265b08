"""The common part of lists that can be navigated while the focus is elsewhere."""

import textwrap
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from ragforge.tui.textual_types import AbstractMeta, app_of

Row = TypeVar("Row")

WIDTH_MIN = 20
POINTER, NO_POINTER = "› ", "  "
MUTED = "$foreground-muted"


class RowList(Static, Generic[Row], metaclass=AbstractMeta):
    """As many rows as fit, including the chosen one. It never has the focus: others call `step`.

    A subclass defines how rows are drawn (`_draw_rows`), and what identifies them (`_key_of`), "" for a row
    that is only drawn between others and never chosen.
    """

    DEFAULT_CSS = """
    RowList { height: auto; text-wrap: nowrap; text-overflow: ellipsis; }
    """
    LINES_A_ROW: ClassVar[int] = 1
    ROWS_MIN: ClassVar[int] = 3
    TELLS_HIDDEN: ClassVar[bool] = False
    """Whether a line below says how many rows are not drawn."""

    @dataclass
    class Clicked(Message):
        """A row was clicked, and is the chosen one now. again: it was before."""

        again: bool = False

    def __init__(self, *, rows_max: int = 8, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._rows: Sequence[Row] = ()
        self._keys: list[str] = []
        """Of the rows that can be chosen."""
        self._places: list[int] = []
        """Their indexes among all rows."""
        self._index = 0
        """The chosen one's index among those that can be chosen."""
        self._rows_max = rows_max

    # For subclasses

    @abstractmethod
    def _key_of(self, row: Row) -> str:
        """Return what identifies the row."""

    @abstractmethod
    def _draw_rows(self, rows: Sequence[Row], width: int, chosen: Row | None) -> list[Content]:
        """Return LINES_A_ROW lines for each of these, of which there is at least one."""

    def _nothing(self) -> str:
        """Return the text to show if there are no rows."""
        return ""

    def _head(self, width: int) -> list[Content]:
        """Return the lines above the rows."""
        return []

    # For others

    def set_rows(self, rows: Sequence[Row], *, first: bool = False) -> None:
        """List these; the choice stays if it is still among them, unless `first` chooses the first."""
        before = self._keys[self._index] if self._keys and not first else ""
        keys = [self._key_of(row) for row in rows]
        self._rows = rows
        self._places = [place for place, key in enumerate(keys) if key]
        self._keys = [key for key in keys if key]
        found = self._keys.index(before) if before in self._keys else self._index
        self._index = 0 if first else max(0, min(found, len(self._keys) - 1))
        self._draw()

    def choose(self, key: str) -> None:
        """Choose the row of this key, if it is listed."""
        if key in self._keys:
            self._index = self._keys.index(key)
            self._draw()

    def step(self, by: int) -> None:
        """Go up or down among those that can be chosen."""
        self._index = max(0, min(self._index + by, len(self._keys) - 1))
        self._draw()

    def set_rows_max(self, rows_max: int) -> None:
        """Draw at most so many at once."""
        self._rows_max = max(self.ROWS_MIN, rows_max)
        self._draw()

    @property
    def chosen(self) -> Row | None:
        """The row that keys act on."""
        return self._rows[self._places[self._index]] if self._places else None

    @property
    def chosen_key(self) -> str:
        """The key of the chosen row; empty if none is listed."""
        return self._keys[self._index] if self._keys else ""

    @property
    def rows(self) -> Sequence[Row]:
        """The listed rows, drawn or not."""
        return self._rows

    @property
    def left(self) -> int:
        """The number of rows after the chosen one that can be chosen."""
        return len(self._keys) - 1 - self._index

    # Drawing

    def on_resize(self) -> None:
        """Adapt to the new width."""
        self._draw()

    def on_click(self, event: events.Click) -> None:
        """Choose the row under the mouse."""
        y = event.y - len(self._head(WIDTH_MIN))
        at = self._first + y // self.LINES_A_ROW
        if 0 <= y < self._rows_max * self.LINES_A_ROW and at in self._places:
            before, self._index = self._index, self._places.index(at)
            self._draw()
            self.post_message(self.Clicked(again=before == self._index and event.chain > 1))

    @property
    def _first(self) -> int:
        """The first row that is drawn: the chosen one is near the middle."""
        at = self._places[self._index] if self._places else 0
        return min(max(0, at - self._rows_max // 2), max(0, len(self._rows) - self._rows_max))

    def _draw(self) -> None:
        width = max(WIDTH_MIN, self.content_size.width or app_of(self).size.width - 8)
        shown = self._rows[self._first : self._first + self._rows_max]
        lines = [*self._head(width), *(self._draw_rows(shown, width, self.chosen) if shown else ())]
        hidden = len(self._rows) - len(shown)
        if self.TELLS_HIDDEN and hidden > 0:
            lines.append(Content.styled(f"  {hidden:,} more", MUTED))
        if not self._rows and (nothing := self._nothing()):
            said = textwrap.wrap(nothing, width - 4) or [""]
            lines.append(Content.styled("\n".join(f"  {line}" for line in said), MUTED))
        self.update(Content("\n").join(lines))
