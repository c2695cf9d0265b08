"""The keys of a dialog: each of them can be clicked as well."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from textwrap import wrap
from typing import Any

from msgspec import Struct
from rich.cells import cell_len
from textual import events
from textual.binding import Binding
from textual.screen import Screen

from ragforge.tui import keys
from ragforge.tui.textual_types import app_of, changed_keys
from ragforge.tui.widgets.plain import PlainText

SEPARATOR = " · "
_ARROWS = {"←": "left", "→": "right"}
NONE: Mapping[str, str] = {}
_WORD = re.compile(r"[^\s,]+")


class KeyLine(Struct, frozen=True):
    """A line of a hint. keys: the cells from which on a click presses a key; empty for none."""

    text: str
    keys: tuple[tuple[int, str], ...]

    def key_at(self, x: int) -> str:
        """Return the key that a click on this cell presses; empty for none."""
        before = [key for start, key in self.keys if start <= x]
        return before[-1] if before and x < cell_len(self.text) else ""


class KeyHint(PlainText):
    """`Enter opens it · Esc closes`: no line breaks within such a part, and a click on it presses its key.

    The text names the table's keys; shown are the user's.
    """

    DEFAULT_CSS = "KeyHint { pointer: pointer; }"

    def __init__(self, text: str = "", *, actions: Sequence[str] = (), classes: str = "dialog-hint") -> None:
        """actions: those of the keys that it names; the screen's if none are given."""
        super().__init__(text, classes=classes)
        self._actions = actions
        self._whole = text
        self._lines = key_lines(text, cell_len(text))

    @property
    def text(self) -> str:
        """The text, however it is wrapped."""
        return self._present()

    def rows_in(self, width: int) -> int:
        """Return how many lines it takes in so many cells."""
        return len(key_lines(self._present(), width))

    def set_text(self, text: str) -> None:
        """Show this instead."""
        self._whole = text
        self._lay_out()

    def on_resize(self) -> None:
        """Adapt to the new width."""
        self._lay_out()

    def on_click(self, event: events.Click) -> None:
        """Press the key under the mouse."""
        at = event.get_content_offset(self)
        if at and at.y < len(self._lines) and (key := self._lines[at.y].key_at(at.x)):
            event.stop()
            app_of(self).simulate_key(key)

    def _lay_out(self) -> None:
        whole = self._present()
        self._lines = key_lines(
            whole, self.content_size.width or cell_len(whole), own_names(changed_keys(self))
        )
        super().set_text("\n".join(line.text for line in self._lines))

    def _present(self) -> str:
        changed = changed_keys(self)
        if not changed:
            return self._whole
        return renamed(self._whole, changed, self._actions or bound_on(self.screen))


def own_names(changed: Mapping[str, str]) -> dict[str, str]:
    """Return the keys that are not the table's, by their names."""
    return {keys.shown(key): key for each in changed.values() for key in each.split(",")}


def bound_on(screen: Screen[Any]) -> list[str]:
    """Return the actions of the table that keys do on this screen."""
    bound = [each for kind in type(screen).__mro__ for each in vars(kind).get("BINDINGS", ())]
    return [each.id for each in bound if isinstance(each, Binding) and each.id]


def renamed(text: str, changed: Mapping[str, str], actions: Iterable[str]) -> str:
    """Return the hint with the current keys for these actions; a part without any is left out."""
    present = {keys.first_key(action): keys.present_key(action, changed) for action in actions}
    changed_ones = {key: now for key, now in present.items() if key != now}
    return "\n".join(_renamed(paragraph, changed_ones) for paragraph in text.split("\n"))


def _renamed(paragraph: str, present: Mapping[str, str]) -> str:
    names = _names()
    parts: list[str] = []
    for part in paragraph.split(SEPARATOR):
        before = [key for _, key in _keys_of(part, names, at=0)]
        now = [present.get(key, key) for key in before]
        if now == before:
            parts.append(part)
        elif any(now):
            words = part.split()
            about = next(
                (at for at, word in enumerate(words) if word != "and" and word.strip(",") not in names), 0
            )
            between = " and " if "and" in words[:about] else " "
            named = between.join(keys.shown(key) for key in now if key)
            parts.append(" ".join([named, *words[about:]]))
    return SEPARATOR.join(parts)


def key_lines(text: str, width: int, own: Mapping[str, str] = NONE) -> list[KeyLine]:
    """Return the lines of a hint, in which each part stays whole if it fits.

    own: the keys that are not the table's, by their names.
    """
    names = {**_names(), **own}
    return [line for paragraph in text.split("\n") for line in _wrapped(paragraph, max(1, width), names)]


def _wrapped(paragraph: str, width: int, names: Mapping[str, str]) -> Iterator[KeyLine]:
    text = ""
    found: list[tuple[int, str]] = []
    for part in paragraph.split(SEPARATOR):
        if text and cell_len(f"{text}{SEPARATOR}{part}") > width:
            yield KeyLine(text, tuple(found))
            text, found = "", []
        text += SEPARATOR if text else ""
        found += _keys_of(part, names, at=cell_len(text))
        *whole, text = wrap(text + part, width) or [""]
        for line in whole:  # one part is wider than the line
            yield KeyLine(line, tuple(found))
            found = [(0, found[-1][1])]
    yield KeyLine(text, tuple(found))


def _keys_of(part: str, names: Mapping[str, str], *, at: int) -> list[tuple[int, str]]:
    """Return where each key of a part starts, its first cell being `at`; unnamed cells belong to none."""
    named: list[tuple[int, str]] = []
    for word in _WORD.finditer(part):
        if key := names.get(word[0]):
            named.append((at + cell_len(part[: word.start()]), key))
        elif not named or word[0] != "and":
            break
    return named or [(at, "")]


@cache
def _names() -> dict[str, str]:
    return {keys.shown(key): key for line in keys.TABLE for key in line.keys} | _ARROWS
