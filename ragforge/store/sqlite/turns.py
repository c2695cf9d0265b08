"""The turns in SQLite, with their steps."""

import json
from collections.abc import Sequence

from msgspec.structs import replace

from ragforge.domain.errors import Conflict
from ragforge.domain.messages import Parts, text_of
from ragforge.domain.turns import STEP, TURN, Step, Turn, TurnEnd, TurnStatus
from ragforge.store.json_text import storable
from ragforge.store.sqlite.abandonment import TURN_ABANDONED, head_moved
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.index import index_ended, index_turn
from ragforge.store.sqlite.owed import owe_nothing, owe_turn
from ragforge.store.sqlite.rows import RecordTable, key_of, new_key, one, to_ms
from ragforge.store.sqlite.version_rows import turn_ended, turn_runs_on

FIRST_WORDS_CHARS = 200

TURNS = RecordTable(TURN, joined={"session_id": "session.id", "parent": "parent.id"})
STEPS = RecordTable(STEP, joined={"turn_id": "turn.id"})

SELECT = f"""
SELECT {TURNS.select}
FROM turn JOIN session ON session.key = turn.session LEFT JOIN turn AS parent ON parent.key = turn.parent
"""

OF_IDS = f"""
SELECT {TURNS.select} FROM json_each(?) AS wanted CROSS JOIN turn ON turn.id = wanted.value
    JOIN session ON session.key = turn.session LEFT JOIN turn AS parent ON parent.key = turn.parent
ORDER BY wanted.key
"""

PATH = f"""
WITH RECURSIVE up (key, parent) AS (
    SELECT key, parent FROM turn WHERE id = :head
    UNION ALL
    SELECT turn.key, turn.parent FROM up JOIN turn ON turn.key = up.parent
    LIMIT :limit
)
{SELECT} WHERE turn.key IN (SELECT key FROM up) ORDER BY turn.depth
"""

WRITERS = "SELECT turn.id, person FROM json_each(?) JOIN turn ON turn.id = value WHERE person != ''"

# From one to the next by their index: as many look-ups as there are users.
EVERYBODY = """
WITH RECURSIVE each (person) AS (
    SELECT min(person) FROM turn WHERE person > ''
    UNION ALL
    SELECT (SELECT min(person) FROM turn WHERE person > each.person) FROM each WHERE person IS NOT NULL
)
SELECT person FROM each WHERE person IS NOT NULL
"""

DISOWN = (
    "UPDATE turn SET person = '' WHERE person = ?",
    "UPDATE spent SET person = '' WHERE person = ?",
    "UPDATE session SET person = '', user = '', host = '' "
    "WHERE ?1 IN (person, iif(person = '', user || '@' || host, ''))",
)

SUM_OF_STEPS = """
UPDATE turn SET (input_tokens, cached_tokens, output_tokens, thought_tokens, cost_usd) = (
    SELECT coalesce(sum(input_tokens), 0), coalesce(sum(cached_tokens), 0), coalesce(sum(output_tokens), 0),
        coalesce(sum(thought_tokens), 0),
        -- One unknown price makes the sum unknown.
        CASE WHEN count(*) = count(cost_usd) THEN coalesce(sum(cost_usd), 0.0) END
    FROM step WHERE step.turn = turn.key
) WHERE key = ?
"""


