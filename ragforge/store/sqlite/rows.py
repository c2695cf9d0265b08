"""How values of the domain stand in rows."""

from datetime import UTC, datetime, timedelta

from ragforge.domain.errors import Conflict
from ragforge.domain.usage import Usage
from ragforge.store.sqlite.connection import Bindings, Connection, Row

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EVER = -(1 << 62)
"""Before all times: a condition that holds for all of them still goes by an index."""


def to_ms(moment: datetime) -> int:
    """Milliseconds since 1970; a moment without a zone is local time."""
    return (moment.astimezone(UTC) - EPOCH) // timedelta(milliseconds=1)


def from_ms(ms: int) -> datetime:
    """The inverse of `to_ms`, in UTC."""
    return EPOCH + timedelta(milliseconds=ms)


def usage_values(usage: Usage) -> tuple[int, int, int, int]:
    """The four counts in the order of the columns."""
    return (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.thought_tokens)


def one(connection: Connection, sql: str, values: Bindings = ()) -> Row | None:
    """The first row, or None."""
    return next(connection.execute(sql, values), None)


def new_key(connection: Connection) -> int:
    """The next key of what has a row of words; call it within the transaction that uses it."""
    (key,) = next(
        connection.execute(
            "SELECT max((SELECT coalesce(max(key), 0) FROM turn), "
            "(SELECT coalesce(max(key), 0) FROM tool_call), "
            "(SELECT coalesce(max(key), 0) FROM summary), "
            "(SELECT coalesce(max(key), 0) FROM memory), "
            "(SELECT coalesce(max(key), 0) FROM version)) + 1"
        )
    )
    return key


def key_of(connection: Connection, table: str, identifier: str) -> int:
    """The key of what has this id. Raises Conflict when it is not stored (any more)."""
    # The table's name is one of ours, never something from outside.
    row = one(connection, f"SELECT key FROM {table} WHERE id = ?", (identifier,))
    if row is None:
        raise Conflict(f"The {table} {identifier} is not in the store; it may have been deleted.")
    return row[0]
