"""What failed just before a turn: what was undone or discarded, a call that was declined, a check."""

from collections.abc import Sequence

from msgspec.structs import replace

from ragforge.domain.tasks import PastTask, TaskOutcome
from ragforge.domain.turns import Turn
from ragforge.domain.versions import CheckoutLog, MoveAction
from ragforge.memory.corrections import reasons
from ragforge.memory.forgotten import read_forgotten
from ragforge.memory.tasks import ALTERNATIVE, read_tasks
from ragforge.store.base import Store

MOVES_MAX = 20
"""How many of a session's last moves are looked at."""


async def failed_before(store: Store, project_id: str, turn: Turn) -> list[PastTask]:
    """Return the tasks that failed right before the turn, each with the reason that is known of it.

    What was undone has no reason yet: only the turn's message may give one. Raises StoreError.
    """
    forgotten = await read_forgotten(store, project_id)
    moves = await store.versions.moves(project_id, session_id=turn.session_id, limit=MOVES_MAX)
    left = await _left_by(store, moves, turn)
    gone = [task for task in await read_tasks(store, left, forgotten) if task.outcome.is_failure]
    if not turn.parent:
        return gone
    before = await read_tasks(store, [turn.parent], forgotten)
    declined = [each.text for each in reasons(await store.calls.of_turns([turn.parent]))]
    return [
        *gone,
        *(
            replace(
                task,
                outcome=TaskOutcome.DENIED if declined else task.outcome,
                reason=forgotten.cut("; ".join(declined)) if declined else task.reason,
            )
            for task in before
            if declined or task.outcome is TaskOutcome.CHECK_FAILED
        ),
    ]


async def _left_by(store: Store, moves: Sequence[CheckoutLog], turn: Turn) -> list[str]:
    """The turns that the last move before the message took from the path."""
    last = next((each for each in moves if each.at <= turn.started_at and each.is_of_chat), None)
    if last is None:
        return []
    if last.action is MoveAction.TAKE:
        return await _beside(store, last)
    is_back = last.action in (MoveAction.UNDO, MoveAction.REWIND) and last.to_turn == (turn.parent or "")
    return list(reversed(last.turns)) if is_back else []


async def _beside(store: Store, taken: CheckoutLog) -> list[str]:
    """The turns of the alternatives that were not taken."""
    versions = await store.versions.get([taken.to_version])
    base = versions[0].parents[:1] if versions else ()
    children = await store.versions.children(base[0]) if base else []
    return [
        each.turn_id
        for each in children
        if each.label.startswith(ALTERNATIVE) and each.id != taken.to_version and each.turn_id
    ]
