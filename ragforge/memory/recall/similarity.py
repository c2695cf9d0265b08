"""How probable it is that two problems are the same, from 0 to 1, and from where on they are similar.

Two texts are alike by three parts: half is the cosine of their meanings in English, a quarter that of their
words weighted by rarity, and a quarter that of the concepts of the words. If the stored vectors were made by
an embedder that is known here, their cosines count too. Then the others are asked: a problem is the more
probable the more its own kind (tasks that are alike, change the same files and were done in the same days)
is like the query, and the less another matter is. Weights are fitted to tasks in English and French:
`benchmarks/tried_fit.py`.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ragforge.domain.blas import load_numpy
from ragforge.domain.language.concepts import concepts_of
from ragforge.domain.language.lexicon import read_text
from ragforge.embedders import e5, minilm
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.recall.fit import compared
from ragforge.memory.terms import common_terms, terms

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float64]]

SIMILAR_MIN = 0.6
"""The least probability of what is similar. Four of five are, in files that weights were not fitted to."""
WARNINGS_MAX = 2
"""Of so many tasks that failed a message is warned."""
MEANING_SHARE, WORDS_SHARE, CONCEPTS_SHARE = 0.5, 0.25, 0.25
RARITY = 10
"""How many texts without the word are assumed beside those that are compared."""
COMMON_WEIGHT = 0.3
"""Of a word that everybody uses."""
DAY_S = 86_400

_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Weights(Struct, frozen=True):
    """How the parts are weighed for one embedder of the stored vectors.

    stored: the weight of its cosine beside that of the included embedder. other_min: how much another matter
    is like a query at least, where few are compared. first, second: of the logistic functions, of how alike
    the problem, its kin and another matter are to the query, and the bias. In the second, its kin counts by
    how probable it was in the first.
    """

    stored: float
    other_min: float
    first: tuple[float, float, float, float]
    second: tuple[float, float, float, float]


WEIGHTS = {
    StaticEmbedder.name: Weights(0.0, 0.25, (21.11, 7.07, -20.06, -2.18), (19.07, 4.45, -16.48, -2.35)),
    minilm.MODEL.vectors: Weights(0.48, 0.39, (12.36, 6.24, -11.48, -2.56), (11.02, 5.11, -9.16, -2.59)),
    e5.MODEL.vectors: Weights(0.68, 0.35, (14.11, 4.83, -12.82, -2.27), (13.03, 4.24, -10.46, -2.58)),
}
"""By embedder."""
KIN = (17.38, 2.61, 0.72, 5.77, -10.07)
"""How probable it is that two tasks are of one matter: weights of how alike they are, the files and folders
that they share, how close their days are, and the bias."""


class Problem(Struct, frozen=True):
    """A problem as it is compared.

    beside: text of which only the words count, such as why it failed. at: when it was worked on.
    """

    text: str
    beside: str = ""
    files: tuple[str, ...] = ()
    at: datetime | None = None


def problem_of(
    text: str, *, files: Iterable[str] = (), reason: str = "", at: datetime | None = None
) -> Problem:
    """Return the problem that a text describes, with the words of its files."""
    paths = tuple(files)
    named = " ".join(re.findall(r"[^\W\d_]{2,}", _CAPITAL.sub(" ", " ".join(paths))))
    return Problem(f"{text} {named}".strip(), reason, paths, at)


def measured_by(embedder: str) -> str:
    """Return the name of the embedder that compares if the stored vectors were made by this one."""
    return embedder if embedder in WEIGHTS else StaticEmbedder.name


def scores(
    query: str,
    problems: Sequence[Problem],
    stored: Sequence[float | None] | None = None,
    *,
    embedder: str = StaticEmbedder.name,
) -> list[float | None]:
    """Return how probable it is that each problem is the query's, 0 to 1. Computes, so call it in a thread.

    stored: the cosines of its stored vectors, which this embedder made; None for a problem that has none yet,
    and its score is then None too. The included embedder needs none.
    """
    if not problems:
        return []
    load_numpy()

    weights = WEIGHTS[embedder]
    rows, kinship = evidence(query, problems, stored, weights.stored)
    found: list[float] = probability(rows, kinship, weights).tolist()
    return [None if stored and stored[at] is None else each for at, each in enumerate(found)]


def evidence(
    query: str,
    problems: Sequence[Problem],
    stored: Sequence[float | None] | None,
    weight: float,
    kin: Sequence[float] = KIN,
) -> "tuple[Floats, Floats]":
    """Return for each problem how alike it, its kin and another matter are to the query, as cosines, and how
    probable it is of all pairs that they are kin.

    Shapes (problems, 3) and (problems, problems). weight: of stored cosines, which are added.
    """
    import numpy as np

    every = alike([Problem(query), *problems], queries=1)
    near, kinship = every[0, 1:], _kinship(every[1:, 1:], problems, kin)
    if stored:
        near = near + weight * np.array([each or 0.0 for each in stored])
    np.fill_diagonal(kinship, 0)
    unlike = 1 - kinship
    np.fill_diagonal(unlike, 0)
    kin = np.maximum((near * kinship).max(axis=1), 0)
    return np.stack([near, kin, (near * unlike).max(axis=1)], axis=-1), kinship


def probability(evidence: "Floats", kinship: "Floats", weights: Weights) -> "Floats":
    """Return how probable it is that each problem is the query's."""
    import numpy as np

    rows = evidence.copy()
    rows[:, 2] = np.maximum(rows[:, 2], weights.other_min)
    rows[:, 1] = probable_kin(logistic(rows, weights.first), kinship)
    return logistic(rows, weights.second)


