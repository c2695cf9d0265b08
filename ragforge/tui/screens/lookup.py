"""A screen for look-ups: an input line, the list below it, and everything about the chosen entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from ragforge.tui.screens.list_dialog import FilterLine, in_order, list_keys
from ragforge.tui.widgets.entry_list import EntryList, LookupEntry
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText

SHORT = 20
"""From so many rows on there is room for decoration."""
ROWS_BESIDE, ROWS_BESIDE_SHORT = 11, 6
"""Rows of the screen: border, title, line, and how many more there are."""
DETAIL_ROWS, DETAIL_ROWS_NARROW, DETAIL_ROWS_SHORT = 4, 6, 2
"""Rows for the complete chosen entry."""
NARROW = 60
CELLS_BESIDE = 6
"""Columns of the screen: border and padding."""


class LookupScreen(FilterLine[str | None]):
    """Returns the key of the chosen entry, or None. It uses the whole width, and is opened at its top."""

    BINDINGS: ClassVar[list[BindingType]] = [*in_order(list_keys())]

    def __init__(self, heading: str, entries: Sequence[LookupEntry], *, hint: str, words: str = "") -> None:
        """hint: the keys. words: the initial text of the line."""
        super().__init__()
        self._heading = heading
        self._entries = entries
        self._hint = hint
        self._words = words

    def compose(self) -> ComposeResult:
        """The line, the list, the complete chosen entry, and the keys."""
        with Vertical(classes="dialog tall"):
            yield PlainText(self._heading, classes="dialog-title")
            yield Input(self._words, placeholder="type to search", select_on_focus=False)
            yield EntryList(self._entries, nothing="No matches.")
            yield PlainText("", id="entry-detail")
            yield KeyHint(self._hint)

    def on_mount(self) -> None:
        """Focus the line."""
        self._line.focus()
        self._list.narrow(self._words)
        self._explain()

    def on_resize(self) -> None:
        """Use the available rows."""
        is_short = self.size.height < SHORT
        self.set_class(is_short, "-short")
        details = DETAIL_ROWS_NARROW if self.size.width < NARROW else DETAIL_ROWS
        details = DETAIL_ROWS_SHORT if is_short else details
        self.query_one("#entry-detail").styles.height = details
        below = details + self.query_one(KeyHint).rows_in(self.size.width - CELLS_BESIDE)
        self._list.set_rows_max(self.size.height - below - (ROWS_BESIDE_SHORT if is_short else ROWS_BESIDE))

    @property
    def _list(self) -> EntryList:
        return self.query_one(EntryList)

    async def _step(self, by: int) -> None:
        self._list.step(by)
        self._explain()

    def on_row_list_clicked(self) -> None:
        """Show the complete entry under the mouse."""
        self._explain()

    def read_line(self) -> None:
        """Filter the list, if the line has changed."""
        if self._line.value != self._words:
            self._words = self._line.value
            self._list.narrow(self._words)
            self._explain()

    def action_take(self) -> None:
        """Take the chosen one."""
        if chosen := self._list.chosen:
            self.dismiss(chosen.key)

    def _explain(self) -> None:
        chosen = self._list.chosen
        self.query_one("#entry-detail", PlainText).set_text((chosen.more or chosen.about) if chosen else "")
