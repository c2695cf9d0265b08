"""The only place that ranks results; every front end, the model and the context block search through it."""

import time
from collections.abc import Sequence

from msgspec.structs import replace

from ragforge.domain.language.lexicon import also_said
from ragforge.domain.metrics import QUERY_SECONDS, TALLY
from ragforge.domain.search import Candidate, HitKind, Query, Related
from ragforge.domain.vectors import Nearby, OwnerKind, Vector
from ragforge.embedders.base import Embedder
from ragforge.memory.recall.fusion import Shares, convex, reciprocal, spread, totals, weigh
from ragforge.memory.recall.results import Kept, Key, RankedHit, Recall, SearchResults, key_of
from ragforge.store.base import Store

DEPTH_MIN = 100
"""How many are compared by words and by meaning, however few are wanted; a shorter answer is the start of
a longer one, and results of both sources are seldom at the top of either."""
DEPTH_FACTOR = 2
DEPTH_OF_ONE = 1_000
RELATING_MAX = 50
"""How many of the best results are followed to what is next to them."""
RELATED_MAX = 200
CACHED_MAX = 64
WHEN_MADE = "They are made in the background."

OWNERS = {HitKind(kind): kind for kind in OwnerKind}
"""The kinds of items with a vector."""


async def search(recall: Recall, query: Query) -> SearchResults:
    """Return what answers the query, best first.

    Results are found by words and by meaning, and one step away from these. If meaning cannot be compared
    (the embedder is too slow or fails, or there are no vectors yet), only words count, and `limited` says so.
    Raises StoreError.
    """
    began = time.perf_counter()
    if not query.text.strip() or query.limit <= 0:
        return SearchResults(())
    query = replace(query, also=also_said(query.text))
    state = await recall.store.changes()
    kept = recall.cache.pop(query, None)
    is_hit = kept is not None and state is not None and kept.state == state
    if kept is None or not is_hit:
        answer, whole = await _asked(recall, query)
        kept = Kept(state, answer) if whole and state is not None else None
    else:
        answer = kept.answer
    if kept is not None:
        recall.cache[query] = kept
        while len(recall.cache) > CACHED_MAX:
            del recall.cache[next(iter(recall.cache))]
    took_s = time.perf_counter() - began
    TALLY.observe(QUERY_SECONDS, took_s, "search")
    return replace(answer, took_ms=took_s * 1000)


async def _asked(recall: Recall, query: Query) -> tuple[SearchResults, bool]:
    """Return the answer, and whether it would be the same as long as the data is."""
    nearby, limited = await _nearby(recall, query)
    candidates = await recall.store.search.candidates(replace(query, limit=_depth(query)), nearby)
    candidates = [each for each in candidates if each.owner in ("", query.person)]
    if query.by:
        candidates = await _written_by(recall.store, query.by, candidates)
    if nearby is not None:
        limited = _missing_vectors(candidates)
    found = await _ranked(recall, query, candidates)
    return SearchResults(tuple(found), limited), not limited or nearby is not None


async def _nearby(recall: Recall, query: Query) -> tuple[Nearby | None, str]:
    """Return what to look for by meaning, or None with the reason."""
    kinds = tuple(OWNERS[kind] for kind in query.kinds if kind in OWNERS)
    if recall.embedder is None or not kinds:
        return None, ""
    vector, limited = await recall.questions.vector(recall.embedder, query.text)
    return (None, limited) if vector is None else (_around(vector, recall.embedder, query, kinds), "")


def _around(vector: Vector, embedder: Embedder, query: Query, kinds: tuple[OwnerKind, ...]) -> Nearby:
    return Nearby(
        vector,
        embedder.name,
        project_id=query.project_id,
        session_id=query.session_id,
        kinds=kinds,
        since=query.since,
        until=query.until,
        limit=_depth(query),
    )


def _depth(query: Query) -> int:
    """Return how many results each source looks at: for one user, only a later check knows whose they are."""
    return max(DEPTH_MIN, DEPTH_FACTOR * query.limit, DEPTH_OF_ONE if query.by else 0)


