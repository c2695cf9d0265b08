"""Find the to-do list that is valid at a turn."""

from ragforge.domain.derivations import Derived, DerivedFilter
from ragforge.domain.todos import KIND
from ragforge.domain.turns import KeptTodos, Turn
from ragforge.store.base import Store

TURNS_READ = 100
"""How many turns of the path are read at a time."""


async def read_todos(store: Store, project_id: str, head: str | None) -> KeptTodos | None:
    """Return the newest list on the path to a turn. Raises StoreError."""
    if head is None or not await store.derivations.find(_filter(project_id, limit=1)):
        return None
    while head is not None:
        path = await store.turns.path(head, limit=TURNS_READ)
        owners = tuple(turn.id for turn in path)
        found = await store.derivations.find(_filter(project_id, owners=owners, limit=TURNS_READ))
        if kept := _newest(path, found):
            return kept
        head = path[0].parent if path else None
    return None


def _newest(path: list[Turn], found: list[Derived]) -> KeptTodos | None:
    by_turn = {record.owner: record for record in found}
    for turn in reversed(path):
        record = by_turn.get(turn.id)
        todos = KIND.read(record) if record else None
        if todos is not None:
            return KeptTodos(turn.id, todos)
    return None


def _filter(project_id: str, *, owners: tuple[str, ...] = (), limit: int) -> DerivedFilter:
    return DerivedFilter(KIND.label, project_id, owners=owners, abandoned=True, limit=limit)
