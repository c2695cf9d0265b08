"""Search rows by words: the query is reduced to its rare words, then ranked by BM25.

FTS5 weighs a word by its rarity in everything that is stored. A search is mostly in one project, in which
other words are rare: so in a small one, the best are weighed again by its own counts. The larger it is,
the less that changes, and the more it would cost.
"""

import json
import math
from collections.abc import Iterable, Mapping

from msgspec import Struct

from ragforge.domain.search import HitKind, Query, with_also
from ragforge.store.json_text import storable
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.index import CALL, EVERYWHERE, MEMORY, SUMMARY, TURN, VERSION
from ragforge.store.sqlite.rows import EVER, one, to_ms
from ragforge.store.text import Cut, keywords

TERMS_MAX = 32
ROWS_MAX = 10_000
"""How many rows may be ranked; more frequent words are dropped, or a query would cost the whole history."""
HITS_MAX = 1_000
SURPLUS = 200
"""How many more than wanted are weighed again."""
SMALL_ROWS_MAX = 10_000

# scope, user, reply, near, tools, date: see index.py for why.
WEIGHTS = "0.0, 1.0, 0.1, 0.3, 0.5, 0.5"
SEARCHED = "{user reply near tools date}"

RANKED = f"""
SELECT rowid, bm25(words, {WEIGHTS}) AS score FROM words WHERE words MATCH :match AND rowid >= :floor
"""

# With an infinite weight, BM25 reaches its maximum: the rarity of the word, whatever the row contains.
OF_WORD = f"""
SELECT rowid, bm25(words, {WEIGHTS}) / bm25(words, 0.0, 1e9, 1e9, 1e9, 1e9, 1e9) FROM words
WHERE words MATCH :match AND rowid >= :lowest AND +rowid IN (SELECT value FROM json_each(:rows))
"""

WITHIN = """
AND coalesce((SELECT started_at FROM turn WHERE key = words.rowid),
    (SELECT started_at FROM tool_call WHERE key = words.rowid),
    (SELECT at FROM summary WHERE key = words.rowid),
    (SELECT created_at FROM memory WHERE key = words.rowid),
    (SELECT at FROM version WHERE key = words.rowid)) BETWEEN :since AND :last
"""

# The writer of the turn that it is, is part of, or was derived from; of a memory, also its owner.
BY = """
AND (EXISTS (SELECT 1 FROM turn WHERE turn.key = words.rowid AND turn.person = :by)
    OR EXISTS (SELECT 1 FROM tool_call JOIN turn ON turn.key = tool_call.turn
        WHERE tool_call.key = words.rowid AND turn.person = :by)
    OR EXISTS (SELECT 1 FROM cover JOIN turn ON turn.id = covered
        WHERE cover.summary = words.rowid AND turn.person = :by)
    OR EXISTS (SELECT 1 FROM memory WHERE memory.key = words.rowid AND memory.owned_by = :by)
    OR EXISTS (SELECT 1 FROM evidence JOIN turn ON turn.id = evidence.turn
        WHERE evidence.memory = words.rowid AND turn.person = :by)
    OR EXISTS (SELECT 1 FROM version JOIN turn ON turn.key = version.turn
        WHERE version.key = words.rowid AND turn.person = :by))
"""

KINDS = {
    HitKind.TURN: TURN,
    HitKind.TOOL_CALL: CALL,
    HitKind.SUMMARY: SUMMARY,
    HitKind.MEMORY: MEMORY,
    HitKind.VERSION: VERSION,
}

BEST = "ORDER BY score, rowid DESC LIMIT :limit"


class _Scope(Struct, frozen=True):
    """Where a query searches."""

    holds: tuple[str, ...] = ()
    """What every row must contain: each one token, or alternatives of which one is enough."""
    lacks: str = ""
    """What none may contain."""

    @property
    def is_everywhere(self) -> bool:
        """Whether it is everything that is stored."""
        return not self.holds and not self.lacks

    def expression(self, *searched: str) -> str:
        """Return its rows that also match the query, in FTS5's language."""
        wanted = " AND ".join([*(f"scope : {token}" for token in self.holds), *searched])
        return f"({wanted}) NOT scope : {self.lacks}" if self.lacks else wanted


def matching(connection: Connection, query: Query, cut: Cut) -> dict[int, float]:
    """Return keys of rows with the words, best first, with the scores."""
    scope = _scope(connection, query)
    if scope is None or query.limit <= 0:
        return {}
    size = _size(connection, scope)
    found = _best(connection, query, scope, wanted_words(query.text, cut), size)
    if query.also:
        also = _best(connection, query, scope, wanted_words(" ".join(query.also), cut), size)
        found = with_also(found, also, limit=min(query.limit, HITS_MAX))
    return found


