"""The probability that two problems are the same, from 0 to 1, and from which one on they are similar.

Two texts are compared in three parts: half is the cosine of their meanings in English, a quarter that of
their words weighted by rarity, and a quarter that of the concepts of the words. A query is also compared word
by word: how near each of its words is to the nearest one of the problem, and vice versa. If the stored
vectors were made by a known embedder, their cosines count too. The request is also compared alone. Then the
other problems count: a problem is more probable the more its own kin (tasks that are alike, change the same
files and were done on the same days) resemble the query, and the less another matter does. A request for
something new is seldom the same as a report of a fault. Weights are fitted to tasks in English and French:
`benchmarks/tried_fit.py`.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ragforge.domain.blas import load_numpy
from ragforge.domain.language.base import AnyOf
from ragforge.domain.language.concepts import concepts_of
from ragforge.domain.language.lexicon import read_text
from ragforge.domain.language.words import stem
from ragforge.embedders import e5, minilm
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.recall.fit import compared
from ragforge.memory.terms import common_terms, terms

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float64]]

WARNINGS_MAX = 2
"""How many failed tasks a message is warned about."""
MEANING_SHARE, WORDS_SHARE, CONCEPTS_SHARE = 0.5, 0.25, 0.25
NEAREST_SHARE = 0.4
"""The weight of the nearest words, on top of these."""
RARITY = 10
"""How many texts without the word are assumed beside those that are compared."""
COMMON_WEIGHT = 0.3
"""The weight of a word that everybody uses."""
DAY_S = 86_400
WORDS_MAX = 4_096
"""How many words' vectors are cached."""
SIGNS_MAX = 512
"""How many problems' words and concepts are cached: each block compares all lessons of its project."""

_ADDS = AnyOf(lambda language: language.asks_to_add)
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Weights(Struct, frozen=True):
    """The weights of the parts for one embedder of the stored vectors.

    least: the least probability of a similar problem; four of five are, in files that were left out.
    stored: the weight of its cosine beside that of the included embedder. other_min: how much another matter
    is like a query at least, if few are compared. first, second: of the logistic functions, one for each
    column of the evidence, and the bias. In the second, kin are weighted by their probability in the first.
    """

    least: float
    stored: float
    other_min: float
    first: tuple[float, ...]
    second: tuple[float, ...]


WEIGHTS = {
    StaticEmbedder.name: Weights(
        0.55, 0.0, 0.37, (13.04, 4.78, -15.93, 5.25, -1.23, -2.26), (11.0, 4.98, -12.82, 5.17, -1.13, -2.53)
    ),
    minilm.MODEL.vectors: Weights(
        0.6, 0.62, 0.55, (6.99, 4.0, -9.48, 6.53, -1.32, -2.5), (5.81, 4.96, -7.51, 6.43, -1.19, -2.7)
    ),
    e5.MODEL.vectors: Weights(
        0.6, 0.87, 0.5, (9.11, 3.37, -9.6, 4.05, -1.21, -2.59), (8.04, 4.81, -7.64, 4.01, -1.04, -3.01)
    ),
}
"""By embedder."""
KIN = (17.66, 2.49, 0.68, 5.5, -10.08)
"""For the probability that two tasks are about the same matter: weights of how alike they are, the files
and folders that they share, how close their days are, and the bias."""


class Problem(Struct, frozen=True):
    """A problem prepared for comparison.

    request: what was asked for alone; empty if that is all of the text. beside: text of which only the words
    count, such as why it failed. at: when it was worked on.
    """

    text: str
    request: str = ""
    beside: str = ""
    files: tuple[str, ...] = ()
    at: datetime | None = None


def problem_of(
    request: str, done: str = "", *, files: Iterable[str] = (), reason: str = "", at: datetime | None = None
) -> Problem:
    """Return the problem of what was asked for and done, with the words of its files."""
    paths = tuple(files)
    named = " ".join(re.findall(r"[^\W\d_]{2,}", _CAPITAL.sub(" ", " ".join(paths))))
    return Problem(" ".join(filter(None, (request, done, named))), request, reason, paths, at)


def measured_by(embedder: str) -> str:
    """Return the name of the embedder that compares if the stored vectors were made by this one."""
    return embedder if embedder in WEIGHTS else StaticEmbedder.name


def similar_min(embedder: str = StaticEmbedder.name) -> float:
    """Return from which probability on a problem is similar, if this embedder compares."""
    return WEIGHTS[embedder].least


