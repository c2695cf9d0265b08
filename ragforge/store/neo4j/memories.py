"""The typed memories in the graph."""

from array import array
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ragforge.domain import timeouts
from ragforge.domain.errors import Conflict, StoreError, StoreUnavailable
from ragforge.domain.memories import (
    CONCEPT_CANDIDATES_MAX,
    FORGOTTEN_MAX,
    MEMORY,
    WISHES_COUNTED_MAX,
    Association,
    ConceptFilter,
    ConceptMemories,
    ExtractionCount,
    Memory,
    MemoryFilter,
    MemoryOrigin,
    MemorySort,
    Period,
    Strength,
    WishCount,
    WishKind,
)
from ragforge.store.archive_items import key_of
from ragforge.store.json_text import storable
from ragforge.store.memory_rules import (
    BY_KIND,
    CHANGED,
    TOLD,
    TOPIC,
    check_memory,
    concepts_of,
    merged,
    restores,
)
from ragforge.store.neo4j.abandonment import MEMORY_ABANDONED
from ragforge.store.neo4j.carry_memories import RESTORED, SAVED
from ragforge.store.neo4j.connection import PLAN_ONCE, as_one, rows_of
from ragforge.store.neo4j.index_rows import memory_props, outdate_vector
from ragforge.store.neo4j.memory_rows import (
    REPLACED,
    TYPES,
    association_of,
    association_row,
    memory_of,
    memory_row,
)
from ragforge.store.neo4j.memory_state import STATE
from ragforge.store.neo4j.nodes import FIELDS, Nodes, fields, valid_ids
from ragforge.store.neo4j.outbox import ASSOCIATION, TIMES, Rows, with_times
from ragforge.store.neo4j.rows import Label, Props, utc

# As one record, and times as numbers: see `Graph.read_as_one`.
COLUMNS = (*FIELDS[Label.MEMORY], "replaced", "abandoned")
_VALUES = [f"n.{name}{'.epochMillis' if name in TIMES else ''} AS {name}" for name in FIELDS[Label.MEMORY]]


def _whole(replaced: str = REPLACED, abandoned: str = MEMORY_ABANDONED.format("n")) -> str:
    """Return the end of a query: it returns memories `n` as stored, and their state if it is not known."""
    return f"RETURN {', '.join(_VALUES)}, {replaced} AS replaced, {abandoned} AS abandoned"


WHOLE = _whole()

GET = f"MATCH (n:{Label.MEMORY}) WHERE n.id IN $ids {WHOLE}"

OF_TURNS = f"""
MATCH (t:{Label.TURN})<-[:EVIDENCE]-(n:{Label.MEMORY}) WHERE t.id IN $ids
WITH DISTINCT n {WHOLE} ORDER BY n.created, n.id
"""

ORDERS = {
    MemorySort.RECENT: "updated",
    MemorySort.IMPORTANCE: str(MemorySort.IMPORTANCE),
    MemorySort.USED: "accessCount",
    MemorySort.CREATED: "created",
}
"""The properties that memories are listed by; each has an index within a project."""

OF_PROJECT, OF_ALL = ("n.projectId = $project",), ("n.scope = 'global'",)
WAYS = (OF_PROJECT, OF_ALL)
"""The ways in which a memory belongs to a project."""

