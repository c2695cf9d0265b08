"""One turn to read, above the chat and its questions; and the base of all read-only screens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll

from ragforge.tui.keys import Where, declared
from ragforge.tui.screens.dialog import Dialog
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.memory_book import TurnText

CHARS_SHOWN = 20_000
"""Of the message, and of the answer; the session has the rest."""
KEYS = ("take", "leave", "list_up", "list_down", "list_page_up", "list_page_down")


class ReadScreen(Dialog[None]):
    """Something to read: keys scroll it, Enter and Esc close it."""

    BINDINGS: ClassVar[list[BindingType]] = [key for key in declared(Where.LIST) if key.action in KEYS]
    SCROLLED: ClassVar[str] = "#turn-text"
    """What keys scroll."""

    @property
    def _text(self) -> VerticalScroll:
        return self.query_one(self.SCROLLED, VerticalScroll)

    def action_take(self) -> None:
        self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_list_up(self) -> None:
        self._text.scroll_up(animate=False)

    def action_list_down(self) -> None:
        self._text.scroll_down(animate=False)

    def action_list_page_up(self) -> None:
        self._text.scroll_page_up(animate=False)

    def action_list_page_down(self) -> None:
        self._text.scroll_page_down(animate=False)


class TurnScreen(ReadScreen):
    """The message and answer of a turn."""

    def __init__(self, turn: TurnText) -> None:
        super().__init__()
        self._turn = turn

    def compose(self) -> ComposeResult:
        """Where it was said, the words, and how to continue from there."""
        turn = self._turn
        with Vertical(classes="dialog wide tall"):
            yield PlainText(turn.place, classes="dialog-title")
            with VerticalScroll(id="turn-text", can_focus=False):
                yield PlainText(turn.user[:CHARS_SHOWN], classes="turn-user")
                yield PlainText(turn.answer[:CHARS_SHOWN])
            yield KeyHint(f"Esc closes · {turn.command} opens it")
