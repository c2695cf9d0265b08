"""Search the graph by words, and by words and meaning together."""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, assert_never

from ragforge.domain.search import Candidate, Hit, HitKind, Query, with_also
from ragforge.domain.vectors import Near, Nearby, Owner, OwnerKind
from ragforge.store.index_text import call_line, commands_run
from ragforge.store.json_text import storable
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.places import Key, candidate_of, contents_of, key_of, places_of
from ragforge.store.neo4j.rows import Label, utc
from ragforge.store.neo4j.schema import WORDS_INDEX
from ragforge.store.neo4j.scores import SURPLUS as SURPLUS_WEIGHED
from ragforge.store.neo4j.scores import TEXT_CHARS_MAX, Rarities, weighed_again
from ragforge.store.neo4j.search_words import WEIGHTS, indexed, lucene, lucene_scope
from ragforge.store.neo4j.vectors_read import nearest, similar
from ragforge.store.sqlite.rows import from_ms
from ragforge.store.text import excerpt, keywords, stemmer

TERMS_MAX = 32
HITS_MAX = 1_000

SURPLUS = 4
"""How many times the wanted rows are read at first: those that are equal to the last are sorted too."""
WIDENING = 8
WINDOW_MAX = 100_000
"""The best rows that are read, however many of them the date excludes."""

KIND = f"""CASE WHEN n:{Label.TURN} THEN '{HitKind.TURN}' WHEN n:{Label.CALL} THEN '{HitKind.TOOL_CALL}'
  WHEN n:{Label.MEMORY} THEN '{HitKind.MEMORY}' WHEN n:{Label.VERSION} THEN '{HitKind.VERSION}'
  ELSE '{HitKind.SUMMARY}' END"""

WITHOUT_VECTORS = (HitKind.TOOL_CALL, HitKind.VERSION)

TEXTS = ", ".join(f"left(f.n.{name}, {TEXT_CHARS_MAX})" for name, _ in WEIGHTS)
CHARS = " + ".join(f"size(coalesce(f.n.{name}, ''))" for name, _ in WEIGHTS)

# What is useful in all projects is found in each that is stored. What is forgotten is never found.
RANKED = f"""
CALL db.index.fulltext.queryNodes('{WORDS_INDEX}', $words, {{limit: $window}}) YIELD node AS n, score
WITH n, score, coalesce(n.timestamp, n.created) AS at ORDER BY score DESC, at DESC, n.id DESC
WITH count(n) AS seen, min(score) AS lowest, collect(
  CASE WHEN ($since IS NULL OR at >= $since) AND ($until IS NULL OR at < $until) AND n.forgottenAt IS NULL
      AND ($project IS NULL OR n.projectId = $project OR EXISTS {{ (:{Label.PROJECT} {{id: $project}}) }})
      {{by}}
    THEN {{kind: {KIND}, id: n.id, score: score, n: n}} END
) AS found
RETURN seen, lowest, [f IN found[..$limit] | {{kind: f.kind, id: f.id, score: f.score,
  texts: CASE WHEN $weighed THEN [{TEXTS}] END, chars: CASE WHEN $weighed THEN {CHARS} END
}}] AS found
"""

# The writer of the turn that it is, is part of, or was made from; of a memory, also its owner.
BY = f"""AND (n.person = $by OR n.owner = $by
        OR EXISTS {{ (:{Label.TURN} {{id: n.turnId, person: $by}}) }}
        OR EXISTS {{ (n)-[:SUMMARIZES|EVIDENCE]->(:{Label.TURN} {{person: $by}}) }})"""


async def words(graph: Graph, rarities: Rarities, query: Query) -> list[Hit]:
    """Return what contains the words, best first; any input is fine."""
    return await _hits(graph, await _ranked(graph, rarities, query), query.text)


async def candidates(
    graph: Graph, rarities: Rarities, query: Query, nearby: Nearby | None = None
) -> list[Candidate]:
    """Return the best by words, then the nearest that are not among them.

    Raises UsageError for a vector that cannot be compared.
    """
    if nearby is None:
        ranked, near = await _ranked(graph, rarities, query), list[Near]()
    else:
        ranked, near = await asyncio.gather(_ranked(graph, rarities, query), nearest(graph, nearby))
    meanings = {_key(each.owner): each.score for each in near}
    keys = list(dict.fromkeys((*ranked, *meanings)))
    if not keys:
        return []
    places, others = await asyncio.gather(
        places_of(graph, keys), _meanings(graph, nearby, ranked.keys() - meanings.keys())
    )
    meanings |= others
    return [
        candidate_of(places[key], words=ranked.get(key), meaning=meanings.get(key))
        for key in keys
        if key in places
    ]


async def _meanings(graph: Graph, nearby: Nearby | None, keys: Collection[Key]) -> dict[Key, float]:
    """Return the similarity of those that have vectors."""
    if nearby is None:
        return {}
    owners = [Owner(OwnerKind(kind), id_) for kind, id_ in keys if kind not in WITHOUT_VECTORS]
    return {_key(owner): score for owner, score in (await similar(graph, owners, nearby)).items()}


