"""Sentences in which a user states something, told apart from those that only ask, wonder or report."""

import re

from ragforge.domain.language.base import AnyOf, spellings
from ragforge.memory.own_words import own_words
from ragforge.memory.sentences import QUOTED, sentences

STATEMENTS_MAX = 80
"""How many sentences of a message are read, and as many more if these are binding."""
STATEMENT_CHARS_MAX = 500
"""Longer ones are lists or pasted text, and no rule reads them well."""

CODE = re.compile(r"`([^`]*)`")
_LETTERS = re.compile(r"[^\W\d_]+")
_TYPED = re.compile(r"(?<![\w./'-])[^\W\d_]+(?![\w/']|\.\w)")
"""A word that is not part of a name or a path."""

BEFORE_CHARS_MAX = 200
"""Of a sentence before a position in it: patterns that look further take too long."""
_ASKS = AnyOf(lambda language: language.asks)
_ASKS_FOR = AnyOf(lambda language: language.asks_for)
_WONDERS = AnyOf(lambda language: language.wonders)
_REPORTS = AnyOf(lambda language: language.reports)
_ASSENTS = AnyOf(lambda language: language.assents)
_BINDS = AnyOf(lambda language: language.binds)
_NOT_SO = AnyOf(lambda language: language.not_so)
_UNREAL = AnyOf(lambda language: language.unreal)
_IRONIC = AnyOf(lambda language: language.ironic)


def plain(sentence: str) -> str:
    """Return the sentence as the rules read it: straight apostrophes, corrected spelling ("thats"),
    and nothing of what is quoted in it."""
    words = QUOTED.sub("``", sentence.replace("’", "'").replace("‘", "'"))
    if spellings().keys().isdisjoint(_LETTERS.findall(words.lower())):
        return words
    return _TYPED.sub(_spelled, words)


def _spelled(typed: re.Match[str]) -> str:
    spelled = spellings().get(typed[0].lower(), typed[0])
    return spelled[0].upper() + spelled[1:] if typed[0][0].isupper() else spelled


def readable(sentence: str) -> str:
    """Return the sentence as `plain`, but with the code in it."""
    return plain(CODE.sub(r"\1", sentence))


def is_question(words: str) -> bool:
    """Whether it asks. `words` is plain."""
    return has_question_mark(words) or begins_to_ask(words)


def has_question_mark(words: str) -> bool:
    """Whether it ends with a question that asks for more than a nod. `words` is plain."""
    words = words.rstrip(" \"'»”)")
    return words.endswith("?") and not _ASSENTS.search(words)


def begins_to_ask(words: str) -> bool:
    """Whether it begins as a question does, with or without its mark."""
    return _ASKS.match(words) is not None


def asks_for_something(words: str) -> bool:
    """Whether it begins as a question that asks the assistant to do something."""
    return _ASKS_FOR.match(words) is not None


def is_wondering(words: str) -> bool:
    """Whether it is a hypothesis or an example."""
    return _WONDERS.search(words) is not None


def is_so(words: str, at: int) -> bool:
    """Whether what a plain sentence says at this position is so: without a condition or a negation before it,
    and not about other people or a report."""
    return _NOT_SO.search(words[max(0, at - BEFORE_CHARS_MAX) : at]) is None


def is_unreal(words: str) -> bool:
    """Whether it begins with what is not so: "if we had a lock file, never touch it"."""
    return _UNREAL.search(words) is not None


def is_report(words: str) -> bool:
    """Whether it reports what somebody else says, or what was so before."""
    return _REPORTS.search(words) is not None


def is_ironic(words: str) -> bool:
    """Whether it is praise that cannot be meant."""
    return _IRONIC.search(words) is not None


def said_by(user: str) -> list[tuple[str, str]]:
    """Return the sentences of the user that do not ask, each with its plain form."""
    said = worth_reading([each for each in sentences(own_words(user)) if len(each) <= STATEMENT_CHARS_MAX])
    return [(each, words) for each in said if not is_question(words := plain(each))]


def worth_reading(said: list[str]) -> list[str]:
    """Return, if there are many, the sentences at the beginning and the end, where people say what they want,
    and of the others the binding ones."""
    if len(said) <= STATEMENTS_MAX:
        return said
    half = STATEMENTS_MAX // 2
    binding = [each for each in said[half:-half] if _BINDS.search(plain(each))]
    return [*said[:half], *binding[:STATEMENTS_MAX], *said[-half:]]
