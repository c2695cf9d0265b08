"""Words as the index sees them: their positions in a text and their stems."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Protocol, cast

import apsw
from msgspec import Struct

from ragforge.domain.compounds import parts_within
from ragforge.domain.language.base import stop_words
from ragforge.store.json_text import storable

EXCERPT_CHARS = 240
EXCERPT_LEAD_CHARS = 60
SCANNED_CHARS_MAX = 100_000

# Control characters could move a terminal's cursor.
CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), " ")

_MAY_HAVE_PARTS = re.compile(rb"[A-Z\xe3-\xed](?:(?<=[A-Za-z0-9][A-Z])|(?<=[\xe3-\xed]))")
"""A capital within a word, or the first byte of an ideograph: most texts have neither. Looking back from what
is rare takes a tenth of the time."""

Cut = Callable[[bytes], list[tuple[int, int, str]]]
"""Cuts UTF-8 into (start, end, stem), in bytes."""


class WordMatch(Struct, frozen=True):
    """A wanted word and its position, in characters."""

    start: int
    end: int
    stem: str


class Excerpt(Struct, frozen=True):
    """A piece of a text and the spans of the wanted words in it; adjacent words are one span."""

    text: str
    marks: tuple[tuple[int, int], ...]


class Tokenizers(Protocol):
    """The required part of a connection to SQLite."""

    def fts5_tokenizer(self, name: str, args: list[str], /) -> Callable[..., list[tuple[int, int, str]]]:
        """Return the tokenizer of this name."""
        ...


def tokenizer(connection: Tokenizers) -> Cut:
    """Cuts a text into words exactly as the index does."""
    cut = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])
    return lambda text: cut(text, apsw.FTS5_TOKENIZE_QUERY, None, include_colocated=False)


@cache
def stemmer() -> Cut:
    """Cuts a text into words as the index does, without a store."""
    return tokenizer(cast("Tokenizers", apsw.Connection(":memory:")))


def keywords(text: str, cut: Cut, *, limit: int) -> dict[str, str]:
    """Return the words to search for, by their stems, without stop words unless there is nothing else."""
    encoded = storable(text)[:SCANNED_CHARS_MAX].encode()
    words = [(stem, encoded[start:end].decode()) for start, end, stem in _cut_with_parts(encoded, cut)]
    empty = stop_words()
    telling = [(stem, word) for stem, word in words if word.lower() not in empty]
    chosen: dict[str, str] = {}
    for stem, word in telling or words:
        if len(chosen) == limit:
            break
        chosen.setdefault(stem, word)
    return chosen


def _cut_with_parts(encoded: bytes, cut: Cut) -> Sequence[tuple[int, int, str]]:
    """Yield what `cut` returns, each word followed by its parts."""
    words = cut(encoded)
    return words if _MAY_HAVE_PARTS.search(encoded) is None else list(_with_parts(encoded, words, cut))


def _with_parts(
    encoded: bytes, words: Sequence[tuple[int, int, str]], cut: Cut
) -> Iterator[tuple[int, int, str]]:
    for start, end, stem in words:
        yield start, end, stem
        if encoded[start:end].islower():
            continue
        word = encoded[start:end].decode()
        for at, part in parts_within(word):
            first = start + len(word[:at].encode())
            yield from ((first + a, first + b, found) for a, b, found in cut(part.encode()))


def excerpt(texts: list[str], stems: frozenset[str], cut: Cut) -> Excerpt:
    """Return the best piece of the text, with most of the stems; of equals, the first."""
    best, best_count, best_at = texts[0], 0, 0
    for text in texts:
        count, at = _densest(_find(text[:SCANNED_CHARS_MAX], stems, cut))
        if count > best_count:
            best, best_count, best_at = text, count, at
    piece = _piece(best, best_at)
    return Excerpt(piece, _spans(_find(piece, stems, cut)))


def _find(text: str, stems: frozenset[str], cut: Cut) -> list[WordMatch]:
    """Return the wanted words and parts of words in order; a name and its parts overlap."""
    encoded = text.encode()
    found: list[WordMatch] = []
    byte_at = char_at = 0
    for start, end, stem in sorted(each for each in _cut_with_parts(encoded, cut) if each[2] in stems):
        char_at += len(encoded[byte_at:start].decode())
        byte_at = start
        found.append(WordMatch(char_at, char_at + len(encoded[start:end].decode()), stem))
    return found


def _spans(found: list[WordMatch]) -> tuple[tuple[int, int], ...]:
    """Return the spans of the words: adjacent ones are joined, such as a name whose parts are wanted."""
    spans: list[tuple[int, int]] = []
    for word in found:
        if spans and word.start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], word.end))
        else:
            spans.append((word.start, word.end))
    return tuple(spans)


def _densest(found: list[WordMatch]) -> tuple[int, int]:
    """Return the most different stems within one excerpt, and where it starts."""
    best = (0, 0)
    last = 0
    held: dict[str, int] = {}
    for word in found:
        held[word.stem] = held.get(word.stem, 0) + 1
        while word.end - found[last].start > EXCERPT_CHARS - EXCERPT_LEAD_CHARS and found[last] is not word:
            leaving = found[last].stem
            held[leaving] -= 1
            if not held[leaving]:
                del held[leaving]
            last += 1
        if len(held) > best[0]:
            best = (len(held), found[last].start)
    return best


def _piece(text: str, at: int) -> str:
    """Return about EXCERPT_CHARS around the position, cut between words, on one line."""
    start = max(0, at - EXCERPT_LEAD_CHARS)
    if start:
        # Start after a blank, unless that would skip the match.
        blank = text.find(" ", start, at)
        start = blank + 1 if blank >= 0 else start
    end = min(len(text), start + EXCERPT_CHARS)
    if end < len(text):
        blank = text.rfind(" ", at + 1, end)
        end = blank if blank > start + EXCERPT_CHARS // 2 else end
    piece = " ".join(text[start:end].translate(CONTROLS).split())
    return f"{'… ' if start else ''}{piece}{' …' if end < len(text) else ''}"