async def hits(graph: Graph, found: Sequence[Candidate], text: str) -> list[Hit]:
    """Return the candidates that still exist as hits, with scores by words, else by meaning."""
    scored = {
        (each.kind, each.id): each.words if each.words is not None else each.meaning or 0.0 for each in found
    }
    return await _hits(graph, scored, text)


async def _ranked(graph: Graph, rarities: Rarities, query: Query) -> dict[Key, float]:
    """Return what contains the words, best first, newest first of equals, with the scores."""
    if not query.also:
        return await _holding(graph, rarities, query, query.text)
    found, also = await asyncio.gather(
        *(_holding(graph, rarities, query, text) for text in (query.text, " ".join(query.also)))
    )
    return with_also(found, also, limit=min(query.limit, HITS_MAX))


async def _holding(graph: Graph, rarities: Rarities, query: Query, text: str) -> dict[Key, float]:
    """Return what contains any word of the text, likewise."""
    stems = keywords(text, stemmer(), limit=TERMS_MAX)
    limit = min(query.limit, HITS_MAX)
    if not stems or limit <= 0 or not query.kinds:
        return {}
    scope = lucene_scope(project_id=query.project_id, session_id=query.session_id, kinds=query.kinds)
    wanted = lucene(stems, scope=scope)
    rarity = await rarities.of(graph, scope, map(indexed, stems))
    if rarity is None:
        return {key_of(row): row["score"] for row in await _best(graph, wanted, query, limit, weighed=False)}
    rows = await _best(graph, wanted, query, limit + SURPLUS_WEIGHED, weighed=True)
    # Searching long texts takes a while, in which the screen must not freeze.
    return await asyncio.to_thread(weighed_again, rows, rarity, limit=limit)


async def _best(
    graph: Graph, wanted: str, query: Query, limit: int, *, weighed: bool
) -> list[Mapping[str, Any]]:
    """Return the best rows by Lucene's measure; weighed: with the texts to rank them again."""
    limits: dict[str, Any] = {
        "weighed": weighed,
        "since": None if query.since is None else utc(query.since),
        "until": None if query.until is None else utc(query.until),
        "project": query.project_id or None,
        "limit": limit,
    }
    ranked = RANKED.replace("{by}", BY if query.by else "")
    if query.by:
        limits["by"] = storable(query.by)
    window = SURPLUS * limit
    while True:
        (answer,) = await graph.read(ranked, words=wanted, window=window, **limits)
        if answer["seen"] < window or window >= WINDOW_MAX or _is_decided(answer, limit):
            return answer["found"]
        window = min(WIDENING * window, WINDOW_MAX)


def _is_decided(answer: Mapping[str, Any], limit: int) -> bool:
    """Whether nothing beyond the rows that were read can be among the best, not even as an equal."""
    found = answer["found"]
    return len(found) == limit and found[-1]["score"] > answer["lowest"]


async def _hits(graph: Graph, scored: Mapping[Key, float], text: str) -> list[Hit]:
    if not scored:
        return []
    rows = await contents_of(graph, scored.keys())
    # Searching long texts takes a while, in which the screen must not freeze.
    return await asyncio.to_thread(_with_excerpts, rows, scored, text)


def _with_excerpts(
    rows: Mapping[Key, Mapping[str, Any]], scored: Mapping[Key, float], text: str
) -> list[Hit]:
    stems = frozenset(keywords(text, stemmer(), limit=TERMS_MAX))
    return [_hit(row, score, stems) for key, score in scored.items() if (row := rows.get(key)) is not None]


def _hit(row: Mapping[str, Any], score: float, stems: frozenset[str]) -> Hit:
    kind = HitKind(row["kind"])
    piece = excerpt(_texts(kind, row), stems, stemmer())
    return Hit(
        kind=kind,
        id=row["id"],
        session_id=row["session"],
        session_title=row["title"],
        turn_id=row["turn"],
        turn_index=row["index"],
        at=from_ms(row["at"]),
        score=score,
        text=piece.text,
        marks=piece.marks,
        cwd=row["cwd"],
        tool=row["tool"],
        level=row["level"],
        abandoned=row["abandoned"],
        memory_type=row["type"],
        replaced=row["replaced"],
        version_id=row["id"] if kind is HitKind.VERSION else "",
    )


def _texts(kind: HitKind, row: Mapping[str, Any]) -> list[str]:
    """Return the texts for the excerpt."""
    match kind:
        case HitKind.TURN:
            user, reply, parts = row["texts"]
            return [user, reply, *filter(None, [commands_run(parts)])]
        case HitKind.SUMMARY | HitKind.MEMORY | HitKind.VERSION:
            return list(row["texts"])
        case HitKind.TOOL_CALL:
            args, result = row["texts"]
            return [call_line(row["tool"], args), json.loads(result)["text"]]
        case HitKind.PROGRAM:  # in no index
            return []
        case _:
            assert_never(kind)


def _key(owner: Owner) -> Key:
    return HitKind(owner.kind), owner.id
