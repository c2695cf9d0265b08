"""The redo of an undo that moved the files alone: the chat stayed, and so it is the log that tells of it."""

from ragforge.domain.versions import CheckoutLog, MoveAction
from ragforge.session.state import Session
from ragforge.versions.head_move import Ground, Move, carry_out, lines_of
from ragforge.versions.move_result import Sum
from ragforge.versions.tree import between
from ragforge.versions.undo_record import MOVES_READ_MAX

_UNDONE = (MoveAction.UNDO, MoveAction.REWIND)
NOTE = "These are the files of what was undone without the conversation, which stayed where it is."


async def undone_alone(session: Session) -> list[CheckoutLog]:
    """The undos of files alone that were not brought again, newest first, where nothing else moved since."""
    here, redone = session.live.record.head or "", 0
    found: list[CheckoutLog] = []
    moves = await session.workspace.store.versions.moves(
        session.workspace.project.id, session_id=session.id, limit=MOVES_READ_MAX
    )
    for move in moves:
        is_redo = move.action is MoveAction.REDO
        if not here == move.from_turn == move.to_turn or not (is_redo or move.action in _UNDONE):
            break
        if not is_redo and not redone:
            found.append(move)
        else:
            redone += 1 if is_redo else -1
    return found


async def bring_again(session: Session, ground: Ground, undone: CheckoutLog, total: Sum) -> None:
    """Take the undo of the files back: what it changed becomes what it was before."""
    head = await ground.state.head(ground.root)
    here = session.live.record.head or ""
    move = Move(
        MoveAction.REDO,
        session.workspace.project.id,
        session.id,
        head.version,
        undone.from_version,
        "redo of files",
        branch=head.branch,
        from_turn=here,
        to_turn=here,
    )
    wanted = between(*await lines_of(ground.store.versions, undone.to_version, undone.from_version))
    total.add(await carry_out(ground, move, wanted, total.choices))
    if NOTE not in total.notes:
        total.notes.append(NOTE)
