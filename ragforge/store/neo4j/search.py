"""Finding in the graph: by words, and by words and meaning together."""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

from ragforge.domain.search import Candidate, Hit, HitKind, Query
from ragforge.domain.vectors import Nearby, Owner, OwnerKind
from ragforge.store.index_text import call_line
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.rows import Label, utc
from ragforge.store.neo4j.schema import WORDS_INDEX
from ragforge.store.neo4j.search_words import lucene, stemmer
from ragforge.store.neo4j.vectors_read import nearest, similar
from ragforge.store.text import excerpt, keywords

TERMS_MAX = 32
HITS_MAX = 1_000

SURPLUS = 4
"""So many times the wanted rows are read at first: those that are equal to the last are put in order too."""
WIDENING = 8
WINDOW_MAX = 100_000
"""The best rows that are looked at, whatever is left of them by the date."""

LABELS = {
    HitKind.TURN: Label.TURN,
    HitKind.TOOL_CALL: Label.CALL,
    HitKind.SUMMARY: Label.SUMMARY,
}

KIND = f"""CASE WHEN n:{Label.TURN} THEN '{HitKind.TURN}'
  WHEN n:{Label.CALL} THEN '{HitKind.TOOL_CALL}' ELSE '{HitKind.SUMMARY}' END"""

RANKED = f"""
CALL db.index.fulltext.queryNodes('{WORDS_INDEX}', $words, {{limit: $window}}) YIELD node AS n, score
WITH n, score ORDER BY score DESC, n.timestamp DESC, n.id DESC
WITH count(n) AS seen, min(score) AS lowest, collect(
  CASE WHEN $since IS NULL OR n.timestamp >= $since THEN {{kind: {KIND}, id: n.id, score: score}} END
) AS found
RETURN seen, lowest, found[..$limit] AS found
"""

# A summary names what it covers oldest first: its newest turn is at the end of the last of each level.
NEWEST_TURN = f"""
MATCH (n)
  ((above:{Label.SUMMARY})-[:SUMMARIZES]->(below) WHERE below.id = last(above.covers))+
  (t:{Label.TURN})
"""

# Each as kind, id, session, turn and time.
PLACES = f"""
MATCH (n:{Label.TURN}) WHERE n.id IN $ids.{HitKind.TURN}
RETURN '{HitKind.TURN}' AS kind, n.id AS id, n.sessionId AS session, n.id AS turn, n.timestamp AS at
UNION ALL
MATCH (n:{Label.CALL}) WHERE n.id IN $ids.{HitKind.TOOL_CALL}
RETURN '{HitKind.TOOL_CALL}' AS kind, n.id AS id, n.sessionId AS session, n.turnId AS turn, n.timestamp AS at
UNION ALL
MATCH (n:{Label.SUMMARY}) WHERE n.id IN $ids.{HitKind.SUMMARY}
{NEWEST_TURN}
RETURN '{HitKind.SUMMARY}' AS kind, n.id AS id, n.sessionId AS session, t.id AS turn, n.timestamp AS at
"""

SESSION = f"""
OPTIONAL MATCH (s:{Label.SESSION} {{sessionId: n.sessionId}})
RETURN n.id AS id, n.sessionId AS session, s.title AS title, s.cwd AS cwd, n.timestamp AS at,
  t.id AS turn, t.turnIndex AS index
"""

CONTENTS = f"""
MATCH (n:{Label.TURN}) WHERE n.id IN $ids.{HitKind.TURN}
WITH n, n AS t
{SESSION}, '{HitKind.TURN}' AS kind, 0 AS level, '' AS tool, [n.userMessage, n.assistantMessage] AS texts
UNION ALL
MATCH (n:{Label.CALL}) WHERE n.id IN $ids.{HitKind.TOOL_CALL}
MATCH (t:{Label.TURN} {{id: n.turnId}})
{SESSION}, '{HitKind.TOOL_CALL}' AS kind, 0 AS level, n.toolName AS tool, [n.toolArgs, n.toolResult] AS texts
UNION ALL
MATCH (n:{Label.SUMMARY}) WHERE n.id IN $ids.{HitKind.SUMMARY}
{NEWEST_TURN}
{SESSION}, '{HitKind.SUMMARY}' AS kind, n.level AS level, '' AS tool, n.summary + n.keyFindings AS texts
"""

Key = tuple[HitKind, str]
"""What was found: its kind and its id."""


async def words(graph: Graph, query: Query) -> list[Hit]:
    """Turns, tool calls and summaries that hold the words, best first; any input is fine."""
    return await _hits(graph, await _ranked(graph, query), query.text)


