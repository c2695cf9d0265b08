"""A line of input that a program waits for."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from ragforge.domain.reveal import spelled_out
from ragforge.tui.screens.dialog import Dialog, QuestionText
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText


class AskScreen(Dialog[str | None]):
    """The input, or None for Esc: then the program gets no more input."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "end", show=False),
        Binding("pageup", "scroll_question(-1)", show=False),
        Binding("pagedown", "scroll_question(1)", show=False),
    ]

    def __init__(self, question: str, *, may_be_empty: bool = False) -> None:
        super().__init__()
        self._may_be_empty = may_be_empty
        self._question = spelled_out(question)

    def compose(self) -> ComposeResult:
        """The question and an input line."""
        with Vertical(classes="dialog wide"):
            with QuestionText():
                yield PlainText(self._question, classes="dialog-title")
            yield Input(select_on_focus=False)
            yield KeyHint("Enter sends · Esc ends the program's input")

    def on_mount(self) -> None:
        """Focus the input line."""
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def _send(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip() or self._may_be_empty:
            self.dismiss(event.value)

    def action_scroll_question(self, pages: int) -> None:
        """Scroll a long question."""
        text = self.query_one(QuestionText)
        text.scroll_relative(y=pages * text.size.height, animate=False)

    def action_end(self) -> None:
        """Answer nothing."""
        self.dismiss(None)
