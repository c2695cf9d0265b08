"""The features of a clause for the classifier: its words, its letters, its form and its surroundings."""

import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from ragforge.domain.language.base import AnyOf, cue_names
from ragforge.memory.clauses import Clause

BUCKETS = 1 << 16
"""The number of buckets that feature names are hashed into."""
BIAS = "bias"
"""The feature that every clause has, with the value 1."""
NEAR = 8
"""The number of clauses before and after that describe the message a clause is part of."""
_TOKEN = re.compile(r"\d+|[^\W\d_]+(?:'[^\W\d_]+)?|[?!:`/]|\.{2,}")
_RULES = {
    "asks": AnyOf(lambda language: language.asks),
    "wonders": AnyOf(lambda language: language.wonders),
    "reports": AnyOf(lambda language: language.reports),
    "instead": AnyOf(lambda language: language.instead),
    "changed": AnyOf(lambda language: language.changed_mind),
}
_FORMS = {
    "path": re.compile(
        r"[\w.-]+/[\w./-]*|\b\w+\.(?:py|js|ts|c|h|go|rs|md|json|toml|ya?ml|sql|sh|css|html|txt)\b"
    ),
    "number": re.compile(r"\d"),
    "unit": re.compile(r"\d ?(?:ms|s|sec\w*|min\w*|h|kb|mb|gb|ko|mo|go|px|%|€|\$|k|m)\b", re.IGNORECASE),
    "identifier": re.compile(r"\w+_\w+|[a-z]+[A-Z]\w*|\w+\(\)"),
    "flag": re.compile(r"(?<!\S)--?[a-z]"),
    "name": re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+"),
    "acronym": re.compile(r"\b[A-Z]{2,}\b"),
    "quotes": re.compile(r"``|[\"“«]"),
    "brackets": re.compile(r"[\[\]{}=<>|]"),
    "url": re.compile(r"https?://"),
    "time": re.compile(r"\b\d{1,2} ?(?:h|:)\d\d|\b\d{1,2} ?(?:h|am|pm)\b"),
    "ellipsis": re.compile(r"\.\.|…"),
    "bang": re.compile(r"!"),
}


@cache
def _cues() -> Mapping[str, AnyOf]:
    """Return the cues by name; compiled at first use, so that a start without messages loads no languages."""
    return {name: AnyOf(lambda language, name=name: language.cues.get(name, ())) for name in cue_names()}


def tokens_of(words: str) -> list[str]:
    """Return the words, numbers and signs of the text, in lower case."""
    return _TOKEN.findall(words.lower())


def features_of(clauses: Sequence[Clause], before: str, *, common: Collection[str]) -> list[dict[str, float]]:
    """Return the features of each clause of a message by their names, and how much each counts.

    common: words that many messages have; all others are the same in the frame of the clause.
    """
    tokens = [[_shape(word) for word in tokens_of(clause.words)] for clause in clauses]
    names = [list(_names(clause)) for clause in clauses]
    return [
        _features(clauses, at, tokens, names, before if at == 0 else "", common) for at in range(len(clauses))
    ]


def _features(
    clauses: Sequence[Clause],
    at: int,
    tokens: Sequence[list[str]],
    names: Sequence[list[str]],
    before: str,
    common: Collection[str],
) -> dict[str, float]:
    near = [other for other in range(max(0, at - NEAR), min(len(clauses), at + NEAR + 1)) if other != at]
    found: dict[str, float] = {BIAS: 1.0}
    _add(found, _grams(tokens[at]), 1.0)
    _add(found, _frames(tokens[at], common), 1.0)
    _add(found, _letters(clauses[at].words.lower()), 1.0)
    _add(found, (f"m:{word}" for other in near for word in tokens[other]), 0.8)
    for name in names[at]:
        found[name] = 0.7
    found[_length(clauses[at])] = 0.7
    for other in near:
        for name in names[other]:
            found[f"m:{name}"] = 0.5
    for name in _around(clauses, at, tokens, names):
        found[name] = 0.5
    _add(found, _asked(before), 1.0)
    return found


def hashed(found: dict[str, float]) -> tuple[list[int], list[float]]:
    """Return the buckets of the features and their values."""
    return [zlib.crc32(name.encode()) % BUCKETS for name in found], list(found.values())


def _add(found: dict[str, float], names: Iterator[str], weight: float) -> None:
    """Add the names, weighted so that their squares add up to `weight`."""
    each = list(dict.fromkeys(names))
    for name in each:
        found[name] = weight / len(each) ** 0.5 * 1.5


def _shape(word: str) -> str:
    return f"0{min(len(word), 4)}" if word.isdigit() else word


def _grams(words: list[str]) -> Iterator[str]:
    yield from (f"w:{word}" for word in words)
    yield from (f"b:{a} {b}" for a, b in zip(["^", *words], [*words, "$"], strict=True))
    yield from (f"s:{a} {b}" for a, b in zip(words, words[2:], strict=False))
    yield from (f"f:{' '.join(words[:count])}" for count in (1, 2, 3))
    yield f"l:{words[-1] if words else ''}"


def _frames(words: list[str], common: Collection[str]) -> Iterator[str]:
    """Yield the clause without its subject matter: "we use _ for _"."""
    frame = ["^"]
    for word in words:
        plain = word if word in common or not word[0].isalpha() else "_"
        if plain != "_" or frame[-1] != "_":
            frame.append(plain)
    frame.append("$")
    for size in (2, 3, 4):
        yield from (f"k:{' '.join(frame[at : at + size])}" for at in range(len(frame) - size + 1))


def _letters(text: str) -> Iterator[str]:
    line = f" {' '.join(text.split())} "
    for size in (3, 4):
        yield from (f"c:{line[at : at + size]}" for at in range(len(line) - size + 1))


def _names(clause: Clause) -> Iterator[str]:
    """Yield its form, the cues in it and the rules that it matches."""
    yield from (f"rule:{name}" for name, rule in _RULES.items() if rule.search(clause.words))
    yield from (f"cue:{name}" for name, cue in _cues().items() if cue.search(clause.words))
    yield from (f"form:{name}" for name, form in _FORMS.items() if form.search(clause.words))
    if clause.ends:
        yield f"ends:{clause.ends}"


def _length(clause: Clause) -> str:
    count = len(clause.words.split())
    return f"long:{min(count, 4) if count < 5 else 5 + min(count // 5, 5)}"


def _around(
    clauses: Sequence[Clause], at: int, tokens: Sequence[list[str]], names: Sequence[list[str]]
) -> Iterator[str]:
    """Yield its position, and what is next to it."""
    yield f"at:{min(at, 3)}"
    yield f"of:{min(len(clauses), 5)}"
    for away in (-1, 1):
        if 0 <= at + away < len(clauses):
            other = clauses[at + away]
            same = "same" if other.sentence == clauses[at].sentence else "other"
            words = tokens[at + away][:2]
            yield f"{away}:{same}{other.ends}"
            yield f"{away}:{' '.join(words[:1])}"
            yield f"{away}:{' '.join(words)}"
            yield from (f"{away}:{name}" for name in names[at + away])
        else:
            yield f"{away}:none"


def _asked(before: str) -> Iterator[str]:
    """Yield what the assistant said before, as its last words and its first."""
    if before:
        words = tokens_of(before)
        yield "asked"
        yield f"asked:{before.rstrip()[-1]}"
        yield from (f"asked:{word}" for word in {*words[:6], *words[-12:]})
        yield f"asked:{' '.join(words[:2])}"
        yield f"asked:{' '.join(words[:3])}"
