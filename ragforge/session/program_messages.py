"""Messages of a project's programs as search results.

They are not in the index of words, and given to no model: only a search shows them.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ragforge.domain.derivations import Derived
from ragforge.domain.search import Hit, HitKind, Query
from ragforge.memory.recall.results import HitSource, RankedHit, Why
from ragforge.store.text import excerpt, keywords, stemmer

WORDS_MAX = 20
FOUND_SHARE_MIN = 0.5
"""How many of the words must be in a message."""
WEIGHT = 0.5
"""Conversations come before programs if both contain all of the words."""


def program_hits(query: Query, records: Sequence[Derived]) -> list[RankedHit]:
    """Return the messages that contain the words, best first."""
    stems = frozenset(keywords(query.text, stemmer(), limit=WORDS_MAX))
    hits = [hit for each in records if (hit := _hit(query, stems, each.data))]
    hits.sort(key=lambda hit: (-hit.score, -hit.at.timestamp()))
    return [
        RankedHit(hit, (Why(HitSource.WORDS, rank, hit.score / WEIGHT, hit.score),))
        for rank, hit in enumerate(hits[: query.limit], 1)
    ]


def _hit(query: Query, stems: frozenset[str], message: dict[str, Any]) -> Hit | None:
    at = datetime.fromisoformat(message["timestamp"])
    if (query.since and at < query.since) or (query.until and at >= query.until):
        return None
    cut = stemmer()
    text: str = message["text"]
    encoded = text.encode("utf-8", "replace")
    there = {stem for _, _, stem in cut(encoded)} & stems
    share = len(there) / max(len(stems), 1)
    if not there or share < FOUND_SHARE_MIN:
        return None
    piece = excerpt([text], stems, cut)
    return Hit(
        kind=HitKind.PROGRAM,
        id=message["message"],
        session_id="",
        session_title=f"Program {message['program']}",
        turn_id="",
        turn_index=-1,
        at=at,
        score=WEIGHT * share,
        text=piece.text,
        marks=piece.marks,
        cwd="",
        tool=message["program"],
        memory_type=message["type"],
    )
