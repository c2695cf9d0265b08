"""Clickable words in a row: tabs, and actions that keys do as well."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from ragforge.tui.textual_types import changed_keys
from ragforge.tui.widgets.key_hint import renamed
from ragforge.tui.widgets.row_list import MUTED

GAP = "  "


class ClickableWords(Struct, frozen=True):
    """Words, and the action of the screen that a click on them does, such as `show('numbers')`."""

    words: str
    action: str
    is_chosen: bool = False


class ActionLine(Static):
    """Such words, on as many lines as they need; none is broken."""

    DEFAULT_CSS = """
    ActionLine { height: auto; link-style: none; link-color: $foreground-muted; }
    ActionLine.-tabs { link-style: bold; link-color: $foreground; }
    """

    _each: Sequence[ClickableWords] = ()

    def show(self, each: Sequence[ClickableWords]) -> None:
        """Show these; a chosen one stands out."""
        self._each = each
        self._lay_out()

    def on_resize(self) -> None:
        """Adapt to the new width."""
        self._lay_out()

    def _lay_out(self) -> None:
        each = [one for one in map(self._present, self._each) if one.words]
        width = self.content_size.width or max(map(_width, each), default=0)
        lines: list[list[ClickableWords]] = []
        used = width
        for one in each:
            if used + len(GAP) + _width(one) > width:
                lines.append([])
                used = -len(GAP)
            lines[-1].append(one)
            used += len(GAP) + _width(one)
        self.update(Content("\n").join(Content(GAP).join(map(_content, line)) for line in lines))

    def _present(self, one: ClickableWords) -> ClickableWords:
        changed = changed_keys(self)
        if one.action not in changed:
            return one
        return replace(one, words=renamed(one.words, changed, [one.action]))


def _width(one: ClickableWords) -> int:
    return cell_len(one.words)


def _content(one: ClickableWords) -> Content:
    words = Content.styled(one.words, f"@click=screen.{one.action}")
    return words.stylize("reverse" if one.is_chosen else MUTED)