class SqliteTurns:
    """Implements `Turns`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def start(self, turn: Turn) -> None:
        """Save the user's message and move the session's head to it.

        Raises Conflict if the session or the parent is not stored, or the index is not the parent's + 1.
        """
        await self._database.write(lambda connection: _start(connection, turn))

    async def reword(self, turn_id: str, user: Parts) -> None:
        """Raises Conflict if it is not stored, has a step or no longer runs."""

        def write(connection: Connection) -> None:
            key = key_of(connection, "turn", turn_id)
            row = one(
                connection,
                f"{SELECT} WHERE turn.key = ? AND turn.status = ? "
                "AND NOT EXISTS (SELECT 1 FROM step WHERE step.turn = turn.key)",
                (key, TurnStatus.RUNNING),
            )
            if row is None:
                raise Conflict(
                    f"The turn {turn_id} was already sent to a model, so its message cannot be changed."
                )
            update_turn(connection, replace(TURNS.record(row), user=user), key)
            index_turn(connection, key)

        await self._database.write(write)

    async def save_step(self, step: Step, *, waits: bool = False) -> None:
        """Save a step before its calls run; if one waits for consent, its turn waits too.

        Raises Conflict if its turn is not stored.
        """

        def write(connection: Connection) -> None:
            turn = insert_step(connection, step)
            if not waits:
                return
            connection.execute(
                "UPDATE turn SET status = ? WHERE key = ? AND status = ?",
                (TurnStatus.WAITING, turn, TurnStatus.RUNNING),
            )

        await self._database.write(write)

    async def end(self, end: TurnEnd) -> None:
        """Save how the turn ended, its last step and its text. Raises Conflict if it is not stored."""
        await self._database.write(lambda connection: _end(connection, end))

    async def reopen(self, turn_id: str) -> None:
        """Continue a turn that ended or waits, and move its session's head to it.

        Raises Conflict if it is not stored.
        """

        def write(connection: Connection) -> None:
            turn = key_of(connection, "turn", turn_id)
            connection.execute(
                "UPDATE turn SET status = ?, ended_at = NULL, error = '' WHERE key = ?",
                (TurnStatus.RUNNING, turn),
            )
            owe_nothing(connection, [turn])
            turn_runs_on(connection, turn)
            session, head = next(
                connection.execute(
                    "SELECT session.key, head FROM turn JOIN session ON session.key = turn.session "
                    "WHERE turn.key = ?",
                    (turn,),
                )
            )
            connection.execute("UPDATE session SET head = ? WHERE key = ?", (turn, session))
            head_moved(connection, head, turn)

        await self._database.write(write)

    async def get(self, turn_id: str) -> Turn | None:

        def read(connection: Connection) -> Turn | None:
            row = one(connection, f"{SELECT} WHERE turn.id = ?", (turn_id,))
            return None if row is None else TURNS.record(row)

        return await self._database.read(read)

    async def read(self, turn_ids: Sequence[str]) -> list[Turn]:

        def read(connection: Connection) -> list[Turn]:
            wanted = json.dumps([storable(each) for each in dict.fromkeys(turn_ids)])
            return [TURNS.record(row) for row in connection.execute(OF_IDS, (wanted,))]

        return await self._database.read(read) if turn_ids else []

    async def path(self, head: str | None, *, limit: int | None = None) -> list[Turn]:
        """Return the turns from the root to `head`, oldest first; with a limit, only the newest are read."""

        def read(connection: Connection) -> list[Turn]:
            # To SQLite a negative limit means no limit.
            rows = connection.execute(PATH, {"head": head, "limit": -1 if limit is None else max(0, limit)})
            return [TURNS.record(row) for row in rows]

        return [] if head is None else await self._database.read(read)

    async def abandoned(self, turn_ids: Sequence[str]) -> set[str]:

        def read(connection: Connection) -> set[str]:
            rows = connection.execute(
                "SELECT turn.id FROM json_each(?) JOIN turn ON turn.id = value "
                f"WHERE {TURN_ABANDONED.format('turn.key')}",
                (json.dumps(list(turn_ids)),),
            )
            return {identifier for (identifier,) in rows}

        return await self._database.read(read) if turn_ids else set()

    async def writers(self, turn_ids: Sequence[str]) -> dict[str, str]:
        wanted = json.dumps([storable(each) for each in turn_ids])
        return await self._database.read(lambda connection: dict(connection.execute(WRITERS, (wanted,))))

    async def everybody(self) -> list[str]:

        def read(connection: Connection) -> list[str]:
            return [person for (person,) in connection.execute(EVERYBODY)]

        return await self._database.read(read)

    async def disown(self, person: str) -> None:

        def write(connection: Connection) -> None:
            for sql in DISOWN:
                connection.execute(sql, (storable(person),))

        await self._database.write(write)

    async def steps(self, turn_ids: Sequence[str]) -> list[Step]:

        def read(connection: Connection) -> list[Step]:
            rows = connection.execute(
                f"SELECT {STEPS.select} FROM json_each(?) AS wanted JOIN turn ON turn.id = wanted.value "
                "JOIN step ON step.turn = turn.key ORDER BY wanted.key, number",
                (json.dumps(list(turn_ids)),),
            )
            return [STEPS.record(row) for row in rows]

        return await self._database.read(read)


def insert_step(connection: Connection, step: Step) -> int:
    """Return the key of the step's turn; the step is stored if it was not yet."""
    turn = key_of(connection, "turn", step.turn_id)
    connection.execute(
        f"INSERT OR IGNORE INTO step (turn, {STEPS.columns}) VALUES (:turn, {STEPS.named})",
        STEPS.bound(step, turn=turn),
        can_cache=False,
    )
    return turn