HOLDS = (
    f"n.forgottenAt IS NULL AND n.owner IN ['', $person] AND NOT {REPLACED} "
    f"AND NOT ({MEMORY_ABANDONED.format('n')})"
)
_KINDS = " AND ".join(
    ["n.type IN ['preference', 'goal', 'todo']", *(f"n.{each} IS NOT NULL" for each in BY_KIND)]
)
# Each branch with its index: in a project with many memories, few are wishes.
_MUST = f"""
  MATCH (n:{Label.MEMORY}) USING INDEX SEEK n:{Label.MEMORY}(projectId, strength)
  WHERE n.projectId = $project AND n.strength = 'must' RETURN n
  UNION
  MATCH (n:{Label.MEMORY}) USING INDEX SEEK n:{Label.MEMORY}(scope)
  WHERE n.scope = 'global' AND n.strength = 'must' RETURN n
"""
_OTHERS = f"""
  UNION
  MATCH (n:{Label.MEMORY}) USING INDEX SEEK n:{Label.MEMORY}(projectId, {", ".join(BY_KIND)})
  WHERE n.projectId = $project AND {_KINDS} RETURN n
  UNION
  MATCH (n:{Label.MEMORY}) USING INDEX SEEK n:{Label.MEMORY}(scope)
  WHERE n.scope = 'global' AND {_KINDS} RETURN n
"""
_COUNTED = f"""
WITH n WHERE {HOLDS}
WITH n LIMIT {WISHES_COUNTED_MAX}
RETURN CASE WHEN n.strength = 'must' THEN 'constraint' WHEN n.type = 'preference' THEN n.type
  ELSE 'intent' END AS kind,
  count(*) AS number, sum(coalesce(n.held, 0)) AS held, sum(coalesce(n.broken, 0)) AS broken
"""
WISHES = {
    binding: f"{PLAN_ONCE}CALL () {{{_MUST}{others}}}{_COUNTED}"
    for binding, others in ((True, ""), (False, _OTHERS))
}
_WEIGHT, _USES = ORDERS[MemorySort.IMPORTANCE], ORDERS[MemorySort.USED]
_WEIGHTIEST = "\n  UNION\n".join(
    f"""  MATCH (n:{Label.MEMORY}) USING INDEX SEEK n:{Label.MEMORY}(projectId, {order}, created)
  WHERE n.projectId = $project AND n.{order} IS NOT NULL AND n.created IS NOT NULL
    AND n.forgottenAt IS NULL AND n.owner IN ['', $person]
  WITH n ORDER BY n.projectId DESC, n.{order} DESC, n.created DESC WITH n WHERE {HOLDS}
  RETURN n LIMIT {CONCEPT_CANDIDATES_MAX}"""
    for order in (_WEIGHT, _USES)
)
CONCEPTS = f"""
CALL () {{
{_WEIGHTIEST}
}}
WITH n WHERE n.{TOPIC} <> '' AND ($topics = [] OR n.{TOPIC} IN $topics)
WITH n.{TOPIC} AS concept, sum(n.{_WEIGHT} * (1 + n.{_USES})) AS weight
ORDER BY weight DESC, concept LIMIT $limit
CALL (concept) {{
  MATCH (n:{Label.MEMORY}) USING INDEX SEEK n:{Label.MEMORY}(projectId, {TOPIC}, {_WEIGHT}, created)
  WHERE n.projectId = $project AND n.{TOPIC} = concept AND n.{_WEIGHT} IS NOT NULL AND n.created IS NOT NULL
    AND n.forgottenAt IS NULL AND n.owner IN ['', $person]
  WITH n ORDER BY n.projectId DESC, n.{TOPIC} DESC, n.{_WEIGHT} DESC, n.created DESC WITH n WHERE {HOLDS}
  RETURN n LIMIT $each
}}
{_whole("false", "false")}, concept, weight,
  CASE WHEN n.embeddingModel = $model AND NOT coalesce(n.embeddingStale, false) THEN n.embedding END AS vector
"""
EXTRACTED = f"""
MATCH (n:{Label.MEMORY}) USING INDEX SEEK n:{Label.MEMORY}(projectId, created)
WHERE n.projectId = $project AND n.created IS NOT NULL AND n.source = 'background'
  AND n.owner IN ['', $person]
WITH n ORDER BY n.projectId DESC, n.created DESC LIMIT $limit
WITH (n.forgottenAt IS NULL OR n.forgottenAt > n.created + $within) AND NOT EXISTS {{
  MATCH (n)<-[link:UPDATES]-(newer:{Label.MEMORY})
  WHERE newer.origin = '{MemoryOrigin.EDIT}' AND link.at <= n.created + $within
}} AS isRight
RETURN count(*) AS kept, count(CASE WHEN isRight THEN 1 END) AS right
"""

