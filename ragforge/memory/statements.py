"""Sentences by which a user states something, told from those that only ask, wonder or report."""

from ragforge.domain.language.base import AnyOf
from ragforge.memory.own_words import own_words
from ragforge.memory.sentences import QUOTED, sentences

STATEMENTS_MAX = 80
STATEMENT_CHARS_MAX = 500
"""Longer ones are lists or pasted text, and no rule reads them well."""

_ASKS = AnyOf(lambda language: language.asks)
_ASKS_FOR = AnyOf(lambda language: language.asks_for)
_WONDERS = AnyOf(lambda language: language.wonders)
_REPORTS = AnyOf(lambda language: language.reports)
_UNREAL = AnyOf(lambda language: language.unreal)
_IRONIC = AnyOf(lambda language: language.ironic)


def plain(sentence: str) -> str:
    """The sentence as the rules read it: straight apostrophes, and nothing of what is quoted in it."""
    return QUOTED.sub("``", sentence.replace("’", "'").replace("‘", "'"))


def is_question(words: str) -> bool:
    """Whether it asks. `words` is plain."""
    return words.rstrip(" \"'»”)").endswith("?") or begins_to_ask(words)


def begins_to_ask(words: str) -> bool:
    """Whether it begins as a question does, with or without its mark."""
    return _ASKS.match(words) is not None


def asks_for_something(words: str) -> bool:
    """Whether it begins as a question does that asks the assistant to do something."""
    return _ASKS_FOR.match(words) is not None


def is_wondering(words: str) -> bool:
    """Whether it is a hypothesis or an example."""
    return _WONDERS.search(words) is not None


def is_unreal(words: str) -> bool:
    """Whether it begins with what is not so: "if we had a lock file, never touch it"."""
    return _UNREAL.search(words) is not None


def is_report(words: str) -> bool:
    """Whether it tells what somebody else says, or what was so before."""
    return _REPORTS.search(words) is not None


def is_ironic(words: str) -> bool:
    """Whether it praises what it cannot mean."""
    return _IRONIC.search(words) is not None


def said_by(user: str) -> list[tuple[str, str]]:
    """The sentences of the user that do not ask, each with its plain form."""
    found = [(s, plain(s)) for s in sentences(own_words(user)) if len(s) <= STATEMENT_CHARS_MAX]
    return [(s, words) for s, words in found[:STATEMENTS_MAX] if not is_question(words)]
