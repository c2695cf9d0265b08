"""What is wrong with a database, in sentences."""

from collections.abc import Iterator

from ragforge.domain.blas import load_numpy
from ragforge.store.sqlite.abandonment import KEPT
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.owed import REMEMBERED
from ragforge.store.sqlite.rows import one
from ragforge.store.sqlite.vectors import MEMORY_PLACE

FINDINGS_MAX = 20

# Conditions on rows, for `repair` too.
OF_NOTHING = (
    "owner NOT IN (SELECT key FROM turn UNION ALL SELECT key FROM summary UNION ALL SELECT key FROM memory)"
)
UNOWNED = """
(owner_kind, owner) NOT IN (
    SELECT 'turn', id FROM turn UNION ALL SELECT 'session', id FROM session
    UNION ALL SELECT 'project', id FROM project
)
"""
WRONG_VECTOR = "length(vector) != 4 * dimensions OR vector = zeroblob(length(vector))"
WRONG_COVERS = """
SELECT cover.summary, position FROM cover JOIN summary AS above ON above.key = cover.summary
WHERE above.level - 1 IS NOT
    coalesce((SELECT 0 FROM turn WHERE id = covered), (SELECT level FROM summary WHERE id = covered))
"""
LACKING_VERSIONS = """
SELECT key FROM turn WHERE ended_at IS NOT NULL
    AND key NOT IN (SELECT turn FROM version WHERE turn IS NOT NULL)
"""

# What search finds: the tables whose keys are rows of words, and which of their rows (see `index_version`).
FOUND = {
    "turn": "true",
    "tool_call": "true",
    "summary": "true",
    "memory": REMEMBERED,
    "version": "NOT (turn IS NOT NULL AND files = 0 AND label = '' AND note = '')",
}


def _laws_of_words() -> Iterator[tuple[str, str]]:
    """Return the checks that everything searchable has its row, no other row exists, and no key is shared."""
    before: list[str] = []
    for table, which in FOUND.items():
        noun = table.replace("_", " ").capitalize()
        yield (
            f"{noun} {{}} cannot be found by search.",
            f"SELECT id FROM {table} WHERE {which} AND key NOT IN (SELECT id FROM words_docsize)",
        )
        if before:
            keys = " UNION ALL ".join(f"SELECT key FROM {each}" for each in before)
            nouns = ", ".join(before).replace("_", " ")
            nouns = " or ".join(nouns.rsplit(", ", 1))
            yield f"{noun} {{}} has the key of a {nouns}.", f"SELECT id FROM {table} WHERE key IN ({keys})"
        before.append(table)
    keys = " UNION ALL ".join(f"SELECT key FROM {table} WHERE {which}" for table, which in FOUND.items())
    yield (
        "Row {} of the search index refers to nothing.",
        f"SELECT id FROM words_docsize WHERE id NOT IN ({keys})",
    )


