"""Search by meaning in the graph: exact if few nodes are in scope, else through the vector index.

Both ways are in one query, which counts first and then takes one of them: a second round trip would cost
half of the answer. The indexes contain rounded numbers (to eight bits in 5.26, to one bit from 2026
on), so their results are scored again from the vectors themselves.
"""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.vectors import Embedding, Near, Nearby, Owner, OwnerKind, Vector, check_vector
from ragforge.store.json_text import storable
from ragforge.store.neo4j.connection import PLAN_ONCE, Graph
from ragforge.store.neo4j.errors import StatementRefused
from ragforge.store.neo4j.marks import mark_owed
from ragforge.store.neo4j.rows import Label, utc
from ragforge.store.neo4j.schema import (
    DEFAULT_DIMENSIONS,
    MEMORY_VECTORS,
    SUMMARY_VECTORS,
    TURN_VECTORS,
    filters_inside,
)

LABELS = {OwnerKind.TURN: Label.TURN, OwnerKind.SUMMARY: Label.SUMMARY, OwnerKind.MEMORY: Label.MEMORY}
INDEXES = {
    OwnerKind.TURN: TURN_VECTORS,
    OwnerKind.SUMMARY: SUMMARY_VECTORS,
    OwnerKind.MEMORY: MEMORY_VECTORS,
}

NEAR_MAX = 1_000
"""The most results, whatever was requested."""
FETCHED_MAX = 10_000
"""The most results from an index, which is slower by then than comparing every node in scope."""
COUNTED_MAX = 2_000
EVERY_NODE = 2**31
WIDENING = 8
SURE = 1.5
"""How many times the wanted rows an index must return, or its rounded numbers may hide a better one."""

NODE_US, FLOAT_US = 8, 0.03
"""The time to compare one node, and each of its floats: 16 us at 256, 100 us at 3072."""

MODEL = "n.embeddingModel = $model"
PROJECT = "n.projectId = $project"
SESSION = "n.sessionId = $session"
SINCE = "n.timestamp >= $since"
UNTIL = "n.timestamp < $until"
INSIDE = (MODEL, PROJECT, SESSION)
"""The conditions that an index can filter by, on servers that can."""

REMEMBERED = "n.forgottenAt IS NULL"
IS_STORED = f"EXISTS {{ (:{Label.PROJECT} {{id: $project}}) }}"
# A project includes those that are useful in all; a session, those that were made in one that is stored.
OF_MEMORIES = {
    PROJECT: f"(n.projectId = $project OR n.scope = 'global' AND {IS_STORED})",
    SESSION: f"(n.sessionId = $session AND EXISTS {{ (n)<-[:HAS_MEMORY]-(:{Label.SESSION}) }})",
    SINCE: "n.created >= $since",
    UNTIL: "n.created < $until",
}


# The number of nodes in a scope, without reading them: nodes of a label, relationships of a node. Memories
# of all projects are not counted: that makes an exact search longer, and no search wrong.
LINKS = {OwnerKind.TURN: "HAS_TURN", OwnerKind.SUMMARY: "HAS_SUMMARY", OwnerKind.MEMORY: "HAS_MEMORY"}
SIZE_OF_ALL = "WITH COUNT {{ (:{label}) }} AS links"
SIZE_OF_SESSIONS = f"""MATCH (:{Label.PROJECT} {{{{id: $project}}}})-[:HAS_SESSION]->(s)
  WITH COUNT {{{{ (s)-[:{{link}}]->() }}}} AS links"""
SIZE_OF_PROJECT = f"""MATCH (p:{Label.PROJECT} {{{{id: $project}}}})
  WITH COUNT {{{{ (p)-[:{{link}}]->() }}}} AS links"""
SIZE_OF_SESSION = f"""MATCH (s:{Label.SESSION} {{{{sessionId: $session}}}})
  WITH COUNT {{{{ (s)-[:{{link}}]->() }}}} AS links"""
SIZE_UNKNOWN = "WITH 0 AS links"


class Tuning(Struct, frozen=True):
    """Where exact search ends, and how much is requested of the index beyond.

    surplus: how many times the wanted rows the index returns, to be scored again.
    """

    exact_us_max: float
    surplus: int


