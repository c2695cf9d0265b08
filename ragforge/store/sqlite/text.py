"""Words as the index sees them: where they stand in a text and what they are reduced to."""

from collections.abc import Callable
from dataclasses import dataclass

import apsw

from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.rows import storable
from ragforge.store.sqlite.stopwords import STOP_WORDS

EXCERPT_CHARS = 240
EXCERPT_LEAD_CHARS = 60
SCANNED_CHARS_MAX = 100_000

# Control characters could move a terminal's cursor.
CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), " ")

Cut = Callable[[str], list["Token"]]


@dataclass(frozen=True, slots=True)
class Token:
    """A word, its place in characters, and its stem."""

    word: str
    start: int
    end: int
    stem: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of a text and the spans of the wanted words in it."""

    text: str
    marks: tuple[tuple[int, int], ...]


def tokenizer(connection: Connection) -> Cut:
    """Cuts a text into words exactly as the index does."""
    cut = connection.fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])

    def tokens(text: str) -> list[Token]:
        encoded = text.encode()
        found: list[Token] = []
        byte_at = char_at = 0
        for item in cut(encoded, apsw.FTS5_TOKENIZE_QUERY, None, include_colocated=False):
            start, end, stem = item
            char_start = char_at + len(encoded[byte_at:start].decode())
            word = encoded[start:end].decode()
            byte_at, char_at = end, char_start + len(word)
            found.append(Token(word, char_start, char_at, stem))
        return found

    return tokens


def keywords(text: str, cut: Cut, *, limit: int) -> dict[str, str]:
    """The words to look for, one a stem, without stop words unless there is nothing else."""
    tokens = cut(storable(text)[:SCANNED_CHARS_MAX])
    telling = [token for token in tokens if token.word.lower() not in STOP_WORDS]
    words: dict[str, str] = {}
    for token in telling or tokens:
        if len(words) == limit:
            break
        words.setdefault(token.stem, token.word)
    return words


def excerpt(texts: list[str], stems: frozenset[str], cut: Cut) -> Excerpt:
    """The best piece of the text that holds most of the stems; of equals, the first."""
    best, best_count, best_at = texts[0] if texts else "", 0, 0
    for text in texts:
        scanned = text[:SCANNED_CHARS_MAX]
        count, at = _densest([token for token in cut(scanned) if token.stem in stems])
        if count > best_count:
            best, best_count, best_at = scanned, count, at
    piece = _piece(best, best_at)
    marks = tuple((token.start, token.end) for token in cut(piece) if token.stem in stems)
    return Excerpt(piece, marks)


def _densest(found: list[Token]) -> tuple[int, int]:
    """The most different stems within one excerpt, and where it begins."""
    best = (0, 0)
    last = 0
    held: dict[str, int] = {}
    for token in found:
        held[token.stem] = held.get(token.stem, 0) + 1
        while token.end - found[last].start > EXCERPT_CHARS - EXCERPT_LEAD_CHARS and found[last] is not token:
            leaving = found[last].stem
            held[leaving] -= 1
            if not held[leaving]:
                del held[leaving]
            last += 1
        if len(held) > best[0]:
            best = (len(held), found[last].start)
    return best


def _piece(text: str, at: int) -> str:
    """About EXCERPT_CHARS around the place, cut between words, on one line."""
    start = max(0, at - EXCERPT_LEAD_CHARS)
    if start:
        # Begin after a blank, unless that would pass the match.
        blank = text.find(" ", start, at)
        start = blank + 1 if blank >= 0 else start
    end = min(len(text), start + EXCERPT_CHARS)
    if end < len(text):
        blank = text.rfind(" ", at + 1, end)
        end = blank if blank > start + EXCERPT_CHARS // 2 else end
    piece = " ".join(text[start:end].translate(CONTROLS).split())
    return f"{'… ' if start else ''}{piece}{' …' if end < len(text) else ''}"
