"""What is wrong with a database, in sentences."""

from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.index import Kind

FINDINGS_MAX = 20

# What should hold, and the rows for which it does not.
LAWS: tuple[tuple[str, str], ...] = (
    (
        "Session {} has a head that is not stored.",
        "SELECT id FROM session WHERE head IS NOT NULL AND head NOT IN (SELECT key FROM turn)",
    ),
    (
        "Turn {} does not stand one below its parent.",
        "SELECT turn.id FROM turn LEFT JOIN turn AS parent ON parent.key = turn.parent "
        "WHERE turn.depth != coalesce(parent.depth + 1, 0)",
    ),
    (
        "Turn {} cannot be found by search.",
        f"SELECT id FROM turn WHERE key * 8 + {Kind.TURN:d} NOT IN (SELECT id FROM words_docsize)",
    ),
    (
        "Tool call {} cannot be found by search.",
        f"SELECT id FROM tool_call WHERE key * 8 + {Kind.CALL:d} NOT IN (SELECT id FROM words_docsize)",
    ),
    (
        "Row {} of the search index stands for nothing.",
        "SELECT id FROM words_docsize WHERE NOT CASE id & 7 "
        f"WHEN {Kind.TURN:d} THEN id >> 3 IN (SELECT key FROM turn) "
        f"WHEN {Kind.CALL:d} THEN id >> 3 IN (SELECT key FROM tool_call) ELSE 0 END",
    ),
)


def findings(connection: Connection) -> list[str]:
    """All that does not hold, at most FINDINGS_MAX of each kind; empty when the database is sound."""
    found = [
        f"SQLite's integrity check: {text}."
        for (text,) in connection.execute(f"PRAGMA integrity_check({FINDINGS_MAX})")
        if text != "ok"
    ]
    found += [
        f"Row {row} of {table} refers to a {parent} that is not stored."
        for table, row, parent, _ in list(connection.execute("PRAGMA foreign_key_check"))[:FINDINGS_MAX]
    ]
    for sentence, sql in LAWS:
        found += [sentence.format(row[0]) for row in connection.execute(f"{sql} LIMIT {FINDINGS_MAX}")]
    return found
