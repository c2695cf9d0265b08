"""The changes of one turn, above the screen it was opened from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll

from ragforge.tui.screens.changes import changed_lines
from ragforge.tui.screens.turn import ReadScreen
from ragforge.tui.widgets.key_hint import KeyHint
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.text_rows import TextLine, TextRows

if TYPE_CHECKING:  # loaded after the first frame
    from ragforge.versions.difference import Difference


class TurnChangesScreen(ReadScreen):
    """The diff of a turn, to scroll."""

    SCROLLED: ClassVar[str] = "#version-diff"

    def __init__(self, title: str, files: Sequence[Difference]) -> None:
        super().__init__()
        self._title, self._files = title, files

    def compose(self) -> ComposeResult:
        """The diff, below its turn."""
        with Vertical(classes="dialog wide tall"):
            yield PlainText(self._title, classes="dialog-title")
            with VerticalScroll(id="version-diff", can_focus=False):
                yield TextRows()
            yield KeyHint("Up and Down scroll · Esc goes back")

    async def on_mount(self) -> None:
        """Draw it."""
        nothing = [TextLine("No file changed in this turn.", kind="note")]
        lines = await asyncio.to_thread(changed_lines, self._files) or nothing
        self.query_one(TextRows).set_lines(lines)
