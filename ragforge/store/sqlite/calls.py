"""The tool calls in SQLite."""

import json
from collections.abc import Sequence

from ragforge.domain.errors import Conflict
from ragforge.domain.turns import TOOL_CALL, Step, ToolCall
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.index import index_call
from ragforge.store.sqlite.rows import RecordTable, new_key
from ragforge.store.sqlite.turns import insert_step

CALLS = RecordTable(TOOL_CALL, joined={"turn_id": "turn.id"})


class SqliteToolCalls:
    """Implements `ToolCalls`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, call: ToolCall, step: Step) -> None:
        """Save a call that ended, with its step. Raises Conflict if the turn or the step is another's."""
        if (call.turn_id, call.step_index) != (step.turn_id, step.index):
            raise Conflict(f"The call {call.id} belongs to a different step than the one given.")
        await self._database.write(lambda connection: _add(connection, call, step))

    async def of_turns(self, turn_ids: Sequence[str]) -> list[ToolCall]:

        def read(connection: Connection) -> list[ToolCall]:
            rows = connection.execute(
                f"SELECT {CALLS.select} FROM json_each(?) AS wanted JOIN turn ON turn.id = wanted.value "
                "JOIN tool_call ON tool_call.turn = turn.key "
                "ORDER BY wanted.key, step, position, tool_call.key",
                (json.dumps(list(turn_ids)),),
            )
            return [CALLS.record(row) for row in rows]

        return await self._database.read(read)


def _add(connection: Connection, call: ToolCall, step: Step) -> None:
    insert_call(connection, call, insert_step(connection, step))


def insert_call(connection: Connection, call: ToolCall, turn: int) -> bool:
    """Save the call in the turn of that key, and index it; return whether it was new."""
    key = new_key(connection)
    connection.execute(
        f"INSERT INTO tool_call (key, turn, {CALLS.columns}) VALUES (?, ?, {CALLS.marks}) "
        "ON CONFLICT (id) DO NOTHING",
        (key, turn, *CALLS.values(call)),
        can_cache=False,
    )
    if not connection.changes():
        return False
    index_call(connection, key)
    return True
