"""Memories, the links between them, and model calls beside the turns, as nodes and relationships.

As in `rows.py`: flat nodes that name what they belong to. `evidence` lists the turns that support a memory,
in their order, including those not stored (yet); its EVIDENCE relationships are created from it.
"""

from collections.abc import Sequence

from ragforge.domain.memories import ASSOCIATION, MEMORY, AssociationKind
from ragforge.domain.usage import SPENT
from ragforge.store.json_text import storable
from ragforge.store.layouts import Form
from ragforge.store.neo4j.abandonment import LINK_ABANDONED, MEMORY_ABANDONED
from ragforge.store.neo4j.rows import Label, RecordNode

TYPES = {kind: kind.upper() for kind in AssociationKind}
"""The relationship type of each kind of association."""
FORGOTTEN = "forgottenAt"
"""The time when it was forgotten."""

# A link from an abandoned turn replaces nothing, nor does one from before the memory itself last replaced
# another: by then it had returned.
REPLACED = f"""
EXISTS {{
  MATCH (n)<-[link:UPDATES]-(newer:{Label.MEMORY})
  WHERE newer.forgottenAt IS NULL AND NOT ({MEMORY_ABANDONED.format("newer")})
    AND NOT {LINK_ABANDONED.format("link")}
    AND NOT EXISTS {{
      MATCH (n)-[later:UPDATES]->(:{Label.MEMORY})
      WHERE later.at > link.at AND NOT {LINK_ABANDONED.format("later")}
    }}
}}
"""


def _evidence(turns: Sequence[str]) -> list[str]:
    return [storable(turn) for turn in dict.fromkeys(turns)]


def _kind_of(type_: str) -> AssociationKind:
    return AssociationKind(type_.lower())


MEMORIES = RecordNode(MEMORY, forms={"turns": Form(_evidence, tuple)})
# As a link waits here; in the graph it is a relationship.
ASSOCIATIONS = RecordNode(ASSOCIATION, forms={"kind": Form(str, _kind_of)})
MODEL_CALLS = RecordNode(SPENT)

memory_row, memory_of = MEMORIES.row, MEMORIES.record
association_row, association_of = ASSOCIATIONS.row, ASSOCIATIONS.record
spent_row, spent_of = MODEL_CALLS.row, MODEL_CALLS.record
