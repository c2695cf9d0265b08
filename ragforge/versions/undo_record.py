"""What the undo of a turn found and did: a redo brings again what it took back, and nothing else."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from ragforge.domain.turns import Turn
from ragforge.domain.versions import CheckoutLog, MoveAction
from ragforge.session.state import Session
from ragforge.store.base_versions import Versions
from ragforge.versions.head_move import lines_of
from ragforge.versions.restore.conflicts import look_at
from ragforge.versions.restore.reach import same
from ragforge.versions.tree import Wanted, between

MOVES_READ_MAX = 200
"""Of the log."""


async def left_alone(
    session: Session, turn: Turn, wanted: Sequence[Wanted], *, root: Path, head: str
) -> set[str]:
    """Paths that the turn's undo found as it wanted them or kept, and that nobody touched since.

    A redo would change them, although the undo did not: what lies there was put there by the person before.
    Where something else lies there than the turn found, it is a conflict anyway, and none of these.
    head: the files' head, which says what lies in the root.
    """
    versions = session.workspace.store.versions
    undone = await _undo_of(session, turn)
    if undone is None:
        return set()
    moved = await _differing(versions, undone.from_version, undone.to_version)
    since = await _differing(versions, undone.to_version, head)
    still = [each for each in wanted if each.path not in moved | since]
    looked = await asyncio.to_thread(look_at, root, still)
    return {
        each.wanted.path
        for each in looked
        if not each.why and not each.is_reached and same(each.found.node, each.wanted.expected)
    }


async def _undo_of(session: Session, turn: Turn) -> CheckoutLog | None:
    """The move that took the turn back last."""
    workspace = session.workspace
    moves = await workspace.store.versions.moves(
        workspace.project.id, session_id=session.id, limit=MOVES_READ_MAX
    )
    for move in moves:
        if move.action in (MoveAction.UNDO, MoveAction.REWIND) and move.from_turn != move.to_turn:
            path = await workspace.store.turns.path(move.from_turn)
            kept = next((each.index for each in path if each.id == move.to_turn), -1)
            if any(each.id == turn.id and each.index > kept for each in path):
                return move
    return None


async def _differing(versions: Versions, one: str, other: str) -> set[str]:
    """The paths at which two versions differ; "" is the beginning."""
    return {each.path for each in between(*await lines_of(versions, one, other))} if one != other else set()
