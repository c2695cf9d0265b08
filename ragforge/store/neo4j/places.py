"""Where a search result is in the graph: its session, its turn, and whether that is abandoned."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ragforge.domain.search import INDEXED_KINDS, Candidate, HitKind, Related, Relation
from ragforge.store.neo4j.abandonment import MEMORY_ABANDONED, SUMMARY_ABANDONED
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.memory_rows import REPLACED
from ragforge.store.neo4j.rows import Label
from ragforge.store.sqlite.rows import from_ms

LABELS: Mapping[HitKind, Label] = {
    HitKind.TURN: Label.TURN,
    HitKind.TOOL_CALL: Label.CALL,
    HitKind.SUMMARY: Label.SUMMARY,
    HitKind.MEMORY: Label.MEMORY,
    HitKind.VERSION: Label.VERSION,
}

Key = tuple[HitKind, str]
"""A result: its kind and its id."""

# A summary names what it covers oldest first: its newest turn is at the end of the last of each level.
NEWEST_TURN = f"""
MATCH (n)
  ((above:{Label.SUMMARY})-[:SUMMARIZES]->(below) WHERE below.id = last(above.covers))+
  (t:{Label.TURN})
"""
NEWEST_PROOF = f"""
head(COLLECT {{
  UNWIND n.evidence AS proof MATCH (t:{Label.TURN} {{id: proof}})
  RETURN t ORDER BY t.timestamp DESC, t.turnIndex DESC, t.id DESC LIMIT 1
}})
"""

# Each kind as `n`, with its turn as `t`.
FOUND: Mapping[HitKind, str] = {
    HitKind.TURN: f"MATCH (n:{Label.TURN}) WHERE n.id IN $ids.{HitKind.TURN} WITH n, n AS t",
    HitKind.TOOL_CALL: f"MATCH (n:{Label.CALL}) WHERE n.id IN $ids.{HitKind.TOOL_CALL} "
    f"MATCH (t:{Label.TURN} {{id: n.turnId}})",
    HitKind.SUMMARY: f"MATCH (n:{Label.SUMMARY}) WHERE n.id IN $ids.{HitKind.SUMMARY} {NEWEST_TURN}",
    HitKind.MEMORY: f"MATCH (n:{Label.MEMORY}) WHERE n.id IN $ids.{HitKind.MEMORY} "
    f"WITH n, {NEWEST_PROOF} AS t",
    HitKind.VERSION: f"MATCH (n:{Label.VERSION}) WHERE n.id IN $ids.{HitKind.VERSION} "
    f"OPTIONAL MATCH (t:{Label.TURN} {{id: n.turnId}})",
}

OWNER = "coalesce(n.owner, '')"
# abandoned, importance, level, replaced, type, owner.
SAID: Mapping[HitKind, tuple[str, str, str, str, str, str]] = {
    HitKind.TURN: ("coalesce(t.left, false)", "0.0", "0", "false", "''", "''"),
    HitKind.TOOL_CALL: ("coalesce(t.left, false)", "0.0", "0", "false", "''", "''"),
    HitKind.SUMMARY: (SUMMARY_ABANDONED.format("n"), "0.0", "n.level", "false", "''", "''"),
    HitKind.MEMORY: (MEMORY_ABANDONED.format("n"), "n.importance", "0", REPLACED, "n.type", OWNER),
    HitKind.VERSION: ("coalesce(t.left, false)", "0.0", "0", "false", "''", "''"),
}

OUTLIVING = (HitKind.MEMORY, HitKind.VERSION)
"""Kinds that may have no session, or name one that was deleted before they were written."""
SESSION = f"CASE WHEN EXISTS {{ (:{Label.SESSION} {{sessionId: n.sessionId}}) }} THEN n.sessionId ELSE '' END"

# The tool, and the texts for the excerpt.
TEXTS: Mapping[HitKind, tuple[str, str]] = {
    HitKind.TURN: ("''", "[n.userMessage, n.assistantMessage, coalesce(n.userParts, '')]"),
    HitKind.TOOL_CALL: ("n.toolName", "[n.toolArgs, n.toolResult]"),
    HitKind.SUMMARY: ("''", "n.summary + n.keyFindings"),
    HitKind.MEMORY: ("''", "[n.content]"),
    HitKind.VERSION: ("''", "[n.title, n.label, n.note, n.words]"),
}


def _places(kind: HitKind) -> str:
    abandoned, importance, level, replaced, type_, owner = SAID[kind]
    session = SESSION if kind in OUTLIVING else "n.sessionId"
    return (
        f"{FOUND[kind]}\nRETURN '{kind}' AS kind, n.id AS id, {session} AS session, "
        f"coalesce(t.id, '') AS turn, coalesce(t.turnIndex, -1) AS index, "
        f"coalesce(n.timestamp, n.created).epochMillis AS at, {abandoned} AS abandoned, "
        f"{importance} AS importance, {level} AS level, {replaced} AS replaced, {type_} AS type, "
        f"{owner} AS owner"
    )


def _texts(kind: HitKind) -> str:
    tool, texts = TEXTS[kind]
    return (
        f"MATCH (n:{LABELS[kind]}) WHERE n.id IN $ids.{kind}\n"
        f"OPTIONAL MATCH (s:{Label.SESSION} {{sessionId: n.sessionId}})\n"
        f"RETURN '{kind}' AS kind, n.id AS id, coalesce(s.title, '') AS title, coalesce(s.cwd, '') AS cwd, "
        f"{tool} AS tool, {texts} AS texts"
    )


# Memories separately: their part takes long to plan, and most results have none.
PLACES: Mapping[bool, str] = {
    False: "\nUNION ALL\n".join(_places(kind) for kind in INDEXED_KINDS if kind is not HitKind.MEMORY),
    True: _places(HitKind.MEMORY),
}
PLACE = (
    "kind",
    "id",
    "session",
    "turn",
    "index",
    "at",
    "abandoned",
    "importance",
    "level",
    "replaced",
    "type",
    "owner",
)
CONTENTS = "\nUNION ALL\n".join(_texts(kind) for kind in INDEXED_KINDS)
SHOWN = ("kind", "id", "title", "cwd", "tool", "texts")

RELATED = f"""
UNWIND range(0, size($found) - 1) AS place
WITH place, $found[place] AS one
CALL (one) {{
  WITH one WHERE one.kind = '{HitKind.TURN}'
  MATCH (:{Label.TURN} {{id: one.id}})-[:NEXT]-(t:{Label.TURN})
  RETURN t, 0 AS position
  UNION ALL
  WITH one WHERE one.kind = '{HitKind.TOOL_CALL}'
  MATCH (c:{Label.CALL} {{id: one.id}})
  MATCH (t:{Label.TURN} {{id: c.turnId}})
  RETURN t, 0 AS position
  UNION ALL
  WITH one WHERE one.kind = '{HitKind.VERSION}'
  MATCH (v:{Label.VERSION} {{id: one.id}})
  MATCH (t:{Label.TURN} {{id: v.turnId}})
  RETURN t, 0 AS position
  UNION ALL
  WITH one WHERE one.kind = '{HitKind.SUMMARY}'
  MATCH (x:{Label.SUMMARY} {{id: one.id}})
  UNWIND range(0, size(x.covers) - 1) AS position
  MATCH (t:{Label.TURN} {{id: x.covers[position]}})
  RETURN t, position
  UNION ALL
  WITH one WHERE one.kind = '{HitKind.MEMORY}'
  MATCH (x:{Label.MEMORY} {{id: one.id}})
  UNWIND range(0, size(x.evidence) - 1) AS position
  MATCH (t:{Label.TURN} {{id: x.evidence[position]}})
  RETURN t, position
}}
WITH place, one, t, position ORDER BY place, position, t.turnIndex, t.timestamp, t.id LIMIT $limit
RETURN one.kind AS of_kind, one.id AS of, '{HitKind.TURN}' AS kind, t.id AS id, t.sessionId AS session,
  t.id AS turn, t.timestamp.epochMillis AS at, coalesce(t.left, false) AS abandoned, 0.0 AS importance,
  0 AS level, false AS replaced
