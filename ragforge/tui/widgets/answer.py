"""The model's answer, as growing Markdown."""

import asyncio
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from textual import work
from textual.widget import Widget

from ragforge.domain.printable import printable
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.plain import PlainText

if TYPE_CHECKING:  # at run time it comes later, see `_build`
    from textual.widgets.markdown import Markdown

    from ragforge.tui.widgets.answer_markdown import AnswerMarkdown

_MODULE = "ragforge.tui.widgets.answer_markdown"

DRAW_EVERY_S = 0.08
"""The shortest time between two drawings: each lays out the whole screen, whatever has changed."""
REST = 2
"""While text arrives, drawing takes one part of the time, and so many are left to keys and the rest."""
REST_S_MAX = 1.0


class AnswerView(Widget):
    """A piece of an answer. `show_text` may be called often: only what is new is parsed."""

    def __init__(self, text: str, *, more_chars: int = 0) -> None:
        """more_chars: how many characters follow that are not drawn."""
        super().__init__()
        self._text = text
        self._more_chars = more_chars
        self._drawn_chars = 0
        self._markdown: AnswerMarkdown | None = None
        self._feeding = False
        self._draws_at_s = 0.0
        """The earliest time of the next drawing."""
        self._rest: PlainText | None = None

    @property
    def text(self) -> str:
        """The Markdown, as the model wrote it."""
        return self._text

    @property
    def drawn(self) -> bool:
        """Whether everything to be drawn is on the screen."""
        return self._markdown is not None and not self._feeding and self._drawn_chars == len(self._text)

    def on_mount(self) -> None:
        """Build it, after the first frame if that is still to come."""
        if _MODULE in sys.modules:
            self._feed()
        else:
            self.call_after_refresh(self._feed)

    def show_text(self, text: str, *, more_chars: int = 0) -> None:
        """The text so far; it only ever grows."""
        self._text, self._more_chars = text, more_chars
        if self._markdown is not None and not self._feeding:
            self._feed()

    @work
    async def _feed(self) -> None:
        """Draw what is not drawn yet; what arrives meanwhile is drawn in one piece."""
        self._feeding = True
        try:
            if self._markdown is None:
                await self._build()
            while self._markdown is not None and self._drawn_chars < (until := len(self._text)):
                if (early_s := self._draws_at_s - time.monotonic()) > 0:
                    await asyncio.sleep(early_s)
                    continue
                fragment, self._drawn_chars = self._text[self._drawn_chars : until], until
                began_s, self._draws_at_s = time.thread_time(), time.monotonic() + DRAW_EVERY_S
                await self._markdown.append(printable(fragment))
                await self._shown()
                rest_s = min(REST * (time.thread_time() - began_s), REST_S_MAX)
                self._draws_at_s = max(self._draws_at_s, time.monotonic() + rest_s)
            await self._tell_rest()
        finally:
            self._feeding = False

    async def _shown(self) -> None:
        """Wait until it is laid out and on the screen, which takes longer than parsing it."""
        shown = asyncio.Event()
        self.call_after_refresh(shown.set)
        # Below a dialog it may not be drawn for long.
        with suppress(TimeoutError):
            await asyncio.wait_for(shown.wait(), REST_S_MAX)

    async def _build(self) -> None:
        # Importing and mounting Markdown costs as much as the rest of the first screen.
        from ragforge.tui.widgets.answer_markdown import AnswerMarkdown

        self._drawn_chars = len(self._text)
        self._markdown = AnswerMarkdown(printable(self._text))
        await self.mount(self._markdown)

    async def _tell_rest(self) -> None:
        """Show how much is not drawn."""
        if not self._more_chars:
            return
        if self._rest is None:
            self._rest = PlainText()
            await self.mount(self._rest)
        more = f"… {self._more_chars:,} more characters are not shown."
        self._rest.set_text(f"{more} /export writes all of it to a file.")

    def on_markdown_link_clicked(self, event: "Markdown.LinkClicked") -> None:
        """Open only web addresses: a model may write any link."""
        event.stop()
        if event.href.startswith(("https://", "http://")):
            app_of(self).open_url(event.href)
