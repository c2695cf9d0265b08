"""Records of an archive on their way into SQLite: what is there already stays unless they are newer."""

from collections.abc import Sequence
from typing import assert_never

from ragforge.domain.errors import Conflict
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn
from ragforge.domain.vectors import Embedding
from ragforge.store.base import Record
from ragforge.store.json_text import storable
from ragforge.store.sqlite.calls import insert_call
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.index import index_turn
from ragforge.store.sqlite.owed import owe_turn
from ragforge.store.sqlite.projects import insert_project
from ragforge.store.sqlite.rows import key_of, one, to_ms, usage_values
from ragforge.store.sqlite.sessions import insert_session
from ragforge.store.sqlite.summaries import put_summary
from ragforge.store.sqlite.turns import insert_step, insert_turn, place_of
from ragforge.store.sqlite.vectors import is_embedded, put_embeddings


def load_records(connection: Connection, records: Sequence[Record]) -> int:
    """How many of them were new or newer; all are kept, with their rows of words."""
    loading = _Loading(connection)
    changed = sum([loading.load(record) for record in records])
    loading.finish()
    return changed


class _Loading:
    """One batch, within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Their rows of words are written once, at the end: a turn is found by its child and its calls too.
        self._to_index: dict[int, None] = {}

    def load(self, record: Record) -> bool:
        """Whether it was new or newer."""
        match record:
            case Project():
                return insert_project(self._connection, record)
            case ConversationSession():
                return self._load_session(record)
            case Turn():
                return self._load_turn(record)
            case Step():
                insert_step(self._connection, record)
                return bool(self._connection.changes())
            case ToolCall():
                return self._load_call(record)
            case Summary():
                return self._load_summary(record)
            case Embedding():
                if is_embedded(self._connection, record):
                    return False
                return bool(put_embeddings(self._connection, [record]))
            case _:
                assert_never(record)

    def finish(self) -> None:
        """Set the heads that came after their sessions, and write the rows of words."""
        self._connection.execute(
            "UPDATE session SET head = coalesce(head, (SELECT key FROM turn WHERE id = awaited_head)), "
            "awaited_head = NULL "
            "WHERE awaited_head IS NOT NULL AND EXISTS (SELECT 1 FROM turn WHERE id = awaited_head)"
        )
        for turn in self._to_index:
            index_turn(self._connection, turn)

    def _load_session(self, session: ConversationSession) -> bool:
        connection = self._connection
        stored = one(connection, "SELECT key, last_activity_at FROM session WHERE id = ?", (session.id,))
        if stored is not None and stored[1] >= to_ms(session.last_activity_at):
            return False
        # Its head is a turn that mostly comes later.
        insert_session(connection, session, head=None)
        connection.execute(
            "UPDATE session SET last_activity_at = ?, title = ?, model = ?, mode = ?, head = NULL, "
            "awaited_head = ? WHERE id = ?",
            (
                to_ms(session.last_activity_at),
                storable(session.title),
                session.model,
                session.mode,
                session.head,
                session.id,
            ),
        )
        return True

    def _load_turn(self, turn: Turn) -> bool:
        connection = self._connection
        stored = one(connection, "SELECT key, ended_at FROM turn WHERE id = ?", (turn.id,))
        if stored is None:
            session, parent = place_of(connection, turn)
            key = insert_turn(connection, turn, session, parent)
            self._to_index |= {key: None} if parent is None else {key: None, parent: None}
        else:
            key, ended_at = stored
            if turn.ended_at is None or (ended_at is not None and ended_at >= to_ms(turn.ended_at)):
                return False
            connection.execute(
                "UPDATE turn SET status = ?, assistant = ?, model = ?, ended_at = ?, error = ?, "
                "input_tokens = ?, cached_tokens = ?, output_tokens = ?, thought_tokens = ?, cost_usd = ? "
                "WHERE key = ?",
                (
                    turn.status,
                    storable(turn.assistant),
                    storable(turn.model),
                    to_ms(turn.ended_at),
                    storable(turn.error),
                    *usage_values(turn.usage),
                    turn.cost_usd,
                    key,
                ),
            )
            self._to_index[key] = None
        owe_turn(connection, key)
        return True

    def _load_call(self, call: ToolCall) -> bool:
        turn = key_of(self._connection, "turn", call.turn_id)
        step = one(
            self._connection, "SELECT 1 FROM step WHERE turn = ? AND number = ?", (turn, call.step_index)
        )
        if step is None:
            raise Conflict(
                f"Tool call {call.id} is of step {call.step_index} of turn {call.turn_id}, "
                "which is not in the store."
            )
        is_new = insert_call(self._connection, call, turn)
        if is_new:
            self._to_index[turn] = None
        return is_new

    def _load_summary(self, summary: Summary) -> bool:
        stored = one(self._connection, "SELECT method FROM summary WHERE id = ?", (summary.id,))
        # A model's takes the place of an extract, under the same id.
        if stored is not None and (stored[0], summary.method) != (
            SummaryMethod.EXTRACTIVE,
            SummaryMethod.MODEL,
        ):
            return False
        put_summary(self._connection, summary)
        return True
