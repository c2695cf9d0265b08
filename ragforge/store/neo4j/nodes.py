"""Read nodes by their id: rows of this machine if they wait or are being written here, else the graph's.

While the server is unreachable, only the rows here are read.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any

from ragforge.domain import timeouts
from ragforge.domain.errors import Conflict, StoreUnavailable
from ragforge.store.json_text import storable
from ragforge.store.neo4j.abandonment import mark_all
from ragforge.store.neo4j.carrier import Carrier
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.derivation_rows import DERIVATIONS
from ragforge.store.neo4j.memory_rows import MEMORIES, MODEL_CALLS
from ragforge.store.neo4j.outbox import Outbox, OutboxRow, Rows
from ragforge.store.neo4j.rows import CALLS, PROJECTS, SESSIONS, STEPS, SUMMARIES, TURNS, Label, Props
from ragforge.store.neo4j.version_rows import BRANCHES, MOVES, VERSIONS

if TYPE_CHECKING:
    from ragforge.store.neo4j.replica import Replica

# By name, because all of them would include the vector, which is larger than the rest.
FIELDS: dict[Label, tuple[str, ...]] = {
    Label.PROJECT: PROJECTS.names,
    Label.SESSION: SESSIONS.names,
    Label.TURN: TURNS.names,
    Label.STEP: STEPS.names,
    Label.CALL: CALLS.names,
    Label.SUMMARY: SUMMARIES.names,
    Label.MEMORY: MEMORIES.names,
    Label.USAGE: MODEL_CALLS.names,
    Label.DERIVED: DERIVATIONS.names,
    Label.VERSION: VERSIONS.names,
    Label.BRANCH: BRANCHES.names,
    Label.MOVE: MOVES.names,
}


def fields(name: str, label: Label) -> str:
    """Return a node's properties as a map, in Cypher; `name` is the variable that holds it."""
    return f"{name} {{{', '.join(f'.{field}' for field in FIELDS[label])}}}"


def identifier(label: Label) -> str:
    """Return the property that is the label's id."""
    return "sessionId" if label is Label.SESSION else "id"


WHOLE_TURNS = f"""
MATCH (t:{Label.TURN}) WHERE t.id IN $ids
RETURN {fields("t", Label.TURN)} AS turn,
  COLLECT {{ MATCH (t)<-[:PART_OF]-(s:{Label.STEP}) RETURN {fields("s", Label.STEP)} }} AS steps,
  COLLECT {{ MATCH (t)-[:HAS_TOOL_CALL]->(c:{Label.CALL}) RETURN {fields("c", Label.CALL)} }} AS calls
"""


def valid_ids(ids: Sequence[str]) -> list[str]:
    """Return the ids that any database can store; nothing is stored under the others."""
    return [each for each in ids if storable(each) == each]


