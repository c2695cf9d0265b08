"""A dim line below the prompt: the command for what is being typed, or a suggestion."""

import asyncio
from collections.abc import Mapping

from textual import work
from textual.content import Content
from textual.widgets import Static

from ragforge.domain.printable import printable
from ragforge.tui.keys import shown
from ragforge.tui.textual_types import app_of

TAKES = "Right takes it"
ALONE = "Enter sends the message anyway"


class HintLine(Static):
    """Its row always exists, so that nothing moves when text appears in it."""

    DEFAULT_CSS = """
    HintLine {
        height: 1;
        padding: 0 2;
        color: $text-muted;
        pointer: pointer;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.command = ""
        """The command's name without its slash; empty without a hint."""
        self.words = ""
        """The current text."""
        self._key = ""
        self._message = ""

    def use_keys(self, bound: Mapping[str, tuple[str, ...]]) -> None:
        """Show the bound key that runs the command."""
        self._key = next(iter(bound["do_hint"]), "")

    @work(exclusive=True, group="hint")
    async def look(self, text: str, *, known: frozenset[str]) -> None:
        """Hint at a command, if the text asks for a known one. Its rules take a moment to load once."""
        command = ""
        if text.strip() and not text.startswith(("/", "!")):
            from ragforge.domain.intents import command_of

            intent = await asyncio.to_thread(command_of, text)
            command = intent.command.removeprefix("/") if intent else ""
        self.command = command if command in known else ""
        self._draw()

    def on_click(self) -> None:
        """Do what the key in the line does."""
        if self.command and self._key:
            app_of(self).simulate_key(self._key)
        elif self._message and not self.command:
            app_of(self).simulate_key("right")

    def suggest(self, message: str) -> None:
        """Show a suggestion; empty for none any more. A command takes precedence."""
        self._message = message
        self._draw()

    def _draw(self) -> None:
        by_key = f", {shown(self._key)} runs it" if self._key else ""
        words = f"/{self.command} does that{by_key} · {ALONE}" if self.command else ""
        if not words and self._message:
            words = f"next? {printable(self._message)} · {TAKES}"
        if words != self.words:
            self.words = words
            self.update(Content(words))