BEFORE_2026 = Tuning(exact_us_max=16_000, surplus=2)
FROM_2026 = Tuning(exact_us_max=8_000, surplus=4)
# Measured on two busy cores with 20,000 vectors of 256 floats, recall of the nearest 20 and the ratio of the
# time to that of a bare query of the index which is fetched to a recall of .95, in projects of 1 %, 5 % and
# 94 % (benchmarks/stores.py, with surpluses of 3 and 5 and COUNTED_MAX of 4,000, which cost more than these):
# 5.26.30      1.000  0.6     1.000  1.2     1.000  1.8    bare: 3,200, all (recall .945) and 40 rows fetched
# 2026.08.1    1.000  0.9     0.998  0.7     1.000  1.5    bare: 40 rows fetched
# Without scoring again, 5.26's index never exceeds .97, however much is fetched.

# First the scope's size that the graph knows anyway. Its nodes are counted, up to a limit, only if that is
# zero, or too near to where exact search ends: it includes what is not embedded.
COUNT = """
CALL () {{
  {size}
  RETURN sum(links) AS size
}}
WITH size, size = 0 OR size > $few AND size <= $counted AS unsure
CALL (unsure) {{
  UNWIND CASE WHEN unsure THEN [1] ELSE [] END AS go
  {found} WITH n LIMIT $counted
  RETURN count(n) AS counted
}}
WITH CASE WHEN unsure THEN counted ELSE size END AS scoped
WITH scoped, scoped <= $few OR coalesce(
  head(COLLECT {{ MATCH (d:{database}) RETURN d.dimensions }}), $default_dimensions) <> $dimensions AS exact
"""

# A branch begins with a row of its own: a `WHERE exact` would be evaluated after reading all in scope.
EXACT = """
  UNWIND CASE WHEN exact THEN [1] ELSE [] END AS go
  {found} WITH n WHERE size(n.embedding) = $dimensions
  RETURN n
"""

# Filters come after its top k: k is so large that enough remain if the scope is spread like the others.
OVERFETCHED = """
  UNWIND CASE WHEN exact THEN [] ELSE [1] END AS go
  WITH toInteger($fetched * ceil(1.0 * COUNT {{ (:{label}) }} / scoped)) AS k
  CALL db.index.vector.queryNodes('{index}', CASE WHEN k < $fetched_max THEN k ELSE $fetched_max END, $vector)
  YIELD node AS n
  WITH n WHERE {scope} AND size(n.embedding) = $dimensions
  RETURN n LIMIT $surplus
"""

FILTERED = """
  UNWIND CASE WHEN exact THEN [] ELSE [1] END AS go
  MATCH (n:{label})
  SEARCH n IN (VECTOR INDEX {index} FOR $vector WHERE {filter} LIMIT $fetched)
  WITH n WHERE {scope} AND size(n.embedding) = $dimensions
  RETURN n LIMIT $surplus
"""

# Each label is a query of its own, for labels and indexes cannot be parameters; all share one round trip.
NEAREST = """
{count}CALL (scoped, exact) {{{exact}UNION ALL{indexed}}}
WITH scoped, exact, n, vector.similarity.cosine(n.embedding, $vector) AS score
ORDER BY score DESC, n.id
WITH scoped, exact, count(n) AS survived, collect([n.id, score]) AS found
RETURN '{kind}' AS kind, exact, scoped, survived, found[..$limit] AS found
"""

GET = """
MATCH (n:{label}) WHERE n.id IN $ids.{kind} AND n.embedding IS NOT NULL
RETURN '{kind}' AS kind, n.id AS id, n.embeddingModel AS model, n.embeddingHash AS hash, n.embedding AS vector
"""

SIMILAR = """
MATCH (n:{label}) WHERE n.id IN $ids.{kind} AND n.embeddingModel = $model AND size(n.embedding) = $dimensions
RETURN '{kind}' AS kind, n.id AS id, vector.similarity.cosine(n.embedding, $vector) AS score
"""

SAME_TEXT = """
MATCH (n:{label}) WHERE n.embeddingHash IN $hashes AND n.embeddingModel = $model
  AND n.embedding IS NOT NULL AND size(n.embedding) = coalesce($dimensions, size(n.embedding))
RETURN n.embeddingHash AS hash, n.embedding AS vector
"""
IN_USE = f"MATCH (d:{Label.DATABASE}) WHERE d.embedder = $model RETURN d.dimensions AS dimensions"

