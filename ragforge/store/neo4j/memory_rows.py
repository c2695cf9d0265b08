"""How memories, the links between them and model calls beside the turns stand in the graph.

As in `rows.py`: flat nodes that name what they belong to. `evidence` names the turns that a memory rests
on, in their order, those too that are not stored (yet); its EVIDENCE relationships are drawn from it.
"""

from collections.abc import Mapping
from typing import Any

from ragforge.domain.memories import (
    Association,
    AssociationKind,
    Memory,
    MemoryScope,
    MemorySource,
    MemoryType,
)
from ragforge.domain.usage import Purpose, Spent
from ragforge.store.json_text import storable
from ragforge.store.neo4j.left import LINK_LEFT, MEMORY_LEFT
from ragforge.store.neo4j.rows import Label, Props, usage_of, usage_row, utc

TYPES = {kind: kind.upper() for kind in AssociationKind}
"""The relationship that each kind of association is."""

# What a user took back by leaving its turn replaces nothing, nor does what came before the memory itself
# last replaced another: then it had returned.
REPLACED = f"""
EXISTS {{
  MATCH (n)<-[link:UPDATES]-(newer:{Label.MEMORY})
  WHERE newer.forgottenAt IS NULL AND NOT ({MEMORY_LEFT.format("newer")})
    AND NOT {LINK_LEFT.format("link")}
    AND NOT EXISTS {{
      MATCH (n)-[later:UPDATES]->(:{Label.MEMORY})
      WHERE later.at > link.at AND NOT {LINK_LEFT.format("later")}
    }}
}}
"""


def memory_row(memory: Memory) -> Props:
    """The memory as a node."""
    return {
        "id": memory.id,
        "type": str(memory.type),
        "content": storable(memory.content),
        "projectId": memory.project_id,
        "sessionId": storable(memory.session_id),
        "scope": str(memory.scope),
        "importance": float(memory.importance),
        "confidence": float(memory.confidence),
        "topic": storable(memory.topic),
        "source": str(memory.source),
        "created": utc(memory.created_at),
        "updated": utc(memory.updated_at),
        "lastAccessed": None if memory.accessed_at is None else utc(memory.accessed_at),
        "accessCount": memory.access_count,
        "forgottenAt": None if memory.forgotten_at is None else utc(memory.forgotten_at),
        "evidence": [storable(turn) for turn in dict.fromkeys(memory.turns)],
    }


def memory_of(row: Mapping[str, Any]) -> Memory:
    """The inverse of `memory_row`, with `replaced` and `left` where the row has them."""
    return Memory(
        id=row["id"],
        type=MemoryType(row["type"]),
        content=row["content"],
        project_id=row["projectId"],
        session_id=row["sessionId"],
        scope=MemoryScope(row["scope"]),
        importance=row["importance"],
        created_at=row["created"],
        updated_at=row["updated"],
        confidence=row["confidence"],
        topic=row["topic"],
        source=MemorySource(row["source"]),
        turns=tuple(row["evidence"]),
        accessed_at=row.get("lastAccessed"),
        access_count=row["accessCount"],
        forgotten_at=row.get("forgottenAt"),
        replaced=bool(row.get("replaced")),
        left=bool(row.get("left")),
    )


def association_key(association: Association) -> str:
    """The id of a link: `KIND/FROM/TO`, and `/TURN` where it was said in one."""
    ends = f"{association.kind}/{association.from_id}/{association.to_id}"
    return f"{ends}/{association.turn}" if association.turn else ends


def association_row(association: Association) -> Props:
    """The link as it waits here; in the graph it is a relationship."""
    return {
        "kind": str(association.kind),
        "from": association.from_id,
        "to": association.to_id,
        "at": utc(association.at),
        "turn": storable(association.turn),
    }


def association_of(row: Mapping[str, Any]) -> Association:
    """The inverse of `association_row`; rows of before links had a turn have none."""
    return Association(
        AssociationKind(row["kind"].lower()), row["from"], row["to"], row["at"], row.get("turn") or ""
    )


def spent_row(spent: Spent) -> Props:
    """The model call as a node."""
    return {
        "id": spent.id,
        "projectId": storable(spent.project_id),
        "sessionId": storable(spent.session_id),
        "timestamp": utc(spent.at),
        "model": storable(spent.model),
        "purpose": str(spent.purpose),
        **usage_row(spent.usage, spent.cost_usd),
    }


def spent_of(row: Mapping[str, Any]) -> Spent:
    """The inverse of `spent_row`."""
    usage, cost_usd = usage_of(row)
    return Spent(
        id=row["id"],
        project_id=row["projectId"],
        session_id=row["sessionId"],
        at=row["timestamp"],
        model=row["model"],
        purpose=Purpose(row["purpose"]),
        usage=usage,
        cost_usd=cost_usd,
    )
