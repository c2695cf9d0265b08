"""What dialogs with a list below a line have in common: keys act in the order in which they were pressed."""

import asyncio
from contextlib import suppress
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.screen import ScreenResultType
from textual.widgets import Input

from ragforge.domain import timeouts
from ragforge.tui.screens.dialog import Dialog


def in_order(keys: list[Binding]) -> list[BindingType]:
    """These keys for the `BINDINGS` of a `ListDialog`.

    They come before the line's own, because some mean other things in a text.
    """
    return [
        Binding(key.key, f"in_order('{key.action}')", key.description, show=False, priority=True, id=key.id)
        for key in keys
    ]


class ListDialog(Dialog[ScreenResultType]):
    """A line to type in, and a list that it narrows.

    Textual does at once what such a key stands for, while letters typed before it may still wait for the
    line: Enter would take what is first without them. So the app waits for them, and no later key is
    passed on meanwhile.
    """

    BINDINGS: ClassVar[list[BindingType]] = []

    class AllTyped(Message):
        """Comes behind all that was typed before it was sent through the line."""

        def __init__(self) -> None:
            super().__init__()
            self.has_come = asyncio.Event()

    async def action_in_order(self, action: str) -> None:
        """Do it when all that was typed before stands in the line."""
        typed = self.AllTyped()
        if self.query_one(Input).post_message(typed):
            with suppress(TimeoutError):
                async with asyncio.timeout(timeouts.TYPED_KEYS_S_MAX):
                    await typed.has_come.wait()
        if self.is_current:  # not closed meanwhile
            await self.run_action(action)

    @on(AllTyped)
    def _read(self, event: AllTyped) -> None:
        event.stop()
        self.read_line()  # that the line has changed is told behind this
        event.has_come.set()

    def read_line(self) -> None:
        """Narrow the list by what stands in the line; done again for the same words it changes nothing."""
        raise NotImplementedError