def scores(
    query: str,
    problems: Sequence[Problem],
    stored: Sequence[float | None] | None = None,
    *,
    embedder: str = StaticEmbedder.name,
) -> list[float | None]:
    """Return the probability that each problem is the query's, 0 to 1. Computes, so call it in a thread.

    stored: the cosines of its stored vectors, which this embedder made; None for a problem that has none yet,
    whose score is then None too. The included embedder needs none.
    """
    if not problems:
        return []
    load_numpy()

    weights = WEIGHTS[embedder]
    rows, kinship = evidence(query, problems, stored, weights.stored)
    found: list[float] = probability(rows, kinship, weights).tolist()
    return [None if stored and stored[at] is None else each for at, each in enumerate(found)]


def similar(
    query: str,
    problems: Sequence[Problem],
    stored: Sequence[float | None] | None = None,
    *,
    embedder: str = StaticEmbedder.name,
) -> list[tuple[float, int]]:
    """Return the similar ones, the most similar first: the probability and the index of each. As `scores`."""
    least = similar_min(embedder)
    measured = enumerate(scores(query, problems, stored, embedder=embedder))
    found = [(score, place) for place, score in measured if score is not None and score >= least]
    return sorted(found, key=lambda each: -each[0])


def evidence(
    query: str,
    problems: Sequence[Problem],
    stored: Sequence[float | None] | None,
    weight: float,
    kin: Sequence[float] = KIN,
) -> "tuple[Floats, Floats]":
    """Return the evidence for each problem, and for all pairs the probability that they are kin.

    Shapes (problems, 5) and (problems, problems). The columns are how alike the problem, its kin, another
    matter and the request are to the query, and whether only one of both asks for something new.
    weight: of stored cosines, which are added.
    """
    import numpy as np

    every = alike([Problem(query), *problems], queries=1)
    asked = [each.request or each.text for each in problems]
    kinship = _kinship(every[1:, 1:], problems, kin)
    adds = asks_to_add(query)
    near = every[0, 1:] + NEAREST_SHARE * _nearest_words(query, [each.text for each in problems])
    if stored:
        near = near + weight * np.array([each or 0.0 for each in stored])
    np.fill_diagonal(kinship, 0)
    unlike = 1 - kinship
    np.fill_diagonal(unlike, 0)
    columns = [
        near,
        np.maximum((near * kinship).max(axis=1), 0),
        (near * unlike).max(axis=1),
        alike(list(map(Problem, (query, *asked))), queries=1)[0, 1:]
        + NEAREST_SHARE * _nearest_words(query, asked),
        np.array([adds != asks_to_add(each) for each in asked], dtype=float),
    ]
    return np.stack(columns, axis=-1), kinship


@lru_cache(SIGNS_MAX)
def asks_to_add(text: str) -> bool:
    """Return whether it asks for something new: "Add a button", not "The button does nothing"."""
    return _ADDS.search(text) is not None


def probability(evidence: "Floats", kinship: "Floats", weights: Weights) -> "Floats":
    """Return for each problem the probability that it is the query's."""
    import numpy as np

    rows = evidence.copy()
    rows[:, 2] = np.maximum(rows[:, 2], weights.other_min)
    rows[:, 1] = probable_kin(logistic(rows, weights.first), kinship)
    return logistic(rows, weights.second)


def probable_kin(probable: "Floats", kinship: "Floats") -> "Floats":
    """Return for each the probability that one of its kin is the query's problem."""
    found: Floats = (probable * kinship).max(axis=1)
    return found


def logistic(rows: "Floats", weights: Sequence[float]) -> "Floats":
    """Return the logistic function of the rows: a weight per column, and the bias."""
    import numpy as np

    found: Floats = 1 / (1 + np.exp(-(rows @ np.array(weights[:-1]) + weights[-1])))
    return found


def alike_places(problems: Sequence[Problem]) -> list[list[int]]:
    """Return for each the indexes of the others that are about the same matter. Call it in a thread."""
    if not problems:
        return []
    load_numpy()
    import numpy as np

    kinship = _kinship(alike(problems), problems, KIN)
    np.fill_diagonal(kinship, 0)
    return [np.flatnonzero(row >= 0.5).tolist() for row in kinship]


def kinship_signs(near: "Floats", problems: Sequence[Problem]) -> "list[Floats]":
    """Return for all pairs how alike they are, the files and folders that they share, and how close their
    days are, each of shape (problems, problems)."""
    import numpy as np

    paths = [frozenset(each.files) for each in problems]
    files, _ = _incidence(paths)
    folders, _ = _incidence([frozenset(path.rpartition("/")[0] for path in each) for each in paths])
    per_file = files / np.maximum(files.sum(axis=0), 1)
    fewer = np.minimum.outer(folders.sum(axis=1), folders.sum(axis=1))
    at = np.array([each.at.timestamp() / DAY_S if each.at else np.nan for each in problems])
    # Several tasks of one day are as close as those of two.
    days = np.maximum(1, np.abs(np.subtract.outer(at, at)))
    return [
        near,
        np.minimum(1, per_file @ files.T),
        (folders @ folders.T) / np.maximum(1, fewer),
        np.nan_to_num(1 / (1 + days)),
    ]


