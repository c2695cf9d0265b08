"""Whose words they are: what a user typed themselves, and which statements only they can make.

Strict on purpose: what is missed can be said again, but a file's text taken for the user's will would be
obeyed for weeks.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from ragforge.domain.language.base import AnyOf
from ragforge.domain.memories import MemoryType
from ragforge.memory.classifier import guesses
from ragforge.memory.clauses import clauses_of
from ragforge.memory.constraints import binds
from ragforge.memory.extract import type_of
from ragforge.memory.likeness import content_words, names_in, share_of, stands_among
from ragforge.memory.own_words import own_words
from ragforge.memory.sentences import QUOTED, sentences
from ragforge.memory.statements import is_question, plain

GIVEN = frozenset({MemoryType.IDENTITY, MemoryType.PREFERENCE, MemoryType.GOAL})
"""Types that only the user can state."""
READS_MIN = 0.35
"""The minimum probability for a statement that a model calls a fact. For what programs do and are it is
mostly below 0.1."""
SHARE_MIN = 0.5
"""The minimum share of the statement's content words that occur in the user's words."""
ANSWER_WORDS_MAX = 6
"""The maximum number of content words of an answer to the assistant's question."""
BLOCK_LINES_MAX = 10
BLOCK_CHARS_MAX = 1_000
"""A longer paragraph was not typed."""
BLOCKS_MAX = 3
"""If there are more paragraphs, the first and the last are the user's; those between were pasted."""
QUOTED_WORDS_MAX = 2
"""Up to so many quoted words are a name within a sentence; more are somebody else's sentence."""

_HEADING = re.compile(r"[ \t]*(?:#{1,6}[ \t]|={3,}|-{3,}|\*{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*•+]|\d{1,3}[.)])[ \t]")
_SELF = AnyOf(lambda language: (r"\b(?:<person>|<wills>)\b",))
"""How a statement about the user shows that it is one."""
_WORKS = AnyOf(lambda language: language.works)
_OF_THE_USER = AnyOf(lambda language: language.of_the_user)
"""Matches what says who the user is or what they want, or asks on their behalf, whatever its type."""


def typed(text: str) -> str:
    """Return the message without what was pasted into it, stricter than `own_words`: without all lists, text
    after a heading or colon, long paragraphs, those between the first and last of many, and quotations."""
    lines: list[str] = []
    for line in own_words(text).splitlines():
        if _HEADING.match(line):
            break
        if not _ITEM.match(line):
            lines.append(line)
            if line.rstrip().endswith(":"):
                break
    blocks = [block.strip() for block in "\n".join(lines).split("\n\n") if block.strip()]
    if len(blocks) > BLOCKS_MAX:
        blocks = [blocks[0], blocks[-1]]
    short = (each for each in blocks if each.count("\n") < BLOCK_LINES_MAX and len(each) <= BLOCK_CHARS_MAX)
    return QUOTED.sub(
        lambda found: found[0] if len(found[0].split()) <= QUOTED_WORDS_MAX else " ", "\n\n".join(short)
    )


def is_theirs(statement: str, *, message: str, before: str = "") -> bool:
    """Whether the user says it in the message: half of its content words, and every name and number in it.

    before: what the assistant had said; if the message is a short answer, its questions count as well.
    """
    said = content_words(typed(message))
    if (said and len(said) <= ANSWER_WORDS_MAX) or (not said and typed(message).strip()):
        said += content_words(" ".join(each for each in sentences(before) if is_question(plain(each))))
    return _rests_on(statement, said)


def rests_on(statement: str, lines: str) -> bool:
    """Whether the same is true for lines of code, which the user wrote by hand instead of saying it."""
    return _rests_on(statement, content_words(lines))


def _rests_on(statement: str, said: Sequence[str]) -> bool:
    about = _SELF.without(plain(statement))
    named = all(stands_among(name, said) for name in names_in(about))
    return named and share_of(about, said) >= SHARE_MIN


def may_keep(statement: str, type: MemoryType, *, message: str, before: str = "") -> bool:
    """Whether a model may have it remembered: what only the user can state, and demands, need the user's
    words, whatever type the model gives."""
    if (
        type in GIVEN
        or binds(statement)
        or _OF_THE_USER.search(plain(statement))
        or _reads_as_given(statement)
    ):
        return is_theirs(statement, message=message, before=before)
    return True


@lru_cache(1_024)
def _reads_as_given(statement: str) -> bool:
    """Whether it would be stored, if the user said it, as something that only they can state."""
    if type_of(plain(statement)) in GIVEN:
        return True
    if _WORKS.search(plain(statement)):
        return False
    return any(
        each.kept * sum(each.types[type] for type in GIVEN) >= READS_MIN
        for each in guesses(clauses_of(statement), "")
    )
