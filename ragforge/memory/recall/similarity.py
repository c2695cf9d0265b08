"""How similar two problems are, on one scale: (1 + cosine) / 2 of their texts, and the lowest similar score.

A text is a vector of three parts: half is its meaning, a quarter its words weighted by rarity, and a quarter
the concepts of the words. Meaning is compared by the embedder of the stored vectors if its threshold is
known, or else by the included one, in English. Thresholds were set on tasks in English and French:
`benchmarks/tried.py`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt
from operator import mul

from msgspec import Struct

from ragforge.domain.blas import load_numpy
from ragforge.domain.language.concepts import concepts_of
from ragforge.domain.language.lexicon import read_text
from ragforge.embedders import e5, minilm
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.recall.fit import ComparedText, compared
from ragforge.memory.terms import common_terms, terms

THRESHOLDS = {StaticEmbedder.name: 0.69, minilm.MODEL.vectors: 0.67, e5.MODEL.vectors: 0.64}
"""By embedder, the least score of what is similar."""
WARNINGS_MAX = 2
"""Of so many tasks that failed a message is warned."""
MEANING_SHARE, WORDS_SHARE, CONCEPTS_SHARE = 0.5, 0.25, 0.25
RARITY = 10
"""How many texts without the word are assumed beside those that are compared."""
COMMON_WEIGHT = 0.3
"""Of a word that everybody uses."""

_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Problem(Struct, frozen=True):
    """A problem as it is compared. beside: text of which only the words count, such as why it failed."""

    text: str
    beside: str = ""


def problem_of(text: str, *, files: Iterable[str] = (), reason: str = "") -> Problem:
    """Return the problem that a text describes, with the words of its files."""
    named = " ".join(re.findall(r"[^\W\d_]{2,}", _CAPITAL.sub(" ", " ".join(files))))
    return Problem(f"{text} {named}".strip(), reason)


def measured_by(embedder: str) -> str:
    """Return the name of the embedder that compares if the stored vectors were made by this one."""
    return embedder if embedder in THRESHOLDS else StaticEmbedder.name


def scores(
    query: str, problems: Sequence[Problem], meanings: Sequence[float | None] | None = None
) -> list[float | None]:
    """Return how similar the query and each problem are, 0 to 1. Computes, so call it in a thread.

    meanings: (1 + cosine) / 2 by the comparing embedder, None for one without a vector, whose score is then
    None too; without them, the included embedder compares.
    """
    asked, *others = compared([query, *(each.text for each in problems)])
    wanted, held = _signs(Problem(query)), _Signs.of(problems)
    near = [2 * each - 1 if each is not None else None for each in meanings] if meanings else None
    found: list[float | None] = []
    for place, other in enumerate(others):
        meaning = _dot(asked, other) if near is None else near[place]
        found.append(None if meaning is None else (1 + held.cosine(wanted, place, meaning)) / 2)
    return found


def alike_places(problems: Sequence[Problem]) -> list[list[int]]:
    """Return for each the positions of the others that are similar to it. Call it in a thread."""
    if not problems:
        return []
    load_numpy()
    import numpy as np

    every, held = compared([each.text for each in problems]), _Signs.of(problems)
    least = 2 * THRESHOLDS[StaticEmbedder.name] - 1
    rows = np.frombuffer(b"".join(each.english for each in every), dtype=np.float32).reshape(len(every), -1)
    near = rows @ rows.T
    found: list[list[int]] = [[] for _ in problems]
    # Where meaning alone is too far away, words that are all the same would not be enough.
    for one, other in np.argwhere(np.triu(MEANING_SHARE * near + 1 - MEANING_SHARE >= least, 1)).tolist():
        if held.cosine(held.signs[one], other, float(near[one, other])) >= least:
            found[one].append(other)
            found[other].append(one)
    return found


class _Signs(Struct, frozen=True):
    """What problems are compared by besides meaning. rarity: the weight of each word and concept."""

    signs: Sequence[tuple[frozenset[str], frozenset[str]]]
    rarity: Mapping[str, float]

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> "_Signs":
        signs = list(map(_signs, problems))
        counts = Counter(sign for words, concepts in signs for sign in (*words, *concepts))
        return cls(signs, {sign: _weight(sign, count, len(signs)) for sign, count in counts.items()})

    def cosine(self, asked: tuple[frozenset[str], frozenset[str]], place: int, meaning: float) -> float:
        """Return the cosine of all three parts. meaning: that of the first."""
        words, concepts = map(self._part, asked, self.signs[place])
        return MEANING_SHARE * meaning + WORDS_SHARE * words + CONCEPTS_SHARE * concepts

    def _part(self, one: frozenset[str], other: frozenset[str]) -> float:
        length = sqrt(self._square(one) * self._square(other))
        return self._square(one & other) / length if length else 0.0

    def _square(self, signs: frozenset[str]) -> float:
        count = len(self.signs)
        return sum((self.rarity.get(sign) or _weight(sign, 0, count)) ** 2 for sign in signs)


def _signs(problem: Problem) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of its words, and the concepts of the words in either language."""
    words, concepts = frozenset[str](), frozenset[str]()
    for text in filter(None, (problem.text, problem.beside)):
        read = read_text(text)
        words |= terms(text)
        concepts |= concepts_of((*read.words, *read.english))
    return words, concepts


def _dot(one: ComparedText, other: ComparedText) -> float:
    return sum(map(mul, one.english, other.english))


def _weight(sign: str, count: int, texts: int) -> float:
    return log((RARITY + texts) / (1 + count)) * (COMMON_WEIGHT if sign in common_terms() else 1.0)
