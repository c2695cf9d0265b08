"""How well the rules find memories and constraints, held a little below what was measured."""

import pytest

from ragforge.domain.memories import MemoryType
from tests.extraction.measure import ALL, CONSTRAINTS, SETS, load, measure_offline


@pytest.mark.parametrize(
    ("name", "precision", "recall", "constraint_precision", "constraint_recall"),
    [("tuned", 0.98, 0.96, 0.96, 0.96), ("held_out", 0.94, 0.70, 0.84, 0.84)],
)
def test_offline_extraction_stays_as_good_as_measured(
    name: str, precision: float, recall: float, constraint_precision: float, constraint_recall: float
) -> None:
    measured = measure_offline(load(name))
    memories, constraints = measured.counts(ALL), measured.counts(CONSTRAINTS)
    assert memories.precision >= precision, measured.table()
    assert memories.recall >= recall, measured.table()
    assert constraints.precision >= constraint_precision, measured.table()
    assert constraints.recall >= constraint_recall, measured.table()


def test_the_set_is_large_in_both_languages_and_a_third_of_it_holds_nothing() -> None:
    items = [item for name in SETS for item in load(name)]
    assert len(items) >= 120
    assert len({item["user"] for item in items}) == len(items)
    french = sum(item["lang"] == "fr" for item in items)
    assert 0.4 < french / len(items) < 0.6
    empty = sum(not item["memories"] and not item["constraints"] for item in items)
    assert empty / len(items) > 1 / 3
    assert {gold["type"] for item in items for gold in item["memories"]} == set(MemoryType)
    assert all(quote in item["user"] for item in items for quote in item["constraints"])
