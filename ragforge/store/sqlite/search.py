"""Finding in SQLite: by words, by words and meaning together, and one step further through the graph."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from msgspec.structs import replace

from ragforge.domain.errors import StoreDamaged
from ragforge.domain.search import Candidate, Hit, HitKind, Query, Related
from ragforge.domain.vectors import Nearby, check_vector
from ragforge.store.index_text import call_line, said
from ragforge.store.sqlite.connection import Connection, Database, Row
from ragforge.store.sqlite.neighbours import related_turns
from ragforge.store.sqlite.places import Place, keys_by_id, places_of
from ragforge.store.sqlite.vectors import SqliteVectors
from ragforge.store.sqlite.words import matching, wanted_words
from ragforge.store.text import Cut, excerpt, tokenizer

# Of the keys in a JSON list.
CONTENTS = {
    HitKind.TURN: "SELECT turn.key, '', user, assistant FROM json_each(?) "
    "CROSS JOIN turn ON turn.key = value",
    HitKind.TOOL_CALL: "SELECT tool_call.key, name, args, result FROM json_each(?) "
    "CROSS JOIN tool_call ON tool_call.key = value",
    HitKind.SUMMARY: "SELECT summary.key, '', findings, text FROM json_each(?) "
    "CROSS JOIN summary ON summary.key = value",
    HitKind.MEMORY: "SELECT memory.key, '', topic, content FROM json_each(?) "
    "CROSS JOIN memory ON memory.key = value",
    HitKind.VERSION: "SELECT version.key, '', json_array(title, label, note), words FROM json_each(?) "
    "CROSS JOIN version ON version.key = value",
}

SESSIONS = "SELECT session.key, title, cwd FROM json_each(?) CROSS JOIN session ON session.key = value"
DEPTHS = "SELECT turn.key, depth FROM json_each(?) CROSS JOIN turn ON turn.key = value"


class SqliteSearch:
    """Implements `Search`."""

    def __init__(self, database: Database, vectors: SqliteVectors) -> None:
        self._database = database
        self._vectors = vectors

    async def words(self, query: Query) -> list[Hit]:
        """What holds the words, best first; any input is fine."""

        def read(connection: Connection) -> list[Hit]:
            cut = tokenizer(connection)
            return _hits(connection, matching(connection, query, cut), query.text, cut)

        return await self._database.read(read)

    async def candidates(self, query: Query, nearby: Nearby | None = None) -> list[Candidate]:
        """The best by words, then the nearest that are not among them.

        Raises UsageError for a vector that cannot be compared.
        """
        if nearby is None:
            return await self._database.read(
                lambda connection: _candidates(connection, _words_of(connection, query), {})
            )
        check_vector(nearby.vector, of="the question")
        try:
            return await self._side_by_side(query, nearby)
        except StoreDamaged:
            # Or something was deleted between the two reads: here there is nothing between.
            return await self._database.read_beside(
                lambda connection: self._with_meanings(
                    connection,
                    nearby,
                    _words_of(connection, query),
                    self._vectors.nearest_in(connection, nearby),
                )
            )

    async def _side_by_side(self, query: Query, nearby: Nearby) -> list[Candidate]:
        """By words and by meaning at the same time: both take long where the history is."""
        words, near = await asyncio.gather(
            self._database.read(lambda connection: _words_of(connection, query)),
            self._database.read_beside(lambda connection: self._vectors.nearest_in(connection, nearby)),
        )
        return await self._database.read_beside(
            lambda connection: self._with_meanings(connection, nearby, words, near)
        )

    def _with_meanings(
        self,
        connection: Connection,
        nearby: Nearby,
        words: Mapping[int, float],
        near: Mapping[int, float],
    ) -> list[Candidate]:
        """What was found by words with its nearness, then what is near alone."""
        beside = self._vectors.scores_in(connection, nearby, words.keys() - near.keys())
        return _candidates(connection, words, {**near, **beside})

    async def related(self, candidates: Sequence[Candidate], *, limit: int = 200) -> list[Related]:
        """Turns one step away from each, in the order of the candidates."""
        return await self._database.read(
            lambda connection: related_turns(connection, candidates, limit=limit)
        )

    async def hits(self, candidates: Sequence[Candidate], text: str) -> list[Hit]:
        """The candidates as hits, but for those that were deleted.

        A hit's score is the candidate's by words, else that by meaning.
        """

        def read(connection: Connection) -> list[Hit]:
            keys = keys_by_id(connection, ((each.kind, each.id) for each in candidates))
            scored = {
                keys[each.kind, each.id]: each.words if each.words is not None else each.meaning or 0.0
                for each in candidates
                if (each.kind, each.id) in keys
            }
            return _hits(connection, scored, text, tokenizer(connection))

        return await self._database.read(read)


def _words_of(connection: Connection, query: Query) -> dict[int, float]:
    return matching(connection, query, tokenizer(connection))


def _candidates(
    connection: Connection, words: Mapping[int, float], meanings: Mapping[int, float]
) -> list[Candidate]:
    """Those found by words, then those found by meaning alone."""
    places = places_of(connection, dict.fromkeys((*words, *meanings)))
    return [
        replace(place.found, words=words.get(place.key), meaning=meanings.get(place.key)) for place in places
    ]


def _hits(connection: Connection, scored: dict[int, float], text: str, cut: Cut) -> list[Hit]:
    stems = frozenset(wanted_words(text, cut))
    places = places_of(connection, scored)
    contents: dict[int | None, Row] = {}
    for kind in dict.fromkeys(place.found.kind for place in places):
        keys = [place.key for place in places if place.found.kind is kind]
        contents |= _by_key(connection, CONTENTS[kind], keys)
    sessions = _by_key(connection, SESSIONS, {place.session for place in places})
    depths = _by_key(connection, DEPTHS, {place.turn for place in places})
    hits: list[Hit] = []
    for place in places:
        around = (*sessions.get(place.session, ("", "")), *depths.get(place.turn, (-1,)))
        hits.append(_hit(place, scored[place.key], around, contents[place.key], stems, cut))
    return hits


def _by_key(connection: Connection, sql: str, keys: Iterable[int | None]) -> dict[int | None, Row]:
    """The rows by their first column, which is left out."""
    return {row[0]: row[1:] for row in connection.execute(sql, (json.dumps(list(keys)),))}


def _hit(place: Place, score: float, around: Row, contents: Row, stems: frozenset[str], cut: Cut) -> Hit:
    """around: title and folder of its session, and the depth of its turn."""
    title, cwd, depth = around
    found = place.found
    tool, first, second = contents
    match found.kind:
        case HitKind.TURN:
            texts = [said(first), second]
        case HitKind.TOOL_CALL:
            texts = [call_line(tool, first), second]
        case HitKind.SUMMARY:
            texts = [second, *json.loads(first)]
        case HitKind.MEMORY:
            texts = [second]
        case HitKind.VERSION:
            texts = [*json.loads(first), second]
        case _:
            assert_never(found.kind)
    piece = excerpt(texts, stems, cut)
    return Hit(
        kind=found.kind,
        id=found.id,
        session_id=found.session_id,
        session_title=title,
        turn_id=found.turn_id,
        turn_index=depth,
        at=found.at,
        score=score,
        text=piece.text,
        marks=piece.marks,
        cwd=cwd,
        tool=tool,
        level=found.level,
        abandoned=found.abandoned,
        memory_type=place.memory_type,
        replaced=found.replaced,
        version_id=found.id if found.kind is HitKind.VERSION else "",
    )
