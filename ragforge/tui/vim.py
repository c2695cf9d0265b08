"""Vim's keys for the prompt: what a key does to a text and a place in it. Knows no widget."""

import re
from enum import StrEnum

from msgspec import Struct

COUNT_MAX = 9_999
_PIECE = re.compile(r"\w+|[^\w\s]+")
_MOTIONS = frozenset("hlwbe0^$G")
_OPERATORS = frozenset("dcy")


class VimMode(StrEnum):
    """What keys do: type, or move and change."""

    INSERT = "insert"
    NORMAL = "normal"


class Edit(Struct, frozen=True):
    """Put `insert` in place of what is between two offsets. kept: what went goes into the register."""

    start: int
    end: int
    insert: str = ""
    kept: bool = False


class VimStep(Struct, frozen=True):
    """What a key does: an edit, then the cursor's offset; or an action of the prompt, so many times."""

    edit: Edit | None = None
    at: int | None = None
    action: str = ""
    times: int = 1


NOTHING = VimStep()


class Vim:
    """The state between keys: the mode, a count and an operator that wait, and what was deleted last."""

    def __init__(self) -> None:
        self.mode = VimMode.INSERT
        self._count = ""
        self._operator = ""
        self._is_g = False
        self._register = ""
        self._is_linewise = False

    def keep(self, text: str) -> None:
        """Take what an edit removed, for `p`."""
        self._register = text.strip("\n") if self._is_linewise else text

    def press(self, key: str, char: str, text: str, at: int) -> VimStep | None:
        """What the key does; None where it does what it does without Vim."""
        if self.mode is VimMode.INSERT:
            if key != "escape":
                return None
            self.mode = VimMode.NORMAL
            return VimStep(at=max(_line_start(text, at), at - 1))
        if key == "escape":
            was_waiting = bool(self._count or self._operator or self._is_g)
            self._forget()
            return NOTHING if was_waiting else None
        if key == "ctrl+r":
            return self._done(VimStep(action="redo", times=self._times()))
        if key == "backspace":
            return self._done(VimStep(at=max(_line_start(text, at), at - 1)))
        if len(char) != 1 or not char.isprintable():
            self._forget()
            return None
        return self._normal(char, text, at)

    def _normal(self, char: str, text: str, at: int) -> VimStep | None:
        if char.isdecimal() and (char != "0" or self._count):
            self._count = str(min(COUNT_MAX, int(self._count + char)))
            return NOTHING
        if char == "g" and not self._is_g:
            self._is_g = True
            return NOTHING
        if self._is_g:
            char = "gg" if char == "g" else ""
        if char in _OPERATORS and not self._operator:
            self._operator = char
            return NOTHING
        if char == "/" and not text:
            self.mode = VimMode.INSERT
            return None
        step = self._operated(char, text, at) if self._operator else self._alone(char, text, at)
        return self._done(step)

    def _done(self, step: VimStep) -> VimStep:
        self._forget()
        return step

    def _forget(self) -> None:
        self._count = self._operator = ""
        self._is_g = False

    def _times(self) -> int:
        return int(self._count or 1)

    # Moving

    def _target(self, char: str, text: str, at: int) -> int:
        """Where the motion leads."""
        start, end, times = _line_start(text, at), _line_end(text, at), self._times()
        match char:
            case "h":
                return max(start, at - times)
            case "l":
                return min(end, at + times)
            case "0":
                return start
            case "^":
                return _first_word(text, start)
            case "$":
                return end
            case "w":
                starts = [found.start() for found in _PIECE.finditer(text) if found.start() > at]
                return [*starts, *[len(text)] * times][times - 1]
            case "b":
                starts = [found.start() for found in _PIECE.finditer(text) if found.start() < at]
                return [*[0] * times, *starts][-times]
            case "e":
                ends = [found.end() - 1 for found in _PIECE.finditer(text) if found.end() - 1 > at]
                return [*ends, *[len(text)] * times][times - 1]
            case _:  # gg, G: to a line
                lines = text.split("\n")
                row = int(self._count or (1 if char == "gg" else len(lines)))
                return sum(len(line) + 1 for line in lines[: min(row, len(lines)) - 1])

    # What stands by itself

    def _alone(self, char: str, text: str, at: int) -> VimStep:
        start, end, times = _line_start(text, at), _line_end(text, at), self._times()
        match char:
            case "j" | "k":
                return VimStep(action="down" if char == "j" else "up", times=times)
            case "i" | "a" | "I" | "A":
                self.mode = VimMode.INSERT
                places = {"i": at, "a": min(end, at + 1), "I": _first_word(text, start), "A": end}
                return VimStep(at=places[char])
            case "o" | "O":
                self.mode = VimMode.INSERT
                place = end if char == "o" else start
                return VimStep(Edit(place, place, "\n"), at=end + 1 if char == "o" else start)
            case "x":
                return self._cut(at, min(end, at + times))
            case "X":
                return self._cut(max(start, at - times), at)
            case "D":
                return self._cut(at, end)
            case "C":
                self.mode = VimMode.INSERT
                return self._cut(at, end)
            case "p" | "P":
                return self._put(char, text, at)
            case "u":
                return VimStep(action="undo", times=times)
            case _ if char in _MOTIONS or char == "gg":
                return VimStep(at=self._target(char, text, at))
            case _:
                return NOTHING

    def _cut(self, start: int, end: int) -> VimStep:
        self._is_linewise = False
        return VimStep(Edit(start, end, kept=True), at=start) if end > start else VimStep(at=start)

    def _put(self, char: str, text: str, at: int) -> VimStep:
        kept = self._register
        if not kept:
            return NOTHING
        if not self._is_linewise:
            place = min(_line_end(text, at), at + 1) if char == "p" else at
            put = kept * self._times()
            return VimStep(Edit(place, place, put), at=place + len(put) - 1)
        put = "\n".join([kept] * self._times())
        if char == "p":
            place = _line_end(text, at)
            return VimStep(Edit(place, place, f"\n{put}"), at=place + 1)
        place = _line_start(text, at)
        return VimStep(Edit(place, place, f"{put}\n"), at=place)

    # An operator and a motion

    def _operated(self, char: str, text: str, at: int) -> VimStep:
        if char == self._operator:
            return self._on_lines(text, at)
        if char not in _MOTIONS and char != "gg":
            return NOTHING
        is_change = self._operator == "c"
        if char == "w" and is_change and not text[at : at + 1].isspace():
            char = "e"
        target = self._target(char, text, at)
        start, end = min(at, target), max(at, target)
        if char == "e":
            end = min(len(text), end + 1)
        if char == "w":  # not into the next line
            end = min(end, _line_end(text, start)) if start < _line_end(text, start) else end
        if self._operator == "y":
            self._is_linewise, self._register = False, text[start:end]
            return VimStep(at=start)
        if is_change:
            self.mode = VimMode.INSERT
        return self._cut(start, end)

    def _on_lines(self, text: str, at: int) -> VimStep:
        """The operator twice: so many whole lines."""
        start, end = _line_start(text, at), _line_end(text, at)
        for _ in range(self._times() - 1):
            end = _line_end(text, min(len(text), end + 1))
        self._is_linewise = True
        if self._operator == "y":
            self.keep(text[start:end])
            return VimStep(at=at)
        if self._operator == "c":
            self.mode = VimMode.INSERT
            return VimStep(Edit(start, end, kept=True), at=start)
        if end < len(text):
            return VimStep(Edit(start, end + 1, kept=True), at=start)
        before = max(0, start - 1)
        return VimStep(Edit(before, end, kept=True), at=_line_start(text, before))


def place_in(text: str, at: int, mode: VimMode) -> int:
    """The nearest offset for the cursor: in normal mode it stands on a character."""
    at = max(0, min(at, len(text)))
    if mode is VimMode.NORMAL and at == _line_end(text, at):
        return max(_line_start(text, at), at - 1)
    return at


def offset_of(text: str, location: tuple[int, int]) -> int:
    """The offset of a row and column."""
    row, column = location
    return sum(len(line) + 1 for line in text.split("\n")[:row]) + column


def location_of(text: str, at: int) -> tuple[int, int]:
    """The row and column of an offset."""
    return text.count("\n", 0, at), at - _line_start(text, at)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _first_word(text: str, start: int) -> int:
    line = text[start : _line_end(text, start)]
    return start + len(line) - len(line.lstrip())
