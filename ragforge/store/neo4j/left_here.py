"""Which turns are left while the server is away, as far as what is here tells.

A turn of a session that is here counts as left where none of the heads that are here has it on its path. A
head of another machine's fork may hold it all the same; the open session's own path is always right.
"""

from collections.abc import Iterable

from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label


def left_here(rows: Rows, turn_ids: Iterable[str]) -> set[str]:
    """Those of the turns that are left."""
    kept: set[str] = set()
    whole: set[str] = set()
    for session in rows.of_label(Label.SESSION):
        turn = session.props.get("headId")
        row = rows.get(Label.TURN, turn)
        if row is not None or turn is None:
            whole.add(session.id)
        while row is not None and row.id not in kept:
            kept.add(row.id)
            row = rows.get(Label.TURN, row.props.get("parentId"))
    found = (rows.get(Label.TURN, turn) for turn in {*turn_ids} - kept)
    return {row.id for row in found if row is not None and row.props["sessionId"] in whole}
