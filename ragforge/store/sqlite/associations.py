"""The links between memories in SQLite."""

from ragforge.domain.memories import ASSOCIATION, Association
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.rows import RecordTable, key_of

ASSOCIATIONS = RecordTable(ASSOCIATION, joined={"from_id": "origin.id", "to_id": "goal.id"})

SELECT = f"""
SELECT {ASSOCIATIONS.select} FROM association
JOIN memory AS origin ON origin.key = association.source JOIN memory AS goal ON goal.key = association.target
"""

# Both ends by their own index, which an OR would not use.
OF_MEMORIES = f"""
{SELECT} WHERE association.key IN (
    SELECT association.key FROM json_each(:ids) JOIN memory ON memory.id = value
        JOIN association ON association.source = memory.key
    UNION
    SELECT association.key FROM json_each(:ids) JOIN memory ON memory.id = value
        JOIN association ON association.target = memory.key
) ORDER BY association.at, association.kind, origin.id, goal.id, association.turn
"""

INSERT = f"""
INSERT INTO association (source, target, {ASSOCIATIONS.columns}) VALUES (?, ?, {ASSOCIATIONS.marks})
ON CONFLICT (source, target, kind, turn)
"""


def insert_association(connection: Connection, association: Association) -> bool:
    """Return whether it was new; an existing one is kept. Raises Conflict for unknown ends."""
    connection.execute(f"{INSERT} DO NOTHING", _values(connection, association))
    return bool(connection.changes())


def renew_association(connection: Connection, association: Association) -> None:
    """Save it; one of the same kind, ends and turn gets the newer time. Raises Conflict for unknown ends."""
    connection.execute(
        f"{INSERT} DO UPDATE SET at = excluded.at WHERE excluded.at > at", _values(connection, association)
    )


def _values(connection: Connection, association: Association) -> list[object]:
    ends = [key_of(connection, "memory", end) for end in (association.from_id, association.to_id)]
    return [*ends, *ASSOCIATIONS.values(association)]
