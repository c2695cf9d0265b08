"""A three-way merge of lines, with the result of `git merge-file`.

Written from git's documentation and output; tests/property/test_diff3_laws.py compares the two. Changes that
touch are one conflict; the same change on both sides is none. Lines common to both sides of a conflict are
taken out of it, unless at most three lines, or lines without a letter or digit, would remain in between.
It differs from git only if the base is empty: then the sides determine the markers' line ending.
"""

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto

from msgspec import Struct

from ragforge.files.line_changes import LineChange, line_changes, split_lines

LABELS = ("ours", "theirs")
MARKER_CHARS = 7
GAP_LINES_MAX = 3
"""Conflicts with no more lines between them are joined: that is easier to read."""
BINARY_SEEN_BYTES = 8000
"""A content is binary if there is a zero byte among its first ones, as for git."""

_WORD = re.compile(rb"[0-9A-Za-z]")


class Merged(Struct, frozen=True):
    """The result, with conflict markers if there are conflicts.

    binary: the contents have no lines, and both sides changed theirs; `content` is ours, and one conflict
    stands for the whole.
    """

    content: bytes
    conflicts: int = 0
    binary: bool = False


class Agreed(Struct, frozen=True):
    """Lines without conflict."""

    content: bytes


class Clash(Struct, frozen=True):
    """A conflict. Each side's lines as they are; the newline is that of the lines around it."""

    ours: bytes
    theirs: bytes
    newline: bytes


Part = Agreed | Clash


def is_binary(content: bytes) -> bool:
    """Whether git would treat it as binary."""
    return b"\0" in content[:BINARY_SEEN_BYTES]


def merge3(base: bytes, ours: bytes, theirs: bytes, *, labels: tuple[str, str] = LABELS) -> Merged:
    """Merge both sides' changes of the base; the labels are put after the markers.

    All bytes and line endings are kept. A line without an ending gets one only within a conflict.
    """
    if theirs in (ours, base):
        return Merged(ours)
    if base == ours:
        return Merged(theirs)
    if any(is_binary(content) for content in (base, ours, theirs)):
        return Merged(ours, conflicts=1, binary=True)
    parts = merged_parts(base, ours, theirs)
    return Merged(joined(parts, labels), sum(isinstance(part, Clash) for part in parts))


def merged_parts(base: bytes, ours: bytes, theirs: bytes) -> list[Part]:
    """Return the merge of three texts: clean parts and conflicts, in order."""
    sides = _Sides(split_lines(base), split_lines(ours), split_lines(theirs))
    parts: list[Part] = []
    at = 0
    for region in _joined_regions(_regions(sides), sides.ours):
        parts.append(Agreed(b"".join(sides.ours[at : region.our_start])))
        ours_now = sides.ours[region.our_start : region.our_end]
        theirs_now = sides.theirs[region.their_start : region.their_end]
        match region.kind:
            case _Kind.OURS:
                parts.append(Agreed(b"".join(ours_now)))
            case _Kind.THEIRS:
                parts.append(Agreed(b"".join(theirs_now)))
            case _Kind.CLASH:
                parts.append(Clash(b"".join(ours_now), b"".join(theirs_now), _newline_at(sides, region)))
        at = region.our_end
    parts.append(Agreed(b"".join(sides.ours[at:])))
    return [part for part in parts if isinstance(part, Clash) or part.content]


def joined(parts: Sequence[Part], labels: tuple[str, str] = LABELS) -> bytes:
    """Return the text of the parts, conflicts between markers."""
    return b"".join(part.content if isinstance(part, Agreed) else marked(part, labels) for part in parts)


def marked(clash: Clash, labels: tuple[str, str] = LABELS) -> bytes:
    """Return the conflict between markers, each on a line of its own."""
    first, last = (b" " + _on_one_line(label) if label else b"" for label in labels)
    return b"".join(
        [
            b"<" * MARKER_CHARS + first + clash.newline,
            _ended(clash.ours, clash.newline),
            b"=" * MARKER_CHARS + clash.newline,
            _ended(clash.theirs, clash.newline),
            b">" * MARKER_CHARS + last + clash.newline,
        ]
    )


def _on_one_line(label: str) -> bytes:
    return " ".join(label.split()).encode("utf-8", "surrogateescape")


def _ended(content: bytes, newline: bytes) -> bytes:
    return content if not content or content.endswith(b"\n") else content + newline


class _Kind(Enum):
    OURS = auto()
    """Ours is the result: only we changed it, or both changed it alike."""
    THEIRS = auto()
    CLASH = auto()


class _Sides(Struct, frozen=True):
    base: list[bytes]
    ours: list[bytes]
    theirs: list[bytes]


class _Region(Struct, frozen=True):
    """Both sides at the same lines of the base, at least one of them changed."""

    kind: _Kind
    our_start: int
    our_end: int
    their_start: int
    their_end: int


