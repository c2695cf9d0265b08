"""A question with yes and no. Nothing is the default: Enter alone decides nothing."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from ragforge.tui.widgets.plain import PlainText


class ConfirmScreen(ModalScreen[bool]):
    """True for yes, False for no and for Esc."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,1", "answer(True)", show=False),
        Binding("n,3,escape", "answer(False)", show=False),
    ]

    def __init__(self, question: str, *, detail: str = "") -> None:
        super().__init__()
        self._question = question
        self._detail = detail

    def compose(self) -> ComposeResult:
        """The question and the keys."""
        with Vertical(classes="dialog"):
            yield PlainText(self._question, classes="dialog-title")
            if self._detail:
                yield PlainText(self._detail, classes="dialog-detail")
            yield PlainText("y  yes", classes="dialog-choice")
            yield PlainText("n  no (Esc too)", classes="dialog-choice")

    def action_answer(self, answer: bool) -> None:
        """Close with it."""
        self.dismiss(answer)

    def on_click(self, event: object) -> None:
        """Answers are clicked as well as pressed."""
        widget = getattr(event, "widget", None)
        if isinstance(widget, PlainText) and widget.has_class("dialog-choice"):
            self.dismiss(widget.text.startswith("y"))
