"""The typed memories in SQLite."""

import json
from array import array
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from msgspec.structs import asdict, replace

from ragforge.domain.errors import Conflict
from ragforge.domain.memories import (
    CONCEPT_CANDIDATES_MAX,
    FORGOTTEN_MAX,
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
    WishCount,
    WishKind,
)
from ragforge.store.json_text import storable
from ragforge.store.memory_rules import (
    TOPIC,
    changed,
    check_memory,
    concept_weights,
    concepts_of,
    merged,
)
from ragforge.store.sqlite.abandonment import MEMORY_ABANDONED, REPLACED
from ragforge.store.sqlite.associations import ASSOCIATIONS, OF_MEMORIES, renew_association
from ragforge.store.sqlite.connection import Connection, Database, Row
from ragforge.store.sqlite.memory_rows import MEMORIES, SELECT, memory_by_id, put_memory, set_forgotten
from ragforge.store.sqlite.rows import EVER, to_ms

ORDERS = {
    MemorySort.RECENT: "memory.updated_at DESC",
    MemorySort.IMPORTANCE: "memory.importance DESC",
    MemorySort.USED: "memory.access_count DESC",
    MemorySort.CREATED: "memory.created_at DESC",
}

KEPT_MAX = 512
"""How many rows of memories are cached: the same ones are read before every message."""
FEW = 2_000
"""Fewer memories are all read and sorted; of more, enough come early in the index of the order."""
OWN = """
SELECT key FROM memory WHERE project = (SELECT key FROM project WHERE id = :project_id) {types}
UNION ALL SELECT key FROM memory WHERE scope = 'global' {types}
"""
OF_TYPES = "AND type IN (SELECT value FROM json_each(:types))"
BINDING = "AND strength != ''"

# The plus makes SQLite use the index of the order, which ends the search at the limit.
FITTING = f"""
{SELECT} WHERE {{within}} (:project_id IS NULL OR +scope = 'global'
        OR +memory.project = (SELECT key FROM project WHERE id = :project_id))
    AND (:session_id IS NULL OR scope != 'session' OR +memory.session = :session_id)
    AND (:person IS NULL OR memory.owned_by IN ('', :person))
    AND (:types = '[]' OR memory.type IN (SELECT value FROM json_each(:types)))
    AND (NOT :binding OR memory.strength != '')
    AND importance >= :importance_min AND memory.created_at >= :since
    AND (:forgotten OR forgotten_at IS NULL) AND (:replaced OR NOT is_replaced)
    AND (:abandoned OR NOT is_abandoned)
ORDER BY {{order}}, memory.created_at DESC, memory.id LIMIT max(0, :limit)
"""

FORGOTTEN = f"""
{SELECT} WHERE forgotten_at IS NOT NULL
    AND (scope = 'global' OR memory.project = (SELECT key FROM project WHERE id = ?1))
ORDER BY forgotten_at DESC, memory.id LIMIT {FORGOTTEN_MAX}
"""


# Expensive conditions are evaluated last, for a few times as many as are wanted.
OF_TOPICS = f"""
{SELECT} WHERE memory.key IN (
    SELECT key FROM (
        SELECT key,
            row_number() OVER (PARTITION BY {TOPIC} ORDER BY importance DESC, created_at DESC, id) AS place
        FROM memory WHERE project = (SELECT key FROM project WHERE id = :project_id) AND {TOPIC} != ''
            AND {TOPIC} IN (SELECT value FROM json_each(:topics)) AND owned_by IN ('', :person)
            AND forgotten_at IS NULL
    ) WHERE place <= 4 * :each
) AND NOT is_replaced AND NOT is_abandoned
ORDER BY memory.importance DESC, memory.created_at DESC, memory.id
"""
VECTORS = """
SELECT memory.id, vector FROM json_each(?1) AS wanted CROSS JOIN memory ON memory.id = wanted.value
    CROSS JOIN embedding ON owner = memory.key WHERE model = ?2
"""
_HERE = "project = (SELECT key FROM project WHERE id = :project_id)"
# Each branch with its index: in a project with many memories the wishes are few.
WISHES = f"""
SELECT CASE WHEN strength = 'must' THEN 'constraint' WHEN type = 'preference' THEN type ELSE 'intent' END,
    count(*), sum(held), sum(broken)
FROM (
    SELECT * FROM memory WHERE key IN (
        SELECT key FROM memory WHERE {_HERE} AND strength != '' AND strength = 'must'
        UNION SELECT key FROM memory INDEXED BY memory_global WHERE scope = 'global' AND strength = 'must'
        {{others}}
    ) AND forgotten_at IS NULL AND owned_by IN ('', :person)
        AND NOT {REPLACED.format("memory.key")} AND NOT {MEMORY_ABANDONED.format("memory")}
    LIMIT {WISHES_COUNTED_MAX}
) GROUP BY 1
"""
NOT_BINDING = f"""
UNION SELECT key FROM memory WHERE {_HERE} AND type IN ('preference', 'goal', 'todo')
UNION SELECT key FROM memory WHERE scope = 'global' AND type IN ('preference', 'goal', 'todo')
"""
EXTRACTED = f"""
SELECT count(*), coalesce(sum(
    (forgotten_at IS NULL OR forgotten_at - created_at > :within) AND NOT EXISTS (
        SELECT 1 FROM association AS link JOIN memory AS newer ON newer.key = link.source
        WHERE link.target = found.key AND link.kind = 'updates' AND newer.origin = '{MemoryOrigin.EDIT}'
            AND link.at - found.created_at <= :within)
), 0) FROM (
    SELECT key, created_at, forgotten_at FROM memory
    WHERE {_HERE} AND source = 'background' AND owned_by IN ('', :person)
    ORDER BY created_at DESC LIMIT max(0, :limit)
) AS found
"""

