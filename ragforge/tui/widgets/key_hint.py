"""What the keys of a dialog do: each of them can be clicked as well."""

import re
from collections.abc import Iterator
from functools import cache
from textwrap import wrap

from msgspec import Struct
from rich.cells import cell_len
from textual import events

from ragforge.tui import keys
from ragforge.tui.textual_types import app_of
from ragforge.tui.widgets.plain import PlainText

SEPARATOR = " · "
_ARROWS = {"←": "left", "→": "right"}
_WORD = re.compile(r"[^\s,]+")


class KeyLine(Struct, frozen=True):
    """A line of a hint. keys: the cells from which on a click presses a key; empty for none."""

    text: str
    keys: tuple[tuple[int, str], ...]

    def key_at(self, x: int) -> str:
        """The key that a click on this cell presses; empty for none."""
        before = [key for start, key in self.keys if start <= x]
        return before[-1] if before and x < cell_len(self.text) else ""


class KeyHint(PlainText):
    """`Enter opens it · Esc closes`: no line ends within such a part, and a click on it presses its key."""

    DEFAULT_CSS = "KeyHint { pointer: pointer; }"

    def __init__(self, text: str = "") -> None:
        super().__init__(text, classes="dialog-hint")
        self._whole = text
        self._lines = key_lines(text, cell_len(text))

    @property
    def text(self) -> str:
        """What is shown, however its lines end."""
        return self._whole

    def set_text(self, text: str) -> None:
        """Show this instead."""
        self._whole = text
        self._lay_out()

    def on_resize(self) -> None:
        """Fit the new width."""
        self._lay_out()

    def on_click(self, event: events.Click) -> None:
        """Press the key that is named there."""
        at = event.get_content_offset(self)
        if at and at.y < len(self._lines) and (key := self._lines[at.y].key_at(at.x)):
            event.stop()
            app_of(self).simulate_key(key)

    def _lay_out(self) -> None:
        self._lines = key_lines(self._whole, self.content_size.width or cell_len(self._whole))
        super().set_text("\n".join(line.text for line in self._lines))


def key_lines(text: str, width: int) -> list[KeyLine]:
    """The lines of a hint, of which each part stays whole where it fits."""
    return [line for paragraph in text.split("\n") for line in _wrapped(paragraph, max(1, width))]


def _wrapped(paragraph: str, width: int) -> Iterator[KeyLine]:
    text = ""
    found: list[tuple[int, str]] = []
    for part in paragraph.split(SEPARATOR):
        if text and cell_len(f"{text}{SEPARATOR}{part}") > width:
            yield KeyLine(text, tuple(found))
            text, found = "", []
        text += SEPARATOR if text else ""
        found += _keys_of(part, at=cell_len(text))
        *whole, text = wrap(text + part, width) or [""]
        for line in whole:  # one part is wider than all there is
            yield KeyLine(line, tuple(found))
            found = [(0, found[-1][1])]
    yield KeyLine(text, tuple(found))


def _keys_of(part: str, *, at: int) -> list[tuple[int, str]]:
    """Where each key of a part begins, the part's first cell being `at`; what names none belongs to none."""
    named: list[tuple[int, str]] = []
    for word in _WORD.finditer(part):
        if key := _key(word[0]):
            named.append((at + cell_len(part[: word.start()]), key))
        elif not named or word[0] != "and":
            break
    return named or [(at, "")]


def _key(word: str) -> str:
    """The key of this name; empty for any other word."""
    return _ARROWS.get(word) or _names().get(word, "")


@cache
def _names() -> dict[str, str]:
    return {keys.shown(key): key for line in keys.TABLE for key in line.keys}
