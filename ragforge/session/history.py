"""The conversation as it is stored: as messages for the model, as turns for a person."""

from collections.abc import Sequence
from dataclasses import dataclass

from ragforge.domain.messages import Message
from ragforge.domain.turns import Step, ToolCall, Turn, TurnStatus
from ragforge.memory.context import history_messages
from ragforge.session.state import Session
from ragforge.store.base import Store

HISTORY_TURNS_MAX = 400
"""The rest of a longer session is found by search. Reading 5,000 turns would make resuming slow."""


@dataclass(frozen=True, slots=True)
class StoredTurns:
    """Turns with their steps and calls, oldest first."""

    turns: tuple[Turn, ...]
    steps: tuple[Step, ...]
    calls: tuple[ToolCall, ...]


async def read_turns(store: Store, turns: Sequence[Turn]) -> StoredTurns:
    """The turns with all that happened in them."""
    ids = [turn.id for turn in turns]
    return StoredTurns(
        tuple(turns), tuple(await store.turns.steps(ids)), tuple(await store.calls.of_turns(ids))
    )


async def newest_turns(store: Store, head: str | None, count: int) -> StoredTurns:
    """The newest turns on the path to the head."""
    return await read_turns(store, await store.turns.path(head, limit=count))


async def turns_before(session: Session, turn_id: str, count: int) -> StoredTurns:
    """The turns on the path that come before a turn, the nearest of them."""
    store = session.workspace.store
    turn = await store.turns.get(turn_id)
    return await read_turns(store, await store.turns.path(turn.parent if turn else None, limit=count))


async def read_messages(store: Store, head: str | None) -> list[Message]:
    """The path to the head as the model is given it."""
    stored = await read_turns(store, await store.turns.path(head, limit=HISTORY_TURNS_MAX))
    return history_messages(stored.turns, stored.steps, stored.calls)


async def came_to_nothing(session: Session, turn: Turn) -> bool:
    """Whether it ended before the model said or did anything, so that its words belong in the prompt.

    An answer that was blocked or empty cost something, so its step is stored; it said nothing all the same.
    """
    if turn.status not in (TurnStatus.INTERRUPTED, TurnStatus.FAILED):
        return False
    steps = await session.workspace.store.turns.steps([turn.id])
    return all(step.interrupted and not step.message.text.strip() for step in steps)
