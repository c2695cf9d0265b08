"""The base of dialogs with a list: the keys that move in it, and a line above that filters it."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ScreenResultType
from textual.widgets import Input

from ragforge.domain import timeouts
from ragforge.tui.keys import Where, declared
from ragforge.tui.screens.dialog import Dialog
from ragforge.tui.textual_types import AbstractMeta
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.row_list import RowList

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.session.conversation import Conversation


def list_keys(*more: Where) -> list[Binding]:
    """The keys of a list whose rows are neither renamed nor deleted, and those of more places."""
    return [key for key in declared(Where.LIST, *more) if key.action not in ("rename", "delete")]


def in_order(keys: list[Binding]) -> list[BindingType]:
    """Return these keys for the `BINDINGS` of a `FilterDialog`.

    They take precedence over the input line's own, some of which mean other things in a text.
    """
    return [
        Binding(key.key, f"in_order('{key.action}')", key.description, show=False, priority=True, id=key.id)
        for key in keys
    ]


class ListDialog(Dialog[ScreenResultType], metaclass=AbstractMeta):
    """A list that keys move in, and a hint below with the keys."""

    PAGE: ClassVar[int] = 8
    """How many rows a page key moves by."""
    TAKES_DOUBLE_CLICKS: ClassVar[bool] = True
    """Whether a double click on a row does what Enter does."""

    @abstractmethod
    async def _step(self, by: int) -> None:
        """Choose the row so many further down."""

    async def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves through the rows, unless something else scrolls."""
        if not self._scrolls_there(event):
            await self._step(1)

    async def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Like down."""
        if not self._scrolls_there(event):
            await self._step(-1)

    @on(RowList.Clicked)
    async def _double_clicked(self, event: RowList.Clicked) -> None:
        if event.again and self.TAKES_DOUBLE_CLICKS:
            await self.run_action("take")

    def _scrolls_there(self, event: events.MouseEvent) -> bool:
        """Whether the mouse is on something that scrolls, and leaves the wheel to others at its end."""
        under = self.get_widget_at(*event.screen_offset)[0].ancestors_with_self
        return any(isinstance(each, VerticalScroll) and each.max_scroll_y for each in under)

    async def action_list_up(self) -> None:
        await self._step(-1)

    async def action_list_down(self) -> None:
        await self._step(1)

    async def action_list_page_up(self) -> None:
        await self._step(-self.PAGE)

    async def action_list_page_down(self) -> None:
        await self._step(self.PAGE)

    def action_leave(self) -> None:
        self.dismiss(None)

    def _tell(self, words: str) -> None:
        """Show it below the list."""
        if self.is_current:  # not closed meanwhile
            self.query_one(KeyHint).set_text(words)


class FilterLine(ListDialog[ScreenResultType]):
    """An input line, and a list that it filters. Keys act in the order in which they were pressed.

    Textual acts on such a key at once, while letters typed before it may still wait for the line: Enter would
    take the first row without them. So the app waits for them, and passes on no later key meanwhile.
    """

    BINDINGS: ClassVar[list[BindingType]] = []

    class AllTyped(Message):
        """Arrives after everything that was typed before it was sent through the line."""

        def __init__(self) -> None:
            super().__init__()
            self.has_come = asyncio.Event()

    @property
    def _line(self) -> Input:
        return self.query_one(Input)

    def _set_line(self, text: str) -> None:
        """Put the text into the line without filtering by it."""
        with self._line.prevent(Input.Changed):
            self._line.value = text
        self._line.cursor_position = len(text)

    async def action_in_order(self, action: str) -> None:
        """Do it when everything typed before is in the line."""
        typed = self.AllTyped()
        if self._line.post_message(typed):
            with suppress(TimeoutError):
                async with asyncio.timeout(timeouts.TYPED_KEYS_S_MAX):
                    await typed.has_come.wait()
        if self.is_current:  # not closed meanwhile
            await self.run_action(action)

    @on(AllTyped)
    def _all_typed(self, event: AllTyped) -> None:
        event.stop()
        self.read_line()  # the change of the line is reported after this
        event.has_come.set()

    @on(Input.Changed)
    def _line_changed(self) -> None:
        self.read_line()

    @abstractmethod
    def read_line(self) -> None:
        """Filter the list by the line; repeating it for the same words changes nothing."""


class FilterDialog(FilterLine[ScreenResultType]):
    """An input line and a list of a conversation's data."""

    BINDINGS: ClassVar[list[BindingType]] = []
    HEADING: ClassVar[str] = ""
    PLACEHOLDER: ClassVar[str] = "type to narrow"

    def __init__(self, conversation: Conversation, words: str = "") -> None:
        """words: the initial text of the line."""
        super().__init__()
        self._conversation = conversation
        self._words = words

    def compose(self) -> ComposeResult:
        """The line, the list and the hint."""
        with Vertical(classes="dialog wide"):
            yield PlainText(self.HEADING, classes="dialog-title")
            yield Input(self._words, placeholder=self.PLACEHOLDER, select_on_focus=False)
            yield from self._compose_list()
            yield KeyHint()

    @abstractmethod
    def _compose_list(self) -> ComposeResult:
        """The list, and what is around it."""

    async def on_mount(self) -> None:
        """Focus the line, and fill the list."""
        self._line.focus()
        await self._fill()

    @abstractmethod
    async def _fill(self) -> None:
        """Show the choices."""
