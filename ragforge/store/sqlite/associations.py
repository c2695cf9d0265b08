"""The links between memories in SQLite."""

from ragforge.domain.memories import Association, AssociationKind
from ragforge.store.json_text import storable
from ragforge.store.sqlite.connection import Connection, Row
from ragforge.store.sqlite.rows import from_ms, key_of, to_ms

SELECT = """
SELECT association.kind, origin.id, goal.id, association.at, association.turn FROM association
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

INSERT = """
INSERT INTO association (kind, source, target, turn, at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (source, target, kind, turn)
"""


def insert_association(connection: Connection, association: Association) -> bool:
    """Whether it was new; one of the same kind, ends and turn stays. Raises Conflict for unknown ends."""
    connection.execute(f"{INSERT} DO NOTHING", _values(connection, association))
    return bool(connection.changes())


def renew_association(connection: Connection, association: Association) -> None:
    """Keep it, of one of the same kind, ends and turn the newer time. Raises Conflict for unknown ends."""
    connection.execute(
        f"{INSERT} DO UPDATE SET at = excluded.at WHERE excluded.at > at", _values(connection, association)
    )


def _values(connection: Connection, association: Association) -> tuple[str | int, ...]:
    ends = [key_of(connection, "memory", end) for end in (association.from_id, association.to_id)]
    return association.kind, *ends, storable(association.turn), to_ms(association.at)


def association_of(row: Row) -> Association:
    """The link of a row of SELECT."""
    kind, from_id, to_id, at, turn = row
    return Association(AssociationKind(kind), from_id, to_id, from_ms(at), turn)
