"""Finding by words in SQLite: what is asked is reduced to its rare words, then ranked by BM25."""

import apsw

from ragforge.domain.search import Hit, HitKind, Query
from ragforge.store.index_text import call_line, said
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.rows import from_ms, one, to_ms
from ragforge.store.text import Cut, excerpt, keywords, tokenizer

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
    (SELECT started_at FROM tool_call WHERE key = words.rowid)) >= :since
"""

BEST = "ORDER BY score, rowid DESC LIMIT :limit"

TURN = """
SELECT turn.id, session.id, session.title, turn.id, turn.depth, turn.started_at, session.cwd, '',
    turn.user, turn.assistant
FROM turn JOIN session ON session.key = turn.session WHERE turn.key = ?
"""

CALL = """
SELECT tool_call.id, session.id, session.title, turn.id, turn.depth, tool_call.started_at, session.cwd,
    tool_call.name, tool_call.args, tool_call.result
FROM tool_call JOIN turn ON turn.key = tool_call.turn JOIN session ON session.key = turn.session
WHERE tool_call.key = ?
"""


class SqliteSearch:
    """Implements `Search`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def words(self, query: Query) -> list[Hit]:
        """Turns and tool calls that hold the words, best first; any input is fine, none is an error."""
        return await self._database.read(lambda connection: _search(connection, query))


def _search(connection: Connection, query: Query) -> list[Hit]:
    cut = tokenizer(connection)
    scope = _scope(connection, query)
    words = keywords(query.text, cut, limit=TERMS_MAX)
    if scope is None or not words or query.limit <= 0:
        return []
    wanted = _expression(scope, _rarest(connection, scope, words))
    values: dict[str, object] = {
        "match": wanted,
        "floor": _floor(connection, wanted),
        "limit": min(query.limit, HITS_MAX),
    }
    if query.since is not None:
        values["since"] = to_ms(query.since)
    # Without a date nothing but the index is read.
    ranked = list(connection.execute(f"{RANKED} {SINCE if 'since' in values else ''} {BEST}", values))
    stems = frozenset(words)
    return [_hit(connection, key, -score, stems, cut) for key, score in ranked]


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


def _hit(connection: Connection, key: int, score: float, stems: frozenset[str], cut: Cut) -> Hit:
    row = one(connection, TURN, (key,)) or one(connection, CALL, (key,))
    if row is None:
        raise apsw.CorruptError(f"the search index holds row {key}, which stands for nothing")
    identifier, session, title, turn, depth, at, cwd, tool, first, second = row
    line = call_line(tool, first) if tool else said(first)
    piece = excerpt([line, second], stems, cut)
    return Hit(
        kind=HitKind.TOOL_CALL if tool else HitKind.TURN,
        id=identifier,
        session_id=session,
        session_title=title,
        turn_id=turn,
        turn_index=depth,
        at=from_ms(at),
        score=score,
        text=piece.text,
        marks=piece.marks,
        cwd=cwd,
        tool=tool,
    )
