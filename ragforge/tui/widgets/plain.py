"""Prose that is shown literally and copied without its wraps."""

from textual.content import Content
from textual.selection import Selection
from textual.widgets import Static

from ragforge.domain.printable import printable
from ragforge.tui.widgets.text_rows import extract


class PlainText(Static):
    """Words, wrapped at spaces. `[bold]` in them is just text: no markup is parsed."""

    def __init__(self, text: str = "", *, id: str | None = None, classes: str | None = None) -> None:
        self._text = _shown(text)
        super().__init__(Content(self._text), markup=False, id=id, classes=classes)

    @property
    def text(self) -> str:
        """What is shown."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show this instead."""
        self._text = _shown(text)
        self.update(Content(self._text))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, its lines as they were."""
        return extract(self._text, selection), "\n"


def _shown(text: str) -> str:
    # Offsets of a selection count cells of a tab as characters, so there are none.
    return printable(text).expandtabs(4)
