"""Load records of an archive into SQLite: existing ones are kept unless the new ones are newer."""

from collections.abc import Sequence
from typing import assert_never

from ragforge.domain.derivations import Derived
from ragforge.domain.errors import Conflict
from ragforge.domain.memories import Association, Memory
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn
from ragforge.domain.usage import Spent
from ragforge.domain.vectors import Embedding
from ragforge.domain.versions import Branch, CheckoutLog, Version
from ragforge.store.base import Record
from ragforge.store.memory_rules import check_memory
from ragforge.store.sqlite.abandonment import head_moved, turn_came
from ragforge.store.sqlite.associations import insert_association
from ragforge.store.sqlite.calls import insert_call
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.derivations import load_derived
from ragforge.store.sqlite.index import index_turn
from ragforge.store.sqlite.memory_rows import forget_too, put_memory
from ragforge.store.sqlite.owed import owe_turn
from ragforge.store.sqlite.projects import insert_project
from ragforge.store.sqlite.rows import key_of, one, to_ms
from ragforge.store.sqlite.sessions import SESSIONS, insert_session
from ragforge.store.sqlite.summaries import put_summary
from ragforge.store.sqlite.turns import insert_step, insert_turn, place_of, update_turn
from ragforge.store.sqlite.usage import insert_spent
from ragforge.store.sqlite.vector_tail import write_codes
from ragforge.store.sqlite.vectors import is_embedded, put_vectors
from ragforge.store.sqlite.version_rows import put_branch, put_move, put_version, take_origin


def load_records(connection: Connection, records: Sequence[Record]) -> int:
    """Load all, with their rows of words; return how many were new or newer."""
    loading = _Loading(connection)
    changed = sum([loading.load(record) for record in records])
    loading.finish()
    return changed


class _Loading:
    """One batch, within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # Written once, at the end: a turn's row of words also has words of its child and calls.
        self._to_index: dict[int, None] = {}
        self._to_code: dict[int, None] = {}

    def load(self, record: Record) -> bool:
        """Load one; return whether it was new or newer."""
        match record:
            case Project():
                return insert_project(self._connection, record)
            case ConversationSession():
                return self._load_session(record)
            case Turn():
                return self._load_turn(record)
            case Step():
                return self._load_step(record)
            case ToolCall():
                return self._load_call(record)
            case Summary():
                return self._load_summary(record)
            case Memory():
                return self._load_memory(record)
            case Association():
                return insert_association(self._connection, record)
            case Derived():
                return load_derived(self._connection, record)
            case Spent():
                return self._load_spent(record)
            case Embedding():
                return self._load_embedding(record)
            case Version():
                return put_version(self._connection, record) or take_origin(self._connection, record)
            case Branch():
                return put_branch(self._connection, record, only_newer=True)
            case CheckoutLog():
                return put_move(self._connection, record)
            case _:
                assert_never(record)

    def _load_step(self, step: Step) -> bool:
        insert_step(self._connection, step)
        if not self._connection.changes():
            return False
        # If its session was deleted here, its cost was kept; now the record says so itself.
        self._connection.execute("DELETE FROM spent WHERE id = ?", (f"{step.turn_id}/{step.index}",))
        return True

    def _load_spent(self, spent: Spent) -> bool:
        turn, _, number = spent.id.rpartition("/")
        # The cost of a session that was deleted there, and is here with all its steps.
        step = one(
            self._connection,
            "SELECT 1 FROM turn JOIN step ON step.turn = turn.key WHERE turn.id = ? AND number = ?",
            (turn, number),
        )
        return step is None and insert_spent(self._connection, spent)

    def finish(self) -> None:
        """Set the heads that came after their sessions; write rows of words and codes of vectors."""
        arrived = self._connection.execute(
            "SELECT session.key, head, turn.key FROM session JOIN turn ON turn.id = awaited_head "
            "WHERE awaited_head IS NOT NULL"
        )
        for session, head, awaited in list(arrived):
            self._connection.execute(
                "UPDATE session SET head = coalesce(head, ?), awaited_head = NULL WHERE key = ?",
                (awaited, session),
            )
            if head is None:
                head_moved(self._connection, None, awaited)
        for turn in self._to_index:
            index_turn(self._connection, turn)
        write_codes(self._connection, [*self._to_code])

    def _load_session(self, session: ConversationSession) -> bool:
        connection = self._connection
        stored = one(
            connection, "SELECT key, last_activity_at, head FROM session WHERE id = ?", (session.id,)
        )
        if stored is not None and stored[1] >= to_ms(session.last_activity_at):
            return self._change_session(session)
        # Its head is a turn that mostly comes later.
        insert_session(connection, session, head=None)
        connection.execute(
            f"UPDATE session SET ({SESSIONS.columns}) = ({SESSIONS.marks}), head = NULL, awaited_head = ? "
            "WHERE id = ?",
            (*SESSIONS.values(session), session.head, session.id),
        )
        if stored is not None:
            head_moved(connection, stored[2], None)
        return True

    def _change_session(self, session: ConversationSession) -> bool:
        """Give the stored session the title and the archiving of this one, if they are newer."""
        if session.changed_at is None:
            return False
        kept = dict(zip(SESSIONS.names, SESSIONS.values(session), strict=True))
        names = ("title", "archived_at", "changed_at")
        self._connection.execute(
            f"UPDATE session SET {', '.join(f'{name} = ?' for name in names)} "
            "WHERE id = ? AND coalesce(changed_at, 0) < ?",
            (*(kept[name] for name in names), session.id, kept["changed_at"]),
        )
        return bool(self._connection.changes())

    def _load_turn(self, turn: Turn) -> bool:
        connection = self._connection
        stored = one(connection, "SELECT key, ended_at FROM turn WHERE id = ?", (turn.id,))
        if stored is None:
            session, parent = place_of(connection, turn)
            key = insert_turn(connection, turn, session, parent)
            turn_came(connection, key)
            self._to_index |= {key: None} if parent is None else {key: None, parent: None}
        else:
            key, ended_at = stored
            if turn.ended_at is None or (ended_at is not None and ended_at >= to_ms(turn.ended_at)):
                return False
            update_turn(connection, turn, key)
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
                f"Tool call {call.id} belongs to step {call.step_index} of turn {call.turn_id}, "
                "which is not in the store."
            )
        is_new = insert_call(self._connection, call, turn)
        if is_new:
            self._to_index[turn] = None
        return is_new

    def _load_embedding(self, embedding: Embedding) -> bool:
        if is_embedded(self._connection, embedding):
            return False
        (owner,) = put_vectors(self._connection, [embedding])
        if owner is not None:
            self._to_code[owner] = None
        return owner is not None

    def _load_memory(self, memory: Memory) -> bool:
        check_memory(memory)
        stored = one(self._connection, "SELECT updated_at FROM memory WHERE id = ?", (memory.id,))
        if stored is not None and stored[0] >= to_ms(memory.updated_at):
            return forget_too(self._connection, memory)
        put_memory(self._connection, memory)
        return True

    def _load_summary(self, summary: Summary) -> bool:
        stored = one(self._connection, "SELECT method FROM summary WHERE id = ?", (summary.id,))
        # A model's replaces an extract, under the same id.
        if stored is not None and (stored[0], summary.method) != (
            SummaryMethod.EXTRACTIVE,
            SummaryMethod.MODEL,
        ):
            return False
        put_summary(self._connection, summary)
        return True
