"""What a redo restores: the turns that were undone, or the files alone where an undo moved nothing else."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.ids import id_fits
from ragforge.domain.turns import Turn
from ragforge.domain.versions import CheckoutLog, MoveAction
from ragforge.store.base_versions import Versions
from ragforge.versions.head_move import ChatHead, Ground, Move, carry_out, lines_of
from ragforge.versions.move_result import Sum
from ragforge.versions.record.backfill import came_to_nothing
from ragforge.versions.record.worktree import Worktree
from ragforge.versions.restore.conflicts import look_at
from ragforge.versions.restore.reach import same
from ragforge.versions.tree import WantedFile, between
from ragforge.versions.turn_choice import Redoable, named, redo_of_one, turn_to_redo

MOVES_READ_MAX = 200
"""Of the log."""
_UNDONE = (MoveAction.UNDO, MoveAction.REWIND)
NOTE = "These are the files of what was undone without the conversation, which stayed where it is."


class Chain(Struct, frozen=True):
    """Turns that follow each other, oldest first.

    told: those of them that count; the others came to nothing and go along. others: what went on from the
    chat's head as well, where nobody said which way is meant.
    """

    turns: tuple[Turn, ...]
    told: tuple[Turn, ...]
    others: tuple[Turn, ...] = ()


async def turns_to_redo(worktree: Worktree, chat: ChatHead, count: int, *, part_of_id: str = "") -> Chain:
    """The turns to bring again, `count` of them or as many as there are; the first has this in its id.

    Raises UsageError where several fit and nothing tells which is meant.
    """
    head = chat.turn
    turns, told, others = list[Turn](), list[Turn](), tuple[Turn, ...]()
    while len(told) < count:
        found = await _redoable(worktree, head, "" if told else part_of_id)
        if found is None:
            break
        if not told and not part_of_id:
            others = others or found.others
        turns.append(found.turn)
        head = found.turn.id
        if not await came_to_nothing(worktree.files.store, found.turn):
            told.append(found.turn)
    return Chain(tuple(turns), tuple(told), others)


def check_count(found: int, count: int) -> None:
    """Raise UsageError where there is less to bring again than was asked for."""
    if not found:
        raise UsageError("There is nothing to redo: no turn that goes on from here was undone.")
    if found < count:
        raise UsageError(f"Only {found} can be redone, and not {count}. Nothing was changed.")


async def _moves(worktree: Worktree) -> list[CheckoutLog]:
    """The session's newest moves, the newest first."""
    files = worktree.files
    return await files.store.versions.moves(
        files.project.id, session_id=worktree.session_id, limit=MOVES_READ_MAX
    )


async def _redoable(worktree: Worktree, head: str, part_of_id: str) -> Redoable | None:
    """The turn to bring again after `head`; "" is the beginning."""
    moves = await _moves(worktree)
    left = [move for move in moves if move.from_turn and move.from_turn != move.to_turn]
    ends = dict.fromkeys(move.from_turn for move in left)
    paths = {each: await _above(worktree, head, each) for each in ends}
    found = turn_to_redo(head or None, left, [paths[move.from_turn] for move in left])
    if found is None and (children := await _children(worktree, head)):
        if len(children) > 1 and not part_of_id:
            several = "; ".join(named(turn) for turn in children)
            raise UsageError(f"Several turns go on from here: {several}. Say which: `{redo_of_one()}`.")
        found = Redoable(children[0], tuple(children[1:]))
    return _with_id(found, part_of_id) if found and part_of_id else found


def _with_id(found: Redoable, part_of_id: str) -> Redoable:
    every = (found.turn, *found.others)
    fits = [each for each in every if id_fits(each.id, part_of_id)]
    if len(fits) != 1:
        raise UsageError(
            f"{'No' if not fits else 'More than one'} turn that was undone here fits {part_of_id!r}: "
            + "; ".join(named(each) for each in every)
        )
    return Redoable(fits[0])


