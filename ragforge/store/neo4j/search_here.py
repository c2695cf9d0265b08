"""Search while the server is away: among the rows that are here, by how many of the words they hold."""

import json
from collections.abc import Mapping
from typing import Any

from ragforge.domain.search import Hit, HitKind, Query
from ragforge.store.index_text import call_line
from ragforge.store.neo4j.index_rows import call_props, summary_props, turn_props
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, Props, utc
from ragforge.store.neo4j.search_words import WEIGHTS, stemmer
from ragforge.store.text import excerpt, keywords

TERMS_MAX = 32

KINDS = {Label.TURN: HitKind.TURN, Label.CALL: HitKind.TOOL_CALL, Label.SUMMARY: HitKind.SUMMARY}


def words_here(rows: Rows, query: Query) -> list[Hit]:
    """What is here and holds the words, best first."""
    stems = frozenset(keywords(query.text, stemmer(), limit=TERMS_MAX))
    if not stems or query.limit <= 0:
        return []
    scored: list[tuple[float, Label, Props]] = []
    for label in KINDS:
        for row in rows.of_label(label):
            if _is_wanted(row.props, query) and (score := _score(label, row.props, stems)) > 0:
                scored.append((score, label, row.props))
    scored.sort(key=lambda found: (found[0], found[2]["timestamp"]), reverse=True)
    return [_hit(rows, label, props, score, stems) for score, label, props in scored[: query.limit]]


def _is_wanted(props: Mapping[str, Any], query: Query) -> bool:
    return (
        (not query.project_id or props["projectId"] == query.project_id)
        and (not query.session_id or props["sessionId"] == query.session_id)
        and (query.since is None or props["timestamp"] >= utc(query.since))
    )


def _score(label: Label, props: Props, stems: frozenset[str]) -> float:
    indexed = props if "searchUser" in props else props | _indexed(label, props)
    return sum(
        weight * len(stems.intersection((indexed.get(name) or "").split())) for name, weight in WEIGHTS
    )


def _indexed(label: Label, props: Props) -> Props:
    match label:
        case Label.CALL:
            return call_props(props)
        case Label.SUMMARY:
            return summary_props(props)
        case _:
            return turn_props(props, near=())


def _hit(rows: Rows, label: Label, props: Props, score: float, stems: frozenset[str]) -> Hit:
    session = rows.get(Label.SESSION, props["sessionId"])
    turn_id = props["id"] if label is Label.TURN else props.get("turnId") or _newest_turn(rows, props)
    turn = rows.get(Label.TURN, turn_id)
    match label:
        case Label.CALL:
            texts = [call_line(props["toolName"], props["toolArgs"]), json.loads(props["toolResult"])["text"]]
        case Label.SUMMARY:
            texts = [props["summary"]]
        case _:
            texts = [props["userMessage"], props["assistantMessage"]]
    piece = excerpt(texts, stems, stemmer())
    return Hit(
        kind=KINDS[label],
        id=props["id"],
        session_id=props["sessionId"],
        session_title=session.props["title"] if session else "",
        turn_id=turn_id,
        turn_index=turn.props["turnIndex"] if turn else 0,
        at=props["timestamp"],
        score=score,
        text=piece.text,
        marks=piece.marks,
        cwd=session.props["cwd"] if session else "",
        tool=props.get("toolName", ""),
        level=props.get("level", 0),
    )


def _newest_turn(rows: Rows, summary: Props) -> str:
    """The newest turn that the summary stands for, as far down as its parts are here."""
    newest = summary["covers"][-1]
    while (below := rows.get(Label.SUMMARY, newest)) is not None:
        newest = below.props["covers"][-1]
    return newest
