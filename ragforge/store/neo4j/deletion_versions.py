"""What becomes of the version tree when a session is deleted: it stays, for others stand on it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragforge.domain.search import HitKind
from ragforge.store.neo4j.connection import Transaction
from ragforge.store.neo4j.index_rows import version_props
from ragforge.store.neo4j.nodes import fields
from ragforge.store.neo4j.rows import Label, Props
from ragforge.store.neo4j.search_words import EVERYWHERE, scope_tokens

BATCH = 500

HAND_OVER = f"""
UNWIND $rows AS row
MATCH (n:{Label.VERSION} {{turnId: row.turn}})
SET n.sessionId = row.heir, n.searchScope = head(split(n.searchScope, ' ')) + row.scope
RETURN n.id AS id
"""

OWN = f"""
CALL () {{
  MATCH (n:{Label.VERSION} {{sessionId: $id}}) RETURN n
  UNION
  MATCH (n:{Label.VERSION}) WHERE n.turnId IN $turns RETURN n
}}
RETURN n.id AS id
"""
READ = f"MATCH (n:{Label.VERSION}) WHERE n.id IN $ids RETURN {fields('n', Label.VERSION)} AS n"
CHANGE = f"""
UNWIND $rows AS row
MATCH (n:{Label.VERSION} {{id: row.id}})
SET n += row.set
WITH n
MATCH (n)-[made:MADE_IN]->()
DELETE made
"""

REMOVE_MOVES = f"""
MATCH (n:{Label.MOVE} {{sessionId: $id}})
WITH n, n.id AS id
DETACH DELETE n
RETURN id
"""


async def hand_over_versions(transaction: Transaction, heirs: Mapping[str, str]) -> list[str]:
    """The versions of these turns go with them to another session; their ids."""
    rows = [
        # Behind the project: `s<session> kv`.
        {
            "turn": turn,
            "heir": heir,
            "scope": scope_tokens("", heir, HitKind.VERSION).removeprefix(EVERYWHERE),
        }
        for turn, heir in heirs.items()
    ]
    ids: list[str] = []
    for batch in _batches(rows):
        ids += [each["id"] for each in await transaction.run(HAND_OVER, rows=batch)]
    return ids


async def leave_versions(transaction: Transaction, session_id: str, turns: Sequence[str]) -> list[str]:
    """The session's versions name neither it nor these turns, which go, any more; their ids."""
    found = await transaction.run(OWN, id=session_id, turns=list(turns))
    ids = [each["id"] for each in found]
    for batch in _batches(ids):
        read = await transaction.run(READ, ids=batch)
        await transaction.run(
            CHANGE, rows=[{"id": each["n"]["id"], "set": _alone(each["n"])} for each in read]
        )
    return ids


async def remove_moves(transaction: Transaction, session_id: str) -> list[str]:
    """The moves that the session made go; their ids."""
    return [each["id"] for each in await transaction.run(REMOVE_MOVES, id=session_id)]


def _alone(version: Props) -> Props:
    """What changes of the version when its session goes."""
    without: Props = {"sessionId": None, "turnId": None}
    if version.get("turnId"):
        # It was the first words of the turn's message.
        without["title"] = ""
    return without | version_props(version | without)


def _batches(rows: Sequence[Any]) -> Iterator[list[Any]]:
    return (list(rows[start : start + BATCH]) for start in range(0, len(rows), BATCH))
