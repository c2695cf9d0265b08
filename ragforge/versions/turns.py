"""The session's turns with what each changed in the files: the choices of a rewind."""

from msgspec import Struct

from ragforge.domain.ids import short_id
from ragforge.domain.messages import own_text
from ragforge.domain.turns import Turn
from ragforge.domain.versions import Change
from ragforge.domain.words import first_words
from ragforge.store.base import Store
from ragforge.versions.tree import summed

LISTED_MAX = 50


class TurnRow(Struct, frozen=True):
    """A turn and what it changed; `recorded` is False if no version says so."""

    turn: Turn
    changes: tuple[Change, ...]
    lines_added: int
    lines_removed: int
    recorded: bool


async def turn_rows(store: Store, session_id: str, head: str | None) -> list[TurnRow]:
    """Return the newest turns of its own on the session's path, oldest first."""
    path = await store.turns.path(head, limit=LISTED_MAX)
    own = [turn for turn in path if turn.session_id == session_id]
    versions = await store.versions.of_turns([turn.id for turn in own])
    rows: list[TurnRow] = []
    for turn in own:
        mine = [version for version in versions if version.turn_id == turn.id]
        rows.append(
            TurnRow(
                turn,
                tuple(summed(change for version in mine for change in version.changes)),
                sum(version.lines_added for version in mine),
                sum(version.lines_removed for version in mine),
                bool(mine),
            )
        )
    return rows


def named(turn: Turn) -> str:
    """Return the turn for a user: its number, the end of its id, its first words."""
    return f"turn {turn.index + 1} ({short_id(turn.id)}): {first_words(own_text(turn.user))}"
