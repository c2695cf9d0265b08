"""What is wrong with a database, in sentences."""

from ragforge.store.sqlite.connection import Connection

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
        "SELECT id FROM turn WHERE key NOT IN (SELECT id FROM words_docsize)",
    ),
    (
        "Tool call {} cannot be found by search.",
        "SELECT id FROM tool_call WHERE key NOT IN (SELECT id FROM words_docsize)",
    ),
    (
        "Row {} of the search index stands for nothing.",
        "SELECT id FROM words_docsize "
        "WHERE id NOT IN (SELECT key FROM turn UNION ALL SELECT key FROM tool_call)",
    ),
    (
        "Tool call {} has the key of a turn.",
        "SELECT id FROM tool_call WHERE key IN (SELECT key FROM turn)",
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