# What another model embedded counts as not embedded; a turn that runs is not done yet.
# A vector of another length than the embedder's is useless to it. Each way has its index.
STALE = "embeddingStale", "n.embeddingStale = true"
OF_ANOTHER = tuple(
    ("embeddingModel, embeddingDimensions", f"n.embeddingModel {each} AND n.embeddingDimensions IS NOT NULL")
    for each in ("< $model", "> $model")
)
OF_ANOTHER_LENGTH = tuple(
    ("embeddingModel, embeddingDimensions", f"{MODEL} AND n.embeddingDimensions {each}")
    for each in ("< $dimensions", "> $dimensions")
)
# The condition, the project, the time, and the order of those of the same time.
OWED: Mapping[OwnerKind, tuple[str, str, str, str]] = {
    OwnerKind.TURN: ("n.endTime IS NOT NULL", PROJECT, "n.timestamp", "0"),
    OwnerKind.SUMMARY: ("true", PROJECT, "n.timestamp", "n.level"),
    OwnerKind.MEMORY: (REMEMBERED, OF_MEMORIES[PROJECT], "n.created", "-1"),
}


async def nearest(graph: Graph, nearby: Nearby) -> list[Near]:
    """Return the nearest, best first, ties by id; exact if few nodes are in scope, else nearly so.

    Scores are computed from the vectors themselves, so they are right in either case. Raises UsageError for
    a vector that cannot be compared.
    """
    check_vector(nearby.vector, of="the question")
    if nearby.limit <= 0:
        return []
    limit = min(nearby.limit, NEAR_MAX)
    found: list[Near] = []
    kinds, fetched = tuple(dict.fromkeys(nearby.kinds)), _tuning(graph).surplus * limit
    while kinds:
        answers = await _asked(graph, nearby, kinds, limit=limit, fetched=fetched)
        fetched *= WIDENING
        # The last query compares every node in scope, so this ends.
        kinds = tuple(OwnerKind(each["kind"]) for each in answers if _is_short(each, limit))
        for answer in answers:
            if (kind := OwnerKind(answer["kind"])) not in kinds:
                found += [Near(Owner(kind, id_), _clamped(score)) for id_, score in answer["found"]]
    return sorted(found, key=lambda near: (-near.score, near.owner.id))[:limit]


async def similar(graph: Graph, owners: Sequence[Owner], nearby: Nearby) -> dict[Owner, float]:
    """Return the similarity of the owners that have a vector of the model; the scope is ignored."""
    if not owners:
        return {}
    rows = await graph.read_as_one(
        _union(SIMILAR, OwnerKind),
        ("kind", "id", "score"),
        vector=_direction(nearby.vector),
        model=storable(nearby.model),
        dimensions=len(nearby.vector),
        ids=_ids(owners),
    )
    return {Owner(OwnerKind(row["kind"]), row["id"]): _clamped(row["score"]) for row in rows}


async def get(graph: Graph, owners: Sequence[Owner]) -> list[Embedding]:
    """Return the existing embeddings, in the order of the owners."""
    rows = await graph.read(_union(GET, OwnerKind), ids=_ids(owners))
    found = {(row["kind"], row["id"]): embedding_of(row) for row in rows}
    return [found[key] for owner in owners if (key := (str(owner.kind), owner.id)) in found]


async def lacking(
    graph: Graph, model: str, *, project_id: str | None = None, limit: int = 100
) -> list[Owner]:
    """Return ended turns, summaries and memories that need a vector of it, newest first."""
    await mark_owed(graph, project_id)
    in_use = await graph.read(IN_USE, model=model)
    ways = (STALE, *OF_ANOTHER, *(OF_ANOTHER_LENGTH if in_use else ()))
    rows = await graph.read(
        _lacking(ways, in_project=project_id is not None),
        model=storable(model),
        dimensions=in_use[0]["dimensions"] if in_use else None,
        project=project_id,
        limit=max(0, limit),
        deadline_s=timeouts.NEO4J_RUN_S_MAX,
    )
    return [Owner(OwnerKind(row["kind"]), row["id"]) for row in rows]


