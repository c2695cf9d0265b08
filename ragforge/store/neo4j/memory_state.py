"""Whether lists of memories may have changed: a mark on the node of the database, new with each change.

Whatever changes memories, their links, or which turns are abandoned sets it in the same transaction, and as
the last of all: the node is locked from then on, and whoever locked it first could wait for a session that
another one holds. That a memory was used sets nothing.
"""

from ragforge.store.neo4j.rows import Label

# While it is to be counted which turns are abandoned, what is read will change without a new mark.
STATE = f"""
MATCH (d:{Label.DATABASE}) WHERE d.leftStale IS NULL
RETURN d.id + '/' + coalesce(d.memoryState, '') AS state
"""

CHANGED = f"MATCH (d:{Label.DATABASE}) SET d.memoryState = randomUUID()"