OF_IDS = f"""
SELECT {MEMORIES.select} FROM json_each(?) AS wanted CROSS JOIN memory ON memory.id = wanted.value
    JOIN project ON project.key = memory.project ORDER BY wanted.key
"""

OF_TURNS = f"""
{SELECT} WHERE memory.key IN (SELECT memory FROM evidence WHERE turn IN (SELECT value FROM json_each(?)))
ORDER BY memory.created_at, memory.id
"""


def fitting(connection: Connection, wanted: MemoryFilter) -> tuple[str, dict[str, Any]]:
    """Return the query that reads the least, and its values."""
    since = EVER if wanted.since is None else to_ms(wanted.since)
    values = {**asdict(wanted), "types": json.dumps(wanted.types), "since": since}
    narrowed = BINDING if wanted.binding else OF_TYPES if wanted.types else ""
    own, order, within = OWN.format(types=narrowed), ORDERS[wanted.sort], ""
    if wanted.project_id is not None:
        [count] = next(connection.execute(f"SELECT count(*) FROM ({own} LIMIT {FEW})", values))
        if count < FEW:
            # Here the plus prevents the index of the order.
            within, order = f"memory.key IN ({own}) AND", f"+{order}"
    return FITTING.format(within=within, order=order), values


@lru_cache(KEPT_MAX)
def _memory(row: Row) -> Memory:
    return MEMORIES.record(row)


