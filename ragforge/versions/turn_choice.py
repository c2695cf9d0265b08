"""Which turns an undo takes back and a redo brings again: pure choices over what is stored."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import short_id
from ragforge.domain.messages import text_of
from ragforge.domain.turns import Turn
from ragforge.domain.versions import CheckoutLog, Node, Version
from ragforge.versions.tree import own_changes

WORDS_SHOWN = 60


def turns_to_undo(path: Sequence[Turn], session_id: str, count: int, *, empty: Collection[str]) -> list[Turn]:
    """The newest `count` turns of the session on the path, newest first. Raises UsageError for too few.

    empty: turns that came to nothing; they go along with what is undone around them and do not count.
    Turns of the session that this one was forked from are not its own.
    """
    own: list[Turn] = []
    for turn in reversed(path):
        if turn.session_id != session_id:
            break
        own.append(turn)
    counted = [index for index, turn in enumerate(own) if turn.id not in empty]
    if not counted:
        forked = "; what came before the fork belongs to the other session" if len(path) > len(own) else ""
        raise UsageError(f"There is nothing to undo: no turn of this session stands{forked}.")
    if count > len(counted):
        turns = "turn" if len(counted) == 1 else "turns"
        raise UsageError(
            f"Only {len(counted)} {turns} of this session can be undone, and not {count}. "
            "Nothing was changed."
        )
    return own[: counted[count - 1] + 1]


def redo_of_one() -> str:
    """What is typed to bring again one turn of several."""
    return typed("redo ID")


def runs_of(turns: Sequence[Turn], versions: Sequence[Version]) -> list[list[Turn]]:
    """The turns to undo, newest first, in runs of which each can be taken back in one step.

    Where a file was changed between two turns by someone else, going back over both at once would take that
    change along. So a run ends there, and the older turns are undone over what that someone left.
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
    """The turn that a redo brings again, and others that went on from the same place."""

    turn: Turn
    others: tuple[Turn, ...] = ()


def turn_to_redo(
    head: str | None, moves: Sequence[CheckoutLog], paths: Sequence[Sequence[Turn]]
) -> Redoable | None:
    """The child of the head that was left last, by the log; None where it knows of none.

    moves: newest first. paths: of each move's `from_turn`, from the root.
    """
    found: dict[str, Turn] = {}
    for move, path in zip(moves, paths, strict=True):
        child = child_on(path, head)
        if child and move.from_turn != move.to_turn:
            found.setdefault(child.id, child)
    if not found:
        return None
    first, *others = found.values()
    return Redoable(first, tuple(others))


def child_on(path: Sequence[Turn], head: str | None) -> Turn | None:
    """The turn that follows the head on the path; the first one where the head is None."""
    return next((turn for turn in path if turn.parent == head), None)


def named(turn: Turn) -> str:
    """The turn for a user: its number, the end of its id, its first words."""
    return f"turn {turn.index + 1} ({short_id(turn.id)}): {first_words(text_of(turn.user))}"


def first_words(text: str, chars_max: int = WORDS_SHOWN) -> str:
    """The beginning of a text, on one line."""
    words = " ".join(text.split())
    return words if len(words) <= chars_max else words[: chars_max - 1] + "…"
