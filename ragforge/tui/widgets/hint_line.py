"""A dim line below the prompt: which command does what is being typed."""

import asyncio
from collections.abc import Mapping

from textual import work
from textual.content import Content
from textual.widgets import Static

from ragforge.tui.keys import shown

ALONE = "Enter sends the message all the same"


class HintLine(Static):
    """Hidden, unless what is typed asks for something that a command does."""

    DEFAULT_CSS = """
    HintLine {
        display: none;
        height: 1;
        padding: 0 2;
        color: $text-muted;
        &.-hints { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.command = ""
        """The command's name without its slash; empty while nothing is hinted at."""
        self._key = ""

    def use_keys(self, bound: Mapping[str, tuple[str, ...]]) -> None:
        """Name the key that runs the command as it is bound."""
        self._key = next(iter(bound["do_hint"]), "")

    @work(exclusive=True, group="hint")
    async def look(self, text: str, *, known: frozenset[str]) -> None:
        """Hint at a command, if the text asks for one of the known. Its rules take a moment to load once."""
        command = ""
        if text.strip() and not text.startswith(("/", "!")):
            from ragforge.domain.intents import command_of

            intent = await asyncio.to_thread(command_of, text)
            command = intent.command.removeprefix("/") if intent else ""
        self.command = command if command in known else ""
        if self.command:
            by_key = f", {shown(self._key)} runs it" if self._key else ""
            self.update(Content(f"/{self.command} does that{by_key} · {ALONE}"))
        self.set_class(bool(self.command), "-hints")
