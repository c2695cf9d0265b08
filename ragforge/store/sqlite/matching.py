"""Finding rows by words: what is asked is reduced to its rare words, then ranked by BM25."""

from ragforge.domain.search import Query
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.rows import one, to_ms
from ragforge.store.text import Cut, keywords

TERMS_MAX = 32
ROWS_MAX = 10_000
"""Rows that may be ranked; more frequent words are dropped, else a question costs what the history weighs."""
HITS_MAX = 1_000

# scope, user, reply, near, tools, date: see index.py for why.
WEIGHTS = "0.0, 1.0, 0.1, 0.3, 0.5, 0.5"
SEARCHED = "{user reply near tools date}"

RANKED = f"""
SELECT rowid, bm25(words, {WEIGHTS}) AS score FROM words WHERE words MATCH :match AND rowid >= :floor
"""

SINCE = """
AND coalesce((SELECT started_at FROM turn WHERE key = words.rowid),
    (SELECT started_at FROM tool_call WHERE key = words.rowid),
    (SELECT at FROM summary WHERE key = words.rowid)) >= :since
"""

BEST = "ORDER BY score, rowid DESC LIMIT :limit"


def matching(connection: Connection, query: Query, cut: Cut) -> dict[int, float]:
    """Keys of turns, tool calls and summaries that hold the words, best first, with their scores."""
    scope = _scope(connection, query)
    words = wanted_words(query.text, cut)
    if scope is None or not words or query.limit <= 0:
        return {}
    wanted = _expression(scope, _rarest(connection, scope, words))
    values: dict[str, object] = {
        "match": wanted,
        "floor": _floor(connection, wanted),
        "limit": min(query.limit, HITS_MAX),
    }
    if query.since is not None:
        values["since"] = to_ms(query.since)
    # Without a date nothing but the index is read.
    rows = connection.execute(f"{RANKED} {SINCE if 'since' in values else ''} {BEST}", values)
    return {key: -score for key, score in rows}


def wanted_words(text: str, cut: Cut) -> dict[str, str]:
    """The words to look for, by their stems."""
    return keywords(text, cut, limit=TERMS_MAX)


def _scope(connection: Connection, query: Query) -> list[str] | None:
    """The tokens that every row must hold, or None where nothing can: no such project or session."""
    tokens: list[str] = []
    for letter, table, identifier in (
        ("p", "project", query.project_id),
        ("s", "session", query.session_id),
    ):
        if not identifier:
            continue
        found = one(connection, f"SELECT key FROM {table} WHERE id = ?", (identifier,))
        if found is None:
            return None
        tokens.append(f"{letter}{found[0]}")
    return tokens


def _rarest(connection: Connection, scope: list[str], words: dict[str, str]) -> list[str]:
    """The words, rarest first, as long as their rows within the scope stay below ROWS_MAX; at least one."""
    counted = sorted(
        (_count(connection, scope, word), position, word) for position, word in enumerate(words.values())
    )
    kept: list[str] = []
    rows = 0
    for count, _, word in counted:
        rows += count
        if rows > ROWS_MAX and kept:
            break
        # A word that is nowhere costs nothing and finds nothing.
        if count:
            kept.append(word)
    return kept or [counted[0][2]]


def _count(connection: Connection, scope: list[str], word: str) -> int:
    """Rows that hold the word, counted no further than it matters."""
    found = one(
        connection,
        "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)",
        (_expression(scope, [word]), ROWS_MAX + 1),
    )
    return found[0] if found else 0


def _floor(connection: Connection, expression: str) -> int:
    """The lowest row to rank: words that are everywhere find the newest ROWS_MAX only."""
    found = one(
        connection,
        "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
        (expression, ROWS_MAX - 1),
    )
    return found[0] if found else 0


def _expression(scope: list[str], words: list[str]) -> str:
    """The question in FTS5's language. A word holds letters and digits alone, so quotes make it harmless."""
    wanted = " OR ".join(f'"{word}"' for word in words)
    return " AND ".join([*(f"scope : {token}" for token in scope), f"{SEARCHED} : ({wanted})"])
