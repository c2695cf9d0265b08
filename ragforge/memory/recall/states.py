"""What a turn says about the state of things: what is gone, what something is built on, what was picked."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from ragforge.domain.language.base import AnyOf, first_group
from ragforge.domain.products import FIELDS, KNOWN_NAMES
from ragforge.memory.likeness import content_words, name_parts, names_in
from ragforge.memory.replacement import decision_terms
from ragforge.memory.sentences import sentences
from ragforge.memory.statements import CODE, is_question, is_so, is_wondering, readable
from ragforge.memory.terms import about, terms

_REMOVED = AnyOf(lambda language: language.removed)
_BUILT_ON = AnyOf(lambda language: language.built_on)
_PICKS = AnyOf(lambda language: language.picks)
_REMAINS = AnyOf(lambda language: language.remains)
_CLAUSE_END = re.compile(r"[,;:.!?](?=\s|$)|\s[–—-]\s")
_NAME_OF_LETTERS = re.compile(r"\D+$|(?!v\d)[^\W\d]{1,3}\d$")
"""Or consisting of a letter or two and a digit, as R2 and k6."""
_NAME = re.compile(r"(?<!`)\b(?:[A-Z][\w+#]*|[a-z][\w+#.-]*)")

PICK_CHARS_MAX = 300
"""The length of a message that picks something: a longer one mentions much that it does not pick from."""


class Removal(Struct, frozen=True):
    """Something that no longer exists."""

    names: frozenset[str]
    parts: frozenset[str]
    """Words that its names are composed of."""
    topic: frozenset[str]
    """What it was used for; empty if it is gone for every use."""
    sentence: str

    def concerns(self, statement: str) -> bool:
        """Return whether the statement is about what is gone."""
        named = _names(readable(statement))
        if not self.names & named and not self.parts & named:
            return False
        return not self.topic or bool(self.topic & about(statement))


class BuiltOn(Struct, frozen=True):
    """What something with a name of code is built on."""

    subject: str
    on: str
    sentence: str


class Pick(Struct, frozen=True):
    """A message that picks something and names what it is not."""

    chosen: frozenset[str]
    """Its terms."""
    names: frozenset[str]
    """The other names in the message, except those of what stays."""
    topic: frozenset[str]
    sentence: str

    def concerns(self, statement: str) -> bool:
        """Return whether the statement says that one of the others is used, for the same purpose."""
        words = readable(statement)
        shared = self.names & names_in(words)
        if not shared or self.chosen & terms(words):
            return False
        return bool(self.topic & about(words) - terms(" ".join(shared)))


def removals(told: Sequence[str]) -> list[Removal]:
    """Return what is gone, by names: `the Redis code in it is gone`, `WeasyPrint est retiré`."""
    return list(_removals(told))


def _removals(told: Sequence[str]) -> Iterator[Removal]:
    for sentence in told:
        words = readable(sentence)
        if is_question(words) or is_wondering(words):
            continue
        for found in _REMOVED.finditer(words):
            thing = first_group(found).strip(" ,.")
            names = _names(thing)
            if not names or not is_so(words, found.end(found.lastindex or 0)):
                continue
            written = thing.split()
            at = next(
                (at for at, word in reversed(list(enumerate(written))) if word.lower().strip("'") in names),
                None,
            )
            if at is None:  # it is a part of what is written: `mail-client` of `old-mail-client`
                yield Removal(names, frozenset(), frozenset(), sentence)
                continue
            name = written[at].rpartition("/")[2]  # the folders of a path still exist
            parts = (part.lower() for part in name_parts(name) if part != name)
            if name.isupper():  # most words of a constant's name are used for anything: `REDIS_URL`
                parts = (part for part in parts if part in KNOWN_NAMES)
            # `the Redis code in it`: only this use of Redis is gone.
            is_part = bool(content_words(" ".join(written[at + 1 : at + 2])))
            topic = _subjects(sentence) - about(thing) if is_part else frozenset[str]()
            yield Removal(names, frozenset(parts) - _kinds(), topic, sentence)


def built_on(told: Sequence[str]) -> list[BuiltOn]:
    """Return what the sentences say that a name of code, or a part of the project, is built on: "`TileCache`
    is on Redis again", "the broker is RabbitMQ"."""
    found: list[BuiltOn] = []
    for sentence in told:
        for each in _BUILT_ON.finditer(sentence):
            subject, behind = (group for group in each.groups() if group)
            of = terms(subject) if subject.isalpha() and subject[1:].islower() else {subject}
            if name := next(iter(_products(behind)), ""):
                found += [BuiltOn(each, name, sentence) for each in of if each != name]
    return found


def pick_in(message: str) -> Pick | None:
    """Return what the message picks if it names something else too: "SQS it is, nats is one more to run";
    None if it does not."""
    if len(message) > PICK_CHARS_MAX:
        return None
    words = readable(message)
    found = _PICKS.search(words)
    if found is None or is_question(words):
        return None
    chosen = terms(first_group(found))
    others = (clause for clause in _CLAUSE_END.split(words) if not _REMAINS.search(clause))
    names = frozenset[str]().union(*map(_names, others))
    names = frozenset(name for name in names if not terms(name) & chosen)
    if not (chosen and names):
        return None
    topic = about(words) - chosen - terms(" ".join(names)) - decision_terms()
    sentence = next((each for each in sentences(message) if found[0].strip() in readable(each)), message)
    return Pick(chosen, names, topic, sentence) if topic else None


@lru_cache(1)  # a long sentence may remove many things, one after another
def _subjects(sentence: str) -> frozenset[str]:
    """Return what the sentence is about besides products; also parts of code names: `ReservationStore`."""
    parts = " ".join(name_parts(" ".join(CODE.findall(sentence))))
    return about(f"{readable(sentence)} {parts}") - terms(" ".join(KNOWN_NAMES))


def _names(text: str) -> frozenset[str]:
    """Return names of something, but not of a kind of things, and no numbers."""
    return frozenset(name for name in names_in(f"x {text}") - _kinds() if _NAME_OF_LETTERS.match(name))


def _products(text: str) -> list[str]:
    """Return the names of products, in order."""
    found = (each[0] for each in _NAME.finditer(CODE.sub(r" \1 ", text)))
    outside = CODE.sub(" ", text)
    return [name.lower() for name in found if name in KNOWN_NAMES or (name[0].isupper() and name in outside)]


def _kinds() -> frozenset[str]:
    """Return words for kinds of things: `cache`, `database`."""
    return frozenset(FIELDS) - KNOWN_NAMES
