"""Leases on the server, by its clock: one node each, with its holder and its end."""

import hashlib

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.ids import new_id
from ragforge.store.json_text import storable
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.rows import Label

# The write takes the lock: if many ask at once, one reads what the others find afterwards.
TAKE = f"""
MERGE (l:{Label.LEASE} {{id: $what}})
SET l.asked = datetime.realtime()
WITH l, coalesce(l.holder = $holder OR l.until <= l.asked, true) AS free
SET l.holder = CASE WHEN free THEN $holder ELSE l.holder END,
  l.until = CASE WHEN free THEN l.asked + duration({{milliseconds: $milliseconds}}) ELSE l.until END
RETURN free
"""

GIVE_BACK = f"MATCH (l:{Label.LEASE} {{id: $what}}) WHERE l.holder = $holder DELETE l"


NAME_CHARS_MAX = 200
"""An index entry is limited to a few thousand bytes; longer names are stored as their hash."""


class Neo4jLeases:
    """Implements `Leases`. Each opened store is a holder of its own."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._holder = new_id()

    async def take(self, what: str, *, seconds: float) -> bool:
        """Take it or renew one's own; False if somebody else has it, True while the server is unreachable."""
        if self._nodes.carrier.away:
            return True
        try:
            (row,) = await self._nodes.graph.write(
                TAKE,
                deadline_s=timeouts.NEO4J_LEASE_S_MAX,
                what=_name(what),
                holder=self._holder,
                milliseconds=int(seconds * 1000),
            )
        except StoreUnavailable as error:
            self._nodes.carrier.lost(str(error))
            return True
        return bool(row["free"])

    async def give_back(self, what: str) -> None:
        """Release it; harmless if it is not ours. While the server is unreachable, it ends by itself."""
        if self._nodes.carrier.away:
            return
        try:
            await self._nodes.graph.write(
                GIVE_BACK, deadline_s=timeouts.NEO4J_LEASE_S_MAX, what=_name(what), holder=self._holder
            )
        except StoreUnavailable as error:
            self._nodes.carrier.lost(str(error))


def _name(what: str) -> str:
    if len(what) <= NAME_CHARS_MAX:
        return storable(what)
    return hashlib.sha256(storable(what).encode()).hexdigest()
