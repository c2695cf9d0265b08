"""Deleting a session without breaking any other."""

from ragforge.store.base import Deleted
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.index import index_call, index_turn
from ragforge.store.sqlite.rows import one

OWN_TURNS = "SELECT key FROM turn WHERE session = :session"

# Where another session rests on this one's turns: its head lies here, or a turn of its own is a child
# of one here. The latter holds for turns that an undo left behind too: they must not lose their root.
RESTING = f"""
SELECT session.head, session.key FROM session WHERE session.key != :session AND session.head IN ({OWN_TURNS})
UNION
SELECT parent, session FROM turn WHERE session != :session AND parent IN ({OWN_TURNS})
ORDER BY 2
"""

UP = """
WITH RECURSIVE up (key, parent) AS (
    SELECT key, parent FROM turn WHERE key = :turn AND session = :session
    UNION ALL
    SELECT turn.key, turn.parent FROM up JOIN turn ON turn.key = up.parent WHERE turn.session = :session
)
SELECT key FROM up
"""


def delete_session(connection: Connection, session_id: str, *, dry_run: bool = False) -> Deleted:
    """Remove the session and what no other session rests on; hand the rest to the oldest that does."""
    found = one(connection, "SELECT key FROM session WHERE id = ?", (session_id,))
    if found is None:
        return Deleted(0, 0, 0)
    session = found[0]
    heirs = _heirs(connection, session)
    own = [row[0] for row in connection.execute(OWN_TURNS, {"session": session})]
    gone = [turn for turn in own if turn not in heirs]
    calls = [call for turn in gone for call in _calls(connection, turn)]
    if not dry_run:
        _hand_over(connection, heirs)
        _remove(connection, gone, calls)
        connection.execute("DELETE FROM session WHERE key = ?", (session,))
    return Deleted(turns=len(gone), kept_turns=len(heirs), tool_calls=len(calls))


def _heirs(connection: Connection, session: int) -> dict[int, int]:
    """For each turn that must stay, the session that it goes to."""
    heirs: dict[int, int] = {}
    for entry, heir in list(connection.execute(RESTING, {"session": session})):
        if entry in heirs:
            continue
        for (turn,) in connection.execute(UP, {"turn": entry, "session": session}):
            heirs.setdefault(turn, heir)
    return heirs


def _hand_over(connection: Connection, heirs: dict[int, int]) -> None:
    for turn, heir in heirs.items():
        connection.execute("UPDATE turn SET session = ? WHERE key = ?", (heir, turn))
    # Their scope changed: they are found in the session that has them now.
    for turn in heirs:
        index_turn(connection, turn)
        for call in _calls(connection, turn):
            index_call(connection, call)


def _remove(connection: Connection, turns: list[int], calls: list[int]) -> None:
    connection.executemany("DELETE FROM words WHERE rowid = ?", [(key,) for key in (*turns, *calls)])
    for sql in (
        "DELETE FROM tool_call WHERE turn = ?",
        "DELETE FROM step WHERE turn = ?",
        "DELETE FROM turn WHERE key = ?",
    ):
        connection.executemany(sql, [(turn,) for turn in turns])


def _calls(connection: Connection, turn: int) -> list[int]:
    return [row[0] for row in connection.execute("SELECT key FROM tool_call WHERE turn = ?", (turn,))]