class SqliteMemories:
    """Implements `Memories`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, memory: Memory) -> None:
        """Save it, merged with the one of the same id.

        Raises UsageError for one that cannot be stored, Conflict if its project is not stored.
        """
        check_memory(memory)

        def write(connection: Connection) -> None:
            found = memory_by_id(connection, memory.id)
            put_memory(connection, memory if found is None else merged(found, memory))

        await self._database.write(write)

    async def change(self, memory: Memory) -> None:
        """Replace its changeable fields (`CHANGED`). Raises Conflict, UsageError."""
        check_memory(memory)

        def write(connection: Connection) -> None:
            found = memory_by_id(connection, memory.id)
            if found is None:
                raise Conflict(f"The memory {memory.id} is not in the store; it may have been deleted.")
            put_memory(connection, changed(found, memory))

        await self._database.write(write)

    async def get(self, ids: Sequence[str]) -> list[Memory]:

        def read(connection: Connection) -> list[Memory]:
            wanted = json.dumps([storable(each) for each in dict.fromkeys(ids)])
            return [_memory(row) for row in connection.execute(OF_IDS, (wanted,))]

        return await self._database.read(read) if ids else []

    async def find(self, wanted: MemoryFilter) -> list[Memory]:

        def read(connection: Connection) -> list[Memory]:
            rows = connection.execute(*fitting(connection, wanted))
            return [_memory(row) for row in rows]

        return await self._database.read(read)

    async def state(self) -> object | None:
        """Return the number of the newest change; triggers count them (see `migrations.SEVENTEENTH`)."""

        def read(connection: Connection) -> object:
            [change] = next(connection.execute("SELECT change FROM memory_state"))
            return change

        return await self._database.read(read)

    async def concepts(self, wanted: ConceptFilter) -> list[ConceptMemories]:

        def read(connection: Connection) -> list[ConceptMemories]:
            return _concepts(connection, wanted)

        return await self._database.read(read)

    async def count_wishes(
        self, *, project_id: str, person: str, binding: bool = False
    ) -> dict[WishKind, WishCount]:
        query = WISHES.format(others="" if binding else NOT_BINDING)

        def read(connection: Connection) -> dict[WishKind, WishCount]:
            rows = connection.execute(query, {"project_id": project_id, "person": person})
            return {WishKind(kind): WishCount(*counts) for kind, *counts in rows}

        return await self._database.read(read)

    async def count_extracted(
        self, *, project_id: str, person: str, within: timedelta, limit: int
    ) -> ExtractionCount:
        values = {
            "project_id": project_id,
            "person": person,
            "limit": limit,
            "within": round(within.total_seconds() * 1000),
        }

        def read(connection: Connection) -> ExtractionCount:
            return ExtractionCount(*next(connection.execute(EXTRACTED, values)))

        return await self._database.read(read)

    async def of_turns(self, turn_ids: Sequence[str]) -> list[Memory]:
        ids = json.dumps([storable(each) for each in turn_ids])

        def read(connection: Connection) -> list[Memory]:
            return [_memory(row) for row in connection.execute(OF_TURNS, (ids,))]

        return await self._database.read(read) if turn_ids else []

    async def with_id_part(self, part: str, *, limit: int = 5) -> list[str]:
        """Return ids with this prefix, in order."""

        def read(connection: Connection) -> list[str]:
            rows = connection.execute(
                "SELECT id FROM memory WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id LIMIT max(0, ?2)",
                (storable(part).lower(), limit),
            )
            return [identifier for (identifier,) in rows]

        return await self._database.read(read)

    async def forgotten(self, *, project_id: str) -> list[Memory]:
        """Return forgotten ones of the project and global ones, newest first."""

        def read(connection: Connection) -> list[Memory]:
            return [_memory(row) for row in connection.execute(FORGOTTEN, (project_id,))]

        return await self._database.read(read)

    async def forget(self, ids: Sequence[str], at: datetime) -> None:
        """Forget them; those that are forgotten already keep their time."""
        await self._database.write(lambda connection: set_forgotten(connection, ids, to_ms(at)))

    async def restore(self, ids: Sequence[str]) -> None:
        await self._database.write(lambda connection: set_forgotten(connection, ids, None))

    async def set_periods(self, periods: Mapping[str, Period]) -> None:
        values = [
            (to_ms(each.valid_from), None if each.valid_to is None else to_ms(each.valid_to), identifier)
            for identifier, each in periods.items()
        ]

        def write(connection: Connection) -> None:
            connection.executemany("UPDATE memory SET valid_from = ?, valid_to = ? WHERE id = ?", values)

        await self._database.write(write)

    async def touch(self, ids: Sequence[str], at: datetime) -> None:
        """Count that they were used at this moment, once."""

        def write(connection: Connection) -> None:
            connection.executemany(
                "UPDATE memory SET access_count = access_count + 1, accessed_at = ?1 "
                "WHERE id = ?2 AND (accessed_at IS NULL OR accessed_at < ?1)",
                [(to_ms(at), identifier) for identifier in dict.fromkeys(ids)],
            )

        await self._database.write(write)

    async def count_answers(self, ids: Sequence[str], *, held: bool) -> None:
        column = "held" if held else "broken"
        values = [(identifier,) for identifier in dict.fromkeys(ids)]
        update = f"UPDATE memory SET {column} = {column} + 1 WHERE id = ?"
        await self._database.write(lambda connection: connection.executemany(update, values))

    async def associate(self, associations: Sequence[Association]) -> None:
        """Save the links, all or none; an existing one gets the newer time. Raises Conflict."""

        def write(connection: Connection) -> None:
            for association in associations:
                renew_association(connection, association)

        await self._database.write(write)

    async def associations(self, ids: Sequence[str]) -> list[Association]:

        def read(connection: Connection) -> list[Association]:
            rows = connection.execute(OF_MEMORIES, {"ids": json.dumps(list(ids))})
            return [ASSOCIATIONS.record(row) for row in rows]

        return await self._database.read(read)


def _concepts(connection: Connection, wanted: ConceptFilter) -> list[ConceptMemories]:
    most = MemoryFilter(wanted.project_id, person=wanted.person, limit=CONCEPT_CANDIDATES_MAX)
    sorts = (MemorySort.IMPORTANCE, MemorySort.USED)
    weights = concept_weights(
        (
            _memory(row)
            for sort in sorts
            for row in connection.execute(*fitting(connection, replace(most, sort=sort)))
        ),
        wanted,
    )
    values = {
        "project_id": wanted.project_id,
        "person": wanted.person,
        "topics": json.dumps(list(weights)),
        "each": wanted.each,
    }
    found = [_memory(row) for row in connection.execute(OF_TOPICS, values)]
    ids = json.dumps([each.id for each in found])
    with_vectors = connection.execute(VECTORS, (ids, wanted.model)) if wanted.model else ()
    vectors = {identifier: array("f", content) for identifier, content in with_vectors}
    return concepts_of(found, weights, vectors, each=wanted.each)
