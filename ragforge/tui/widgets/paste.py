"""Pastes: telling them from typing, folding long ones into a word of the text, cleaning their contents."""

import re
from collections.abc import Iterable

from msgspec import Struct, field

FOLD_LINES_MIN = 11
FOLD_CHARS_MIN = 4_000
"""A paste of one endless line is folded too: it would fill the screen as well."""

GAP_S = 0.010
"""Keys that follow each other faster than this are not typed: fast typists leave 30 ms and more."""
INSTANT_S = 0.002
"""Closer than even two keys hit at once."""
BURST_KEYS = 3
HOLD_S = 0.120
"""A paste may stall: it comes over a network, or reading thousands of keys keeps this machine busy.

Nobody sees its end and starts to type in this time.
"""
FLOOD_HOLD_S = 0.5
"""The same, while some of its keys are still unprocessed."""
AFTER_ENTER_S = 0.025
"""How soon something must follow an Enter for it to be a paste's first key."""

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
"""Everything that `str.splitlines`, which the text area uses, treats as one."""
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\))")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")


class Burst(Struct):
    """Tells from the times of keys whether they are typed or pasted, for terminals without bracketed paste.

    Times are those at which the keys were read. A program that writes a line and its Enter at once looks like
    a paste: it should wait for the echo.
    """

    keys: int = 0
    """Text keys in a row, each within GAP_S of the one before; a held key counts once."""
    let_through: int = 0
    """How many of them were taken for typing, before they were enough to be a paste."""
    last_s: float = field(default=float("-inf"))
    _last_char: str = ""

    def text_key(self, char: str, at_s: float) -> bool:
        """Whether this character belongs to a paste."""
        if at_s - self.last_s > (HOLD_S if self.keys >= BURST_KEYS else GAP_S):
            self.keys, self.let_through = 1, 0
        elif char != self._last_char or self.keys >= BURST_KEYS:
            self.keys += 1
        self.last_s, self._last_char = at_s, char
        pasted = self.keys >= BURST_KEYS
        self.let_through += not pasted
        return pasted

    def enter_is_text(self, at_s: float) -> bool:
        """Whether an Enter at this time belongs to what came just before it."""
        since_s = at_s - self.last_s
        return since_s <= INSTANT_S or (self.keys >= BURST_KEYS and since_s <= HOLD_S)

    def begin(self, at_s: float) -> None:
        """What came at this time is known to be pasted."""
        if at_s - self.last_s > HOLD_S:
            self.let_through = 0
        self.keys, self.last_s, self._last_char = BURST_KEYS, at_s, "\r"

    def other_key(self) -> None:
        """A key that is not text ends a burst."""
        self.keys, self.let_through, self.last_s, self._last_char = 0, 0, float("-inf"), ""


class Folds(Struct):
    """The folded pastes of a text: each as a word such as `[pasted 214 lines]`."""

    whole: dict[str, str] = field(default_factory=dict[str, str])

    def fold(self, paste: str, *, beside: str) -> str:
        """Return what to put into the text for the paste: itself if short, else a word not in `beside`."""
        lines = paste.count("\n") + 1
        if lines < FOLD_LINES_MIN and len(paste) < FOLD_CHARS_MIN:
            return paste
        size = f"{lines} lines" if lines >= FOLD_LINES_MIN else f"{len(paste)} characters"
        number = 1
        word = f"[pasted {size}]"
        while word in self.whole or word in beside or word in paste:
            number += 1
            word = f"[pasted {size} #{number}]"
        self.whole[word] = paste
        return word

    def fold_again(self, text: str, pastes: Iterable[str], *, beside: str) -> str:
        """Return the text with each of its pastes folded, as before it was sent."""
        for paste in sorted(pastes, key=len, reverse=True):
            # A message may have lost blank space at its ends.
            found = next((part for part in (paste, paste.strip()) if part and part in text), "")
            if found:
                text = text.replace(found, self.fold(found, beside=text + beside))
        return text

    def unfold(self, text: str) -> str:
        """Return the text with the contents of every folded paste."""
        if not self.whole:
            return text
        # One pass: a word inside a paste is the paste's own text.
        return self._words().sub(lambda match: self.whole[match[0]], text)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return where folded pastes are in a line: (start, end)."""
        return [match.span() for match in self._words().finditer(line)] if self.whole else []

    def _words(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, sorted(self.whole, key=len, reverse=True))))


def cleaned(paste: str) -> str:
    """Return the paste with line ends as `\
    `, without terminal escapes and control characters."""
    plain = _LINE_ENDS.sub("\n", _ESCAPES.sub("", paste))
    return _CONTROL.sub("", plain).encode("utf-8", "replace").decode()


def snapped(column: int, spans: list[tuple[int, int]], *, forward: bool) -> int:
    """Return the column, moved to an end of the folded paste if it is in the middle of one."""
    for start, end in spans:
        if start < column < end:
            return end if forward else start
    return column
