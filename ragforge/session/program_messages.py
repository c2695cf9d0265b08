"""What the programs of a project said and were told, as search finds it.

It is not in the index of words, and no model is given it: only who searches sees it.
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
"""So many of the words must be in a message."""
WEIGHT = 0.5
"""What is said in a conversation comes before what is said in a program, where both hold all of the words."""


def program_hits(query: Query, records: Sequence[Derived]) -> list[RankedHit]:
    """The messages that hold the words, best first."""
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
