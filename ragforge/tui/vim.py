"""Vim's keys for the prompt: the effect of a key on a text and a position in it. Knows no widget."""

from enum import StrEnum

from msgspec import Struct

from ragforge.tui.vim_motions import (
    FINDS,
    changed_words,
    find,
    first_word,
    line_at,
    line_end,
    line_start,
    motion,
    next_words,
    row_below,
    text_object,
)

COUNT_MAX = 9_999
_MOTIONS = frozenset("hlwbe0^$")
_OPERATORS = frozenset("dcy")
_INSERTS = frozenset("iaIAoO")
_SHORT = {"s": "cl", "S": "cc", "Y": "yy", "C": "c$", "D": "d$"}
"""Commands that stand for others."""
_ARROWS = {"left": "h", "right": "l", "up": "k", "down": "j", "home": "0", "end": "$"}
"""Keys that extend a selection as motions do."""


class VimMode(StrEnum):
    """What keys do: type, move and change, or extend a selection."""

    INSERT = "insert"
    NORMAL = "normal"
    VISUAL = "visual"


class Edit(Struct, frozen=True):
    """Put `insert` in place of what is between two offsets. kept: the removed text goes into the register."""

    start: int
    end: int
    insert: str = ""
    kept: bool = False


class VimStep(Struct, frozen=True):
    """The effect of a key: an edit, then the cursor's offset; or an action of the prompt, so many times."""

    edit: Edit | None = None
    at: int | None = None
    action: str = ""
    times: int = 1


NOTHING = VimStep()


class VimChange(Struct, frozen=True):
    """A change that `.` repeats: its keys without numbers, and the number.

    over: the rows below and the columns that were selected, instead of a number.
    """

    keys: str
    count: str = ""
    over: tuple[int, int] | None = None


