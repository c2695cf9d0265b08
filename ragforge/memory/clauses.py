"""The clauses of a message: the pieces of its sentences that can be a statement each."""

import re

from msgspec import Struct

from ragforge.domain.language.base import AnyOf
from ragforge.memory.own_words import own_words
from ragforge.memory.sentences import QUOTED, sentences
from ragforge.memory.statements import STATEMENT_CHARS_MAX, STATEMENTS_MAX, plain

WORDS_MIN = 2
"""A clause of fewer words stays with the one before."""

_BREAKS = AnyOf(lambda language: language.breaks)
_DASH = re.compile(r"\s+[-–—]{1,2}\s+|;\s+|\s*\.{2,}\s+|\s*…\s+|:\s+(?=\S+ \S+ \S+)")


class Clause(Struct, frozen=True):
    """A part of a sentence, with where it stands."""

    text: str
    words: str
    """The clause as the rules read it: straight apostrophes, no quotations."""
    sentence: int
    """The place of its sentence in the message, from 0."""
    ends: str
    """What ends its sentence: a question mark, say."""
    asked: bool = False
    """The user asks to remember it."""


def clauses_of(text: str) -> list[Clause]:
    """The clauses of a message in their order, but for what is shown rather than said."""
    found: list[Clause] = []
    said = [s for s in sentences(own_words(text)) if len(s) <= STATEMENT_CHARS_MAX][:STATEMENTS_MAX]
    for at, sentence in enumerate(said):
        ends = "?" if sentence.rstrip(" \"'»”)").endswith("?") else ""
        found += [Clause(part, plain(part), at, ends) for part in cut(sentence)]
    return found


def cut(sentence: str) -> list[str]:
    """The sentence cut where another statement may begin; joined by spaces it is whole again."""
    hidden = QUOTED.sub(lambda found: "x" * len(found[0]), sentence.replace("’", "'"))
    places = {found.end() for found in _DASH.finditer(hidden)}
    places |= {
        found.start() + len(found[0]) - len(found[0].lstrip(" ,")) for found in _BREAKS.finditer(hidden)
    }
    parts: list[str] = []
    start = 0
    for end in [*sorted(place for place in places if place > 0), len(sentence)]:
        part = sentence[start:end].strip()
        if parts and (len(part.split()) < WORDS_MIN or len(parts[-1].split()) < WORDS_MIN):
            parts[-1] += f" {part}"
        elif part:
            parts.append(part)
        start = end
    return parts