def _regions(sides: _Sides) -> Iterator[_Region]:
    """Return the changes, in order; conflicts without the lines common to both sides."""
    our_shift = their_shift = 0
    for our_changes, their_changes in _touching(
        line_changes(sides.base, sides.ours), line_changes(sides.base, sides.theirs)
    ):
        both = [*our_changes, *their_changes]
        start, end = min(change.old_start for change in both), max(change.old_end for change in both)
        our_start, their_start = start + our_shift, start + their_shift
        our_shift += sum(map(_growth, our_changes))
        their_shift += sum(map(_growth, their_changes))
        kind = _Kind.CLASH
        if not their_changes:
            kind = _Kind.OURS
        elif not our_changes:
            kind = _Kind.THEIRS
        region = _Region(kind, our_start, end + our_shift, their_start, end + their_shift)
        if kind is not _Kind.CLASH:
            yield region
        elif not _is_same_change(our_changes, their_changes, sides, region):
            yield from _without_shared(region, sides)


def _touching(
    ours: Sequence[LineChange], theirs: Sequence[LineChange]
) -> Iterator[tuple[list[LineChange], list[LineChange]]]:
    """Yield our changes and theirs in groups that overlap or touch in the base, in order."""
    our_next = their_next = 0
    while our_next < len(ours) or their_next < len(theirs):
        group: tuple[list[LineChange], list[LineChange]] = ([], [])
        end: int | None = None
        while True:
            our = ours[our_next] if our_next < len(ours) else None
            their = theirs[their_next] if their_next < len(theirs) else None
            if our and (their is None or our.old_start <= their.old_start):
                change, side = our, group[0]
            elif their:
                change, side = their, group[1]
            else:
                break
            if end is not None and change.old_start > end:
                break
            side.append(change)
            end = change.old_end if end is None else max(end, change.old_end)
            our_next += side is group[0]
            their_next += side is group[1]
        yield group


def _growth(change: LineChange) -> int:
    return change.new_end - change.new_start - (change.old_end - change.old_start)


def _is_same_change(
    ours: Sequence[LineChange], theirs: Sequence[LineChange], sides: _Sides, region: _Region
) -> bool:
    """Whether both sides made one change, and the same; it does not separate conflicts."""
    if len(ours) != 1 or len(theirs) != 1:
        return False
    one, other = ours[0], theirs[0]
    if (one.old_start, one.old_end) != (other.old_start, other.old_end):
        return False
    return (
        sides.ours[region.our_start : region.our_end] == sides.theirs[region.their_start : region.their_end]
    )


def _without_shared(region: _Region, sides: _Sides) -> Iterator[_Region]:
    """Return the parts of the conflict in which the sides differ."""
    ours = sides.ours[region.our_start : region.our_end]
    theirs = sides.theirs[region.their_start : region.their_end]
    if not ours or not theirs:
        yield region
        return
    differing = line_changes(ours, theirs)
    if not differing:
        yield _Region(_Kind.OURS, region.our_start, region.our_end, region.their_start, region.their_end)
    for part in differing:
        yield _Region(
            _Kind.CLASH,
            region.our_start + part.old_start,
            region.our_start + part.old_end,
            region.their_start + part.new_start,
            region.their_start + part.new_end,
        )


def _joined_regions(regions: Iterator[_Region], ours: Sequence[bytes]) -> list[_Region]:
    """Join neighbouring conflicts with almost nothing between them."""
    result: list[_Region] = []
    for region in regions:
        before = result[-1] if result else None
        if before and before.kind is region.kind is _Kind.CLASH:
            between = ours[before.our_end : region.our_start]
            if len(between) <= GAP_LINES_MAX or not any(_WORD.search(line) for line in between):
                result[-1] = _Region(
                    _Kind.CLASH, before.our_start, region.our_end, before.their_start, region.their_end
                )
                continue
        result.append(region)
    return result


def _newline_at(sides: _Sides, region: _Region) -> bytes:
    """Return the line ending of the markers: CRLF if the base has it and no side contradicts.

    The base is judged by its first line, a side by the line before the conflict, or its first. If the base
    has none, because the file was removed and rewritten, a side is enough.
    """
    base = _is_crlf(sides.base, 0)
    told = (
        _is_crlf(sides.ours, max(region.our_start - 1, 0)),
        _is_crlf(sides.theirs, max(region.their_start - 1, 0)),
    )
    is_crlf = False not in told and (True in told if base is None else base)
    return b"\r\n" if is_crlf else b"\n"


def _is_crlf(lines: Sequence[bytes], at: int) -> bool | None:
    """Whether the line ends in CRLF; None if unknown. A last line counts like the one before it."""
    if at < len(lines) and not lines[at].endswith(b"\n"):
        at -= 1
    return lines[at].endswith(b"\r\n") if 0 <= at < len(lines) else None
