"""What the words of a problem are about: words for one subject share a concept (`concepts.table`)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from ragforge.domain.language.words import stem

TABLE = Path(__file__).with_name("concepts.table")
MARK = "#"
"""The prefix of a concept's name, so that none is mistaken for a word."""


def concepts_of(words: Iterable[str]) -> frozenset[str]:
    """Return the names of the concepts that the words belong to, each `#name`."""
    table = _by_stem()
    return frozenset(name for word in words for name in table.get(stem(word), ()))


@cache
def _by_stem() -> Mapping[str, frozenset[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        name, colon, words = line.partition(":")
        if colon and not line.startswith(MARK):
            for word in words.split():
                found[stem(word.replace("-", ""))].add(MARK + name)
    return {key: frozenset(names) for key, names in found.items()}
