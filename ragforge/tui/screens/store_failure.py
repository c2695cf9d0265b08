"""What to do if the store cannot be opened: the error, and the choices."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from ragforge.tui.launch import NotOpened
from ragforge.tui.screens.dialog import Dialog
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText

PASSWORD_HINT = (
    "It is used for this run only and not saved; `ragforge db connect` saves one.\n"
    "Enter connects · Esc goes back"
)


class FailureAnswer(StrEnum):
    """The choices."""

    PASSWORD = "password"
    AGAIN = "again"
    EMBEDDED = "embedded"
    LEAVE = "leave"


class NotOpenedScreen(Dialog[FailureAnswer]):
    """Returns the choice.

    password: with PASSWORD, the server's password.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", show=False),
        Binding("ctrl+d", "leave", show=False),
    ]

    def __init__(self, opened: NotOpened) -> None:
        super().__init__()
        self._opened = opened
        self.password = ""

    def compose(self) -> ComposeResult:
        """The error and the choices."""
        with Vertical(classes="dialog wide"):
            yield PlainText("Your conversations cannot be opened", classes="dialog-title")
            yield PlainText(str(self._opened.failure), classes="dialog-detail")
            yield OptionList(
                *([Option("Give the password", FailureAnswer.PASSWORD)] if self._opened.ask_for else []),
                Option("Try again", FailureAnswer.AGAIN),
                Option("Use the built-in store for this run", FailureAnswer.EMBEDDED),
                Option("Quit", FailureAnswer.LEAVE),
                markup=False,
            )
            yield Input(password=True, placeholder="password", classes="hidden")
            yield KeyHint(self._hint)

    @property
    def _hint(self) -> str:
        return (
            f"The built-in store is {self._opened.embedded}. It has none of the server's conversations, "
            "and this run's conversation stays in it.\nUp and Down choose · Enter takes it · Esc quits"
        )

    def on_mount(self) -> None:
        """Enter asks or tries again: it is harmless."""
        options = self.query_one(OptionList)
        options.highlighted = 0
        options.focus()

    def on_key(self, event: events.Key) -> None:
        """Letters choose nothing here: they are words, except in the line for the password."""
        if not self._asks and event.is_printable and event.character:
            event.stop()
            self.keep_typed(event)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        wanted = FailureAnswer(event.option_id or FailureAnswer.LEAVE)
        if wanted is FailureAnswer.PASSWORD:
            self._ask(True)
        else:
            self.dismiss(wanted)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.password = event.value
        if self.password:
            self.dismiss(FailureAnswer.PASSWORD)
        else:
            self._ask(False)

    @property
    def _asks(self) -> bool:
        return self.query_one(Input).has_focus

    def _ask(self, asks: bool) -> None:
        """Show the line for the password, which is hidden; else the choices."""
        field, options = self.query_one(Input), self.query_one(OptionList)
        field.set_class(not asks, "hidden")
        options.set_class(asks, "hidden")
        field.value = ""
        (field if asks else options).focus()
        self.query_one(KeyHint).set_text(PASSWORD_HINT if asks else self._hint)

    def action_back(self) -> None:
        """Return to the choices; quit from there."""
        if self._asks:
            self._ask(False)
        else:
            self.action_leave()

    def action_leave(self) -> None:
        self.dismiss(FailureAnswer.LEAVE)