def _kinship(near: "Floats", problems: Sequence[Problem], kin: Sequence[float]) -> "Floats":
    """Return for all pairs the probability that they are about the same matter."""
    import numpy as np

    *weights, bias = kin
    signs = kinship_signs(near, problems)
    raw = sum((weight * sign for weight, sign in zip(weights, signs, strict=True)), np.full(near.shape, bias))
    return 1 / (1 + np.exp(-raw))


def alike(problems: Sequence[Problem], *, queries: int = 0) -> "Floats":
    """Return how alike all pairs are. Rarity is computed from those after the queries."""
    import numpy as np

    read = compared([each.text for each in problems])
    meanings = np.stack([np.frombuffer(each.english, dtype=np.float32) for each in read]).astype(np.float64)
    signs = list(map(_signs, problems))
    words, concepts = ([each[part] for each in signs] for part in (0, 1))
    found: Floats = MEANING_SHARE * (meanings @ meanings.T)
    for share, each in ((WORDS_SHARE, words), (CONCEPTS_SHARE, concepts)):
        rows = _by_rarity(each, queries)
        found += share * (rows @ rows.T)
    return found


def _nearest_words(query: str, texts: Sequence[str]) -> "Floats":
    """Return how near the query's words are to the nearest ones of each text, and vice versa, as the mean
    of both. Rare words count more."""
    import numpy as np

    sets = [frozenset(read_text(each).english) for each in (query, *texts)]
    held, names = _incidence(sets)
    rows = held * _rarity(held[1:], list(map(stem, names)))
    rows = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-9)
    vectors = _word_vectors(names) if names else np.zeros((0, 1))
    asked = np.flatnonzero(held[0])
    near = np.maximum(vectors[asked] @ vectors.T, 0)
    there = [near[:, each > 0].max(axis=1, initial=0) @ rows[0, asked] for each in held[1:]]
    found: Floats = (np.array(there) + rows[1:] @ near.max(axis=0, initial=0)) / 2
    return found


_vectors: dict[str, bytes] = {}


def _word_vectors(words: Sequence[str]) -> "Floats":
    """Return a row per word. Unknown ones are embedded together, which takes a third of the time."""
    import numpy as np

    known = {each: found for each in words if (found := _vectors.get(each))}
    new = [each for each in words if each not in known]
    known |= {word: each.tobytes() for word, each in zip(new, StaticEmbedder().vectors(new), strict=True)}
    if len(_vectors) + len(new) > WORDS_MAX:
        _vectors.clear()
    _vectors.update(islice(known.items(), WORDS_MAX))
    rows = np.frombuffer(b"".join(known[each] for each in words), dtype=np.float32)
    return rows.reshape(len(words), -1).astype(np.float64)


def _by_rarity(sets: Sequence[frozenset[str]], queries: int) -> "Floats":
    """Return a row per set, of length 1 or 0, with rare features weighted more."""
    import numpy as np

    held, names = _incidence(sets)
    rows = held * _rarity(held[queries:], names)
    found: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return found


def _rarity(held: "Floats", stems: Sequence[str]) -> "Floats":
    """Return the weight of each feature by how few of the texts contain it."""
    import numpy as np

    usual = np.array([COMMON_WEIGHT if each in common_terms() else 1.0 for each in stems])
    found: Floats = np.log((RARITY + len(held)) / (1 + held.sum(axis=0))) * usual
    return found


def _incidence(sets: Sequence[frozenset[str]]) -> "tuple[Floats, list[str]]":
    """Return which set contains which of the names, as 1 or 0, and the names."""
    import numpy as np

    names = sorted(frozenset[str]().union(*sets))
    place = {each: at for at, each in enumerate(names)}
    held = np.zeros((len(sets), len(names)))
    for row, each in zip(held, sets, strict=True):
        row[[place[name] for name in each]] = 1
    return held, names


@lru_cache(SIGNS_MAX)
def _signs(problem: Problem) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of its words, and the concepts of the words in either language."""
    words, concepts = frozenset[str](), frozenset[str]()
    for text in filter(None, (problem.text, problem.beside)):
        read = read_text(text)
        words |= terms(text)
        concepts |= concepts_of((*read.words, *read.english))
    return words, concepts
