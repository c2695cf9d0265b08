"""Syntax highlighting of lines: which pieces of each line are keywords, strings and the like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from ragforge.tui.widgets.text_rows import TextLine

if TYPE_CHECKING:  # loaded with the first diff
    from pygments.lexer import Lexer

CHARS_MAX = 40_000
"""Longer text is not highlighted: it would delay keys."""
LINE_CHARS_MAX = 1_000
_KINDS = {
    "Token.Keyword": "keyword",
    "Token.Operator.Word": "keyword",
    "Token.Name.Builtin.Pseudo": "keyword",
    "Token.Literal.String": "string",
    "Token.Comment": "comment",
    "Token.Literal.Number": "number",
    "Token.Name.Function": "name",
    "Token.Name.Class": "name",
    "Token.Name.Decorator": "name",
    "Token.Name.Tag": "keyword",
    "Token.Name.Attribute": "name",
}
"""The kind of colour by the beginning of a token's type."""
_SIDES = (("plain", "added"), ("plain", "removed"))
"""The kinds of lines that are the new text, and those that are the old one."""


def coloured(lines: Sequence[TextLine], path: str) -> list[TextLine]:
    """Return the lines of a piece of a diff of this file, with colours if its language is known.

    Each side is parsed separately, since a piece of code makes sense only without the lines of the other.
    """
    lexer = _lexer_of(path)
    sizes = [len(line.text) for line in lines]
    if lexer is None or sum(sizes) > CHARS_MAX or max(sizes, default=0) > LINE_CHARS_MAX:
        return list(lines)
    found = list(lines)
    for kinds in _SIDES:
        places = [at for at, line in enumerate(lines) if line.kind in kinds]
        text = "\n".join(lines[at].text for at in places)
        spans = _spans_by_line(lexer, text)
        for number, at in enumerate(places):
            if number in spans:
                found[at] = replace(found[at], spans=tuple(spans[number]))
    return found


def _spans_by_line(lexer: Lexer, text: str) -> dict[int, list[tuple[int, int, str]]]:
    """Return begin, end and kind of each coloured piece, by the number of its line."""
    found: dict[int, list[tuple[int, int, str]]] = {}
    starts = [0, *(at + 1 for at, char in enumerate(text) if char == "\n")]
    line = 0
    for begin, end, kind in _tokens(lexer, text):
        while line + 1 < len(starts) and starts[line + 1] <= begin:
            line += 1
        at, of = begin, line
        while at < end:
            stop = min(end, starts[of + 1] - 1) if of + 1 < len(starts) else end
            if stop > at:
                found.setdefault(of, []).append((at - starts[of], stop - starts[of], kind))
            of += 1
            at = starts[of] if of < len(starts) else end
    return found


def _tokens(lexer: Lexer, text: str) -> Iterator[tuple[int, int, str]]:
    # Unprocessed: preprocessing would change line breaks, and with them every offset.
    tokens: Iterator[tuple[int, Any, str]] = lexer.get_tokens_unprocessed(text)
    for begin, token, value in tokens:
        if kind := _kind_of(token):
            yield begin, begin + len(value), kind


@cache
def _kind_of(token: Any) -> str:
    """Return the kind of colour for a type of token; empty for none."""
    name = str(token)
    return next((kind for prefix, kind in _KINDS.items() if name.startswith(prefix)), "")


@cache
def _lexer_of(path: str) -> Lexer | None:
    """Return the lexer for a file of this name, or None."""
    from pygments import lexers
    from pygments.util import ClassNotFound

    try:
        # Its options have no types.
        return cast(Any, lexers).get_lexer_for_filename(path)
    except ClassNotFound:
        return None