# The invariants, and the rows that violate them.
LAWS: tuple[tuple[str, str], ...] = (
    (
        "Session {} has a head that is not stored.",
        "SELECT id FROM session WHERE head IS NOT NULL AND head NOT IN (SELECT key FROM turn)",
    ),
    (
        "Turn {} is not one level below its parent.",
        "SELECT turn.id FROM turn LEFT JOIN turn AS parent ON parent.key = turn.parent "
        "WHERE turn.depth != coalesce(parent.depth + 1, 0)",
    ),
    *_laws_of_words(),
    (
        "Version {} does not come after its parent, or belongs to another project.",
        "SELECT DISTINCT version.id FROM descent JOIN version ON version.key = descent.version "
        "JOIN version AS above ON above.key = descent.parent "
        "WHERE (version.at, version.id) <= (above.at, above.id) OR version.project != above.project",
    ),
    (
        "Branch {} points to a version of another project.",
        "SELECT name FROM branch JOIN version ON version.key = branch.version "
        "WHERE version.project != branch.project",
    ),
    (
        "Turn {} is listed as lacking a version, but has one, has not ended or is not stored.",
        "SELECT coalesce(id, unversioned.turn) FROM unversioned "
        f"LEFT JOIN turn ON turn.key = unversioned.turn WHERE unversioned.turn NOT IN ({LACKING_VERSIONS})",
    ),
    (
        "Turn {} is listed as abandoned although it is not, or the other way round.",
        f"{KEPT} SELECT id FROM turn "
        "WHERE (key IN (SELECT key FROM kept)) = (key IN (SELECT turn FROM left_turn))",
    ),
    (
        "Row {} of the list of abandoned turns refers to nothing.",
        "SELECT turn FROM left_turn WHERE turn NOT IN (SELECT key FROM turn)",
    ),
    (
        "Session {} waits for a head that no archive contained.",
        "SELECT id FROM session WHERE awaited_head IS NOT NULL",
    ),
    ("Summary {} covers nothing.", "SELECT id FROM summary WHERE key NOT IN (SELECT summary FROM cover)"),
    (
        "Summary {} covers something that is not stored, or not one level below.",
        f"SELECT DISTINCT id FROM ({WRONG_COVERS}) JOIN summary ON key = summary",
    ),
    (
        "Derived record {} belongs to something that is not stored.",
        f"SELECT id FROM derived WHERE {UNOWNED}",
    ),
    (
        "The embedding of row {} belongs to nothing.",
        f"SELECT owner FROM embedding WHERE {OF_NOTHING}",
    ),
    (
        "The code of row {} belongs to no embedding.",
        "SELECT owner FROM vector_code WHERE owner NOT IN (SELECT owner FROM embedding)",
    ),
    (
        "The embedding of row {} is truncated or empty.",
        f"SELECT owner FROM embedding WHERE {WRONG_VECTOR}",
    ),
    (
        "The embedding of row {} has a different scope than its owner.",
        "SELECT owner FROM embedding LEFT JOIN turn ON turn.key = owner "
        "LEFT JOIN summary ON summary.key = owner "
        "JOIN session ON session.key = coalesce(turn.session, summary.session) "
        "WHERE (embedding.level, embedding.session, embedding.project, embedding.at) IS NOT "
        "(coalesce(summary.level, 0), session.key, session.project, coalesce(turn.started_at, summary.at)) "
        f"UNION SELECT owner FROM embedding JOIN ({MEMORY_PLACE}) AS place ON place.key = owner "
        "WHERE (embedding.level, embedding.session, embedding.project, embedding.at) IS NOT "
        "(place.level, place.session, place.project, place.at)",
    ),
    (
        "Turn {} has ended without a summary, but is not listed as lacking one.",
        "SELECT id FROM turn WHERE ended_at IS NOT NULL AND id NOT IN (SELECT covered FROM cover) "
        "AND key NOT IN (SELECT key FROM owed WHERE summary)",
    ),
    (
        "Turn {} has ended without an embedding, but is not listed as lacking one.",
        "SELECT id FROM turn WHERE ended_at IS NOT NULL AND key NOT IN "
        "(SELECT owner FROM embedding UNION ALL SELECT key FROM owed WHERE vector)",
    ),
    (
        "Summary {} has no embedding, but is not listed as lacking one.",
        "SELECT id FROM summary WHERE key NOT IN "
        "(SELECT owner FROM embedding UNION ALL SELECT key FROM owed WHERE vector)",
    ),
    (
        "Memory {} has no embedding, but is not listed as lacking one.",
        f"SELECT id FROM memory WHERE {REMEMBERED} AND key NOT IN "
        "(SELECT owner FROM embedding UNION ALL SELECT key FROM owed WHERE vector)",
    ),
    (
        "Row {} of the list of pending work refers to nothing, or to finished work.",
        "SELECT key FROM owed WHERE key NOT IN "
        "(SELECT key FROM turn WHERE ended_at IS NOT NULL UNION ALL SELECT key FROM summary "
        f"UNION ALL SELECT key FROM memory WHERE {REMEMBERED}) "
        "OR summary AND key IN (SELECT key FROM turn JOIN cover ON covered = id)",
    ),
)


def findings(connection: Connection) -> list[str]:
    """Return all violations, at most FINDINGS_MAX of each kind; empty if the database is sound."""
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
    return found + _wrong_blocks(connection)


def _wrong_blocks(connection: Connection) -> list[str]:
    if one(connection, "SELECT 1 FROM embedder WHERE (sealed_change, sealed_owner) > (0, 0)") is None:
        return []
    load_numpy()
    from ragforge.store.sqlite.vector_blocks import wrong_blocks

    wrong = wrong_blocks(connection)[:FINDINGS_MAX]
    return [f"The block of codes from row {first} on does not match its embeddings." for first in wrong]
