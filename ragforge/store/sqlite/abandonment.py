"""Which turns are abandoned: on the path to no session's head.

The table `left_turn` has them, so that asking costs nothing. It is updated in the transaction that moves a
head. A child of the head that becomes the head, which is nearly every turn, changes nothing here.

If a turn is not abandoned, none of its ancestors is: both walks end at the first turn that stays as it is.
"""

from collections.abc import Iterable

from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.rows import one

# For the check and the repair: by the definition, from all heads.
KEPT = """
WITH RECURSIVE kept (key) AS (
    SELECT head FROM session WHERE head IS NOT NULL
    UNION
    SELECT parent FROM kept JOIN turn ON turn.key = kept.key WHERE parent IS NOT NULL
)
"""

# A column of `turn` or `summary`, or the alias of a row of `memory`; as 0 or 1.
TURN_ABANDONED = "EXISTS (SELECT 1 FROM left_turn WHERE turn = {0})"
SUMMARY_ABANDONED = """
EXISTS (
    WITH RECURSIVE down (id) AS (
        SELECT covered FROM cover WHERE cover.summary = {0}
        UNION
        SELECT covered FROM down JOIN summary AS part ON part.id = down.id
            JOIN cover ON cover.summary = part.key
    )
    SELECT 1 FROM down JOIN turn AS covered_turn ON covered_turn.id = down.id
        JOIN left_turn ON left_turn.turn = covered_turn.key
)
"""
# Turns that are not stored (yet) do not count. What the user said with a command belongs to no turn.
MEMORY_ABANDONED = """
({0}.source != 'person'
    AND EXISTS (SELECT 1 FROM evidence JOIN turn AS proof ON proof.id = evidence.turn WHERE memory = {0}.key)
    AND NOT EXISTS (SELECT 1 FROM evidence JOIN turn AS proof ON proof.id = evidence.turn
        WHERE memory = {0}.key AND proof.key NOT IN (SELECT turn FROM left_turn)))
"""
# A link between memories, by the alias of its row.
LINK_ABANDONED = """
EXISTS (SELECT 1 FROM turn AS told JOIN left_turn ON left_turn.turn = told.key WHERE told.id = {0}.turn)
"""

# A link from an abandoned turn replaces nothing, nor does one from before the memory itself last replaced
# another: then it had returned.
REPLACED = f"""
EXISTS (SELECT 1 FROM association AS link JOIN memory AS newer ON newer.key = link.source
    WHERE link.target = {{0}} AND link.kind = 'updates' AND newer.forgotten_at IS NULL
    AND NOT {MEMORY_ABANDONED.format("newer")} AND NOT {LINK_ABANDONED.format("link")}
    AND NOT EXISTS (SELECT 1 FROM association AS later
        WHERE later.source = {{0}} AND later.kind = 'updates' AND later.at > link.at
            AND NOT {LINK_ABANDONED.format("later")}))
"""


def head_moved(connection: Connection, old: int | None, new: int | None) -> None:
    """Update the table after a session's head went from one turn to another that is not its child."""
    if old == new:
        return
    _found_again(connection, new)
    _leave(connection, old)


def turn_came(connection: Connection, turn: int) -> None:
    """Record a stored turn that is not a head yet."""
    connection.execute("INSERT OR IGNORE INTO left_turn VALUES (?)", (turn,))


def turns_went(connection: Connection, turns: Iterable[int]) -> None:
    """Remove turns that are no longer stored."""
    connection.executemany("DELETE FROM left_turn WHERE turn = ?", [(turn,) for turn in turns])


def head_went(connection: Connection, lowest: int | None) -> None:
    """Record that a head is gone; lowest: the first turn on its path, from below, that is still stored."""
    _leave(connection, lowest)


def count_afresh(connection: Connection) -> None:
    """Rebuild the table from the heads."""
    connection.execute("DELETE FROM left_turn")
    connection.execute(
        f"INSERT INTO left_turn {KEPT} SELECT key FROM turn WHERE key NOT IN (SELECT key FROM kept)"
    )


def _found_again(connection: Connection, turn: int | None) -> None:
    """Record that the turn and its ancestors are on a head's path."""
    while turn is not None and _is_abandoned(connection, turn):
        connection.execute("DELETE FROM left_turn WHERE turn = ?", (turn,))
        turn = _parent(connection, turn)


def _leave(connection: Connection, turn: int | None) -> None:
    """Record that the turn and its ancestors are abandoned, except those on another head's path."""
    if turn is None:
        return
    # Not one look-up per turn: an index on heads would be written with every turn that starts.
    heads = {head for (head,) in connection.execute("SELECT head FROM session WHERE head IS NOT NULL")}
    while turn is not None and turn not in heads and not _has_kept_child(connection, turn):
        turn_came(connection, turn)
        turn = _parent(connection, turn)


def _has_kept_child(connection: Connection, turn: int) -> bool:
    sql = "SELECT 1 FROM turn WHERE parent = ? AND key NOT IN (SELECT turn FROM left_turn) LIMIT 1"
    return one(connection, sql, (turn,)) is not None


def _is_abandoned(connection: Connection, turn: int) -> bool:
    return one(connection, "SELECT 1 FROM left_turn WHERE turn = ?", (turn,)) is not None


def _parent(connection: Connection, turn: int) -> int | None:
    found = one(connection, "SELECT parent FROM turn WHERE key = ?", (turn,))
    return found[0] if found else None