FORGOTTEN = f"""
MATCH (n:{Label.MEMORY}) USING INDEX n:{Label.MEMORY}(forgottenAt)
WHERE n.forgottenAt IS NOT NULL AND (n.scope = 'global' OR n.projectId = $project)
WITH n ORDER BY n.forgottenAt DESC, n.id LIMIT {FORGOTTEN_MAX}
{WHOLE} ORDER BY n.forgottenAt DESC, n.id
"""

WITH_ID_PART = f"""
MATCH (n:{Label.MEMORY}) WHERE n.id STARTS WITH $part RETURN n.id AS id ORDER BY id LIMIT $limit
"""

TOUCH = f"""
MATCH (n:{Label.MEMORY}) WHERE n.id IN $ids AND (n.lastAccessed IS NULL OR n.lastAccessed < $at)
SET n.accessCount = n.accessCount + 1, n.lastAccessed = $at
"""

COUNT = {
    held: f"MATCH (n:{Label.MEMORY}) WHERE n.id IN $ids SET n.{name} = coalesce(n.{name}, 0) + 1"
    for held, name in ((True, "held"), (False, "broken"))
}
BINDING = [str(each) for each in Strength if each]

ASSOCIATIONS = f"""
MATCH (n:{Label.MEMORY})-[r:{"|".join(TYPES.values())}]-(:{Label.MEMORY}) WHERE n.id IN $ids
WITH DISTINCT r, startNode(r) AS a, endNode(r) AS b
RETURN type(r) AS kind, a.id AS from, b.id AS to, r.at AS at, coalesce(r.turn, '') AS turn
ORDER BY at, toLower(kind), from, to, turn
"""


