"""Search in SQLite: by words, by words and meaning together, and one step further through the graph."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import assert_never

from ragforge.domain.errors import StoreDamaged
from ragforge.domain.search import Candidate, Hit, HitKind, Query, Related
from ragforge.domain.vectors import Nearby, check_vector
from ragforge.store.index_text import call_line, commands_run, said
from ragforge.store.sqlite.connection import Connection, Database, Row
from ragforge.store.sqlite.neighbours import related_turns
from ragforge.store.sqlite.places import TABLES, candidates_of
from ragforge.store.sqlite.vectors import SqliteVectors
from ragforge.store.sqlite.words import matching, wanted_words
from ragforge.store.text import Cut, excerpt, tokenizer

# For each kind, what else is looked up: the name of a tool or the type of a memory, and two texts.
TEXTS = {
    HitKind.TURN: "'', found.user, found.assistant",
    HitKind.TOOL_CALL: "found.name, found.args, found.result",
    HitKind.SUMMARY: "'', found.findings, found.text",
    HitKind.MEMORY: "found.type, '', found.content",
    HitKind.VERSION: "'', json_array(found.title, found.label, found.note), found.words",
}

# Of a JSON list of an id each with its turn's and its session's.
CONTENTS = {
    kind: f"""
SELECT found.id, coalesce(session.title, ''), coalesce(session.cwd, ''), coalesce(turn.depth, -1), {texts}
FROM json_each(?) AS wanted CROSS JOIN {TABLES[kind]} AS found ON found.id = wanted.value ->> 0
    LEFT JOIN turn ON turn.id = wanted.value ->> 1 LEFT JOIN session ON session.id = wanted.value ->> 2
"""
    for kind, texts in TEXTS.items()
}


class SqliteSearch:
    """Implements `Search`."""

    def __init__(self, database: Database, vectors: SqliteVectors) -> None:
        self._database = database
        self._vectors = vectors

    async def words(self, query: Query) -> list[Hit]:
        """Return what contains the words, best first; accepts any input."""

        def read(connection: Connection) -> list[Hit]:
            return _hits(connection, _by_words(connection, query), query.text)

        return await self._database.read(read)

    async def candidates(self, query: Query, nearby: Nearby | None = None) -> list[Candidate]:
        """Return the best by words, then the nearest that are not among them.

        Raises UsageError for a vector that cannot be compared.
        """
        if nearby is None:
            return await self._database.read(lambda connection: _by_words(connection, query))
        check_vector(nearby.vector, of="the question")
        try:
            return await self._side_by_side(query, nearby)
        except StoreDamaged:
            # Or something was deleted between the two reads; here there is nothing in between.
            return await self._database.read_beside(
                lambda connection: self._with_meanings(
                    connection,
                    nearby,
                    _words_of(connection, query),
                    self._vectors.nearest_in(connection, nearby),
                )
            )

    async def _side_by_side(self, query: Query, nearby: Nearby) -> list[Candidate]:
        """Search by words and by meaning in parallel: both take long in a large history."""
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
        """Return the results by words with their similarity, then those found only by meaning."""
        beside = self._vectors.scores_in(connection, nearby, words.keys() - near.keys())
        return candidates_of(connection, (*words, *near), words, {**near, **beside})

    async def related(self, candidates: Sequence[Candidate], *, limit: int = 200) -> list[Related]:
        """Return the turns one step away from each, in the order of the candidates."""
        if not candidates:
            return []
        return await self._database.read(
            lambda connection: related_turns(connection, candidates, limit=limit)
        )

    async def hits(self, candidates: Sequence[Candidate], text: str) -> list[Hit]:
        """Return the candidates as hits, without deleted ones.

        A hit's score is the candidate's by words, else that by meaning.
        """
        if not candidates:
            return []
        return await self._database.read(lambda connection: _hits(connection, candidates, text))


def _words_of(connection: Connection, query: Query) -> dict[int, float]:
    return matching(connection, query, tokenizer(connection))


def _by_words(connection: Connection, query: Query) -> list[Candidate]:
    scores = _words_of(connection, query)
    return candidates_of(connection, scores, scores)


def _hits(connection: Connection, candidates: Sequence[Candidate], text: str) -> list[Hit]:
    cut = tokenizer(connection)
    stems = frozenset(wanted_words(text, cut))
    contents: dict[tuple[HitKind, str], Row] = {}
    for kind in dict.fromkeys(each.kind for each in candidates):
        wanted = [(each.id, each.turn_id, each.session_id) for each in candidates if each.kind is kind]
        rows = connection.execute(CONTENTS[kind], (json.dumps(wanted),))
        contents |= {(kind, row[0]): row[1:] for row in rows}
    there = ((each, contents.get((each.kind, each.id))) for each in candidates)
    return [_hit(each, row, stems, cut) for each, row in there if row is not None]


def _hit(found: Candidate, row: Row, stems: frozenset[str], cut: Cut) -> Hit:
    """row: title and folder of its session, the depth of its turn, and its texts."""
    title, cwd, depth, name, first, second = row
    match found.kind:
        case HitKind.TURN:
            texts = [said(first), second, *filter(None, [commands_run(first)])]
        case HitKind.TOOL_CALL:
            texts = [call_line(name, first), second]
        case HitKind.SUMMARY:
            texts = [second, *json.loads(first)]
        case HitKind.MEMORY:
            texts = [second]
        case HitKind.VERSION:
            texts = [*json.loads(first), second]
        case HitKind.PROGRAM:  # in no index
            texts = []
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
        score=found.words if found.words is not None else found.meaning or 0.0,
        text=piece.text,
        marks=piece.marks,
        cwd=cwd,
        tool=name if found.kind is HitKind.TOOL_CALL else "",
        level=found.level,
        abandoned=found.abandoned,
        memory_type=name if found.kind is HitKind.MEMORY else "",
        replaced=found.replaced,
        version_id=found.id if found.kind is HitKind.VERSION else "",
    )