async def candidates(graph: Graph, query: Query, nearby: Nearby | None = None) -> list[Candidate]:
    """The best by words, then the nearest that are not among them.

    Raises UsageError for a vector that cannot be compared.
    """
    if nearby is None:
        ranked, meanings = await _ranked(graph, query), dict[Key, float]()
    else:
        ranked, near = await asyncio.gather(_ranked(graph, query), nearest(graph, nearby))
        meanings = {_key(each.owner): each.score for each in near}
        owners = [Owner(OwnerKind(kind), id_) for kind, id_ in ranked if kind is not HitKind.TOOL_CALL]
        others = [owner for owner in owners if _key(owner) not in meanings]
        meanings |= {_key(owner): score for owner, score in (await similar(graph, others, nearby)).items()}
    keys = list(dict.fromkeys((*ranked, *meanings)))
    if not keys:
        return []
    places = {_key_of(row): row for row in await graph.read(PLACES, ids=_ids(keys))}
    return [
        Candidate(key[0], key[1], row["session"], row["turn"], row["at"], ranked.get(key), meanings.get(key))
        for key in keys
        # What was deleted meanwhile, and a summary whose turns an archive has yet to bring, has no place.
        if (row := places.get(key)) is not None
    ]


async def hits(graph: Graph, found: Sequence[Candidate], text: str) -> list[Hit]:
    """The candidates as hits, but for those that were deleted; scores are those by words, else by meaning."""
    scored = {
        (each.kind, each.id): each.words if each.words is not None else each.meaning or 0.0 for each in found
    }
    return await _hits(graph, scored, text)


async def _ranked(graph: Graph, query: Query) -> dict[Key, float]:
    """What holds the words, best first, newest first of equals, with the scores."""
    stems = keywords(query.text, stemmer(), limit=TERMS_MAX)
    limit = min(query.limit, HITS_MAX)
    if not stems or limit <= 0:
        return {}
    wanted = lucene(stems, project_id=query.project_id, session_id=query.session_id)
    since = None if query.since is None else utc(query.since)
    window = SURPLUS * limit
    while True:
        (answer,) = await graph.read(RANKED, words=wanted, since=since, window=window, limit=limit)
        if answer["seen"] < window or window >= WINDOW_MAX or _is_decided(answer, limit):
            return {_key_of(row): row["score"] for row in answer["found"]}
        window = min(WIDENING * window, WINDOW_MAX)


def _is_decided(answer: Mapping[str, Any], limit: int) -> bool:
    """Whether nothing beyond the rows that were read can be among the best, not even as an equal."""
    found = answer["found"]
    return len(found) == limit and found[-1]["score"] > answer["lowest"]


async def _hits(graph: Graph, scored: Mapping[Key, float], text: str) -> list[Hit]:
    if not scored:
        return []
    rows = await graph.read(CONTENTS, ids=_ids(scored))
    # Looking through long texts takes a while, in which the screen must not stand still.
    return await asyncio.to_thread(_with_excerpts, rows, scored, text)


def _with_excerpts(rows: Iterable[Mapping[str, Any]], scored: Mapping[Key, float], text: str) -> list[Hit]:
    stems = frozenset(keywords(text, stemmer(), limit=TERMS_MAX))
    by_key = {_key_of(row): row for row in rows}
    return [_hit(row, score, stems) for key, score in scored.items() if (row := by_key.get(key)) is not None]


def _hit(row: Mapping[str, Any], score: float, stems: frozenset[str]) -> Hit:
    kind = HitKind(row["kind"])
    piece = excerpt(_texts(kind, row), stems, stemmer())
    return Hit(
        kind=kind,
        id=row["id"],
        session_id=row["session"],
        session_title=row["title"] or "",
        turn_id=row["turn"],
        turn_index=row["index"],
        at=row["at"],
        score=score,
        text=piece.text,
        marks=piece.marks,
        cwd=row["cwd"] or "",
        tool=row["tool"],
        level=row["level"],
    )


def _texts(kind: HitKind, row: Mapping[str, Any]) -> list[str]:
    """What the excerpt is taken from."""
    match kind:
        case HitKind.TURN | HitKind.SUMMARY:
            return list(row["texts"])
        case HitKind.TOOL_CALL:
            args, result = row["texts"]
            return [call_line(row["tool"], args), json.loads(result)["text"]]
        case _:
            assert_never(kind)


def _ids(keys: Iterable[Key]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {kind: [] for kind in HitKind}
    for kind, identifier in keys:
        ids[kind].append(identifier)
    return ids


def _key(owner: Owner) -> Key:
    return HitKind(owner.kind), owner.id


def _key_of(row: Mapping[str, Any]) -> Key:
    return HitKind(row["kind"]), row["id"]
