"""Deleting a session without breaking any other."""

import json

from ragforge.store.base import Deleted
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.index import index_call, index_turn
from ragforge.store.sqlite.owed import owe_nothing, owe_turn
from ragforge.store.sqlite.rows import one
from ragforge.store.sqlite.vectors import drop_embeddings, move_embeddings

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


# The session's own, and every other that stands for something that goes: it would tell of what was deleted.
SUMMARIES = """
WITH RECURSIVE gone (id) AS (
    SELECT id FROM turn WHERE key IN (SELECT value FROM json_each(:turns))
    UNION
    SELECT id FROM summary WHERE session = :session
    UNION
    SELECT summary.id FROM gone JOIN cover ON covered = gone.id JOIN summary ON summary.key = cover.summary
)
SELECT key FROM gone JOIN summary ON summary.id = gone.id
"""

COVERED_TURNS = """
SELECT DISTINCT turn.key FROM json_each(?) JOIN cover ON cover.summary = value JOIN turn ON turn.id = covered
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
        summaries = _summaries(connection, session, gone)
        _hand_over(connection, heirs)
        _remove_summaries(connection, summaries)
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
        connection.execute("UPDATE owed SET session = ? WHERE key = ?", (heir, turn))
    move_embeddings(connection, heirs)
    # Their scope changed: they are found in the session that has them now.
    for turn in heirs:
        index_turn(connection, turn)
        for call in _calls(connection, turn):
            index_call(connection, call)


def _remove(connection: Connection, turns: list[int], calls: list[int]) -> None:
    connection.executemany("DELETE FROM words WHERE rowid = ?", [(key,) for key in (*turns, *calls)])
    drop_embeddings(connection, turns)
    owe_nothing(connection, turns)
    for sql in (
        "DELETE FROM tool_call WHERE turn = ?",
        "DELETE FROM step WHERE turn = ?",
        "DELETE FROM turn WHERE key = ?",
    ):
        connection.executemany(sql, [(turn,) for turn in turns])


def _summaries(connection: Connection, session: int, turns: list[int]) -> list[int]:
    rows = connection.execute(SUMMARIES, {"session": session, "turns": json.dumps(turns)})
    return [row[0] for row in rows]


def _remove_summaries(connection: Connection, summaries: list[int]) -> None:
    covered = list(connection.execute(COVERED_TURNS, (json.dumps(summaries),)))
    for sql in (
        "DELETE FROM words WHERE rowid = ?",
        "DELETE FROM cover WHERE summary = ?",
        "DELETE FROM summary WHERE key = ?",
    ):
        connection.executemany(sql, [(summary,) for summary in summaries])
    drop_embeddings(connection, summaries)
    owe_nothing(connection, summaries)
    # Those that stay need another summary, and a vector without the words of the one that went.
    for (turn,) in covered:
        owe_turn(connection, turn)


def _calls(connection: Connection, turn: int) -> list[int]:
    return [row[0] for row in connection.execute("SELECT key FROM tool_call WHERE turn = ?", (turn,))]
