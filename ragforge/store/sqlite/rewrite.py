"""Change the texts of stored records: what the user has removed from the history, or restores."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ragforge.domain.derivations import DERIVED, Derived
from ragforge.domain.errors import Conflict
from ragforge.domain.memories import Association, Memory
from ragforge.domain.records import Description
from ragforge.domain.summaries import SUMMARY, Summary
from ragforge.domain.turns import SESSION, STEP, TOOL_CALL, TURN, ConversationSession, Step, ToolCall, Turn
from ragforge.domain.versions import VERSION, Version
from ragforge.store.base import Record
from ragforge.store.sqlite.associations import insert_association
from ragforge.store.sqlite.calls import CALLS
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.derivations import DERIVATIONS
from ragforge.store.sqlite.index import index_call, index_summary, index_turn, index_version
from ragforge.store.sqlite.memory_rows import drop_memories, put_memory
from ragforge.store.sqlite.owed import owe_summary, owe_turn
from ragforge.store.sqlite.rows import RecordTable, key_of
from ragforge.store.sqlite.sessions import SESSIONS
from ragforge.store.sqlite.summaries import SUMMARIES
from ragforge.store.sqlite.turns import STEPS, TURNS, first_words
from ragforge.store.sqlite.vectors import drop_embeddings
from ragforge.store.sqlite.version_rows import VERSIONS

# A turn is also found by what was said around it.
AROUND = """
WITH here (key, parent) AS (SELECT key, parent FROM turn WHERE key = ?)
SELECT key FROM here
UNION SELECT parent FROM here WHERE parent IS NOT NULL
UNION SELECT child.key FROM here JOIN turn AS child ON child.parent = here.key
UNION SELECT below.key FROM here JOIN turn AS child ON child.parent = here.key
    JOIN turn AS below ON below.parent = child.key
"""
COVERED = "SELECT turn.key FROM cover JOIN turn ON turn.id = covered WHERE summary = ?"


def rewrite_records(connection: Connection, records: Sequence[Record], without: Sequence[str]) -> None:
    """Remove the memories with the ids in `without`, and then give stored records these texts.

    Their embeddings are removed, and their rows of words rewritten. Records that are no longer stored are
    skipped; memories and their links are stored again.
    """
    keys = [
        key for id in without for (key,) in connection.execute("SELECT key FROM memory WHERE id = ?", (id,))
    ]
    drop_memories(connection, keys)
    rewriting = _Rewriting(connection)
    for record in records:
        rewriting.rewrite(record)
    rewriting.finish()
    # Its segments contain words of deleted rows until they are merged.
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")


class _Rewriting:
    """One batch, within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._turns: dict[int, None] = {}

    def rewrite(self, record: Record) -> None:
        match record:
            case ConversationSession():
                self._set(SESSION, SESSIONS, record)
            case Turn():
                for key in self._set(TURN, TURNS, record):
                    self._connection.execute(
                        "UPDATE turn SET first_words = ? WHERE key = ?", (first_words(record), key)
                    )
                    self._turns[key] = None
            case Step():
                where = "turn = (SELECT key FROM turn WHERE id = ?) AND number = ?"
                self._set(STEP, STEPS, record, where, (record.turn_id, record.index), key="rowid")
            case ToolCall():
                for key in self._set(TOOL_CALL, CALLS, record):
                    index_call(self._connection, key)
                    self._turns[key_of(self._connection, "turn", record.turn_id)] = None
            case Summary():
                for key in self._set(SUMMARY, SUMMARIES, record):
                    index_summary(self._connection, key)
                    drop_embeddings(self._connection, [key])
                    owe_summary(self._connection, key)
                    # A turn is embedded together with its summary.
                    self._turns |= {turn: None for (turn,) in self._connection.execute(COVERED, (key,))}
            case Derived():
                self._set(DERIVED, DERIVATIONS, record)
            case Version():
                for key in self._set(VERSION, VERSIONS, record):
                    index_version(self._connection, key)
            case Memory():
                put_memory(self._connection, record)
            case Association():
                with suppress(Conflict):  # the other end was deleted
                    insert_association(self._connection, record)
            case _:
                pass  # no other one contains what somebody said

    def finish(self) -> None:
        """Write the rows of words of turns, and record which need other vectors."""
        around = {key for turn in self._turns for (key,) in self._connection.execute(AROUND, (turn,))}
        for turn in sorted(around):
            index_turn(self._connection, turn)
        drop_embeddings(self._connection, [*self._turns])
        for turn in self._turns:
            owe_turn(self._connection, turn)

    def _set(
        self,
        description: Description[Any],
        table: RecordTable[Any],
        record: Any,
        where: str = "id = ?",
        values: Sequence[object] = (),
        *,
        key: str = "key",
    ) -> list[int]:
        """Give the row the texts of the record; return its key, if there is such a row."""
        kept = dict(zip(table.names, table.values(record), strict=True))
        columns = [description.column(name) for name in description.texts]
        rows = self._connection.execute(
            f"UPDATE {description.kind} SET {', '.join(f'{name} = ?' for name in columns)} "
            f"WHERE {where} RETURNING {key}",
            (*(kept[name] for name in columns), *(values or (record.id,))),
            can_cache=False,
        )
        return [found for (found,) in rows]