def probable_kin(probable: "Floats", kinship: "Floats") -> "Floats":
    """Return how probable it is for each that one of its kin is the query's problem."""
    found: Floats = (probable * kinship).max(axis=1)
    return found


def logistic(rows: "Floats", weights: Sequence[float]) -> "Floats":
    """Return the logistic function of the rows: a weight a column, and the bias."""
    import numpy as np

    found: Floats = 1 / (1 + np.exp(-(rows @ np.array(weights[:-1]) + weights[-1])))
    return found


def alike_places(problems: Sequence[Problem]) -> list[list[int]]:
    """Return for each the positions of the others that are of the same matter. Call it in a thread."""
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
    """How probable it is of all pairs that they are of one matter."""
    import numpy as np

    *weights, bias = kin
    signs = kinship_signs(near, problems)
    raw = sum((weight * sign for weight, sign in zip(weights, signs, strict=True)), np.full(near.shape, bias))
    return 1 / (1 + np.exp(-raw))


def alike(problems: Sequence[Problem], *, queries: int = 0) -> "Floats":
    """How alike all pairs are. How rare a word is, those after the queries say."""
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


def _by_rarity(sets: Sequence[frozenset[str]], queries: int) -> "Floats":
    """A row a set, of length 1 or 0, rare signs weighing more."""
    import numpy as np

    held, names = _incidence(sets)
    counts, texts = held[queries:].sum(axis=0), len(sets) - queries
    usual = np.array([COMMON_WEIGHT if each in common_terms() else 1.0 for each in names])
    rows = held * np.log((RARITY + texts) / (1 + counts)) * usual
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def _incidence(sets: Sequence[frozenset[str]]) -> "tuple[Floats, list[str]]":
    """Which set holds which of the names, 1 or 0, and the names."""
    import numpy as np

    names = sorted(frozenset[str]().union(*sets))
    place = {each: at for at, each in enumerate(names)}
    held = np.zeros((len(sets), len(names)))
    for row, each in zip(held, sets, strict=True):
        row[[place[name] for name in each]] = 1
    return held, names


def _signs(problem: Problem) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of its words, and the concepts of the words in either language."""
    words, concepts = frozenset[str](), frozenset[str]()
    for text in filter(None, (problem.text, problem.beside)):
        read = read_text(text)
        words |= terms(text)
        concepts |= concepts_of((*read.words, *read.english))
    return words, concepts