def _start(connection: Connection, turn: Turn) -> None:
    if one(connection, "SELECT 1 FROM turn WHERE id = ?", (turn.id,)) is not None:
        return
    session, parent = place_of(connection, turn)
    head = next(connection.execute("SELECT head FROM session WHERE key = ?", (session,)))[0]
    key = insert_turn(connection, turn, session, parent)
    connection.execute(
        "UPDATE session SET head = ?, last_activity_at = max(last_activity_at, ?) WHERE key = ?",
        (key, to_ms(turn.started_at), session),
    )
    if head != parent:
        # The new turn is on the head's path by itself; its parent need not be.
        head_moved(connection, head, parent)
    index_turn(connection, key)


def place_of(connection: Connection, turn: Turn) -> tuple[int, int | None]:
    """Return the keys of its session and parent. Raises Conflict if they are not stored or do not fit."""
    session = key_of(connection, "session", turn.session_id)
    parent = None if turn.parent is None else key_of(connection, "turn", turn.parent)
    depth = one(connection, "SELECT depth + 1 FROM turn WHERE key = ?", (parent,)) or (0,)
    if depth != (turn.index,):
        raise Conflict(f"Turn {turn.id} says index {turn.index}, but its parent makes it {depth[0]}.")
    return session, parent


def insert_turn(connection: Connection, turn: Turn, session: int, parent: int | None) -> int:
    """Store the turn as it is, without its index entries, and return its key."""
    key = new_key(connection)
    connection.execute(
        f"INSERT INTO turn (key, session, parent, first_words, {TURNS.columns}) "
        f"VALUES (?, ?, ?, ?, {TURNS.marks})",
        (key, session, parent, first_words(turn), *TURNS.values(turn)),
        can_cache=False,
    )
    return key


def update_turn(connection: Connection, turn: Turn, key: int) -> None:
    """Replace the complete turn that has this key."""
    connection.execute(
        f"UPDATE turn SET (first_words, {TURNS.columns}) = (?, {TURNS.marks}) WHERE key = ?",
        (first_words(turn), *TURNS.values(turn), key),
        can_cache=False,
    )


def first_words(turn: Turn) -> str:
    """Return the beginning of the user's message, for lists of sessions."""
    return storable(text_of(turn.user))[:FIRST_WORDS_CHARS]


def _end(connection: Connection, end: TurnEnd) -> None:
    turn = key_of(connection, "turn", end.turn_id)
    if end.last_step is not None:
        insert_step(connection, end.last_step)
    end_turn(connection, turn, end)
    connection.execute(
        "UPDATE session SET last_activity_at = max(last_activity_at, ?) "
        "WHERE key = (SELECT session FROM turn WHERE key = ?)",
        (to_ms(end.ended_at), turn),
    )


def end_turn(connection: Connection, turn: int, end: TurnEnd) -> None:
    """Save how the turn of this key ended; its steps and calls are stored."""
    ended = (end.status, storable(end.assistant), to_ms(end.ended_at), storable(end.error))
    connection.execute(
        "UPDATE turn SET status = ?1, assistant = ?2, ended_at = ?3, error = ?4 "
        "WHERE key = ?5 AND (status, assistant, ended_at, error) IS NOT (?1, ?2, ?3, ?4)",
        (*ended, turn),
        can_cache=False,
    )
    if connection.changes():
        owe_turn(connection, turn)
        turn_ended(connection, turn)
    connection.execute(SUM_OF_STEPS, (turn,))
    index_ended(connection, turn)
