"""Which turns an undo reverts and a redo restores, by the conversation's path and the log of moves."""

from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import id_fits
from ragforge.domain.turns import Turn
from ragforge.domain.versions import CheckoutLog, MoveAction, Node, Version
from ragforge.store.base import Store
from ragforge.versions.record.backfill import came_to_nothing
from ragforge.versions.record.recorder import Worktree
from ragforge.versions.tree import own_changes
from ragforge.versions.turns import named

UNDONE = (MoveAction.UNDO, MoveAction.REWIND)
"""Actions that take turns back."""


def turns_to_undo(path: Sequence[Turn], session_id: str, count: int, *, empty: Collection[str]) -> list[Turn]:
    """Return the newest `count` turns of the session on the path, newest first. Raises UsageError if there
    are too few.

    empty: ids of empty turns, which are undone along with the turns around them and do not count. Turns of
    the session that this one was forked from are excluded.
    """
    own: list[Turn] = []
    for turn in reversed(path):
        if turn.session_id != session_id:
            break
        own.append(turn)
    counted = [index for index, turn in enumerate(own) if turn.id not in empty]
    if not counted:
        forked = "; what came before the fork belongs to the other session" if len(path) > len(own) else ""
        raise UsageError(f"There is nothing to undo: this session has no turns left{forked}.")
    if count > len(counted):
        turns = "turn" if len(counted) == 1 else "turns"
        raise UsageError(
            f"Only {len(counted)} {turns} of this session can be undone, not {count}. Nothing was changed."
        )
    return own[: counted[count - 1] + 1]


def runs_of(turns: Sequence[Turn], versions: Sequence[Version]) -> list[list[Turn]]:
    """Return the turns to undo, newest first, in runs that can each be undone in one step.

    If somebody else changed a file between two turns, undoing both at once would undo that change. So a run
    ends there, and the older turns are undone on top of that change.
    versions: those of the turns, oldest first.
    """
    runs: list[list[Turn]] = []
    found_there: dict[str, Node | None] = {}  # what the oldest change so far found at its path
    for turn in turns:
        own = own_changes(version for version in versions if version.turn_id == turn.id)
        left = {change.path: change.after for change in own}
        if not runs or any(path in found_there and found_there[path] != left[path] for path in left):
            runs.append([])
            found_there = {}
        runs[-1].append(turn)
        for change in reversed(own):
            found_there[change.path] = change.before
    return runs


class Redoable(Struct, frozen=True):
    """A turn that can be redone, and the move that undid it, if the log has one."""

    turn: Turn
    undone: CheckoutLog | None = None


class Chain(Struct, frozen=True):
    """Turns to redo, each following the one before.

    told: those that count; the others are empty and are redone along. others: other continuations of the
    conversation's head, if nobody said which one is meant.
    """

    turns: tuple[Redoable, ...]
    told: tuple[Turn, ...]
    others: tuple[Turn, ...] = ()


async def redo_chain(
    worktree: Worktree, log: Sequence[CheckoutLog], head: str, count: int, *, part_of_id: str
) -> Chain:
    """Return the turns to redo, `count` of them or as many as there are; the first has this in its id.

    Raises UsageError if several match and nothing says which is meant.
    """
    turns, told, others = list[Redoable](), list[Turn](), tuple[Turn, ...]()
    while len(told) < count:
        found = await _following(worktree, log, head)
        if found and part_of_id and not told:
            found = [_with_id(found, part_of_id)]
        if not found:
            break
        if len(found) > 1 and found[0].undone is None:
            several = "; ".join(named(each.turn) for each in found)
            raise UsageError(f"Several turns continue from here: {several}. Say which: `{redo_of_one()}`.")
        if not told:
            others = others or tuple(each.turn for each in found[1:])
        turns.append(found[0])
        head = found[0].turn.id
        if not await came_to_nothing(worktree.files.store, found[0].turn):
            told.append(found[0].turn)
    return Chain(tuple(turns), tuple(told), others)


