"""Where owners are in memory, held against a plain table."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragforge.store.sqlite.vector_places import KEY, LINES, PUT_MAX, Places

LAID = 50
OWNERS = st.integers(1, 3 * PUT_MAX)


def lines_of(owners: list[int]) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
    return np.array([owners] * LINES, np.int64).reshape(LINES, len(owners))


@given(
    st.lists(st.tuples(st.booleans(), OWNERS, st.integers(1, 2 * PUT_MAX)), max_size=8),
    st.booleans(),
)
def test_whatever_comes_and_goes_each_owner_has_its_place(
    steps: list[tuple[bool, int, int]], is_laid: bool
) -> None:
    places, there = Places(LAID if is_laid else 0), set[int]()
    if is_laid:
        places.lay(lines_of(list(range(1, LAID + 1))))
        there |= set(range(1, LAID + 1))
    for comes, first, count in steps:
        owners = set(range(first, first + count))
        if comes:
            places.put(lines_of(sorted(owners - there)))
            there |= owners
        else:
            places.drop(sorted(owners))
            there -= owners
    asked = list(range(1, 6 * PUT_MAX))
    assert places.lines[KEY][places.of(asked)].tolist() == [owner for owner in asked if owner in there]
    assert len(places) == len(there)
