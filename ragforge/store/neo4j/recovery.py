"""End turns whose writer died or became silent."""

from typing import Any

from ragforge.domain.ids import now
from ragforge.domain.turns import TurnStatus, cut_off_calls, cut_off_end
from ragforge.store.neo4j.carry import CALLS, as_written, new_row
from ragforge.store.neo4j.connection import Transaction
from ragforge.store.neo4j.index_rows import call_props, child_props
from ragforge.store.neo4j.nodes import WHOLE_TURNS
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, Props, call_row, step_of
from ragforge.store.neo4j.turns import ended_props

LEFT = f"""
MATCH (t:{Label.TURN} {{sessionId: $id}}) WHERE t.status IN $statuses RETURN t.id AS id
"""

END = f"""
UNWIND $turns AS row
MATCH (t:{Label.TURN} {{id: row.id}}) SET t += row.set
"""

PARENTS = f"""
MATCH (t:{Label.TURN}) WHERE t.id IN $ids
MATCH (p:{Label.TURN} {{id: t.parentId}})
RETURN DISTINCT p {{.id, .searchNear, .nearChild}} AS parent
"""

CUT_OFF = f"WITH [] AS late{CALLS}"

TAKEN = f"""
MATCH (t:{Label.TURN} {{sessionId: $id}}) WHERE t.status IN $statuses SET t.takenOver = true
"""


async def interrupt_left_turns(transaction: Transaction, session_id: str, *, taken_over: bool) -> None:
    """Mark running turns interrupted, with the text of their stored steps, and calls that never ended.

    taken_over: their writer may still be running them on another machine, so they must not be continued here,
    and the results of their calls arrive from there.
    """
    if taken_over:
        statuses = [str(TurnStatus.RUNNING), str(TurnStatus.WAITING)]
        await transaction.run(TAKEN, id=session_id, statuses=statuses)
    left = await transaction.run(LEFT, id=session_id, statuses=[str(TurnStatus.RUNNING)])
    if not left:
        return
    found = await transaction.run(WHOLE_TURNS, ids=[each["id"] for each in left])
    if not taken_over:
        cut_off = [props for each in found for props in _cut_off_calls(each)]
        if cut_off:
            rows = [as_written(new_row(Label.CALL, props)) for props in cut_off]
            await transaction.run(CUT_OFF, rows={"calls": rows})
        found = [_with_calls(each, cut_off) for each in found]
    turns = [{"id": each["turn"]["id"], "set": _interrupted(each)} for each in found]
    await transaction.run(END, turns=[*turns, *await _parents(transaction, [each["turn"] for each in found])])


async def _parents(transaction: Transaction, turns: list[Props]) -> list[dict[str, Any]]:
    """Return the changes of the parents, which are found by the words of their first child too."""
    found = await transaction.run(PARENTS, ids=[turn["id"] for turn in turns])
    above: dict[str, Props] = {each["parent"]["id"]: each["parent"] for each in found}
    changed: list[dict[str, Any]] = []
    for turn in sorted(turns, key=lambda turn: turn["id"]):
        parent = above.get(turn.get("parentId") or "")
        if parent is not None and (props := child_props(parent, turn)):
            parent.update(props)
            changed.append({"id": parent["id"], "set": props})
    return changed


def interrupt_here(rows: Rows, session_id: str) -> None:
    """Do the same without the server, for turns that this machine wrote: their process is dead."""
    for row in rows.of_session(Label.TURN, session_id):
        if row.props["status"] != TurnStatus.RUNNING or not (row.waits or row.epoch):
            continue
        steps = [each.props for each in rows.of_turn(Label.STEP, row.id)]
        calls = [each.props for each in rows.of_turn(Label.CALL, row.id)]
        whole: dict[str, Any] = {"turn": row.props, "steps": steps, "calls": calls}
        cut_off = _cut_off_calls(whole)
        for props in cut_off:
            rows.put(Label.CALL, props["id"], props)
        ended = _interrupted(_with_calls(whole, cut_off))
        rows.put(Label.TURN, row.id, ended, along=("embeddingStale",))
        parent = rows.get(Label.TURN, row.props.get("parentId"))
        if parent and (found := child_props(parent.props, row.props)):
            rows.put(Label.TURN, parent.id, found)


def _cut_off_calls(found: dict[str, Any]) -> list[Props]:
    """Return the calls of a whole turn that never ended, as interrupted ones."""
    turn = found["turn"]
    ended = {call["id"] for call in found["calls"]}
    steps = sorted(found["steps"], key=lambda step: step["stepIndex"])
    new = [
        call_row(call, session_id=turn["sessionId"], project_id=turn["projectId"])
        for step in steps
        for call in cut_off_calls(step_of(step), ended=ended, at=turn["timestamp"])
    ]
    return [props | call_props(props) for props in new]


def _with_calls(found: dict[str, Any], calls: list[Props]) -> dict[str, Any]:
    """Return the whole turn with those of the calls that belong to it."""
    own = [props for props in calls if props["turnId"] == found["turn"]["id"]]
    return found | {"calls": [*found["calls"], *own]}


def _interrupted(found: dict[str, Any]) -> Props:
    turn: Props = found["turn"]
    steps: list[Props] = sorted(found["steps"], key=lambda step: step["stepIndex"])
    at = max(now(), turn["timestamp"])
    end = cut_off_end(turn["id"], [step_of(step) for step in steps], at=at)
    return ended_props(turn, end, steps=steps, calls=found["calls"])
