"""The tool calls in the graph."""

from collections.abc import Sequence

from ragforge.domain.errors import Conflict
from ragforge.domain.turns import Step, ToolCall
from ragforge.store.neo4j.index_rows import call_props
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, call_of, call_row
from ragforge.store.neo4j.turns import add_step


class Neo4jToolCalls:
    """Implements `ToolCalls`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def add(self, call: ToolCall, step: Step) -> None:
        """Store an ended call with its step. Raises Conflict if the turn or the step is another's."""
        if (call.turn_id, call.step_index) != (step.turn_id, step.index):
            raise Conflict(f"The call {call.id} belongs to a different step than the one given.")
        await self._nodes.need_whole(step.turn_id)

        def write(rows: Rows) -> None:
            turn = add_step(rows, step)
            if rows.get(Label.CALL, call.id) is None:
                props = call_row(call, session_id=turn["sessionId"], project_id=turn["projectId"])
                rows.put(Label.CALL, call.id, props | call_props(props))

        await self._nodes.write(write)

    async def of_turns(self, turn_ids: Sequence[str]) -> list[ToolCall]:
        places = {turn: place for place, turn in enumerate(turn_ids)}
        found = [call_of(each) for each in await self._nodes.of_turns(Label.CALL, list(places))]
        return sorted(found, key=lambda call: (places[call.turn_id], call.step_index, call.position, call.id))
