"""The app: what it opens at the start, and how it leaves the terminal."""

import asyncio
import logging
import os
import signal
from functools import partial
from typing import Any, ClassVar, cast

from textual import events
from textual.app import App
from textual.binding import BindingType
from textual.screen import Screen
from textual.worker import WorkerFailed

from ragforge.tui import clipboard
from ragforge.tui.chat.screen import ChatScreen
from ragforge.tui.first_prompt.prompt import FirstPrompt
from ragforge.tui.key_watch import KeyWatch
from ragforge.tui.keys import app_bindings, with_present_keys
from ragforge.tui.launch import Known, Leaving, OpenSession
from ragforge.tui.mouse import LeftClicks
from ragforge.tui.terminal_driver import BracketsPastes, TerminalDriver
from ragforge.tui.theme import ThemedApp

log = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class RagforgeApp(ThemedApp[Leaving], KeyWatch[Leaving], LeftClicks[Leaving]):
    """ragforge in the terminal.

    open_session: opens what the command line requested; it runs after the first frame, because
    it loads most of the program.
    """

    CSS_PATH = "theme.tcss"
    TITLE = "ragforge"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [*app_bindings()]

    def __init__(
        self,
        open_session: OpenSession,
        *,
        theme_setting: str = "auto",
        terminal_is_dark: bool | None = None,
        first: FirstPrompt | None = None,
        known: Known | None = None,
    ) -> None:
        """first: the prompt that has the terminal until this app starts. known: shown until the session is
        open."""
        super().__init__(
            driver_class=cast(
                "type[TerminalDriver]", partial(TerminalDriver, first=first)
            ),  # it is only called
            # Else Textual turns all colours into greys, and paints backgrounds.
            ansi_color=True if "NO_COLOR" in os.environ else None,
        )
        self.begin_with_theme(theme_setting, terminal_is_dark=terminal_is_dark)
        self._chat = ChatScreen(open_session, known or Known())
        self.held = []  # until the prompt has the focus: nothing typed while the program loads is lost
        self._sigint_before: Any = signal.SIG_DFL

    def get_default_screen(self) -> Screen[None]:
        """The chat is the first screen: an empty one below it would have to be drawn too."""
        return self._chat

    def on_mount(self) -> None:
        """Handle signals."""
        cast(Any, self).app_resume_signal.subscribe(self, self._redraw)
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self._stop, number)
        # Not through the loop, which would handle it even while an editor has the terminal and needs it.
        self._sigint_before = signal.signal(
            signal.SIGINT, lambda number, _: loop.call_soon_threadsafe(self._stop, number)
        )

    def on_brackets_pastes(self, event: BracketsPastes) -> None:
        """The terminal marks pastes."""
        event.stop()
        self._chat.prompt.brackets_pastes = True

    def direct(self, event: events.Key | events.Paste) -> bool:
        """In the chat, a key that nothing else wants goes to the prompt, whatever was clicked before."""
        return self.screen is self._chat and self._chat.direct(event)

    def _redraw(self, _: App[Any]) -> None:
        """Redraw everything: another program has written over the screen."""
        self.screen.refresh(layout=True)

    def on_unmount(self) -> None:
        """Restore what was changed."""
        signal.signal(signal.SIGINT, self._sigint_before)

    def _stop(self, number: int) -> None:
        """Leave because of a signal: what runs is interrupted and stored, and the terminal restored."""
        self._chat.leave(exit_code=128 + number)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy the selection, to this machine's clipboard if possible, else by the terminal."""
        self.notify(clipboard.copy(text, self), markup=False)

    def action_say_how_to_quit(self) -> None:
        """Ctrl+Q does not quit: it is next to Ctrl+W."""
        quits = "Type /exit to quit. Ctrl+D on an empty input quits, too."
        self.notify(with_present_keys(quits, self._keymap, "delete_or_quit"), markup=False)

    def _fatal_error(self) -> None:
        """Leave without Textual's traceback, which shows variables, and keys among them."""
        error = self._exception
        if isinstance(error, WorkerFailed):
            error = error.error
        log.error("The interface stopped unexpectedly", exc_info=error)
        command = self._chat.resume_command
        words = f"{type(error).__name__}: {error}" if error else "unknown"
        failure = (
            f"The interface stopped unexpectedly ({words}). The conversation is saved; the log has details."
        )
        self.exit(Leaving("", command, 1, failure=failure), return_code=1)
