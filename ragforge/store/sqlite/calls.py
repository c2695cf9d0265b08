"""The tool calls in SQLite."""

import json
from collections.abc import Sequence

from ragforge.domain.errors import Conflict
from ragforge.domain.turns import CallStatus, Step, ToolCall
from ragforge.store.json_text import from_json, images_from_json, images_to_json, storable, to_json
from ragforge.store.sqlite.connection import Connection, Database, Row
from ragforge.store.sqlite.index import index_call
from ragforge.store.sqlite.rows import from_ms, new_key, to_ms
from ragforge.store.sqlite.turns import insert_step

COLUMNS = (
    "id, step, position, name, args, status, result, started_at, duration_ms, result_chars, result_blob, "
    "diff, images, provider_id"
)


class SqliteToolCalls:
    """Implements `ToolCalls`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, call: ToolCall, step: Step) -> None:
        """Keep a call that ended, with its step. Raises Conflict where the turn or the step is another's."""
        if (call.turn_id, call.step_index) != (step.turn_id, step.index):
            raise Conflict(f"The call {call.id} says that it belongs to another step than the one given.")
        await self._database.write(lambda connection: _add(connection, call, step))

    async def of_turns(self, turn_ids: Sequence[str]) -> list[ToolCall]:
        """Their calls, ordered as the ids were given, by step and by position."""

        def read(connection: Connection) -> list[ToolCall]:
            columns = ", ".join(f"tool_call.{name}" for name in COLUMNS.split(", "))
            rows = connection.execute(
                f"SELECT turn.id, {columns} FROM json_each(?) AS wanted JOIN turn ON turn.id = wanted.value "
                "JOIN tool_call ON tool_call.turn = turn.key "
                "ORDER BY wanted.key, step, position, tool_call.key",
                (json.dumps(list(turn_ids)),),
            )
            return [call_of(row) for row in rows]

        return await self._database.read(read)


def _add(connection: Connection, call: ToolCall, step: Step) -> None:
    insert_call(connection, call, insert_step(connection, step))


def insert_call(connection: Connection, call: ToolCall, turn: int) -> bool:
    """Keep the call in the turn of that key, and make it found; whether it was not stored yet."""
    key = new_key(connection)
    connection.execute(
        f"INSERT INTO tool_call (key, turn, {COLUMNS}) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO NOTHING",
        (
            key,
            turn,
            call.id,
            call.step_index,
            call.position,
            storable(call.name),
            to_json(call.args),
            call.status,
            storable(call.result),
            to_ms(call.started_at),
            call.duration_ms,
            call.result_chars,
            call.result_blob,
            storable(call.diff),
            images_to_json(call.images),
            storable(call.provider_id),
        ),
        can_cache=False,
    )
    if not connection.changes():
        return False
    index_call(connection, key)
    return True


def call_of(row: Row) -> ToolCall:
    """The tool call of a row that begins with its turn's id."""
    (
        turn, identifier, step, position, name, args, status, result, started_at, duration_ms,
        result_chars, result_blob, diff, images, provider_id,
    ) = row  # fmt: skip
    return ToolCall(
        id=identifier,
        turn_id=turn,
        step_index=step,
        position=position,
        name=name,
        args=from_json(args),
        status=CallStatus(status),
        result=result,
        started_at=from_ms(started_at),
        duration_ms=duration_ms,
        result_chars=result_chars,
        result_blob=result_blob,
        diff=diff,
        images=images_from_json(images),
        provider_id=provider_id,
    )