class Neo4jMemories:
    """Implements `Memories`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def save(self, memory: Memory) -> None:
        """Store it, merged with the one of the same id, here and in the graph.

        Raises UsageError for one that cannot be stored, Conflict if its project is not stored.
        """
        check_memory(memory)
        await self._nodes.need(Label.PROJECT, memory.project_id)

        def write(rows: Rows) -> None:
            before = rows.get(Label.MEMORY, memory.id)
            props = memory_row(memory)
            first = memory_of(before.props) if before is not None else None
            is_restored = restores(memory_of(props), first)
            notes: set[str] = set()
            if first is not None:
                props = memory_row(merged(first, memory_of(props)))
                notes = {SAVED}
            if is_restored:
                notes |= {RESTORED}
            props |= memory_props(props)
            rows.put(Label.MEMORY, memory.id, props, notes=notes, surely=is_restored and before is not None)

        await self._nodes.write(write)

    async def change(self, memory: Memory) -> None:
        """Replace what may change of it (`CHANGED`). Raises Conflict, UsageError."""
        check_memory(memory)
        await self._bring([memory.id])

        def write(rows: Rows) -> None:
            before = rows.get(Label.MEMORY, memory.id)
            if before is None:
                raise Conflict(f"The memory {memory.id} is not in the store; it may have been deleted.")
            row = memory_row(memory)
            changes = {name: row[name] for name in map(MEMORY.property_name, CHANGED)}
            changes["searchTools"] = memory_props(before.props | changes)["searchTools"]
            if any(before.props[name] != changes[name] for name in TOLD if name in changes):
                changes["embeddingStale"] = True
                outdate_vector(rows, "memory", memory.id)
            rows.put(Label.MEMORY, memory.id, changes, surely=True)

        await self._nodes.write(write)

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        if not ids:
            return []
        await self._nodes.settle()
        await self._nodes.settle_abandoned()
        try:
            answer = await self._nodes.ask(as_one(GET, COLUMNS), ids=valid_ids(ids))
            found = [memory_of(with_times(each)) for each in rows_of(answer, COLUMNS)]
        except StoreUnavailable:
            return await self._nodes.here.memories.get(ids)
        by_id = {memory.id: memory for memory in found}
        return [by_id[each] for each in dict.fromkeys(ids) if each in by_id]

    async def find(self, wanted: MemoryFilter) -> list[Memory]:
        await self._nodes.settle()
        await self._nodes.settle_abandoned()
        try:
            answer = await self._nodes.ask(
                as_one(_fitting(wanted), COLUMNS),
                project=wanted.project_id,
                session=wanted.session_id,
                person=wanted.person,
                types=[str(kind) for kind in wanted.types],
                weight=float(wanted.importance_min),
                since=None if wanted.since is None else utc(wanted.since),
                limit=max(0, wanted.limit),
            )
        except StoreUnavailable:
            return await self._nodes.here.memories.find(wanted)
        return [memory_of(with_times(each)) for each in rows_of(answer, COLUMNS)]

    async def state(self) -> object | None:
        """Return the last change's mark (`memory_state.py`); None if rows wait or without the server."""
        await self._nodes.settle()
        if self._nodes.carrier.away or self._nodes.outbox.waiting:
            return None
        try:
            found = await self._nodes.ask(STATE)
        except StoreUnavailable:
            return None
        return found[0]["state"] if found else None

    async def concepts(self, wanted: ConceptFilter) -> list[ConceptMemories]:
        await self._nodes.settle()
        await self._nodes.settle_abandoned()
        columns = (*COLUMNS, "concept", "weight", "vector")
        try:
            answer = await self._nodes.ask(
                as_one(CONCEPTS, columns),
                project=wanted.project_id,
                person=wanted.person,
                model=storable(wanted.model),
                topics=list(wanted.topics),
                limit=max(0, wanted.limit),
                each=max(0, wanted.each),
            )
        except StoreUnavailable:
            return await self._nodes.here.memories.concepts(wanted)
        rows = rows_of(answer, columns)
        return concepts_of(
            [memory_of(with_times(each)) for each in rows],
            {each["concept"]: each["weight"] for each in rows},
            {each["id"]: array("f", each["vector"]) for each in rows if each["vector"] is not None},
            each=wanted.each,
        )

    async def count_wishes(
        self, *, project_id: str, person: str, binding: bool = False
    ) -> dict[WishKind, WishCount]:
        await self._nodes.settle()
        await self._nodes.settle_abandoned()
        try:
            found = await self._nodes.ask(WISHES[binding], project=project_id, person=person)
        except StoreUnavailable:
            return await self._nodes.here.memories.count_wishes(
                project_id=project_id, person=person, binding=binding
            )
        return {
            WishKind(each["kind"]): WishCount(each["number"], each["held"], each["broken"]) for each in found
        }

    async def count_extracted(
        self, *, project_id: str, person: str, within: timedelta, limit: int
    ) -> ExtractionCount:
        await self._nodes.settle()
        try:
            [found] = await self._nodes.ask(
                EXTRACTED, project=project_id, person=person, within=within, limit=max(0, limit)
            )
        except StoreUnavailable:
            return await self._nodes.here.memories.count_extracted(
                project_id=project_id, person=person, within=within, limit=limit
            )
        return ExtractionCount(found["kept"], found["right"])

    async def of_turns(self, turn_ids: Sequence[str]) -> list[Memory]:
        if not turn_ids:
            return []
        await self._nodes.settle()
        await self._nodes.settle_abandoned()
        try:
            answer = await self._nodes.ask(as_one(OF_TURNS, COLUMNS), ids=valid_ids(turn_ids))
        except StoreUnavailable:
            return await self._nodes.here.memories.of_turns(turn_ids)
        return [memory_of(with_times(each)) for each in rows_of(answer, COLUMNS)]

    async def with_id_part(self, part: str, *, limit: int = 5) -> list[str]:
        """Return the ids that begin so, sorted."""
        part, limit = storable(part).lower(), max(0, limit)
        await self._nodes.settle()
        try:
            found = await self._nodes.ask(WITH_ID_PART, part=part, limit=limit)
        except StoreUnavailable:
            return await self._nodes.here.memories.with_id_part(part, limit=limit)
        return [each["id"] for each in found]

    async def forgotten(self, *, project_id: str) -> list[Memory]:
        """Return the project's and the global memories that are forgotten, newest first."""
        await self._nodes.settle()
        try:
            answer = await self._nodes.ask(as_one(FORGOTTEN, COLUMNS), project=project_id)
        except StoreUnavailable:
            return await self._nodes.here.memories.forgotten(project_id=project_id)
        return [memory_of(with_times(each)) for each in rows_of(answer, COLUMNS)]

    async def forget(self, ids: Sequence[str], at: datetime) -> None:
        """Forget them; those forgotten already keep their time."""
        await self._change(ids, {"forgottenAt": utc(at)}, when_forgotten=False)

    async def restore(self, ids: Sequence[str]) -> None:
        await self._change(ids, {"forgottenAt": None}, when_forgotten=True)

    async def set_periods(self, periods: Mapping[str, Period]) -> None:
        await self._bring(list(periods))

        def write(rows: Rows) -> None:
            for identifier, each in periods.items():
                if rows.get(Label.MEMORY, identifier) is not None:
                    ends = None if each.valid_to is None else utc(each.valid_to)
                    changes = {"validFrom": utc(each.valid_from), "validTo": ends}
                    rows.put(Label.MEMORY, identifier, changes, surely=True)

        await self._nodes.write(write)

    async def touch(self, ids: Sequence[str], at: datetime) -> None:
        """Count one use of each at this moment, in the graph only; nothing while it is unreachable."""
        await self._count(TOUCH, ids, at=utc(at))

    async def count_answers(self, ids: Sequence[str], *, held: bool) -> None:
        """Count the answers, in the graph only; nothing while it is unreachable."""
        await self._count(COUNT[held], ids)

    async def _count(self, query: str, ids: Sequence[str], **values: Any) -> None:
        await self._nodes.settle()
        if self._nodes.carrier.away:
            return
        try:
            await self._nodes.graph.write(
                query, ids=valid_ids(ids), deadline_s=timeouts.NEO4J_WRITE_S_MAX, **values
            )
        except StoreError:
            # Nothing depends on it; the next call that needs the server notices that it is unreachable.
            return

    async def associate(self, associations: Sequence[Association]) -> None:
        """Store the links, all or none; an existing one gets the newer time. Raises Conflict."""
        for end in {end for each in associations for end in (each.from_id, each.to_id)}:
            await self._nodes.need(Label.MEMORY, end)

        def write(rows: Rows) -> None:
            for each in associations:
                key, row = key_of(each), association_row(each)
                before = rows.get(ASSOCIATION, key)
                if before is None or before.props["at"] < row["at"]:
                    rows.put(ASSOCIATION, key, row)

        await self._nodes.write(write)

    async def associations(self, ids: Sequence[str]) -> list[Association]:
        await self._nodes.settle()
        try:
            found = await self._nodes.ask(ASSOCIATIONS, ids=valid_ids(ids))
        except StoreUnavailable:
            return await self._nodes.here.memories.associations(ids)
        return [association_of(each) for each in found]

    async def _change(self, ids: Sequence[str], changes: Props, *, when_forgotten: bool) -> None:
        await self._bring(ids)

        def write(rows: Rows) -> None:
            for each in dict.fromkeys(ids):
                row = rows.get(Label.MEMORY, each)
                if row is not None and (row.props.get("forgottenAt") is not None) == when_forgotten:
                    rows.put(Label.MEMORY, each, changes, surely=True)

        await self._nodes.write(write)

    async def _bring(self, ids: Sequence[str]) -> None:
        """Read the current nodes from the graph, to be changed here; without a server, use the rows here."""
        await self._nodes.settle()
        try:
            found = await self._nodes.ask(
                f"MATCH (n:{Label.MEMORY}) WHERE n.id IN $ids RETURN {fields('n', Label.MEMORY)} AS n",
                ids=valid_ids(ids),
            )
        except StoreUnavailable:
            return
        await self._nodes.outbox.write(
            lambda rows: rows.keep(Label.MEMORY, [_with_words(each["n"]) for each in found])
        )


