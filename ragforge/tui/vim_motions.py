"""Where Vim's motions lead in a text, and what its text objects span, as offsets."""

import re

_WORD = re.compile(r"\w+|[^\w\s]+|^$", re.MULTILINE)
"""A word; for `w` and `b`, an empty line is one too."""
_RUN = re.compile(r"\w+|[^\w\s]+|[^\S\n]+")
FINDS = "fFtT"
BRACKETS = {"(": "()", ")": "()", "b": "()", "[": "[]", "]": "[]", "{": "{}", "}": "{}", "B": "{}"}
_QUOTES = "\"'`"


def motion(char: str, text: str, at: int, times: int) -> int:
    """Where a motion within the text leads. `e` leads onto the last character of a word."""
    start, end = line_start(text, at), line_end(text, at)
    match char:
        case "h":
            return max(start, at - times)
        case "l":
            return min(end, at + times)
        case "0":
            return start
        case "^":
            return first_word(text, start)
        case "$":
            return line_end(text, row_below(text, start, times - 1))
        case "w":
            starts = [found.start() for found in _WORD.finditer(text) if found.start() > at]
            return [*starts, *[len(text)] * times][times - 1]
        case "b":
            starts = [found.start() for found in _WORD.finditer(text) if found.start() < at]
            return [*[0] * times, *starts][-times]
        case _:
            ends = [found.end() - 1 for found in _WORD.finditer(text) if found.end() - 1 > at and found[0]]
            return [*ends, *[len(text)] * times][times - 1]


def next_words(text: str, at: int, times: int) -> int:
    """Until where `dw` deletes: the last word of a line goes without the line's end."""
    at = motion("w", text, at, times - 1) if times > 1 else at
    end = line_end(text, at)
    target = motion("w", text, at, 1)
    return min(target, end) if at < end else target


def changed_words(text: str, at: int, times: int) -> int:
    """Until where `cw` deletes: from a character on only to the end of a word, and never a line's end."""
    if text[at : at + 1].strip():
        return min(len(text), motion("e", text, at - 1, times) + 1)
    target = next_words(text, at, times)
    return target - 1 if target > at and text[target - 1] == "\n" else target


def find(kind: str, char: str, text: str, at: int, times: int) -> int | None:
    """Where `f`, `t`, `F` or `T` with a character leads; None if the line has too few of them."""
    if kind in "ft":
        line = text[: line_end(text, at)]
        places = [place for place in range(at + 1, len(line)) if line[place] == char]
    else:
        places = [place for place in range(at - 1, line_start(text, at) - 1, -1) if text[place] == char]
    if len(places) < times:
        return None
    return places[times - 1] + {"t": -1, "T": 1}.get(kind, 0)


def text_object(char: str, text: str, at: int, *, around: bool) -> tuple[int, int] | None:
    """What a text object spans: `w`, a quotation mark or a bracket; None if there is none at `at`."""
    if char == "w":
        return _word_at(text, at, around=around)
    if char in _QUOTES:
        return _quoted_at(char, text, at, around=around)
    if char not in BRACKETS:
        return None
    opens, closes = BRACKETS[char]
    return _bracketed_at(opens, closes, text, at, around=around)


def _word_at(text: str, at: int, *, around: bool) -> tuple[int, int] | None:
    start = line_start(text, at)
    runs = [found.span() for found in _RUN.finditer(text, start, line_end(text, at))]
    place = next((number for number, (_, end) in enumerate(runs) if at < end), None)
    if place is None:
        return None
    first, last = runs[place]
    if not around:
        return first, last
    if text[first].isspace():  # with the word behind it
        return first, runs[place + 1][1] if place + 1 < len(runs) else last
    if place + 1 < len(runs) and text[last].isspace():
        return first, runs[place + 1][1]
    if place and place > 1 and text[first - 1].isspace():  # not the indentation
        return runs[place - 1][0], last
    return first, last


def _quoted_at(mark: str, text: str, at: int, *, around: bool) -> tuple[int, int] | None:
    start, end = line_start(text, at), line_end(text, at)
    marks = [place for place in range(start, end) if text[place] == mark]
    for first, last in zip(marks[::2], marks[1::2], strict=False):
        if at <= last:
            return _spaced(first, last + 1, text, end) if around else (first + 1, last)
    return None


def _spaced(first: int, last: int, text: str, end: int) -> tuple[int, int]:
    """The span with the spaces behind it, or else before it."""
    behind = len(text[last:end]) - len(text[last:end].lstrip())
    before = 0 if behind else len(text[:first]) - len(text[:first].rstrip(" \t"))
    return first - before, last + behind


def _bracketed_at(opens: str, closes: str, text: str, at: int, *, around: bool) -> tuple[int, int] | None:
    """The innermost pair around `at`, or else the next one behind it."""
    open_before: list[int] = []
    spans: list[tuple[int, int]] = []
    for place, char in enumerate(text):
        if char == opens:
            open_before.append(place)
        elif char == closes and open_before:
            spans.append((open_before.pop(), place))
    inside = [(last - first, first, last) for first, last in spans if first <= at <= last]
    behind = [(first, first, last) for first, last in spans if first > at]
    found = min(inside or behind, default=None)
    if found is None:
        return None
    _, first, last = found
    return (first, last + 1) if around else (first + 1, last)


def row_below(text: str, at: int, by: int) -> int:
    """The same column so many lines below, or above for a negative number, as far as there are lines."""
    lines = text.split("\n")
    row = text.count("\n", 0, at)
    to = max(0, min(len(lines) - 1, row + by))
    return sum(len(line) + 1 for line in lines[:to]) + min(at - line_start(text, at), len(lines[to]))


def line_at(text: str, number: int) -> int:
    """Where the line begins, counted from 1; the last one if there are fewer."""
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: min(number, len(lines)) - 1])


def line_start(text: str, at: int) -> int:
    """Where the line at `at` begins."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Where the line at `at` ends."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def first_word(text: str, at: int) -> int:
    """The first character of the line at `at` that is no space."""
    start = line_start(text, at)
    line = text[start : line_end(text, at)]
    return start + len(line) - len(line.lstrip())