async def _above(worktree: Worktree, head: str, turn_id: str) -> Sequence[Turn]:
    """The turns of the path to this one that come after the head, as far as it lies on that path."""
    turns = worktree.files.store.turns
    last, base = await turns.get(turn_id), await turns.get(head) if head else None
    count = last.index - (base.index if base else -1) if last else 0
    return await turns.path(turn_id, limit=count) if count > 0 else []


async def _children(worktree: Worktree, head: str) -> list[Turn]:
    """The session's turns that go on from the head by the versions, where the log knows of none."""
    store = worktree.files.store
    turns: dict[str, Turn] = {}
    for version in await store.versions.of_turns([head]) if head else []:
        for child in await store.versions.children(version.id):
            turn = await store.turns.get(child.turn_id) if child.turn_id else None
            if turn and turn.parent == head and turn.session_id == worktree.session_id:
                turns[turn.id] = turn
    return list(turns.values())


async def left_alone(worktree: Worktree, turn: Turn, wanted: Sequence[WantedFile], *, head: str) -> set[str]:
    """Paths that the turn's undo found as it wanted them or kept, and that nobody touched since.

    A redo would change them, although the undo did not: what lies there was put there by the user before.
    Where something else lies there than the turn found, it is a conflict anyway, and none of these.
    head: the files' head, which says what lies in the root.
    """
    versions = worktree.files.store.versions
    undone = await _undo_of(worktree, turn)
    if undone is None:
        return set()
    moved = await _differing(versions, undone.from_version, undone.to_version)
    since = await _differing(versions, undone.to_version, head)
    still = [each for each in wanted if each.path not in moved | since]
    looked = await asyncio.to_thread(look_at, worktree.files.root, still)
    return {
        each.wanted.path
        for each in looked
        if not each.why and not each.is_reached and same(each.found.node, each.wanted.expected)
    }


async def _undo_of(worktree: Worktree, turn: Turn) -> CheckoutLog | None:
    """The move that took the turn back last."""
    moves = await _moves(worktree)
    for move in moves:
        if move.action in (MoveAction.UNDO, MoveAction.REWIND) and move.from_turn != move.to_turn:
            path = await worktree.files.store.turns.path(move.from_turn)
            kept = next((each.index for each in path if each.id == move.to_turn), -1)
            if any(each.id == turn.id and each.index > kept for each in path):
                return move
    return None


async def _differing(versions: Versions, one: str, other: str) -> set[str]:
    """The paths at which two versions differ; "" is the beginning."""
    return {each.path for each in between(*await lines_of(versions, one, other))} if one != other else set()


async def undone_alone(worktree: Worktree, chat: ChatHead) -> list[CheckoutLog]:
    """The undos of files alone that were not brought again, newest first, where nothing else moved since."""
    here, redone = chat.turn, 0
    found: list[CheckoutLog] = []
    moves = await _moves(worktree)
    for move in moves:
        is_redo = move.action is MoveAction.REDO
        if not here == move.from_turn == move.to_turn or not (is_redo or move.action in _UNDONE):
            break
        if not is_redo and not redone:
            found.append(move)
        else:
            redone += 1 if is_redo else -1
    return found


async def bring_again(chat: ChatHead, ground: Ground, undone: CheckoutLog, total: Sum) -> None:
    """Take the undo of the files back: what it changed becomes what it was before."""
    head = await ground.files.state.head(ground.root)
    here = chat.turn
    move = Move(
        MoveAction.REDO,
        ground.files.project.id,
        chat.session_id,
        head.version,
        undone.from_version,
        "redo of files",
        branch=head.branch,
        from_turn=here,
        to_turn=here,
    )
    wanted = between(*await lines_of(ground.files.store.versions, undone.to_version, undone.from_version))
    total.add(await carry_out(ground, move, wanted, total.choices))
    if NOTE not in total.notes:
        total.notes.append(NOTE)
