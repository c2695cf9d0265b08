"""Finding in SQLite: by words, and by words and meaning together."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

import apsw

from ragforge.domain.search import Candidate, Hit, HitKind, Query
from ragforge.domain.vectors import Nearby, check_vector
from ragforge.store.index_text import call_line, said
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.matching import matching, wanted_words
from ragforge.store.sqlite.rows import from_ms, one
from ragforge.store.sqlite.vectors import SqliteVectors
from ragforge.store.text import Cut, excerpt, tokenizer

TABLES = {HitKind.TURN: "turn", HitKind.TOOL_CALL: "tool_call", HitKind.SUMMARY: "summary"}

# Where each lies: kind, id, time, session, turn, level; a summary's turn is found by its id.
PLACES = """
SELECT 'turn', id, started_at, session, key, 0 FROM turn WHERE key = :key
UNION ALL
SELECT 'tool_call', tool_call.id, tool_call.started_at, session, turn.key, 0
    FROM tool_call JOIN turn ON turn.key = tool_call.turn WHERE tool_call.key = :key
UNION ALL
SELECT 'summary', id, at, session, NULL, level FROM summary WHERE key = :key
"""

# A summary names what it covers oldest first: its newest turn is at the end of the last of each level.
NEWEST_TURN = """
WITH RECURSIVE down (id, level) AS (
    SELECT id, level FROM summary WHERE key = ?
    UNION ALL
    SELECT (SELECT covered FROM cover WHERE cover.summary = summary.key ORDER BY position DESC LIMIT 1),
        down.level - 1
    FROM down JOIN summary ON summary.id = down.id WHERE down.level > 0
)
SELECT turn.key FROM down JOIN turn ON turn.id = down.id
"""

CONTENTS = {
    HitKind.TURN: "SELECT '', user, assistant FROM turn WHERE key = ?",
    HitKind.TOOL_CALL: "SELECT name, args, result FROM tool_call WHERE key = ?",
    HitKind.SUMMARY: "SELECT '', findings, text FROM summary WHERE key = ?",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where something that was found lies."""

    kind: HitKind
    id: str
    at: datetime
    session: int
    turn: int
    level: int


class SqliteSearch:
    """Implements `Search`."""

    def __init__(self, database: Database, vectors: SqliteVectors) -> None:
        self._database = database
        self._vectors = vectors

    async def words(self, query: Query) -> list[Hit]:
        """Turns, tool calls and summaries that hold the words, best first; any input is fine."""

        def read(connection: Connection) -> list[Hit]:
            cut = tokenizer(connection)
            found = matching(connection, query, cut)
            return _hits(connection, list(found.items()), query.text, cut)

        return await self._database.read(read)

    async def candidates(self, query: Query, nearby: Nearby | None = None) -> list[Candidate]:
        """The best by words, then the nearest that are not among them.

        Raises UsageError for a vector that cannot be compared.
        """
        if nearby is not None:
            check_vector(nearby.vector, of="the question")
        return await self._database.read(lambda connection: self._candidates(connection, query, nearby))

    async def hits(self, candidates: Sequence[Candidate], text: str) -> list[Hit]:
        """The candidates as hits, but for those that were deleted.

        A hit's score is the candidate's by words, else that by meaning.
        """

        def read(connection: Connection) -> list[Hit]:
            scored = [
                (row[0], candidate.words if candidate.words is not None else candidate.meaning or 0.0)
                for candidate in candidates
                if (row := one(connection, _key_of(candidate), (candidate.id,))) is not None
            ]
            return _hits(connection, scored, text, tokenizer(connection))

        return await self._database.read(read)

    def _candidates(self, connection: Connection, query: Query, nearby: Nearby | None) -> list[Candidate]:
        words = matching(connection, query, tokenizer(connection))
        meanings: dict[int, float] = {}
        if nearby is not None:
            near = self._vectors.nearest_in(connection, nearby)
            meanings = {key: score for key, _, _, score in near}
            meanings |= self._vectors.scores_in(connection, nearby, words.keys() - meanings.keys())
        found: list[Candidate] = []
        for key in dict.fromkeys((*words, *meanings)):
            place = _place(connection, key)
            if place is None:
                continue
            session, turn = _names(connection, place)
            found.append(
                Candidate(place.kind, place.id, session, turn, place.at, words.get(key), meanings.get(key))
            )
        return found


def _key_of(candidate: Candidate) -> str:
    return f"SELECT key FROM {TABLES[candidate.kind]} WHERE id = ?"


def _names(connection: Connection, place: Place) -> tuple[str, str]:
    return next(
        connection.execute(
            "SELECT session.id, turn.id FROM session, turn WHERE session.key = ? AND turn.key = ?",
            (place.session, place.turn),
        )
    )


def _place(connection: Connection, key: int) -> Place | None:
    """Where it lies; None for a summary whose turns an archive has yet to bring."""
    row = one(connection, PLACES, {"key": key})
    if row is None:
        raise apsw.CorruptError(f"the search index holds row {key}, which stands for nothing")
    kind, identifier, at, session, turn, level = row
    if turn is None:
        (turn,) = one(connection, NEWEST_TURN, (key,)) or (None,)
    if turn is None:
        return None
    return Place(HitKind(kind), identifier, from_ms(at), session, turn, level)


def _hits(connection: Connection, scored: list[tuple[int, float]], text: str, cut: Cut) -> list[Hit]:
    stems = frozenset(wanted_words(text, cut))
    places = ((key, score, _place(connection, key)) for key, score in scored)
    return [
        _hit(connection, key, place, score, stems, cut) for key, score, place in places if place is not None
    ]


def _hit(
    connection: Connection, key: int, place: Place, score: float, stems: frozenset[str], cut: Cut
) -> Hit:
    session, title, cwd, turn, depth = next(
        connection.execute(
            "SELECT session.id, title, cwd, turn.id, depth FROM session, turn "
            "WHERE session.key = ? AND turn.key = ?",
            (place.session, place.turn),
        )
    )
    tool, first, second = next(connection.execute(CONTENTS[place.kind], (key,)))
    match place.kind:
        case HitKind.TURN:
            texts = [said(first), second]
        case HitKind.TOOL_CALL:
            texts = [call_line(tool, first), second]
        case HitKind.SUMMARY:
            texts = [second, *json.loads(first)]
        case _:
            assert_never(place.kind)
    piece = excerpt(texts, stems, cut)
    return Hit(
        kind=place.kind,
        id=place.id,
        session_id=session,
        session_title=title,
        turn_id=turn,
        turn_index=depth,
        at=place.at,
        score=score,
        text=piece.text,
        marks=piece.marks,
        cwd=cwd,
        tool=tool,
        level=place.level,
    )
