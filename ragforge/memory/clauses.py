"""The clauses of a message: the pieces of its sentences that can be a statement each."""

import re

from msgspec import Struct

from ragforge.domain.language.base import AnyOf
from ragforge.memory.own_words import own_words
from ragforge.memory.sentences import QUOTED, sentences
from ragforge.memory.statements import (
    STATEMENT_CHARS_MAX,
    asks_for_something,
    begins_to_ask,
    has_question_mark,
    plain,
    worth_reading,
)

WORDS_MIN = 2
"""A clause of fewer words is joined to the one before."""

_BREAKS = AnyOf(lambda language: language.breaks)
_OF_ONESELF = AnyOf(lambda language: language.of_oneself)
_ASKS_BEHIND = AnyOf(lambda language: language.asks_behind)
_ASKS_BEHIND_MARKED = AnyOf(lambda language: language.asks_behind_marked)
_DASH = re.compile(r"\s+[-–—]{1,2}\s+|;\s+|\s*\.{2,}\s+|\s*…\s+|:\s+(?=\S+ \S+ \S+)")


class Clause(Struct, frozen=True):
    """A part of a sentence, with its position."""

    text: str
    words: str
    """The clause as the rules read it: straight apostrophes, no quotations."""
    sentence: int
    """The position of its sentence in the message, from 0."""
    ends: str
    """The end of its sentence, such as a question mark, including one that was left out."""
    asked: bool = False
    """Whether the user asks to remember it."""


def clauses_of(text: str, *, parted: bool = False) -> list[Clause]:
    """Return the clauses of a message in order, without those that are shown rather than said.

    parted: a statement before a question in the same sentence counts as a sentence of its own.
    """
    found: list[Clause] = []
    said = worth_reading([s for s in sentences(own_words(text)) if len(s) <= STATEMENT_CHARS_MAX])
    for at, (sentence, ends) in enumerate(
        part for each in said for part in _sentence_parts(each, parted=parted)
    ):
        found += [Clause(part, plain(part), at, ends) for part in cut(sentence)]
    return found


def _sentence_parts(sentence: str, *, parted: bool) -> list[tuple[str, str]]:
    """Return the sentence with its end; if parted, and it asks only after the user tells something about
    themselves, return both parts: "I prefer small places, where could we eat?"."""
    words = _unquoted(sentence)
    # A question may lack its mark; a request, "could you always use tabs", is not a question.
    is_unmarked = begins_to_ask(words) and not asks_for_something(words)
    ends = "?" if has_question_mark(words) or is_unmarked else ""
    if not parted or not _OF_ONESELF.match(words):
        return [(sentence, ends)]
    places = [_ASKS_BEHIND.search(words), _ASKS_BEHIND_MARKED.search(words) if ends else None]
    found = min(filter(None, places), key=lambda each: each.start(), default=None)
    if found is None:
        return [(sentence, ends)]
    return [(sentence[: found.start()], ""), (sentence[found.end() :], "?")]


def _unquoted(sentence: str) -> str:
    """Return the sentence with straight apostrophes, and every quotation replaced by as many x."""
    return QUOTED.sub(lambda found: "x" * len(found[0]), sentence.replace("’", "'"))


def cut(sentence: str) -> list[str]:
    """Return the sentence, split where another statement may begin; joined by spaces it is whole again."""
    hidden = _unquoted(sentence)
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