def _lacking(ways: Sequence[tuple[str, str]], *, in_project: bool) -> str:
    """Return the query for what has no vector, newest first."""
    parts: list[str] = []
    for kind, (condition, project, at, level) in OWED.items():
        within = f" AND {project}" if in_project else ""
        nodes = " UNION ".join(
            f"MATCH (n:{LABELS[kind]}) USING INDEX SEEK n:{LABELS[kind]}({by}) "
            f"WHERE {way} AND {condition}{within} RETURN n"
            for by, way in ways
        )
        parts.append(
            f"CALL () {{ {nodes} }}\n"
            f"RETURN '{kind}' AS kind, n.id AS id, {at} AS at, {level} AS level\n"
            "ORDER BY at DESC, level DESC, id DESC LIMIT $limit"
        )
    return (
        f"{PLAN_ONCE}CALL () {{ {' UNION ALL '.join(parts)} }}\n"
        "RETURN kind, id ORDER BY at DESC, level DESC, id DESC LIMIT $limit"
    )


async def same_text(graph: Graph, model: str, hashes: Sequence[str]) -> dict[str, Vector]:
    """Return vectors of the model for texts of these hashes; if it is in use, only of its length."""
    in_use = await graph.read(IN_USE, model=model)
    rows = await graph.read(
        _union(SAME_TEXT, OwnerKind),
        model=model,
        hashes=list(hashes),
        dimensions=in_use[0]["dimensions"] if in_use else None,
    )
    return {row["hash"]: array("f", row["vector"]) for row in rows}


def embedding_of(row: Mapping[str, Any]) -> Embedding:
    """Return the embedding of a row with `kind`, `id`, `model`, `hash` and `vector`."""
    owner = Owner(OwnerKind(row["kind"]), row["id"])
    return Embedding(owner, row["model"], row["hash"], array("f", row["vector"]))


async def _asked(
    graph: Graph, nearby: Nearby, kinds: Sequence[OwnerKind], *, limit: int, fetched: int
) -> list[dict[str, Any]]:
    tuning, dimensions = _tuning(graph), len(nearby.vector)
    values: dict[str, Any] = {
        "vector": _direction(nearby.vector),
        "dimensions": dimensions,
        "default_dimensions": DEFAULT_DIMENSIONS,
        "model": storable(nearby.model),
        "project": nearby.project_id,
        "session": nearby.session_id,
        "since": None if nearby.since is None else utc(nearby.since),
        "until": None if nearby.until is None else utc(nearby.until),
        "limit": limit,
        "surplus": tuning.surplus * limit,
        "fetched": fetched,
        "fetched_max": FETCHED_MAX,
        "counted": COUNTED_MAX,
        "few": EVERY_NODE if fetched > FETCHED_MAX else _few(tuning, dimensions),
    }
    conditions = _conditions(nearby)
    if filters_inside(graph.version):
        # An index that was created before an embedder was named, or by an older server, knows no filters.
        with suppress(StatementRefused):
            return await graph.read(_query(kinds, conditions, filtered=True), **values)
    return await graph.read(_query(kinds, conditions, filtered=False), **values)


def _query(kinds: Sequence[OwnerKind], conditions: Sequence[str], *, filtered: bool) -> str:
    """Return one of a few texts, so that the server plans each only once; all values are parameters."""
    parts: list[str] = []
    for kind in kinds:
        scope = " AND ".join(_of_kind(kind, conditions))
        # Times are no filter property of the index: they are checked afterwards.
        known = " AND ".join(each for each in conditions if each in INSIDE)
        names = {"label": LABELS[kind], "index": INDEXES[kind], "scope": scope, "filter": known}
        names |= {"database": Label.DATABASE, "size": _size(kind, conditions)}
        names["found"] = _found(kind, conditions)
        count, exact = COUNT.format(**names), EXACT.format(**names)
        # Memories of all projects belong to each, which no filter of the index can express.
        inside = filtered and not (kind is OwnerKind.MEMORY and PROJECT in conditions)
        indexed = (FILTERED if inside else OVERFETCHED).format(**names)
        parts.append(NEAREST.format(count=count, exact=exact, indexed=indexed, kind=kind))
    # Only for a project is each index named.
    is_named = PROJECT in conditions and SESSION not in conditions
    options = [*(["25"] if filtered else []), *(["replan=skip"] if is_named else [])]
    return f"{' '.join(['CYPHER', *options]) if options else ''}{'UNION ALL'.join(parts)}"