async def _following(worktree: Worktree, log: Sequence[CheckoutLog], head: str) -> list[Redoable]:
    """Return the turns that follow the head and were undone or abandoned, the last one first; "" is the
    beginning.

    If the log has none, as on a machine that it has not reached, those that have versions.
    """
    store, found, looked_at = worktree.files.store, dict[str, Redoable](), set[str]()
    for move in log:
        if move.action is MoveAction.REDO or not move.turns or not move.is_of_chat:
            continue
        # Of an undo `to_turn` is what its oldest turn follows. A checkout may have gone to another branch.
        if head not in move.turns and move.action in UNDONE and move.to_turn != head:
            continue
        at = move.turns.index(head) - 1 if head in move.turns else len(move.turns) - 1
        if at < 0 or move.turns[at] in looked_at:
            continue
        looked_at.add(move.turns[at])
        turn = await store.turns.get(move.turns[at])
        if turn and (turn.parent or "") == head:
            found[turn.id] = Redoable(turn, move)
    return list(found.values()) or [Redoable(turn) for turn in await _children(worktree, head)]


async def _children(worktree: Worktree, head: str) -> list[Turn]:
    """Return the session's turns that follow the head according to the versions."""
    store = worktree.files.store
    turns: dict[str, Turn] = {}
    for version in await store.versions.of_turns([head]) if head else []:
        for child in await store.versions.children(version.id):
            turn = await store.turns.get(child.turn_id) if child.turn_id else None
            if turn and turn.parent == head and turn.session_id == worktree.session_id:
                turns[turn.id] = turn
    return list(turns.values())


def _with_id(found: Sequence[Redoable], part_of_id: str) -> Redoable:
    """Return the one whose turn's id matches. Raises UsageError for none or several."""
    fits = [each for each in found if id_fits(each.turn.id, part_of_id)]
    if len(fits) != 1:
        raise UsageError(
            f"{'No' if not fits else 'More than one'} turn that was undone here fits {part_of_id!r}: "
            + "; ".join(named(each.turn) for each in found)
        )
    return fits[0]


def undone_files(log: Sequence[CheckoutLog], here: str) -> list[CheckoutLog]:
    """Return the undos of only the files at this turn that were made last and not redone; newest first."""
    found: list[CheckoutLog] = []
    redone: list[str] = []
    for move in log:
        is_redo = move.action is MoveAction.REDO
        if not here == move.from_turn == move.to_turn or not (is_redo or move.action in UNDONE):
            break
        if is_redo:
            redone.append(move.undoes)
        elif move.id in redone:
            redone.remove(move.id)
        elif "" in redone:  # of an earlier release, which did not say: the newest
            redone.remove("")
        else:
            found.append(move)
    return found


async def session_log(worktree: Worktree) -> list[CheckoutLog]:
    """Return the session's moves, newest first.

    Moves of an earlier release that came after the migration, as in a backup, get the turns that they
    abandoned.
    """
    files, log = worktree.files, list[CheckoutLog]()
    for move in await files.store.versions.moves(
        files.project.id, session_id=worktree.session_id, limit=None
    ):
        if not move.turns and not move.command_id and move.action is not MoveAction.REDO:
            turns = await turns_abandoned(files.store, move.from_turn, move.to_turn)
            log.append(replace(move, turns=turns))
        else:
            log.append(move)
    return log


async def turns_abandoned(store: Store, from_turn: str, to_turn: str) -> tuple[str, ...]:
    """Return the ids of the turns on the path to the one that are not on the path to the other, newest
    first."""
    if from_turn == to_turn:
        return ()
    last, base = await store.turns.get(from_turn), await store.turns.get(to_turn) if to_turn else None
    count = last.index - (base.index if base else -1) if last else 0
    turns = await store.turns.path(from_turn, limit=count) if count > 0 else []
    if not turns or (turns[0].parent or "") != to_turn:  # the other is on another branch
        stayed = {turn.id for turn in await store.turns.path(to_turn or None)}
        turns = [turn for turn in await store.turns.path(from_turn or None) if turn.id not in stayed]
    return tuple(turn.id for turn in reversed(turns))


async def turns_between(store: Store, one: str, other: str) -> tuple[str, ...]:
    """Return the ids of the turns on only one of the two paths."""
    return (*await turns_abandoned(store, one, other), *await turns_abandoned(store, other, one))


def redo_of_one() -> str:
    """Return the command that redoes one turn of several."""
    return typed("redo ID")
