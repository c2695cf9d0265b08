"""What to do where the store cannot be opened: the sentence that says why, and the ways on."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ragforge.tui.opening import NotOpened
from ragforge.tui.widgets.plain import PlainText


class Wanted(StrEnum):
    """The ways on."""

    AGAIN = "again"
    EMBEDDED = "embedded"
    LEAVE = "leave"


class NotOpenedScreen(ModalScreen[Wanted]):
    """What the person wants. `typed_meanwhile` is what was typed on into the prompt as it came up."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+d", "leave", show=False)]

    def __init__(self, opened: NotOpened) -> None:
        super().__init__()
        self._opened = opened
        self.typed_meanwhile = ""

    def compose(self) -> ComposeResult:
        """The sentence and the ways on."""
        with Vertical(classes="dialog wide"):
            yield PlainText("Your conversations cannot be opened", classes="dialog-title")
            yield PlainText(str(self._opened.failure), classes="dialog-detail")
            yield OptionList(
                Option("Try again", Wanted.AGAIN),
                Option("Go on with the embedded store, for this run", Wanted.EMBEDDED),
                Option("Quit", Wanted.LEAVE),
                markup=False,
            )
            yield PlainText(
                f"The embedded store is {self._opened.embedded}. It has none of the server's conversations, "
                "and what is said in this run stays there. Up, Down and Enter choose, Esc quits.",
                classes="dialog-hint",
            )

    def on_mount(self) -> None:
        """Trying again is what Enter does: it harms nothing."""
        options = self.query_one(OptionList)
        options.highlighted = 0
        options.focus()

    def on_key(self, event: events.Key) -> None:
        """Letters choose nothing here: they are words."""
        if event.is_printable and event.character:
            event.stop()
            self.typed_meanwhile += event.character

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(Wanted(event.option_id or Wanted.LEAVE))

    def action_leave(self) -> None:
        """Quit."""
        self.dismiss(Wanted.LEAVE)
