"""Messages of a few words that change the value stated just before: "make it 30", "non, plutôt 5".

They name neither their subject nor, mostly, the previous value, so they are understood only right after the
turn that gave the value. In doubt they change nothing.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from msgspec import Struct

from ragforge.domain.language.base import AnyOf, words_in
from ragforge.domain.language.words import TEXTS_KEPT_MAX
from ragforge.memory.set_values import NumberWithUnit, same_kind, unit_of
from ragforge.memory.statements import plain

WORDS_MAX = 12
"""The maximum length of a message that only gives another value."""
_OBJECTS = AnyOf(lambda language: language.objects_to_value)
_GIVES = AnyOf(lambda language: language.gives_value)
_VALUE = re.compile(r"(?<![\w.,:/#-])(\d+(?:[.,:]\d+)?)(?: ?(%|[^\W\d]+))?(?![\w/'-])")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_PAUSE = re.compile(r"[,;.:](?=\s)|\s[–—-]\s")
_FOR_WHAT = re.compile(r"(\d \w+|\d) (?:for|pour) (?:the |le |la |les |l')?\w+(?=,|$)")
"""The purpose in "21 days for the mail", right after a sentence that gave another value."""
_SIGNS = re.compile(r"[\s,;:.!…()'\"–—→>=-]*")


class SecondThought(Struct, frozen=True):
    """Another value for what was just given one."""

    values: tuple[NumberWithUnit, ...]
    """One, or two of which one is the old value."""
    objects: bool
    """Whether it says that the other value was wrong, so that it is no answer to a question."""

    def replaces(self, given: Sequence[NumberWithUnit]) -> tuple[NumberWithUnit, NumberWithUnit] | None:
        """Return the old value among the given ones and the new one; None if that is not clear."""
        numbers = {each.number for each in given}
        named = [each for each in self.values if each.number in numbers]
        new = [each for each in self.values if each.number not in numbers]
        if len(new) != 1 or len(named) != len(self.values) - 1:
            return None
        old = {each.number: each for each in given if each.number in {one.number for one in named}}
        if not named:
            old = {each.number: each for each in given if same_kind(each, new[0])}
        return (next(iter(old.values())), new[0]) if len(old) == 1 else None


@cache
def _words() -> frozenset[str]:
    return words_in("value_change_words")


@lru_cache(TEXTS_KEPT_MAX)
def second_thought(message: str) -> SecondThought | None:
    """Return what the message changes the value to, and perhaps why; None if it says anything else."""
    if thought := _thought(message):
        return thought
    # "no, 72, we voted": after an objection with its value a few more words say why.
    message = _FOR_WHAT.sub(r"\1", message, count=1)
    at = next((each for each in _PAUSE.finditer(message) if _VALUE.search(message[: each.start()])), None)
    if at is None or _VALUE.search(message, at.end()) or len(message.split()) > WORDS_MAX:
        return None
    thought = _thought(message[: at.start()])
    return thought if thought and thought.objects and "?" not in message else None


def _thought(message: str) -> SecondThought | None:
    words = plain(message).lower().strip()
    if len(words.split()) > WORDS_MAX or "?" in words or "\n" in words:
        return None
    values = {each.number: each for each in stated_values(words)}
    rest = _VALUE.sub(_without_value, words)
    said = _WORD.findall(rest)
    if len(values) not in (1, 2) or not _SIGNS.fullmatch(_WORD.sub("", rest)):
        return None
    if not all(word in _words() for word in said):
        return None
    objects = _OBJECTS.search(words) is not None
    if said and not objects and _GIVES.search(words) is None:
        return None
    return SecondThought(tuple(values.values()), objects)


@lru_cache(TEXTS_KEPT_MAX)
def stated_values(text: str) -> tuple[NumberWithUnit, ...]:
    """Return the numbers of a text with their units, without those in names, paths and versions."""
    if not _DIGIT.search(text):
        return ()
    return tuple(
        NumberWithUnit(found[1], "" if (found[2] or "").lower() in _words() else unit_of(found[2] or ""))
        for found in _VALUE.finditer(plain(text))
    )


def _without_value(found: re.Match[str]) -> str:
    """Return a space, and the word after the number if it is no unit."""
    return f" {found[2]}" if (found[2] or "").lower() in _words() else " "
