"""Delete a session without breaking any other."""

import json
from collections.abc import Sequence

from ragforge.domain.usage import NO_MODEL
from ragforge.store.base_conversations import Deleted
from ragforge.store.sqlite.abandonment import MEMORY_ABANDONED, head_went, turns_went
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.index import index_call, index_turn
from ragforge.store.sqlite.memory_rows import drop_memories, place_memory
from ragforge.store.sqlite.owed import owe_nothing, owe_turn
from ragforge.store.sqlite.rows import one
from ragforge.store.sqlite.vectors import drop_embeddings, move_embeddings
from ragforge.store.sqlite.version_rows import hand_over_versions, session_went

OWN_TURNS = "SELECT key FROM turn WHERE session = :session"

# Another session depends on this one's turns: its head is here, or a turn of its own is a child of one
# here. The latter also holds for turns that an undo left behind: they must not lose their root.
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


# The session's own, and every other that covers something deleted: it would reveal what was deleted.
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


# Those of the session only, and those based only on abandoned turns that are deleted: with its turns gone,
# what the user withdrew would look as if never doubted.
MEMORIES_THAT_GO = f"""
SELECT key FROM memory WHERE session = :id AND scope = 'session'
UNION
SELECT attested.key FROM evidence JOIN turn ON turn.id = evidence.turn
    JOIN memory AS attested ON attested.key = evidence.memory
WHERE turn.key IN (SELECT value FROM json_each(:turns)) AND {MEMORY_ABANDONED.format("attested")}
    AND NOT EXISTS (SELECT 1 FROM evidence AS other JOIN turn AS proof ON proof.id = other.turn
        WHERE other.memory = attested.key AND proof.key NOT IN (SELECT value FROM json_each(:turns)))
"""

MEMORIES_THAT_CHANGE = """
SELECT key FROM memory WHERE session = :id
UNION
SELECT memory FROM evidence JOIN turn ON turn.id = evidence.turn
WHERE turn.key IN (SELECT value FROM json_each(:turns))
"""

# What was said in an abandoned turn and is deleted would count again.
REMOVE_LINKS = """
DELETE FROM association WHERE turn IN (SELECT turn.id FROM turn
    JOIN json_each(:turns) ON value = turn.key JOIN left_turn ON left_turn.turn = turn.key)
"""


REMOVE_DERIVED = """
DELETE FROM derived WHERE owner_kind = 'session' AND owner = :session
    OR owner_kind = 'turn' AND owner IN (SELECT turn.id FROM turn JOIN json_each(:turns) ON value = turn.key)
"""

HAND_OVER_DERIVED = """
UPDATE derived SET project = (SELECT project FROM session WHERE key = ?)
WHERE owner_kind = 'turn' AND owner = (SELECT id FROM turn WHERE key = ?)
"""


# The cost of their model calls is kept, without a word of them.
KEEP_COSTS = f"""
INSERT OR IGNORE INTO spent (id, project, session, at, model, purpose, input_tokens, cached_tokens,
    output_tokens, thought_tokens, cost_usd, person)
SELECT turn.id || '/' || step.number, project.id, session.id, turn.started_at,
    step.provider || ':' || step.model, turn.purpose, step.input_tokens, step.cached_tokens,
    step.output_tokens, step.thought_tokens, step.cost_usd, turn.person
FROM json_each(?) CROSS JOIN turn ON turn.key = value CROSS JOIN step ON step.turn = turn.key
    JOIN session ON session.key = turn.session JOIN project ON project.key = session.project
WHERE step.provider != '{NO_MODEL}'
"""


def delete_session(connection: Connection, session_id: str, *, dry_run: bool = False) -> Deleted:
    """Remove the session and what no other session depends on; give the rest to the oldest that does."""
    found = one(connection, "SELECT key, head FROM session WHERE id = ?", (session_id,))
    if found is None:
        return Deleted(0, 0, 0)
    session, head = found
    heirs = _heirs(connection, session)
    own = [row[0] for row in connection.execute(OWN_TURNS, {"session": session})]
    gone = [turn for turn in own if turn not in heirs]
    calls = [call for turn in gone for call in _calls(connection, turn)]
    if not dry_run:
        summaries = _summaries(connection, session, gone)
        lowest = _lowest_that_stays(connection, head, gone)
        _hand_over(connection, heirs)
        _remove_summaries(connection, summaries)
        changed = _remove_memories(connection, session_id, gone)
        _remove_derived(connection, session_id, gone)
        session_went(connection, session, session_id, gone)
        _remove(connection, gone, calls)
        connection.execute("DELETE FROM session WHERE key = ?", (session,))
        for memory in changed:
            place_memory(connection, memory)
        turns_went(connection, gone)
        head_went(connection, lowest)
    return Deleted(turns=len(gone), kept_turns=len(heirs), tool_calls=len(calls))


def _heirs(connection: Connection, session: int) -> dict[int, int]:
    """Return the session that gets each turn that must stay."""
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
        hand_over_versions(connection, turn, heir)
        connection.execute(HAND_OVER_DERIVED, (heir, turn))
    move_embeddings(connection, heirs)
    # Their scope changed: they are found in the session that has them now.
    for turn in heirs:
        index_turn(connection, turn)
        for call in _calls(connection, turn):
            index_call(connection, call)


def _remove(connection: Connection, turns: list[int], calls: list[int]) -> None:
    connection.execute(KEEP_COSTS, (json.dumps(turns),))
    connection.executemany("DELETE FROM words WHERE rowid = ?", [(key,) for key in (*turns, *calls)])
    drop_embeddings(connection, turns)
    owe_nothing(connection, turns)
    for sql in (
        "DELETE FROM tool_call WHERE turn = ?",
        "DELETE FROM step WHERE turn = ?",
        "DELETE FROM turn WHERE key = ?",
    ):
        connection.executemany(sql, [(turn,) for turn in turns])


def _lowest_that_stays(connection: Connection, head: int | None, gone: Sequence[int]) -> int | None:
    """Return the first turn on the way up from the head that is not removed."""
    turn, going = head, frozenset(gone)
    while turn in going:
        (turn,) = next(connection.execute("SELECT parent FROM turn WHERE key = ?", (turn,)))
    return turn


def _remove_memories(connection: Connection, session_id: str, turns: Sequence[int]) -> list[int]:
    """Remove those deleted with the session, and from the others what they cover of it; return their keys."""
    values = {"id": session_id, "turns": json.dumps(turns)}
    drop_memories(connection, [row[0] for row in connection.execute(MEMORIES_THAT_GO, values)])
    connection.execute(REMOVE_LINKS, {"turns": values["turns"]})
    changed = [row[0] for row in connection.execute(MEMORIES_THAT_CHANGE, values)]
    connection.execute("UPDATE memory SET session = '' WHERE session = ?", (session_id,))
    connection.execute(
        "DELETE FROM evidence WHERE turn IN (SELECT turn.id FROM turn JOIN json_each(?) ON value = turn.key)",
        (values["turns"],),
    )
    return changed


def _remove_derived(connection: Connection, session_id: str, turns: Sequence[int]) -> None:
    connection.execute(REMOVE_DERIVED, {"session": session_id, "turns": json.dumps(turns)})


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
    # The remaining ones need another summary, and a vector without the words of the deleted one.
    for (turn,) in covered:
        owe_turn(connection, turn)


def _calls(connection: Connection, turn: int) -> list[int]:
    return [row[0] for row in connection.execute("SELECT key FROM tool_call WHERE turn = ?", (turn,))]
