"""The words within a word: of identifiers (`SessionStore`), and of scripts without spaces.

In Chinese, Japanese and Korean every two adjacent characters count as a word, as in Lucene's CJK analyzer:
this needs no dictionary, and queries are cut like the stored text.
"""

import re
from collections.abc import Iterator
from functools import cache

PART_CHARS_MIN = 2

_ASCII = "A-Za-z0-9"
_LATIN = f"{_ASCII}\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_IDEOGRAPHS = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
# A capital after a small letter (and its digits), or at the start of the word after an abbreviation.
_HUMP = re.compile(r"(?:(?<=[a-z])|(?<=[a-z][0-9])|(?<=[a-z][0-9]{2}))(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CAPITAL_WITHIN = re.compile(r"[A-Z](?<=[A-Za-z0-9][A-Z])")
"""A quick test: most texts have no match, which takes a tenth of the time."""


@cache
def _pieces() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What may have parts: a name with a capital inside, or among ideographs; or a run of ideographs.

    A longer name is a key or a blob. Then any letter of such words. Compiled on first use: that is a tenth of
    the time of `ragforge sessions`.
    """
    piece = re.compile(
        f"(?<![{_LATIN}])(?=[{_ASCII}]{{2,64}}(?![{_LATIN}]))"
        f"(?P<name>[{_ASCII}][a-z0-9]*[A-Z][{_ASCII}]*|[{_ASCII}]+(?=[{_IDEOGRAPHS}])|(?<=[{_IDEOGRAPHS}])[{_ASCII}]+)"
        f"|[{_IDEOGRAPHS}]+"
    )
    return piece, re.compile(f"[{_LATIN}{_IDEOGRAPHS}]")


def parts_within(text: str) -> Iterator[tuple[int, str]]:
    """Yield where each part of the text's words starts, and the part. A plain word has none."""
    pieces, letter = _pieces()
    for piece in pieces.finditer(text):
        found, start = piece[0], piece.start()
        if (start and letter.match(text, start - 1)) or letter.match(text, piece.end()):
            yield start, found
        if not piece["name"]:
            yield from ((start + at, found[at : at + 2]) for at in range(len(found) - 1))
        elif len(humps := _HUMP.split(found)) > 1:
            for hump in humps:
                if len(hump) >= PART_CHARS_MIN:
                    yield start, hump
                start += len(hump)


def parts_of(text: str) -> list[str]:
    """Return the parts of all words of the text, each once: `SessionStore` gives `Session` and `Store`."""
    return list(dict.fromkeys(part for _, part in parts_within(text)))


def spaced(text: str) -> str:
    """Return the text with its compound names as separate words: `Session Store`."""
    return _HUMP.sub(" ", text) if _CAPITAL_WITHIN.search(text) else text
