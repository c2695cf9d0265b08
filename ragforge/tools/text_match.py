"""Find the text that an edit replaces: exactly, or else line by line apart from white space."""

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from ragforge.files.text import to_newline

PLACES_NAMED_MAX = 5
LINE_SHOWN_CHARS = 80
LINE_COMPARED_CHARS = 200
COMPARED_LINES_MAX = 5_000
COMMON_LINES_MAX = 100
"""At how many places one line of the old text is tried; a lone brace is everywhere."""


class Replacement(Struct, frozen=True):
    """Put `text` in place of the text between the offsets."""

    start: int
    end: int
    text: str


class EditedText(Struct, frozen=True):
    """The complete new text.

    lines: where each replaced place starts in the old text, counted from 1.
    by_whitespace: the old text was found only apart from white space.
    """

    text: str
    lines: tuple[int, ...]
    by_whitespace: bool = False


class NotEdited(Struct, frozen=True):
    """Why the old text cannot be replaced, with help for finding it."""

    reason: str


def replace(text: str, old: str, new: str, *, replace_all: bool) -> EditedText | NotEdited:
    """Return the text with `old` replaced by `new`; everything else stays exactly as it is.

    LF in `old` matches CRLF in the text, and `new` gets the line endings of its place.
    If `old` does not occur, complete lines that differ only in indentation or trailing white space match,
    if the indentation of `new` follows from theirs without guessing.
    """
    plain = text.replace("\r\n", "\n")
    wanted = old.replace("\r\n", "\n")
    exact = [Replacement(at, at + len(wanted), new.replace("\r\n", "\n")) for at in _positions(plain, wanted)]
    found = exact or list(_by_whitespace(plain, wanted, new.replace("\r\n", "\n")))
    if not found:
        return NotEdited(f"`old` is not in the file. {_closest(plain, wanted)}")
    lines = tuple(_line_numbers(plain, found))
    if len(found) > 1 and not replace_all:
        places = ", ".join(str(line) for line in lines[:PLACES_NAMED_MAX])
        more = ", ..." if len(found) > PLACES_NAMED_MAX else ""
        return NotEdited(
            f"`old` is in the file {len(found)} times (lines {places}{more}). Add lines around it until it "
            "is there once, or set replace_all."
        )
    return EditedText(_apply(text, plain, found), lines, by_whitespace=not exact)


def _positions(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


def _line_numbers(text: str, found: list[Replacement]) -> Iterator[int]:
    line, counted = 1, 0
    for each in found:
        line += text.count("\n", counted, each.start)
        counted = each.start
        yield line


def _apply(text: str, plain: str, found: list[Replacement]) -> str:
    """Return the replacements, found in the text with LF only, for the text as it is."""
    windows = _windows_endings(text)
    pieces: list[str] = []
    done = 0
    for each in found:
        start = each.start + bisect_left(windows, each.start)
        end = each.end + bisect_left(windows, each.end)
        pieces += [text[done:start], to_newline(each.text, _newline_at(plain, windows, each.start))]
        done = end
    return "".join([*pieces, text[done:]])


def _windows_endings(text: str) -> list[int]:
    """Return where the CRLFs are, as offsets in the text with LF only."""
    return [at - index for index, at in enumerate(_positions(text, "\r\n"))]


def _newline_at(plain: str, windows: list[int], start: int) -> str:
    """Return the ending of the line at the offset, else of the one before; "" in a text of one line."""
    at = plain.find("\n", start)
    if at < 0:
        at = plain.rfind("\n", 0, start)
    if at < 0:
        return ""
    index = bisect_left(windows, at)
    return "\r\n" if index < len(windows) and windows[index] == at else "\n"


def _by_whitespace(text: str, old: str, new: str) -> Iterator[Replacement]:
    """Yield runs of complete lines that are the old ones apart from indentation and trailing white space."""
    wanted = old.split("\n")
    # A line ending after the last line of `old` is part of the place only if `new` drops it.
    takes_ending = wanted[-1] == "" and not new.endswith("\n")
    if wanted[-1] == "":
        wanted.pop()
        new = new.removesuffix("\n")
    bare = [line.strip() for line in wanted]
    if not any(bare):
        return
    lines = text.split("\n")
    stripped = [line.strip() for line in lines]
    offset = 0
    free_from = 0
    for index, line in enumerate(lines):
        is_there = stripped[index] == bare[0] and stripped[index : index + len(bare)] == bare
        if is_there and index >= free_from:
            here = lines[index : index + len(wanted)]
            fitted = _indented_like(here, wanted, new)
            if fitted is not None:
                end = offset + sum(map(len, here)) + len(here) - 1 + takes_ending
                yield Replacement(offset, min(end, len(text)), fitted)
                free_from = index + len(wanted)
        offset += len(line) + 1


def _indented_like(here: list[str], wanted: list[str], new: str) -> str | None:
    """Return the new text indented like the lines here; None if that is ambiguous."""
    pairs = {(_indent(old), _indent(line)) for old, line in zip(wanted, here, strict=True) if old.strip()}
    indents = {_indent(line) for line in new.split("\n") if line.strip()}
    moved = _moved_alike(pairs, indents)
    if moved is None:
        return None
    return "\n".join(
        moved[_indent(line)] + line[len(_indent(line)) :] if line.strip() else line
        for line in new.split("\n")
    )


def _moved_alike(pairs: set[tuple[str, str]], indents: set[str]) -> dict[str, str] | None:
    """Map each indentation to the one here: longer by a prefix, shorter by one, or seen in a pair."""
    old, here = min(pairs)
    more = here.removesuffix(old)
    if all(more + old == here for old, here in pairs):
        return {indent: more + indent for indent in indents}
    less = old.removesuffix(here)
    if all(less + here == old for old, here in pairs) and all(each.startswith(less) for each in indents):
        return {indent: indent.removeprefix(less) for indent in indents}
    seen = dict(pairs)
    if len(seen) == len(pairs) and indents <= seen.keys():
        return seen
    return None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _closest(text: str, old: str) -> str:
    """Return where most lines of `old` are, as a sentence."""
    lines = [line.strip() for line in text.split("\n")]
    wanted = [line.strip() for line in old.strip("\n").split("\n")]
    places: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        if line:
            places.setdefault(line, []).append(index)
    starts = Counter(
        at - index
        for index, line in enumerate(wanted)
        for at in places.get(line, [])[:COMMON_LINES_MAX]
        if at >= index
    )
    if not starts:
        return _most_alike(lines, next((line for line in wanted if line), ""))
    best = max(starts.values())
    start = min(at for at, count in starts.items() if count == best)
    where = f"Closest: lines {start + 1}-{start + len(wanted)}, where {best} of its {len(wanted)} lines are"
    for index, line in enumerate(wanted):
        if start + index >= len(lines) or lines[start + index] != line:
            there = lines[start + index] if start + index < len(lines) else ""
            return f"{where}; line {start + index + 1} is {_short(there)}, not {_short(line)}."
    return f"{where}, with other indentation. Read them again and copy them exactly."


def _most_alike(lines: list[str], wanted: str) -> str:
    known = list(dict.fromkeys(line for line in lines[:COMPARED_LINES_MAX] if line))
    near = difflib.get_close_matches(wanted[:LINE_COMPARED_CHARS], known, 1) if wanted else []
    if not near:
        return "No line is like it. Read the file again."
    return f"Closest: line {lines.index(near[0]) + 1}, which is {_short(near[0])}."


def _short(line: str) -> str:
    return repr(line if len(line) <= LINE_SHOWN_CHARS else line[: LINE_SHOWN_CHARS - 3] + "...")
