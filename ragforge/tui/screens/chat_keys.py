"""The keys of the chat."""

from __future__ import annotations

import time
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType

from ragforge.tui.keys import Where, declared
from ragforge.tui.screens.chat_frame import ChatFrame
from ragforge.tui.textual_types import app_of

TWICE_S_MAX = 0.8
"""A second key that comes later is another first one."""


class ChatKeys(ChatFrame):
    """What the table's keys of the chat do. Those that run a command are with the commands."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *declared(Where.CHAT),
        Binding("down", "list_step", show=False),
    ]

    _escaped_at = 0.0

    @work(group="command")
    async def action_interrupt(self) -> None:
        """End the running turn; twice while none runs: choose a turn to go back to."""
        pressed_at, self._escaped_at = self._escaped_at, time.monotonic()
        if self.conversation is None:
            return
        if self.conversation.session.busy:
            await self.conversation.interrupt()
        elif self._escaped_at - pressed_at < TWICE_S_MAX:
            self._escaped_at = 0.0
            await self.run_action("rewind")

    @work(group="mode", exclusive=True)
    async def action_cycle_mode(self) -> None:
        """The next consent mode."""
        if self.conversation:
            await self.attempt(self.conversation.cycle_mode())
            self.show_status()

    def action_list_step(self) -> None:
        """From the prompt down into the list of sessions."""
        if self._parts and self.start_list.is_open:
            self.start_list.step(1)

    def action_expand(self) -> None:
        """Open or fold the output of tools."""
        if self._parts:
            self.transcript.action_toggle_all_tools()

    async def action_show_newest(self) -> None:
        """To the newest output."""
        if self._shown_at is not None and self.conversation:
            await self.load_turns(self.conversation, None)
            self._shown_at = None
        if self._parts:
            await self.transcript.action_end()

    def action_scroll_page_up(self) -> None:
        """A page up."""
        if self._parts:
            self.transcript.action_page_up()

    def action_scroll_page_down(self) -> None:
        """A page down."""
        if self._parts:
            self.transcript.action_page_down()

    def action_scroll_line_up(self) -> None:
        """A line up."""
        if self._parts:
            self.transcript.action_line_up()

    def action_scroll_line_down(self) -> None:
        """A line down."""
        if self._parts:
            self.transcript.action_line_down()

    def action_walk(self) -> None:
        """Into the conversation, from its end."""
        if self._parts:
            self.transcript.walk_from_end()

    def action_suspend(self) -> None:
        """Back to the shell; `fg` returns."""
        app_of(self).action_suspend_process()
