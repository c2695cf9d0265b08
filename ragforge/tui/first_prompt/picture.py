"""The prompt as bytes for the terminal: where, and how, the interface draws it."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from ragforge.tui.prompt_box import BORDER_LINES, PLACEHOLDER, text_lines_max

BEHIND_LINES = 2
"""Below the prompt: those of hints and of the status."""
_AROUND = 4
"""Cells of border and padding beside the text."""
_TAB = 4
_WORDS = re.compile(r"\S+\s*|\s+")

Ink = tuple[str, str, str]
"""A colour for terminals with 16 million, 256 and 16 of them: its SGR parameters; see `_parameters`."""


class Inks(NamedTuple):
    """SGR sequences: of text, of the border, of the placeholder, of the cursor."""

    text: str
    border: str
    placeholder: str
    cursor: str


_DARK_TEXT: Ink = ("8;2;216;219;224", "8;5;253", "97")
_DARK_GROUND: Ink = ("8;2;21;23;27", "8;5;233", "40")
_DARK_BORDER: Ink = ("8;2;122;166;218", "8;5;110", "37")
_DARK_DIM: Ink = ("8;2;114;115;118", "8;5;242", "90")
_LIGHT_TEXT: Ink = ("8;2;34;38;44", "8;5;235", "30")
_LIGHT_GROUND: Ink = ("8;2;251;251;249", "8;5;231", "107")
_LIGHT_BORDER: Ink = ("8;2;32;90;158", "8;5;25", "90")
_LIGHT_DIM: Ink = ("8;2;150;150;149", "8;5;246", "90")
_LIGHT_CURSOR_TEXT: Ink = ("8;2;239;239;240", "8;5;254", "97")
_LIGHT_CURSOR: Ink = ("8;2;99;101;105", "8;5;241", "90")


class Picture(NamedTuple):
    """What is drawn, and on which row of the screen it starts, counted from 0."""

    top: int
    rows: list[str]


def frame(text: str, cursor: int, *, columns: int, lines: int, look: Inks) -> Picture:
    """Return the box of the prompt, one row per line; nothing if the terminal is too small for one."""
    width = columns - _AROUND
    if width < 2 or lines <= BORDER_LINES + BEHIND_LINES:
        return Picture(lines, [])
    shown, at_row, at = _wrapped(text, cursor, max(1, width - 1)) if text else ([PLACEHOLDER[:width]], 0, 0)
    height = min(len(shown), text_lines_max(lines))
    first = max(0, at_row - height + 1)
    ink = look.text if text else look.placeholder
    rows = [f"{look.border}╭{'─' * (columns - 2)}╮"]
    for number, row in enumerate(shown[first : first + height], start=first):
        body = f"{ink}{row}{look.text}{' ' * (width - cells(row))}"
        if number == at_row:
            under = row[at : at + 1] or " "
            after = row[at + 1 :]
            # A combining mark of the letter under the cursor stays with it.
            while after and not cells(after[0]):
                under, after = under + after[0], after[1:]
            left = width - cells(row[:at]) - cells(under) - cells(after)
            body = f"{ink}{row[:at]}{look.cursor}{under}{ink}{after}{look.text}{' ' * left}"
        rows.append(f"{look.border}│{look.text} {body} {look.border}│")
    rows.append(f"{look.border}╰{'─' * (columns - 2)}╯")
    return Picture(lines - BEHIND_LINES - len(rows), rows)


def cells(text: str) -> int:
    """Return how many cells the text takes."""
    if text.isascii():
        return len(text)
    import unicodedata  # loaded only for more than ASCII

    found = 0
    for char in text:
        if unicodedata.category(char) in ("Mn", "Me", "Cf"):
            continue
        found += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return found


def look_of(environ: Mapping[str, str], *, is_dark: bool | None) -> Inks:
    """Return the theme's colours as this terminal shows them; its own if the theme is unknown."""
    if is_dark is None or "NO_COLOR" in environ:
        return Inks("\x1b[0m", "\x1b[0m", "\x1b[0;2m", "\x1b[0;7m")
    depth = _depth(environ)
    if is_dark:
        text, ground, border, dim = _DARK_TEXT, _DARK_GROUND, _DARK_BORDER, _DARK_DIM
        cursor_text, cursor_ground = _DARK_GROUND, _DARK_TEXT
    else:
        text, ground, border, dim = _LIGHT_TEXT, _LIGHT_GROUND, _LIGHT_BORDER, _LIGHT_DIM
        cursor_text, cursor_ground = _LIGHT_CURSOR_TEXT, _LIGHT_CURSOR
    return Inks(
        *(_sgr(ink[depth], ground[depth]) for ink in (text, border, dim)),
        cursor=_sgr(cursor_text[depth], cursor_ground[depth]),
    )


def _depth(environ: Mapping[str, str]) -> int:
    """Return the terminal's colours, as Rich derives them from the same variables: all 0, 256 1, 16 2."""
    if environ.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return 0
    return 1 if environ.get("TERM", "").strip().lower().rpartition("-")[2] in ("256color", "kitty") else 2


def _sgr(ink: str, ground: str) -> str:
    return f"\x1b[0;{_parameters(ink, of_ground=False)};{_parameters(ground, of_ground=True)}m"


def _parameters(ink: str, *, of_ground: bool) -> str:
    """Return the colour as a foreground or background."""
    if ink.startswith("8;"):
        return f"{'4' if of_ground else '3'}{ink}"
    number = int(ink)
    is_ground = 40 <= number <= 47 or number >= 100
    return str(number + 10 * (of_ground - is_ground))


def _wrapped(text: str, cursor: int, width: int) -> tuple[list[str], int, int]:
    """Return the text in rows of so many cells; the row of the cursor, and its column."""
    rows: list[str] = []
    at_row = at = 0
    start = 0
    for line in text.split("\n"):
        pieces = _pieces(line, width)
        for number, piece in enumerate(pieces):
            is_last = number == len(pieces) - 1
            if start <= cursor < start + len(piece) + is_last:
                at_row, at = len(rows), cursor - start
            rows.append(piece)
            start += len(piece)
        start += 1  # the new line
    # A tab is drawn as wide as in the interface, for pastes.
    before = rows[at_row][:at].expandtabs(_TAB)
    return [row.expandtabs(_TAB) for row in rows], at_row, len(before)


def _pieces(line: str, width: int) -> list[str]:
    """Return the line, broken between words, and within words longer than a row."""
    pieces = [""]
    for word in _WORDS.findall(line):
        if cells(pieces[-1]) + cells(word) > width and pieces[-1]:
            pieces.append("")
        for char in word:
            if cells(pieces[-1]) + cells(char) > width:
                pieces.append("")
            pieces[-1] += char
    return pieces
