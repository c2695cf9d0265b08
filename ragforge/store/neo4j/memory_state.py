"""Whether lists of memories may have changed: a mark on the node of the database, new with each change.

Every change of memories, their links, or which turns are abandoned sets it in the same transaction, as the
last statement: from then on the node is locked, and a transaction that locked it first could wait for a
session that another one has locked. Uses of a memory do not set it.
"""

from ragforge.store.neo4j.rows import Label

# While abandoned turns are still to be computed, the result will change without a new mark.
STATE = f"""
MATCH (d:{Label.DATABASE}) WHERE d.leftStale IS NULL
RETURN d.id + '/' + coalesce(d.memoryState, '') AS state
"""

CHANGED = f"MATCH (d:{Label.DATABASE}) SET d.memoryState = randomUUID()"
