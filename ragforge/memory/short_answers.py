"""Answers of a few words, and the part of the assistant's question needed to understand them later."""

import re

from ragforge.domain.language.base import AnyOf, filled
from ragforge.memory.sentences import cut_words, one_line, prose, sentences
from ragforge.memory.terms import about

WORDS_MAX = 8
"""Longer statements say what they are about."""
TELLING_WORDS = 2
"""The number of content words that show what a statement is about."""
QUESTION_CHARS_MAX = 300

_NAME = r"(?:option )?\(?([1-9]|[a-eA-E])\s?[.):]\s+"
_OPTION = re.compile(rf"(?<![^\s(;,:]){_NAME}(.+?)(?=[;,.]?\s+(?:or |ou |and |et )?{_NAME}|[?]|$)", re.DOTALL)
_OPTION_END = re.compile(r"[.?!]\s|\n(?=\S)")
_CHOICE = re.compile(
    r"(?:^|\b(?:option|number|numéro|la|le|do|with|prends|take) )([1-9]|[a-eA-E])(?=[\s.,!;)]|$)"
)
_BARE = re.compile(r"\W*(?:\d{1,2}|[a-eA-E])\W*")
_NUMBER = re.compile(filled("<number>"))
_OR = AnyOf(lambda language: language.either)
_ORDINALS = [AnyOf(lambda language, at=at: language.ordinals[at : at + 1]) for at in range(4)]


def asks(before: str) -> bool:
    """Whether what the assistant said ends with a question, or with what immediately follows one."""
    return "?" in one_line(before)[-QUESTION_CHARS_MAX:]


def is_short(said: str) -> bool:
    """Whether it may answer something in a few words."""
    return len(said.split()) <= WORDS_MAX


def needs_question(statement: str, before: str) -> bool:
    """Whether the words say too little without what the assistant said. If that asked nothing, only a
    value with hardly a word does: "way too wet, 25".
    """
    return is_short(statement) and (asks(before) or len(about(statement)) < TELLING_WORDS)


def says_nothing(statement: str, before: str) -> bool:
    """Whether it is a number or letter alone, and answers no question and names no option."""
    return bool(_BARE.fullmatch(statement)) and not asks(before) and not _option(statement, before)


def with_question(statement: str, before: str) -> str:
    """Return the short answer after what it answers: the option that it names, else the last question, else
    the last sentence of what the assistant said, with the answer's number in place of its own."""
    asked = _asked(before)
    if not asked:
        return statement
    option = _option(statement, before)
    if option:
        # The question without its options, so that rejected ones are not stored beside the chosen one.
        lead = one_line(before[: before.find(option)])
        lead = lead.rsplit("?", 1)[0] + "?" if "?" in lead else ""
        return one_line(f"{lead} {option.rstrip(' .;,')} ({statement})")
    return _with_number(asked, statement) or one_line(f"{asked} {statement}")


def _with_number(told: str, statement: str) -> str:
    """Return "It listens on port 7443 (make it 7443)"; empty if this is a question, or one of the two has not
    just one number."""
    old, new = _NUMBER.findall(told), _NUMBER.findall(statement)
    if told.endswith("?") or len(old) != 1 or len(new) != 1:
        return ""
    return one_line(f"{_NUMBER.sub(new[0], told).rstrip(' .')} ({statement})")


def _asked(before: str) -> str:
    said = sentences(before[-4_000:]) or [one_line(prose(before)[-QUESTION_CHARS_MAX:])]
    questions = [each for each in said if each.rstrip().endswith("?")]
    asked = (questions or said)[-1]
    at = said.index(asked)
    if questions and at and len(asked.split()) <= 4:
        asked = f"{said[at - 1]} {asked}"  # "Shall I?" asks about the sentence before it
    return cut_words(asked, QUESTION_CHARS_MAX)


def _option(statement: str, before: str) -> str:
    """Return which of the offered options the answer chooses; empty if it chooses none."""
    options = [
        (found[1].lower(), one_line(_OPTION_END.split(found[2])[0])) for found in _OPTION.finditer(before)
    ]
    if len(options) < 2:
        offered = _OR.search(before)
        if offered is None:
            return ""
        texts = before[: offered.start()], before[offered.end() :]
        options = [("", re.split(r"[:.?!]\s", texts[0])[-1]), ("", re.split(r"[.?!](?:\s|$)", texts[1])[0])]
    if chosen := _CHOICE.search(statement):
        named = dict(reversed(options))
        offers = [text for _, text in options]
        # "2 days" is a value and no place, and so is "3" where 3 was offered.
        if not options[0][0] and _BARE.fullmatch(statement) and not any(map(str.isdigit, "".join(offers))):
            named = dict(zip("12", offers, strict=True))
        return named.get(chosen[1].lower(), "").strip(" ,")
    place = next((at for at, ordinal in enumerate(_ORDINALS) if ordinal.search(statement)), len(options))
    return options[place][1].strip(" ,") if place < len(options) else ""