class Vim:
    """The state between keys: the mode, what waits for more keys, what was deleted and changed last."""

    def __init__(self) -> None:
        self.mode = VimMode.INSERT
        self.anchor = 0
        """In visual mode: where the selection began."""
        self._keys = ""
        """Of the command that is being typed, without numbers."""
        self._count = self._count_before = ""
        """The number that is being typed, and the one before the operator."""
        self._operator = ""
        self._waiting = ""
        """What waits for a character: g, r, one of `FINDS`, or i and a behind an operator."""
        self._found = ("", "")
        """The last of `FINDS`, with its character."""
        self._register = ""
        self._is_linewise = False
        self._over: tuple[int, int] | None = None
        """How much was selected, for a command on it."""
        self._changed: VimChange | None = None
        """The last change, for `.`."""
        self._inserted = ""
        """What was typed in insert mode behind its keys."""
        self._before_insert: tuple[str, int] | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a command has begun that needs more keys."""
        return bool(self._count or self._count_before or self._operator or self._waiting)

    def stop(self) -> None:
        """Forget what waits for more keys, and end a selection."""
        self._forget()
        if self.mode is VimMode.VISUAL:
            self.mode = VimMode.NORMAL

    def begin(self) -> None:
        """Begin another text by typing; what is typed is no part of the last change."""
        self._forget()
        self.mode = VimMode.INSERT
        self._before_insert = None

    def keep(self, text: str) -> None:
        """Take what an edit removed, for `p`."""
        self._register = text

    def press(self, key: str, char: str, text: str, at: int) -> VimStep | None:
        """Return the effect of the key; None if it does the same as without Vim."""
        if self.mode is VimMode.INSERT:
            if key != "escape":
                return None
            self.mode = VimMode.NORMAL
            self._note_inserted(text)
            return VimStep(at=max(line_start(text, at), at - 1))
        if key == "escape":
            return self._escape(at)
        if key == "ctrl+r":
            times = self._times()
            self.stop()
            return VimStep(action="redo", times=times)
        if self.mode is VimMode.VISUAL and not self._waiting:
            char = _ARROWS.get(key, char)
        if key == "backspace":
            return self._done(VimStep(at=max(line_start(text, at), at - 1)))
        if len(char) != 1 or not char.isprintable():
            self._forget()
            return None
        step = self._normal(char, text, at)
        if step is not None:
            self._note_insertion(step, text, at)
        return step

    def _note_insertion(self, step: VimStep, text: str, at: int) -> None:
        """Keep the text as it is when insert mode begins, for what is typed then to be known at its end."""
        if self.mode is VimMode.INSERT:
            edit = step.edit or Edit(at, at)
            self._before_insert = (text[: edit.start] + edit.insert + text[edit.end :], step.at or 0)

    def _escape(self, at: int) -> VimStep | None:
        was_waiting, was_visual = self.is_waiting, self.mode is VimMode.VISUAL
        self.stop()
        if was_visual:
            return VimStep(at=at)
        return NOTHING if was_waiting else None

    def _note_inserted(self, text: str) -> None:
        """Keep what insert mode put in. If something else has changed too, `.` repeats nothing."""
        before, at = self._before_insert or ("", -1)
        end = len(text) - (len(before) - at)
        if 0 <= at <= end and text[:at] == before[:at] and text[end:] == before[at:]:
            self._inserted = text[at:end]
        else:
            self._changed, self._inserted = None, ""
        self._before_insert = None

    def _normal(self, char: str, text: str, at: int) -> VimStep | None:
        if self._waiting:
            self._keys += char
            return self._completed(self._waiting, char, text, at)
        if char.isdecimal() and (char != "0" or self._count):
            self._count = str(min(COUNT_MAX, int(self._count + char)))
            return NOTHING
        self._keys += char
        is_visual = self.mode is VimMode.VISUAL
        if char in ("g", "r", *FINDS) or (char in "ia" and (self._operator or is_visual)):
            self._waiting = char
            return NOTHING
        if is_visual:
            return self._selected(char, text, at)
        if char in _OPERATORS and not self._operator:
            self._operator, self._count_before, self._count = char, self._count, ""
            return NOTHING
        if char == "/" and not text:
            self.begin()
            return None
        if char == "." and not self._operator:
            return self._again(text, at)
        return self._done(self._operated(char, text, at) if self._operator else self._alone(char, text, at))

    def _completed(self, waiting: str, char: str, text: str, at: int) -> VimStep:
        """What a command does with the character that it waited for."""
        if waiting == "g":
            return self._done(self._gone("gg" if char == "g" else "", text, at))
        if waiting == "r":
            return self._done(NOTHING if self._operator else self._replaced(char, text, at))
        if waiting in FINDS:
            self._found = (waiting, char)
            return self._done(self._gone(waiting, text, at))
        span = text_object(char, text, at, around=waiting == "a")
        if span is None:
            return self._done(NOTHING)
        if self.mode is VimMode.VISUAL:
            self.anchor = span[0]
            return self._done(VimStep(at=max(span[0], span[1] - 1)))
        return self._done(self._on(*span, text))

    def _gone(self, char: str, text: str, at: int) -> VimStep:
        """Move, or let the operator that waits work on the way."""
        if self._operator:
            return self._operated(char, text, at)
        target = self._target(char, text, at)
        return NOTHING if target is None else VimStep(at=target)

    def _done(self, step: VimStep) -> VimStep:
        if step.edit is not None or self.mode is VimMode.INSERT:
            count = str(self._times()) if self._count or self._count_before else ""
            self._changed, self._inserted = VimChange(self._keys, count, self._over), ""
        self._forget()
        return step

    def _forget(self) -> None:
        self._keys = self._count = self._count_before = self._operator = self._waiting = ""
        self._over = None

    def _times(self) -> int:
        return min(COUNT_MAX, int(self._count or 1) * int(self._count_before or 1))

    def _again(self, text: str, at: int) -> VimStep:
        """Do the last change once more, with what was typed for it."""
        changed, inserted, count = self._changed, self._inserted, self._count
        self._forget()
        if changed is None:
            return NOTHING
        if changed.over is None:
            self._count = count or changed.count
        else:
            self.mode, self.anchor = VimMode.VISUAL, at
            at = _reached(text, at, *changed.over)
        step: VimStep | None = NOTHING
        for char in changed.keys:
            step = self._normal(char, text, at)
        if changed.over is not None:
            self._changed = changed  # the end of the text may have cut what was selected
        if step is None or self.mode is not VimMode.INSERT:
            return step or NOTHING
        self.mode = VimMode.NORMAL
        self._inserted = inserted
        at = at if step.at is None else step.at
        edit = step.edit or Edit(at, at)
        cut = at - edit.start
        put = edit.insert[:cut] + inserted + edit.insert[cut:]
        return VimStep(Edit(edit.start, edit.end, put, edit.kept), at=max(edit.start, at + len(inserted) - 1))

    # Moving

    def _target(self, char: str, text: str, at: int) -> int | None:
        """Where the motion leads; None if it leads nowhere."""
        times = self._times()
        if char in ("gg", "G"):
            given = self._count or self._count_before
            last = text.count("\n") + 1
            return first_word(text, line_at(text, times if given else 1 if char == "gg" else last))
        if char and char in ";,":
            kind, char_found = self._found
            kind = kind.swapcase() if char == "," else kind
            beside = {"t": 1, "T": -1}.get(kind, 0)  # else it would find the same again
            return find(kind, char_found, text, at + beside, times) if kind else None
        if char and char in FINDS:
            return find(char, self._found[1], text, at, times)
        return motion(char, text, at, times) if char in _MOTIONS else None

    # Commands without a motion

    def _alone(self, char: str, text: str, at: int) -> VimStep:
        start, end, times = line_start(text, at), line_end(text, at), self._times()
        if char in _SHORT:
            self._operator, moved = _SHORT[char]
            return self._operated(moved, text, at)
        if char in _INSERTS:
            self.mode = VimMode.INSERT
        match char:
            case "j" | "k":
                return VimStep(action="down" if char == "j" else "up", times=times)
            case "i" | "a" | "I" | "A":
                return VimStep(at={"i": at, "a": min(end, at + 1), "I": first_word(text, at), "A": end}[char])
            case "o" | "O":
                place = end if char == "o" else start
                return VimStep(Edit(place, place, "\n"), at=end + 1 if char == "o" else start)
            case "x":
                return self._cut(at, min(end, at + times))
            case "X":
                return self._cut(max(start, at - times), at)
            case "~":
                last = min(end, at + times)
                return VimStep(Edit(at, last, text[at:last].swapcase()), at=last)
            case "J":
                return _joined(text, at, max(1, times - 1))
            case "p" | "P":
                return self._put(char, text, at)
            case "u":
                return VimStep(action="undo", times=times)
            case "v":
                self.mode, self.anchor = VimMode.VISUAL, at
                return VimStep(at=min(end, at + times - 1))
            case _:
                target = self._target(char, text, at)
                return NOTHING if target is None else VimStep(at=target)

    def _replaced(self, char: str, text: str, at: int) -> VimStep:
        """Replace so many characters, or each selected one, by this one."""
        if self.mode is VimMode.VISUAL:
            start, end = self._taken(text, at)
            put = "".join("\n" if each == "\n" else char for each in text[start:end])
            return VimStep(Edit(start, end, put), at=start)
        end = at + self._times()
        return VimStep(Edit(at, end, char * (end - at)), at=end - 1) if end <= line_end(text, at) else NOTHING

    def _cut(self, start: int, end: int) -> VimStep:
        self._is_linewise = False
        return VimStep(Edit(start, end, kept=True), at=start) if end > start else VimStep(at=start)

    def _put(self, char: str, text: str, at: int) -> VimStep:
        kept = self._register
        if not kept:
            return NOTHING
        if not self._is_linewise:
            place = min(line_end(text, at), at + 1) if char == "p" else at
            put = kept * self._times()
            return VimStep(Edit(place, place, put), at=place if "\n" in put else place + len(put) - 1)
        put = "\n".join([kept] * self._times())
        indent = len(put) - len(put.lstrip(" \t"))
        if char == "p":
            place = line_end(text, at)
            return VimStep(Edit(place, place, f"\n{put}"), at=place + 1 + indent)
        place = line_start(text, at)
        return VimStep(Edit(place, place, f"{put}\n"), at=place + indent)

    # An operator and a motion

    def _operated(self, char: str, text: str, at: int) -> VimStep:
        times = self._times()
        if char == self._operator:
            last = row_below(text, at, times - 1)
            return NOTHING if times > 1 and last == at else self._on_lines(text, at, last)
        if char and char in "jk":
            other = row_below(text, at, times if char == "j" else -times)
            return NOTHING if other == at else self._on_lines(text, min(at, other), max(at, other))
        target = self._target(char, text, at)
        if target is None:
            return NOTHING
        if char in ("gg", "G"):
            return self._on_lines(text, min(at, target), max(at, target))
        if char == "w":
            until = changed_words if self._operator == "c" else next_words
            return self._on(at, until(text, at, times), text)
        if char + self._operator == "$d" and at <= first_word(text, at) and line_end(text, at) < target:
            return self._on_lines(text, at, target)
        found = self._found[0].swapcase() if char == "," else self._found[0] if char == ";" else char
        is_onto = found in ("e", "f", "t")
        return self._on(min(at, target), min(len(text), max(at, target) + is_onto), text)

    def _on(self, start: int, end: int, text: str) -> VimStep:
        """What the operator does to a part of the text."""
        if self._operator == "y":
            self._is_linewise, self._register = False, text[start:end]
            return VimStep(at=start)
        if self._operator == "c":
            self.mode = VimMode.INSERT
        return self._cut(start, end)

    def _on_lines(self, text: str, first: int, last: int) -> VimStep:
        """What the operator does to whole lines."""
        start, end = line_start(text, first), line_end(text, last)
        self._is_linewise, self._register = True, text[start:end]
        if self._operator == "y":
            return VimStep(at=first)
        if self._operator == "c":
            self.mode = VimMode.INSERT
            return VimStep(Edit(start, end), at=start)
        if end < len(text):
            return VimStep(Edit(start, end + 1), at=first_word(text, end + 1) - (end + 1 - start))
        before = max(0, start - 1)
        return VimStep(Edit(before, end), at=first_word(text, before) if start else 0)

    # A selection

    def span(self, text: str, at: int) -> tuple[int, int]:
        """Return where the selection starts and ends, with the cursor at this offset."""
        return min(at, self.anchor), min(len(text), max(at, self.anchor) + 1)

    def _taken(self, text: str, at: int) -> tuple[int, int]:
        """Return the selection and end it; its size is kept for `.`."""
        self.mode = VimMode.NORMAL
        start, end = self.span(text, at)
        rows = text.count("\n", start, end - 1)
        self._over = rows, end - 1 - (line_start(text, end - 1) if rows else start)
        return start, end

    def _selected(self, char: str, text: str, at: int) -> VimStep:
        """What the key does while something is selected."""
        times = self._times()
        if char == "o":
            self.anchor, at = at, self.anchor
            return self._done(VimStep(at=at))
        if char in "jk":
            return self._done(VimStep(at=row_below(text, at, times if char == "j" else -times)))
        if char not in "vdxcsy~Jp":
            target = self._target(char, text, at)
            return self._done(VimStep(at=at if target is None else target))
        start, end = self._taken(text, at)
        self._operator = {"x": "d", "s": "c"}.get(char, char)
        match char:
            case "v":
                step = VimStep(at=at)
            case "~":
                step = VimStep(Edit(start, end, text[start:end].swapcase()), at=start)
            case "J":
                step = _joined(text, start, max(1, text.count("\n", start, end - 1)))
            case "p" if not self._register:
                step = VimStep(at=at)
            case "p":
                put = f"\n{self._register}\n" if self._is_linewise else self._register
                place = start + 1 if self._is_linewise else start + len(put) - 1
                self._is_linewise = False
                step = VimStep(Edit(start, end, put, kept=True), at=place)
            case _:
                step = self._on(start, end, text)
        return self._done(step)


def _joined(text: str, at: int, times: int) -> VimStep:
    """Join so many lines to this one, with a space between."""
    end = last = line_end(text, at)
    if last == len(text):
        return NOTHING
    place, put = end, ""
    for _ in range(times):
        if last == len(text):
            break
        start = first_word(text, last + 1)
        last = line_end(text, last + 1)
        piece = text[start:last]
        before = (put or text[line_start(text, end) : end])[-1:]
        space = "" if not piece or piece[0] == ")" or not before or before.isspace() else " "
        place = end + len(put)
        put += space + piece
    return VimStep(Edit(end, last, put), at=place)


def _reached(text: str, at: int, rows: int, columns: int) -> int:
    """Return the end of a selection of this size, as far as the text has it."""
    start = row_below(text, line_start(text, at), rows) if rows else at
    return max(at, place_in(text, min(start + columns, line_end(text, start)), VimMode.VISUAL))


def place_in(text: str, at: int, mode: VimMode) -> int:
    """The nearest offset for the cursor: except in insert mode it stands on a character."""
    at = max(0, min(at, len(text)))
    if mode is not VimMode.INSERT and at == line_end(text, at):
        return max(line_start(text, at), at - 1)
    return at


def offset_of(text: str, location: tuple[int, int]) -> int:
    """Return the offset of a row and column."""
    row, column = location
    return sum(len(line) + 1 for line in text.split("\n")[:row]) + column


def location_of(text: str, at: int) -> tuple[int, int]:
    """The row and column of an offset."""
    return text.count("\n", 0, at), at - line_start(text, at)
