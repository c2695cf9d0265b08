"""The place of a search result in SQLite: its session, its turn, and whether that is abandoned."""

import json
from collections.abc import Iterable, Mapping

import apsw

from ragforge.domain.search import Candidate, HitKind
from ragforge.store.sqlite.abandonment import MEMORY_ABANDONED, REPLACED, SUMMARY_ABANDONED, TURN_ABANDONED
from ragforge.store.sqlite.connection import Connection, Row
from ragforge.store.sqlite.rows import from_ms, one

NO_SCORES: Mapping[int, float] = {}

TABLES: Mapping[HitKind, str] = {
    HitKind.TURN: "turn",
    HitKind.TOOL_CALL: "tool_call",
    HitKind.SUMMARY: "summary",
    HitKind.MEMORY: "memory",
    HitKind.VERSION: "version",
}

# Of the keys in a JSON list: key, id, time, session and turn by id, level, importance, replaced, owner,
# abandoned. Cross joins: each key is looked up, no table is scanned. The most frequent kind comes first.
PLACES: Mapping[HitKind, str] = {
    HitKind.TURN: f"""
SELECT value, turn.id, turn.started_at, session.id, turn.id, 0, 0.0, 0, '',
    {TURN_ABANDONED.format("turn.key")}
FROM json_each(:keys) CROSS JOIN turn ON turn.key = value CROSS JOIN session ON session.key = turn.session
""",
    HitKind.TOOL_CALL: f"""
SELECT value, tool_call.id, tool_call.started_at, session.id, turn.id, 0, 0.0, 0, '',
    {TURN_ABANDONED.format("turn.key")}
FROM json_each(:keys) CROSS JOIN tool_call ON tool_call.key = value
    CROSS JOIN turn ON turn.key = tool_call.turn CROSS JOIN session ON session.key = turn.session
""",
    HitKind.SUMMARY: f"""
SELECT value, summary.id, summary.at, session.id, NULL, summary.level, 0.0, 0, '',
    :abandoned AND {SUMMARY_ABANDONED.format("summary.key")}
FROM json_each(:keys) CROSS JOIN summary ON summary.key = value
    CROSS JOIN session ON session.key = summary.session
""",
    HitKind.MEMORY: f"""
SELECT value, memory.id, memory.created_at, coalesce(session.id, ''), coalesce(newest.id, ''), 0,
    memory.importance, {REPLACED.format("memory.key")}, memory.owned_by,
    :abandoned AND {MEMORY_ABANDONED.format("memory")}
FROM json_each(:keys) CROSS JOIN memory ON memory.key = value
    LEFT JOIN session ON session.id = memory.session
    LEFT JOIN turn AS newest ON newest.key = (
        SELECT turn.key FROM evidence JOIN turn ON turn.id = evidence.turn WHERE evidence.memory = memory.key
        ORDER BY turn.started_at DESC, turn.depth DESC, turn.id DESC LIMIT 1)
""",
    HitKind.VERSION: f"""
SELECT value, version.id, version.at, coalesce(session.id, ''), coalesce(turn.id, ''), 0, 0.0, 0, '',
    {TURN_ABANDONED.format("turn.key")}
FROM json_each(:keys) CROSS JOIN version ON version.key = value
    LEFT JOIN session ON session.key = version.session LEFT JOIN turn ON turn.key = version.turn
""",
}

# A summary lists what it covers oldest first: its newest turn is at the end of the last of each level.
NEWEST_TURN = """
WITH RECURSIVE down (id, level) AS (
    SELECT id, level FROM summary WHERE key = ?
    UNION ALL
    SELECT (SELECT covered FROM cover WHERE cover.summary = summary.key ORDER BY position DESC LIMIT 1),
        down.level - 1
    FROM down JOIN summary ON summary.id = down.id WHERE down.level > 0
)
SELECT turn.id FROM down JOIN turn ON turn.id = down.id
"""


def candidates_of(
    connection: Connection,
    keys: Iterable[int],
    words: Mapping[int, float] = NO_SCORES,
    meanings: Mapping[int, float] = NO_SCORES,
) -> list[Candidate]:
    """Return these, in order, except summaries whose turns an archive has yet to bring.

    words, meanings: the scores of each, by its key.
    """
    wanted = list(dict.fromkeys(keys))
    # Mostly nothing is abandoned, and then the walk down from each summary is unnecessary.
    any_abandoned = one(connection, "SELECT 1 FROM left_turn LIMIT 1") is not None
    by_key: dict[int, tuple[HitKind, Row]] = {}
    lost: list[int] = wanted
    for kind, sql in PLACES.items():
        if not lost:
            break
        rows = connection.execute(sql, {"keys": json.dumps(lost), "abandoned": any_abandoned})
        by_key |= {row[0]: (kind, row) for row in rows}
        lost = [key for key in lost if key not in by_key]
    if lost:
        raise apsw.CorruptError(f"the search index contains row {lost[0]}, which refers to nothing")
    found = (_candidate(connection, *by_key[key], words.get(key), meanings.get(key)) for key in wanted)
    return [each for each in found if each is not None]


def keys_by_id(
    connection: Connection, wanted: Iterable[tuple[HitKind, str]]
) -> dict[tuple[HitKind, str], int]:
    """Return the keys of the stored ones with these ids."""
    ids: dict[HitKind, list[str]] = {}
    for kind, identifier in wanted:
        ids.setdefault(kind, []).append(identifier)
    return {
        (kind, identifier): key
        for kind, those in ids.items()
        for identifier, key in connection.execute(
            f"SELECT found.id, found.key FROM json_each(?) CROSS JOIN {TABLES[kind]} AS found "
            "ON found.id = value",
            (json.dumps(those),),
        )
    }


def _candidate(
    connection: Connection, kind: HitKind, row: Row, words: float | None, meaning: float | None
) -> Candidate | None:
    key, identifier, at, session_id, turn_id, level, importance, replaced, owner, abandoned = row
    if kind is HitKind.SUMMARY:
        newest = one(connection, NEWEST_TURN, (key,))
        if newest is None:
            return None
        (turn_id,) = newest
    return Candidate(
        kind,
        identifier,
        session_id,
        turn_id,
        from_ms(at),
        words,
        meaning,
        bool(abandoned),
        importance,
        level,
        bool(replaced),
        owner,
    )