class Nodes:
    """What the parts of the store read and write through."""

    def __init__(self, graph: Graph, outbox: Outbox, carrier: Carrier) -> None:
        self.graph = graph
        self.outbox = outbox
        self.carrier = carrier

    @cached_property
    def here(self) -> "Replica":
        """The replica that answers while the server is unreachable."""
        from ragforge.store.neo4j.replica import Replica  # mostly the server can be reached

        return Replica(self.outbox)

    async def write(self, write: Callable[[Rows], object]) -> None:
        """Store the rows here; they are carried to the graph as soon as it answers."""
        await self.outbox.write(write)
        self.carrier.nudge()

    async def ask(
        self, query: str, /, *, deadline_s: float | None = None, **parameters: Any
    ) -> list[dict[str, Any]]:
        """Return the graph's answer, for callers that have a fallback.

        Raises StoreUnavailable, at once if the server is known to be unreachable.
        """
        self.check()
        try:
            limit_s = timeouts.NEO4J_ANSWER_S_MAX if deadline_s is None else deadline_s
            return await self.graph.read(query, deadline_s=limit_s, **parameters)
        except StoreUnavailable as error:
            self.carrier.lost(str(error))
            raise

    def check(self) -> None:
        """Raise StoreUnavailable if the server is known to be unreachable, without waiting again."""
        if self.carrier.away:
            self.carrier.lost(self.carrier.link.away)
            raise StoreUnavailable(self.carrier.link.away)

    async def insist(self, query: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Return the graph's answer, for which there is no fallback: an unreachable server is tried again."""
        await self.arrive()
        return await self.ask(query, deadline_s=timeouts.NEO4J_READ_S_MAX, **parameters)

    async def arrive(self, *, vectors: bool = False, reach_s: float | None = None) -> None:
        """Wait until all that was written so far is in the graph, for what is decided or read only there.

        Raises StoreUnavailable if the server is unreachable or too slow for that.
        """
        end_s = monotonic() + timeouts.NEO4J_ARRIVE_S_MAX
        while True:
            await self.reach(timeout_s=reach_s)
            if await (
                self.carrier.settle_vectors() if vectors else self.carrier.settle(timeouts.NEO4J_SETTLE_S_MAX)
            ):
                return
            # A step that took too long is sent again at once, which works if the server was only starting.
            if not self.carrier.away or monotonic() > end_s:
                raise StoreUnavailable(self._what_waits())

    async def reach(self, *, timeout_s: float | None = None) -> None:
        """Try an unreachable server again. Raises StoreUnavailable if it still is."""
        if not await self.carrier.reached(timeouts.NEO4J_REACH_S_MAX if timeout_s is None else timeout_s):
            raise StoreUnavailable(self.carrier.link.away)

    def _what_waits(self) -> str:
        link = self.carrier.link
        if link.held and not link.away:
            return f"{link.waiting} rows cannot be sent to {self.graph.address.shown}: {link.held}."
        return link.away or (
            f"{link.waiting} rows still wait to be sent to {self.graph.address.shown}, which is slow. "
            "Try again when they have arrived."
        )

    async def settle(self) -> None:
        """Wait until what was written so far has arrived, so that the graph's answer includes it."""
        if not await self.carrier.settle(timeouts.NEO4J_SETTLE_S_MAX) and not self.carrier.away:
            self.carrier.note_partial(f"The newest changes may be missing. {self._what_waits()}")

    async def settle_abandoned(self) -> None:
        """Update which turns are abandoned, if a load left that to be done."""
        if self.carrier.abandoned_stale and not self.carrier.away:
            try:
                await mark_all(self.graph)
            except StoreUnavailable as error:
                self.carrier.lost(str(error))
            else:
                self.carrier.abandoned_stale = False

    async def get(self, label: Label, wanted: str | None) -> Props | None:
        if wanted is None or not valid_ids([wanted]):
            return None
        row = await self.outbox.read(lambda rows: rows.get(label, wanted))
        if row and self.is_ours(row):
            return row.props
        try:
            found = await self.ask(
                f"MATCH (n:{label} {{{identifier(label)}: $id}}) RETURN {fields('n', label)} AS n", id=wanted
            )
        except StoreUnavailable:
            if row:
                return row.props
            raise
        return found[0]["n"] if found else None

    async def read(self, label: Label, wanted: Sequence[str]) -> dict[str, Props]:
        """Return the stored nodes by their ids; those that are here if nothing else answers.

        Raises StoreUnavailable if none of them is here.
        """
        ids = valid_ids(wanted)
        if not ids:
            return {}
        here = await self.outbox.read(
            lambda rows: {each: row for each in ids if (row := rows.get(label, each))}
        )
        found = {each: row.props for each, row in here.items() if self.is_ours(row)}
        if missing := [each for each in ids if each not in found]:
            try:
                [answer] = await self.ask(
                    f"MATCH (n:{label}) WHERE n.{identifier(label)} IN $ids "
                    f"RETURN collect({fields('n', label)}) AS nodes",
                    ids=missing,
                )
            except StoreUnavailable:
                if not here:
                    raise
                return {each: row.props for each, row in here.items()}
            found |= {props[identifier(label)]: props for props in answer["nodes"]}
        return found

    def is_ours(self, row: OutboxRow) -> bool:
        """Whether the row here is newer than the graph's, or the same."""
        return row.waits or row.session_id in self.outbox.claims

    async def need(self, label: Label, wanted: str | None) -> None:
        """Read the node into the outbox, to be changed or referred to. Raises Conflict if there is none."""
        if wanted is None:
            return
        if valid_ids([wanted]) and await self.outbox.read(lambda rows: rows.get(label, wanted)):
            return
        found = await self.get(label, wanted)
        if found is None:
            noun = label.removeprefix("Conversation").lower()
            raise Conflict(f"The {noun} {wanted} is not in the store; it may have been deleted.")
        await self.outbox.write(lambda rows: rows.keep(label, [found]))

    async def need_whole(self, turn_id: str) -> None:
        """Read the turn with all its steps and calls into the outbox. Raises Conflict if there is none."""
        for_sure = valid_ids([turn_id])
        row = await self.outbox.read(lambda rows: rows.get(Label.TURN, turn_id)) if for_sure else None
        if row and row.complete:
            return
        await self.bring(for_sure)
        await self.need(Label.TURN, turn_id)

    async def bring(self, turn_ids: Sequence[str]) -> None:
        """Read the whole turns into the outbox, except those that do not exist."""
        found = await self.ask(WHOLE_TURNS, ids=list(turn_ids))

        def keep(rows: Rows) -> None:
            for each in found:
                rows.keep(Label.STEP, each["steps"])
                rows.keep(Label.CALL, each["calls"])
                rows.keep(Label.TURN, [each["turn"]], complete=True)

        await self.outbox.write(keep)

    async def of_turns(self, label: Label, turn_ids: Sequence[str]) -> list[Props]:
        """Return the steps or calls of the turns, in no particular order."""
        here, asked, known = await self.outbox.read(
            lambda rows: self._split(rows, label, valid_ids(turn_ids))
        )
        if not asked:
            return here
        try:
            found = await self.ask(
                f"MATCH (n:{label}) WHERE n.turnId IN $ids RETURN {fields('n', label)} AS n", ids=asked
            )
        except StoreUnavailable:
            if set(asked) <= known.keys():
                return [*here, *(props for each in asked for props in known[each])]
            raise
        return [*here, *(each["n"] for each in found)]

    def _split(
        self, rows: Rows, label: Label, turn_ids: Sequence[str]
    ) -> tuple[list[Props], list[str], dict[str, list[Props]]]:
        """Return our own; the turns to ask the graph for; and those known here in case it does not answer."""
        here: list[Props] = []
        asked: list[str] = []
        known: dict[str, list[Props]] = {}
        for turn_id in turn_ids:
            turn = rows.get(Label.TURN, turn_id)
            found = [row.props for row in rows.of_turn(label, turn_id)] if turn else []
            if turn and turn.complete and (self.is_ours(turn) or rows.turn_waits(turn_id)):
                here += found
                continue
            asked.append(turn_id)
            if turn and turn.complete:
                known[turn_id] = found
        return here, asked, known
