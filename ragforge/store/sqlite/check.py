"""What is wrong with a database, in sentences."""

from ragforge.store.sqlite.connection import Connection

FINDINGS_MAX = 20

# Conditions on rows, for `repair` too.
OF_NOTHING = "owner NOT IN (SELECT key FROM turn UNION ALL SELECT key FROM summary)"
WRONG_VECTOR = "length(vector) != 4 * dimensions OR vector = zeroblob(length(vector))"
WRONG_COVERS = """
SELECT cover.summary, position FROM cover JOIN summary AS above ON above.key = cover.summary
WHERE above.level - 1 IS NOT
    coalesce((SELECT 0 FROM turn WHERE id = covered), (SELECT level FROM summary WHERE id = covered))
"""

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
        "Summary {} cannot be found by search.",
        "SELECT id FROM summary WHERE key NOT IN (SELECT id FROM words_docsize)",
    ),
    (
        "Row {} of the search index stands for nothing.",
        "SELECT id FROM words_docsize WHERE id NOT IN "
        "(SELECT key FROM turn UNION ALL SELECT key FROM tool_call UNION ALL SELECT key FROM summary)",
    ),
    (
        "Tool call {} has the key of a turn.",
        "SELECT id FROM tool_call WHERE key IN (SELECT key FROM turn)",
    ),
    (
        "Summary {} has the key of a turn or tool call.",
        "SELECT id FROM summary WHERE key IN (SELECT key FROM turn UNION ALL SELECT key FROM tool_call)",
    ),
    (
        "Session {} waits for a head that no archive brought.",
        "SELECT id FROM session WHERE awaited_head IS NOT NULL",
    ),
    ("Summary {} covers nothing.", "SELECT id FROM summary WHERE key NOT IN (SELECT summary FROM cover)"),
    (
        "Summary {} covers something that is not stored, or not one level below.",
        f"SELECT DISTINCT id FROM ({WRONG_COVERS}) JOIN summary ON key = summary",
    ),
    (
        "The embedding of row {} belongs to nothing.",
        f"SELECT owner FROM embedding WHERE {OF_NOTHING}",
    ),
    (
        "The embedding of row {} is cut or empty.",
        f"SELECT owner FROM embedding WHERE {WRONG_VECTOR}",
    ),
    (
        "The embedding of row {} is filed under another place than its owner.",
        "SELECT owner FROM embedding LEFT JOIN turn ON turn.key = owner "
        "LEFT JOIN summary ON summary.key = owner "
        "JOIN session ON session.key = coalesce(turn.session, summary.session) "
        "WHERE (embedding.level, embedding.session, embedding.project, embedding.at) IS NOT "
        "(coalesce(summary.level, 0), session.key, session.project, coalesce(turn.started_at, summary.at))",
    ),
    (
        "Turn {} ended and has no summary, but is not listed so.",
        "SELECT id FROM turn WHERE ended_at IS NOT NULL AND id NOT IN (SELECT covered FROM cover) "
        "AND key NOT IN (SELECT key FROM owed WHERE summary)",
    ),
    (
        "Turn {} ended and has no embedding, but is not listed so.",
        "SELECT id FROM turn WHERE ended_at IS NOT NULL AND key NOT IN "
        "(SELECT owner FROM embedding UNION ALL SELECT key FROM owed WHERE vector)",
    ),
    (
        "Summary {} has no embedding, but is not listed so.",
        "SELECT id FROM summary WHERE key NOT IN "
        "(SELECT owner FROM embedding UNION ALL SELECT key FROM owed WHERE vector)",
    ),
    (
        "Row {} of the list of what is to be made stands for nothing, or for what is made.",
        "SELECT key FROM owed WHERE key NOT IN "
        "(SELECT key FROM turn WHERE ended_at IS NOT NULL UNION ALL SELECT key FROM summary) "
        "OR summary AND key IN (SELECT key FROM turn JOIN cover ON covered = id)",
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