def _with_words(props: Props) -> Props:
    """Return the node with its search words, as its row has it here."""
    return props | memory_props(props)


def _fitting(wanted: MemoryFilter) -> str:
    """Return the query with only the requested conditions, so that each case has its index.

    The indexes are named, because a server chooses by how many values it has seen: all could be of one kind.
    Expensive conditions are checked last, only for as many as it takes to fill the list.
    """
    conditions = [
        *(["(n.scope <> 'session' OR n.sessionId = $session)"] if wanted.session_id is not None else []),
        *(["n.owner IN ['', $person]"] if wanted.person is not None else []),
        *(["n.type IN $types", *(f"n.{name} IS NOT NULL" for name in BY_KIND)] if wanted.types else []),
        *([f"n.strength IN {BINDING}"] if wanted.binding else []),
        *([f"n.{ORDERS[MemorySort.IMPORTANCE]} >= $weight"] if wanted.importance_min > 0 else []),
        *(["n.created >= $since"] if wanted.since is not None else []),
        *([] if wanted.forgotten else ["n.forgottenAt IS NULL"]),
    ]
    replaced, abandoned = REPLACED, MEMORY_ABANDONED.format("n")
    dear = [
        *([] if wanted.replaced else [f"NOT {replaced}"]),
        *([] if wanted.abandoned else [f"NOT ({abandoned})"]),
    ]
    # Conditions that were checked need not be computed again for the rest.
    whole = _whole(replaced if wanted.replaced else "false", abandoned if wanted.abandoned else "false")
    sort = f"n.{ORDERS[wanted.sort]}"
    order, listed = f"{sort} DESC, n.created DESC, n.id", (f"{sort} IS NOT NULL", "n.created IS NOT NULL")
    each = "\nUNION\n".join(
        f"MATCH {_found_by(way, wanted)} WHERE {' AND '.join([*way, *listed, *conditions])}\n"
        f"WITH n ORDER BY {as_indexed} WITH n WHERE {' AND '.join(dear) or 'true'}\n"
        f"RETURN n ORDER BY {as_indexed} LIMIT $limit"
        for way in (WAYS if wanted.project_id is not None else ((),))
        # The index of a project's memories ends the search at the limit if the order has all its properties.
        for as_indexed in (f"n.projectId DESC, {order}" if way == OF_PROJECT else order,)
    )
    return f"CALL () {{\n{each}\n}}\nWITH n ORDER BY {order} LIMIT $limit {whole} ORDER BY {order}"


def _found_by(way: Sequence[str], wanted: MemoryFilter) -> str:
    """Return the pattern of node `n`, with the index that finds it."""
    if way == OF_ALL:
        by = "scope"
    elif way == OF_PROJECT and wanted.binding:
        by = "projectId, strength"
    elif way == OF_PROJECT and wanted.types:
        by = f"projectId, {', '.join(BY_KIND)}"
    elif way == OF_PROJECT:
        by = "projectId, created"
        if wanted.since is None and wanted.sort is not MemorySort.CREATED:
            by = f"projectId, {ORDERS[wanted.sort]}, created"
    elif wanted.person is not None and wanted.types:
        by = f"owner, {', '.join(BY_KIND)}"
    else:
        return f"(n:{Label.MEMORY})"
    return f"(n:{Label.MEMORY}) USING INDEX SEEK n:{Label.MEMORY}({by})"
