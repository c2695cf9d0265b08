"""The end of turns whose writer died or fell silent."""

from typing import Any

from ragforge.domain.ids import now
from ragforge.domain.turns import TurnStatus
from ragforge.store.neo4j.connection import Transaction
from ragforge.store.neo4j.index_rows import reply_props
from ragforge.store.neo4j.nodes import WHOLE_TURNS
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, Props, step_of
from ragforge.store.neo4j.turns import sum_of_steps

LEFT = f"""
MATCH (t:{Label.TURN} {{sessionId: $id}}) WHERE t.status IN $statuses RETURN t.id AS id
"""

END = f"""
UNWIND $turns AS row
MATCH (t:{Label.TURN} {{id: row.id}}) SET t += row.set
"""

TAKEN = f"""
MATCH (t:{Label.TURN} {{sessionId: $id}}) WHERE t.status IN $statuses SET t.takenOver = true
"""


async def interrupt_left_turns(transaction: Transaction, session_id: str, *, taken_over: bool) -> None:
    """Mark running turns interrupted, with the text of the steps that were stored.

    taken_over: their writer may still be at them on another machine, so they are not to go on here.
    """
    if taken_over:
        statuses = [str(TurnStatus.RUNNING), str(TurnStatus.WAITING)]
        await transaction.run(TAKEN, id=session_id, statuses=statuses)
    left = await transaction.run(LEFT, id=session_id, statuses=[str(TurnStatus.RUNNING)])
    if not left:
        return
    found = await transaction.run(WHOLE_TURNS, ids=[each["id"] for each in left])
    await transaction.run(
        END, turns=[{"id": each["turn"]["id"], "set": _interrupted(each)} for each in found]
    )


def interrupt_here(rows: Rows, session_id: str) -> None:
    """The same without the server, of turns that were written on this machine: their process is dead."""
    for row in rows.of_session(Label.TURN, session_id):
        if row.props["status"] != TurnStatus.RUNNING or not (row.waits or row.epoch):
            continue
        steps = [each.props for each in rows.of_turn(Label.STEP, row.id)]
        calls = [each.props for each in rows.of_turn(Label.CALL, row.id)]
        ended = _interrupted({"turn": row.props, "steps": steps, "calls": calls})
        rows.put(Label.TURN, row.id, ended, along=("embeddingStale",))


def _interrupted(found: dict[str, Any]) -> Props:
    turn: Props = found["turn"]
    steps: list[Props] = sorted(found["steps"], key=lambda step: step["stepIndex"])
    texts = [step_of(step).message.text for step in steps]
    assistant = "\n\n".join(text for text in texts if text)
    ended = {
        "status": str(TurnStatus.INTERRUPTED),
        "assistantMessage": assistant,
        "charCount": len(turn["userMessage"]) + len(assistant),
        "endTime": now(),
        "embeddingStale": True,
        **sum_of_steps(steps),
    }
    return ended | reply_props(turn | ended, list(found["calls"]))
