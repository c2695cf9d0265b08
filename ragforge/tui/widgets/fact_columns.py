"""Names and values, in two columns."""

from collections.abc import Sequence
from itertools import zip_longest
from textwrap import wrap

from ragforge.tui.widgets.plain import PlainText

NAME_CELLS = 12


class FactColumns(PlainText):
    """The facts; values stay in their column. Without a name, a sentence spans both."""

    facts: Sequence[tuple[str, str]] = ()
    """Each a name and what it stands for."""

    @property
    def text(self) -> str:
        """Return a line for each, however it is wrapped."""
        return "\n".join(f"{name:<{NAME_CELLS}}{words}" if name else words for name, words in self.facts)

    def show(self, facts: Sequence[tuple[str, str]]) -> None:
        """Show these."""
        self.facts = facts
        self._lay_out()

    def on_resize(self) -> None:
        """Adapt to the new width."""
        self._lay_out()

    def _lay_out(self) -> None:
        if self.facts:
            width = max(2 * NAME_CELLS, self.content_size.width)
            self.set_text("\n".join("\n".join(_lines(name, words, width)) for name, words in self.facts))


def _lines(name: str, words: str, width: int) -> list[str]:
    if not name:
        return [words]
    said = wrap(words, width - NAME_CELLS, break_on_hyphens=False)
    return [f"{first:<{NAME_CELLS}}{rest}" for first, rest in zip_longest([name], said, fillvalue="")]