def _size(kind: OwnerKind, conditions: Sequence[str]) -> str:
    """Return the query part that estimates the scope's size without reading its nodes; 0 if nothing can."""
    if SINCE in conditions or UNTIL in conditions:
        return SIZE_UNKNOWN
    if SESSION not in conditions and PROJECT not in conditions:
        return SIZE_OF_ALL.format(label=LABELS[kind])
    if SESSION in conditions:
        size = SIZE_OF_SESSION
    else:
        size = SIZE_OF_PROJECT if kind is OwnerKind.MEMORY else SIZE_OF_SESSIONS
    return size.format(link=LINKS[kind])


def _found(kind: OwnerKind, conditions: Sequence[str]) -> str:
    """Return the pattern of the nodes in the scope, as `n`, with an index for each way to be in it.

    The indexes are named, because a server chooses by how many values it has seen: all may be in one project.
    """
    node, scope = f"MATCH (n:{LABELS[kind]})", _of_kind(kind, conditions)
    if PROJECT not in conditions or SESSION in conditions:
        return f"{node} WHERE {' AND '.join(scope)}"
    by = f"USING INDEX SEEK n:{LABELS[kind]}"
    own = f"{node} {by}({_index(kind, conditions)})"
    if kind is not OwnerKind.MEMORY:
        return f"{own} WHERE {' AND '.join(scope)}"
    others = [each for each in scope if each != OF_MEMORIES[PROJECT]]
    ways = (
        " AND ".join([f"{own} WHERE {PROJECT}", *others]),
        " AND ".join([f"{node} {by}(scope) WHERE n.scope = 'global' AND {IS_STORED}", *others]),
    )
    return f"CALL () {{ {' UNION '.join(f'{way} RETURN n' for way in ways)} }}"


def _index(kind: OwnerKind, conditions: Sequence[str]) -> str:
    """Return the index's properties to find what is in a project, or in one since or until a moment."""
    if SINCE not in conditions and UNTIL not in conditions:
        return "projectId"
    return "projectId, created" if kind is OwnerKind.MEMORY else "projectId, timestamp"


def _of_kind(kind: OwnerKind, conditions: Sequence[str]) -> list[str]:
    """Return the conditions for nodes of this kind."""
    if kind is not OwnerKind.MEMORY:
        return list(conditions)
    return [*(OF_MEMORIES.get(each, each) for each in conditions), REMEMBERED]


def _conditions(nearby: Nearby) -> list[str]:
    conditions = [MODEL]
    if nearby.project_id:
        conditions.append(PROJECT)
    if nearby.session_id:
        conditions.append(SESSION)
    if nearby.since is not None:
        conditions.append(SINCE)
    if nearby.until is not None:
        conditions.append(UNTIL)
    return conditions


def _union(query: str, kinds: Iterable[OwnerKind]) -> str:
    return "UNION ALL".join(query.format(kind=kind, label=LABELS[kind]) for kind in kinds)


def _ids(owners: Iterable[Owner]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {kind: [] for kind in OwnerKind}
    for owner in owners:
        ids[owner.kind].append(owner.id)
    return ids


def _is_short(answer: Mapping[str, Any], limit: int) -> bool:
    """Whether the index returned too little to be sure of the best; exact search returns everything."""
    return not answer["exact"] and answer["survived"] < min(SURE * limit, answer["scoped"])


def _few(tuning: Tuning, dimensions: int) -> int:
    """Return how many nodes can be compared one by one in the time that the index would take."""
    return int(tuning.exact_us_max / (NODE_US + FLOAT_US * dimensions))


def _tuning(graph: Graph) -> Tuning:
    return FROM_2026 if filters_inside(graph.version) else BEFORE_2026


def _direction(vector: Vector) -> list[float]:
    """Return the vector at length 1: the server rejects one whose length does not fit in 32 bits."""
    length = math.hypot(*vector)
    return [value / length for value in vector]


def _clamped(score: float) -> float:
    """Return the score within 0..1: Neo4j answers 1.0000001 for a vector and itself."""
    return min(max(score, 0.0), 1.0)
