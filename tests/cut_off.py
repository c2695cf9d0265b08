"""A store that is cut off after some writes, whichever they are."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from ragforge.store.base import Store

WRITES = frozenset({"add", "move", "save", "associate", "rewrite", "roll_up"})


class CutOff:
    """Counts the writes of what it stands before; after the last one each raises the error."""

    def __init__(self, within: object, left: list[int], error: Exception) -> None:
        self._within, self._left, self._error = within, left, error

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._within, name)
        if name in WRITES:
            return self._counted(found)
        return found if callable(found) or isinstance(found, str) else CutOff(found, self._left, self._error)

    def _counted(self, write: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        async def counted(*args: object, **named: object) -> None:
            if not self._left[0]:
                raise self._error
            self._left[0] -= 1
            return await write(*args, **named)

        return counted


def cut_off(store: Store, writes: int, error: Exception) -> Store:
    """The store, which takes so many writes and then raises the error for each."""
    return cast("Store", CutOff(store, [writes], error))