async def _written_by(store: Store, person: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return those of the user: what covers one of their turns, and their memories.

    A summary above level 1 also covers turns of others.
    """
    writers = await store.turns.writers([each.turn_id for each in candidates if each.turn_id])
    return [
        each for each in candidates if each.level <= 1 and person in (each.owner, writers.get(each.turn_id))
    ]


def _missing_vectors(candidates: Sequence[Candidate]) -> str:
    """Return a sentence if meaning could not be compared yet; otherwise empty."""
    comparable = [each for each in candidates if each.kind in OWNERS]
    without = sum(each.meaning is None for each in comparable)
    if without == 0 or 2 * without < len(comparable):
        return ""
    if without == len(comparable):
        return f"Searched by words only: there are no vectors here yet. {WHEN_MADE}"
    return f"Searched mostly by words: many vectors are still missing. {WHEN_MADE}"


async def _ranked(recall: Recall, query: Query, candidates: Sequence[Candidate]) -> list[RankedHit]:
    """Return the best of the candidates and of what is one step away from them."""
    by_key = {key_of(each): each for each in candidates}
    words = {key: each.words for key, each in by_key.items() if each.words is not None}
    meanings = {key: each.meaning for key, each in by_key.items() if each.meaning is not None}
    # A list that was not cut off leaves out only what contains none of the words.
    unlisted = min(words.values()) if len(words) >= _depth(query) else 0.0
    first = totals(convex(words, meanings, unlisted=unlisted))
    if meanings:
        from ragforge.memory.recall.pieces import COMPARED_MAX, nearest_pieces  # not for a search by words

        near = await nearest_pieces(recall, query, [by_key[key] for key in _best(first, COMPARED_MAX)])
        meanings |= {key: max(meanings[key], each) for key, each in near.items()}
    shares = _fused(recall, convex(words, meanings, unlisted=unlisted))
    scores = totals(shares)
    leading = [by_key[key] for key in _best(scores, RELATING_MAX)]
    related = await recall.store.search.related(leading, limit=RELATED_MAX)
    related = await _in_scope(recall.store, query, related, candidates)
    by_key |= {key_of(each.turn): each.turn for each in related if key_of(each.turn) not in by_key}
    for more in (spread(scores, related), weigh(scores, candidates)):
        _add(shares, _fused(recall, more))
    best = _best(totals(shares), query.limit)
    marked = " ".join((query.text, *query.also))
    hits = await recall.store.search.hits([by_key[key] for key in best], marked)
    return [
        RankedHit(replace(hit, score=sum(why.share for why in whys)), tuple(whys))
        for hit in hits
        for whys in [shares[key_of(hit)]]
    ]


def _fused(recall: Recall, shares: Shares) -> Shares:
    """Return the shares, with the fusion from the settings."""
    return shares if recall.fusion == "convex" else reciprocal(shares)


def _best(scores: dict[Key, float], limit: int) -> list[Key]:
    """Return the keys of the best, ties by id."""
    return sorted(scores, key=lambda key: (-scores[key], key))[:limit]


def _add(shares: Shares, more: Shares) -> None:
    for key, whys in more.items():
        shares.setdefault(key, []).extend(whys)


async def _in_scope(
    store: Store, query: Query, related: Sequence[Related], candidates: Sequence[Candidate]
) -> list[Related]:
    """Return those whose turns are in the query's scope; a global memory may be based on another project's
    turns."""
    if HitKind.TURN not in query.kinds:
        return []
    fitting = [
        each
        for each in related
        if (not query.session_id or each.turn.session_id == query.session_id)
        and (query.since is None or each.turn.at >= query.since)
        and (query.until is None or each.turn.at < query.until)
    ]
    if query.by:
        writers = await store.turns.writers([each.turn.id for each in fitting])
        fitting = [each for each in fitting if writers.get(each.turn.id) == query.by]
    if not query.project_id:
        return fitting
    here = {each.session_id for each in candidates if each.kind is not HitKind.MEMORY}
    for session_id in {each.turn.session_id for each in fitting} - here:
        session = await store.sessions.get(session_id)
        if session is not None and session.project_id == query.project_id:
            here.add(session_id)
    return [each for each in fitting if each.turn.session_id in here]
