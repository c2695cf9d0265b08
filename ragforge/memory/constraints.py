"""What the user demands, found by rules."""

import re
from functools import lru_cache

from ragforge.domain.language.base import AnyOf
from ragforge.memory.material import CONSTRAINT_CHARS_MAX, CONSTRAINTS_MAX
from ragforge.memory.sentences import cut_words
from ragforge.memory.statements import is_report, is_wondering, plain, said_by

_STANDING = AnyOf(lambda language: language.standing)
_DEMANDS = AnyOf(lambda language: language.demands)
_BINDS = AnyOf(lambda language: language.binds)


def is_standing(words: str) -> bool:
    """Whether it is a rule for all that comes. `words` is plain."""
    return _STANDING.search(words) is not None


def is_demand(words: str) -> bool:
    """Whether it demands or forbids something, for now or for good."""
    return is_standing(words) or _DEMANDS.search(words) is not None


@lru_cache(1_024)  # the same standing instructions are asked about before every message
def binds(sentence: str) -> bool:
    """Whether it must hold and is not just a preference."""
    words = plain(sentence)
    return is_demand(words) or _BINDS.search(words) is not None


def constraints_in(user: str) -> tuple[str, ...]:
    """What the user demands, word for word, each at most `CONSTRAINT_CHARS_MAX` characters."""
    found = (
        sentence
        for sentence, words in said_by(user)
        if is_demand(words) and not is_report(words) and not is_wondering(words)
    )
    return tuple(dict.fromkeys(cut_words(each, CONSTRAINT_CHARS_MAX) for each in found))[:CONSTRAINTS_MAX]


def word_for_word(quote: str, user: str) -> str:
    """The words of the user that the quote repeats, as the user wrote them but for spacing, at most
    `CONSTRAINT_CHARS_MAX` characters; empty where the user did not say so."""
    said = " ".join(user.split())
    same = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
    for attempt in (quote, quote.strip(" \"'“”«»"), quote.replace("&lt;", "<")):
        wanted = " ".join(attempt.split()).translate(same)
        found = (
            re.search(re.escape(wanted), said.translate(same), re.IGNORECASE) if len(wanted) >= 4 else None
        )
        if found:
            return cut_words(said[found.start() : found.end()], CONSTRAINT_CHARS_MAX)
    return ""