ORDER BY place, position, t.turnIndex, t.timestamp, t.id
"""
STEP = (
    "of_kind",
    "of",
    "kind",
    "id",
    "session",
    "turn",
    "at",
    "abandoned",
    "importance",
    "level",
    "replaced",
)


async def places_of(graph: Graph, keys: Iterable[Key]) -> dict[Key, dict[str, Any]]:
    """Return the rows of these, except deleted ones and summaries whose turns an archive has yet to load."""
    keys = list(keys)
    ids = ids_of(keys)
    answers = await asyncio.gather(
        *(
            graph.read_as_one(query, PLACE, ids=ids)
            for of_memories, query in PLACES.items()
            if any((kind is HitKind.MEMORY) == of_memories for kind, _ in keys)
        )
    )
    return {key_of(row): row for rows in answers for row in rows}


async def contents_of(graph: Graph, keys: Collection[Key]) -> dict[Key, dict[str, Any]]:
    """Return the same rows with the texts to show."""
    places, texts = await asyncio.gather(
        places_of(graph, keys), graph.read_as_one(CONTENTS, SHOWN, ids=ids_of(keys))
    )
    return {key: places[key] | row for row in texts if (key := key_of(row)) in places}


async def related(graph: Graph, found: Sequence[Candidate], *, limit: int) -> list[Related]:
    """Return the turns one step away from each, in the order of the candidates."""
    asked = [{"kind": str(each.kind), "id": each.id} for each in found]
    rows = await graph.read_as_one(RELATED, STEP, found=asked, limit=max(0, limit))
    return [Related(row["of"], relation_of(HitKind(row["of_kind"])), candidate_of(row)) for row in rows]


def relation_of(kind: HitKind) -> Relation:
    """Return how the turns around something of this kind are related to it."""
    return Relation.NEIGHBOUR if kind is HitKind.TURN else Relation.CITED


def candidate_of(
    row: Mapping[str, Any], *, words: float | None = None, meaning: float | None = None
) -> Candidate:
    """Return the place as a candidate."""
    return Candidate(
        kind=HitKind(row["kind"]),
        id=row["id"],
        session_id=row["session"],
        turn_id=row["turn"],
        at=from_ms(row["at"]),
        words=words,
        meaning=meaning,
        abandoned=row["abandoned"],
        importance=row["importance"],
        level=row["level"],
        replaced=row["replaced"],
        owner=row.get("owner", ""),
    )


def ids_of(keys: Iterable[Key]) -> dict[str, list[str]]:
    """Return the ids by kind, with every kind present."""
    ids: dict[str, list[str]] = {kind: [] for kind in INDEXED_KINDS}
    for kind, identifier in keys:
        ids[kind].append(identifier)
    return ids


def key_of(row: Mapping[str, Any]) -> Key:
    """Return the kind and id of a row."""
    return HitKind(row["kind"]), row["id"]