def _best(
    connection: Connection, query: Query, scope: _Scope, words: dict[str, str], size: int
) -> dict[int, float]:
    """Return those with any of these words, best first; size: that of the scope."""
    if not words:
        return {}
    kept = _rarest(connection, scope, words)
    wanted = _expression(scope, kept)
    values: dict[str, object] = {
        "match": wanted,
        # Unless a single word is left that is everywhere, no more than ROWS_MAX rows contain any of them.
        "floor": _floor(connection, wanted) if max(kept.values()) > ROWS_MAX else 0,
        "limit": min(query.limit, HITS_MAX) + SURPLUS,
    }
    dated = query.since is not None or query.until is not None
    if dated:
        values["since"] = EVER if query.since is None else to_ms(query.since)
        values["last"] = -EVER if query.until is None else to_ms(query.until) - 1
    if query.by:
        values["by"] = storable(query.by)
    # Without a date or a name, only the index is read.
    narrowed = f"{WITHIN if dated else ''} {BY if query.by else ''}"
    rows = connection.execute(f"{RANKED} {narrowed} {BEST}", values)
    scores = {key: -score for key, score in rows}
    if size <= SMALL_ROWS_MAX:
        scores = _weighed_again(connection, kept, list(scores), size)
    best = sorted(scores, key=lambda key: (-scores[key], -key))
    return {key: scores[key] for key in best[: min(query.limit, HITS_MAX)]}


def _size(connection: Connection, scope: _Scope) -> int:
    """Return how many rows the scope has; only as far as it matters, and as many for everything stored."""
    if scope.is_everywhere:
        return SMALL_ROWS_MAX + 1
    sql = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    return next(connection.execute(sql, (scope.expression(), SMALL_ROWS_MAX + 1)))[0]


def _weighed_again(
    connection: Connection, words: Mapping[str, int], rows: list[int], size: int
) -> dict[int, float]:
    """Return the scores of the rows by the rarity of the words among so many.

    words: each with how many of these contain it.
    """
    scores = dict.fromkeys(rows, 0.0)
    values = {"lowest": min(rows, default=0), "rows": json.dumps(rows)}
    for word, count in words.items():
        rarity = math.log(1 + (size - count + 0.5) / (count + 0.5))
        for key, share in connection.execute(OF_WORD, {"match": f'{SEARCHED} : "{word}"', **values}):
            scores[key] += rarity * share
    return scores


def wanted_words(text: str, cut: Cut) -> dict[str, str]:
    """Return the words to search for, by their stems."""
    return keywords(text, cut, limit=TERMS_MAX)


def _scope(connection: Connection, query: Query) -> _Scope | None:
    """Return where the query searches; None if it cannot match: no such project or session, or no kind."""
    if not query.kinds:
        return None
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
    if query.project_id and _holds_any(connection, f"scope : {EVERYWHERE}"):
        tokens[0] = f"({tokens[0]} OR {EVERYWHERE})"
    wanted = [token for kind, token in KINDS.items() if kind in query.kinds]
    others = [token for token in KINDS.values() if token not in wanted]
    if tokens and len(others) <= len(wanted):
        # Within a scope, excluding what few rows contain takes a fraction of the time.
        return _Scope(tuple(tokens), f"({' OR '.join(others)})" if others else "")
    return _Scope((*tokens, f"({' OR '.join(wanted)})") if others else tuple(tokens))


def _holds_any(connection: Connection, expression: str) -> bool:
    return one(connection, "SELECT 1 FROM words WHERE words MATCH ? LIMIT 1", (expression,)) is not None


def _rarest(connection: Connection, scope: _Scope, words: dict[str, str]) -> dict[str, int]:
    """Return the words with how many rows within the scope contain each, rarest first; at least one.

    No more than have ROWS_MAX rows together.
    """
    counted = sorted(
        (_count(connection, scope, word), position, word) for position, word in enumerate(words.values())
    )
    kept: dict[str, int] = {}
    rows = 0
    for count, _, word in counted:
        rows += count
        if rows > ROWS_MAX and kept:
            break
        # A word that is nowhere costs nothing and finds nothing.
        if count:
            kept[word] = count
    return kept or {counted[0][2]: 0}


def _count(connection: Connection, scope: _Scope, word: str) -> int:
    """Return how many rows contain the word, counted only as far as it matters."""
    found = one(
        connection,
        "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)",
        (_expression(scope, [word]), ROWS_MAX + 1),
    )
    return found[0] if found else 0


def _floor(connection: Connection, expression: str) -> int:
    """Return the lowest row to rank: words that are everywhere find only the newest ROWS_MAX."""
    found = one(
        connection,
        "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
        (expression, ROWS_MAX - 1),
    )
    return found[0] if found else 0


def _expression(scope: _Scope, words: Iterable[str]) -> str:
    """Return the query in FTS5's language. A word only has letters and digits, so quotes make it harmless."""
    wanted = " OR ".join(f'"{word}"' for word in words)
    return scope.expression(f"{SEARCHED} : ({wanted})")
