"""The prediction for a turn beside what happened, from stored facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll

from ragforge.domain.messages import text_of
from ragforge.domain.printable import printable
from ragforge.domain.words import first_words
from ragforge.tui.screens.turn import ReadScreen
from ragforge.tui.widgets.foresight_line import ExpectedColumns, columns_of
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.foresight import ForeseenTurn, MarkedTurn


class ExpectedScreen(ReadScreen):
    """Two columns: expected, happened. marked: the facts, and why the turn is marked."""

    SCROLLED: ClassVar[str] = "#expected"

    def __init__(self, each: ForeseenTurn, marked: MarkedTurn) -> None:
        super().__init__()
        self._each, self._marked = each, marked

    def compose(self) -> ComposeResult:
        """Why it is marked, and the columns."""
        each, marked = self._each, self._marked
        why = "; ".join(mark.words for mark in marked.marks) or "everything went as foreseen"
        with Vertical(classes="dialog wide tall"):
            title = f"Turn {each.number}: {first_words(printable(text_of(each.turn.user)))}"
            yield PlainText(title, classes="dialog-title")
            yield PlainText(f"{why[:1].upper()}{why[1:]}.", classes="dialog-detail")
            with VerticalScroll(id="expected", can_focus=False):
                yield ExpectedColumns(*columns_of(each, marked))
            yield KeyHint("Esc goes back")
