"""Where in memory each owner's vector is, and its filter values. Importing it loads NumPy."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

GROWTH = 1.25

KEY, PROJECT, SESSION, TIME, LEVEL = range(5)
"""The rows of `Places.lines`."""
LINES = 5
PUT_MAX = 2_048
"""How many are in the table before they go to the arrays, which need 16 bytes each instead of 150."""


class Places:
    """A place for each owner; free ones are reused."""

    def __init__(self, size: int = 0) -> None:
        # A column each; the key of a free place is 0.
        self.lines: NDArray[np.int64] = np.zeros((LINES, size), np.int64)
        self._count = 0
        # Ascending keys and the place of each, for binary search. A place may be free by now, or another's.
        self._keys: NDArray[np.int64] = np.zeros(size, np.int64)
        self._at: NDArray[np.int64] = np.arange(size)
        self._sorted_count = 0
        self._put: dict[int, int] = {}
        """The most recent ones."""
        # Places from here on were never used, the others were freed.
        self._end = 0
        self._free: list[int] = []

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """Return how many places there are, including free ones."""
        return self.lines.shape[1]

    def grow(self, count: int) -> None:
        """Make room for so many more, and some to spare: each time copies everything."""
        size = self.size
        missing = count - len(self._free) - (size - self._end)
        if missing > 0:
            lines = np.zeros((LINES, max(size + missing, int(size * GROWTH))), np.int64)
            lines[:, :size] = self.lines
            self.lines = lines

    def lay(self, lines: NDArray[np.int64]) -> slice:
        """Return the next places, for ascending owners, before any other is put."""
        at = slice(self._end, self._end + lines.shape[1])
        self.lines[:, at] = lines
        self._keys[at] = lines[KEY]
        self._sorted_count = self._end = at.stop
        self._count += lines.shape[1]
        return at

    def put(self, lines: NDArray[np.int64]) -> list[int]:
        """Return new places of owners that had none."""
        count = lines.shape[1]
        self.grow(count)
        kept = max(0, len(self._free) - count)
        places = self._free[kept:]
        del self._free[kept:]
        end = self._end + count - len(places)
        places += range(self._end, end)
        self._end = end
        self.lines[:, places] = lines
        self._put |= zip(lines[KEY].tolist(), places, strict=True)
        self._count += count
        if len(self._put) > PUT_MAX:
            self._sort()
        return places

    def of(self, owners: Sequence[int]) -> NDArray[np.int64]:
        """Return the places of those that have one."""
        keys = np.array(owners, np.int64)
        places = np.array([self._put.get(owner, -1) for owner in owners], np.int64)
        if self._sorted_count:
            held = self._keys[: self._sorted_count]
            near = np.minimum(np.searchsorted(held, keys), held.size - 1)
            at = self._at[near]
            is_there = (places < 0) & (held[near] == keys) & (self.lines[KEY, at] == keys)
            places[is_there] = at[is_there]
        return places[places >= 0]

    def _sort(self) -> None:
        """Move everything in the table into the arrays."""
        held, put = slice(self._sorted_count), self._put
        keys = np.concatenate((self._keys[held], np.fromiter(put.keys(), np.int64)))
        at = np.concatenate((self._at[held], np.fromiter(put.values(), np.int64)))
        is_there = self.lines[KEY, at] == keys
        self._keys, first = np.unique(keys[is_there], return_index=True)
        self._at = at[is_there][first]
        self._sorted_count, self._put = self._keys.size, {}

    def drop(self, owners: Sequence[int]) -> None:
        """Free the places of those that have one."""
        places = self.of(owners)
        for key in self.lines[KEY, places].tolist():
            self._put.pop(key, None)
        self.lines[KEY, places] = 0
        self._free += places.tolist()
        self._count -= places.size

    def drop_others(self, owners: NDArray[np.int64]) -> None:
        """Free the places of all but these."""
        keys = self.lines[KEY]
        self.drop(keys[(keys != 0) & ~np.isin(keys, owners)].tolist())
