"""Search while the server is away: among the rows that are here, by how many of the words they hold."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, assert_never

from ragforge.domain.memories import Memory, MemoryScope
from ragforge.domain.search import Candidate, Hit, HitKind, Query
from ragforge.domain.vectors import Owner
from ragforge.store.index_text import call_line
from ragforge.store.neo4j.index_rows import call_props, memory_props, summary_props, turn_props, version_props
from ragforge.store.neo4j.left_here import left_here
from ragforge.store.neo4j.memories_here import memories_here
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.places import LABELS
from ragforge.store.neo4j.rows import Label, Props, utc
from ragforge.store.neo4j.search_words import WEIGHTS, stemmer
from ragforge.store.text import excerpt, keywords

TERMS_MAX = 32


def words_here(rows: Rows, query: Query) -> list[Hit]:
    """What is here and holds the words, best first."""
    stems = frozenset(keywords(query.text, stemmer(), limit=TERMS_MAX))
    if not stems or query.limit <= 0:
        return []
    scored = [
        (score, kind, row.props)
        for kind in dict.fromkeys(query.kinds)
        for row in rows.of_label(LABELS[kind])
        if _is_wanted(kind, row.props, query) and (score := _score(kind, row.props, stems)) > 0
    ]
    scored.sort(key=lambda found: (found[0], _at(found[2])), reverse=True)
    return [_hit(rows, kind, props, score, stems) for score, kind, props in scored[: query.limit]]


def candidates_here(rows: Rows, query: Query) -> list[Candidate]:
    """The same as candidates."""
    return [
        _candidate(rows, hit.kind, row.props, words=hit.score)
        for hit in words_here(rows, query)
        if (row := rows.get(LABELS[hit.kind], hit.id)) is not None
    ]


def by_id_here(rows: Rows, owners: Sequence[Owner]) -> list[Candidate]:
    """Those of the owners that are here, as candidates."""
    found = ((HitKind(owner.kind), owner.id) for owner in owners)
    return [
        _candidate(rows, kind, row.props)
        for kind, identifier in found
        if (row := rows.get(LABELS[kind], identifier)) is not None
    ]


def _is_wanted(kind: HitKind, props: Mapping[str, Any], query: Query) -> bool:
    everywhere = kind is HitKind.MEMORY and props["scope"] == MemoryScope.GLOBAL
    return (
        (not query.project_id or everywhere or props["projectId"] == query.project_id)
        and (not query.session_id or props.get("sessionId") == query.session_id)
        and (query.since is None or _at(props) >= utc(query.since))
        and (query.until is None or _at(props) < utc(query.until))
        and props.get("forgottenAt") is None
    )


def _at(props: Mapping[str, Any]) -> datetime:
    """The conversation's time."""
    return props["timestamp"] if "timestamp" in props else props["created"]


def _score(kind: HitKind, props: Props, stems: frozenset[str]) -> float:
    indexed = props if "searchUser" in props else props | _indexed(kind, props)
    return sum(
        weight * len(stems.intersection((indexed.get(name) or "").split())) for name, weight in WEIGHTS
    )


def _indexed(kind: HitKind, props: Props) -> Props:
    match kind:
        case HitKind.TURN:
            return turn_props(props, near=())
        case HitKind.TOOL_CALL:
            return call_props(props)
        case HitKind.SUMMARY:
            return summary_props(props)
        case HitKind.MEMORY:
            return memory_props(props)
        case HitKind.VERSION:
            return version_props(props)
        case _:
            assert_never(kind)


def _candidate(rows: Rows, kind: HitKind, props: Props, *, words: float | None = None) -> Candidate:
    turns = _turns(rows, kind, props)
    memory = _memory(rows, props) if kind is HitKind.MEMORY else None
    return Candidate(
        kind=kind,
        id=props["id"],
        session_id=props.get("sessionId") or "",
        turn_id=turns[-1] if turns else "",
        at=_at(props),
        words=words,
        left=memory.left if memory else bool(left_here(rows, turns)),
        importance=memory.importance if memory else 0.0,
        level=props.get("level", 0),
        replaced=bool(memory and memory.replaced),
    )


def _memory(rows: Rows, props: Props) -> Memory:
    return next(each for each in memories_here(rows) if each.id == props["id"])


def _hit(rows: Rows, kind: HitKind, props: Props, score: float, stems: frozenset[str]) -> Hit:
    place = _candidate(rows, kind, props, words=score)
    session = rows.get(Label.SESSION, place.session_id)
    turn = rows.get(Label.TURN, place.turn_id)
    piece = excerpt(_texts(kind, props), stems, stemmer())
    return Hit(
        kind=kind,
        id=place.id,
        session_id=place.session_id,
        session_title=session.props["title"] if session else "",
        turn_id=place.turn_id,
        turn_index=turn.props["turnIndex"] if turn else -1,
        at=place.at,
        score=score,
        text=piece.text,
        marks=piece.marks,
        cwd=session.props["cwd"] if session else "",
        tool=props.get("toolName", ""),
        level=place.level,
        left=place.left,
        memory_type=props["type"] if kind is HitKind.MEMORY else "",
        replaced=place.replaced,
        version_id=place.id if kind is HitKind.VERSION else "",
    )


def _texts(kind: HitKind, props: Props) -> list[str]:
    """What the excerpt is taken from."""
    match kind:
        case HitKind.TURN:
            return [props["userMessage"], props["assistantMessage"]]
        case HitKind.TOOL_CALL:
            line = call_line(props["toolName"], props["toolArgs"])
            return [line, json.loads(props["toolResult"])["text"]]
        case HitKind.SUMMARY:
            return [props["summary"]]
        case HitKind.MEMORY:
            return [props["content"]]
        case HitKind.VERSION:
            return [props["title"], props["label"], props["note"], props["words"]]
        case _:
            assert_never(kind)


def _turns(rows: Rows, kind: HitKind, props: Props) -> list[str]:
    """The turns that it is of or rests on, the newest last, as far down as its parts are here."""
    match kind:
        case HitKind.TURN:
            return [props["id"]]
        case HitKind.TOOL_CALL:
            return [props["turnId"]]
        case HitKind.SUMMARY:
            return [turn for covered in props["covers"] for turn in _under(rows, covered)]
        case HitKind.MEMORY:
            found = [row for turn in props["evidence"] if (row := rows.get(Label.TURN, turn))]
            return [row.id for row in sorted(found, key=lambda row: row.props["timestamp"])]
        case HitKind.VERSION:
            return [props["turnId"]] if props.get("turnId") else []
        case _:
            assert_never(kind)


def _under(rows: Rows, covered: str) -> list[str]:
    below = rows.get(Label.SUMMARY, covered)
    if below is None:
        return [covered]
    return [turn for each in below.props["covers"] for turn in _under(rows, each)]
