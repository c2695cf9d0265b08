"""The turns in the graph, with their steps."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import Conflict, StoreUnavailable
from ragforge.domain.ids import now
from ragforge.domain.messages import Parts
from ragforge.domain.turns import Step, Turn, TurnEnd, TurnStatus
from ragforge.domain.usage import Usage, sum_costs
from ragforge.store.json_text import storable
from ragforge.store.neo4j.abandonment import ABANDONED
from ragforge.store.neo4j.connection import Transaction
from ragforge.store.neo4j.index_rows import child_props, outdate_vector, reply_props, turn_props
from ragforge.store.neo4j.nodes import Nodes, fields, valid_ids
from ragforge.store.neo4j.outbox import OutboxRow, Rows
from ragforge.store.neo4j.rows import (
    Label,
    Props,
    step_key,
    step_of,
    step_row,
    turn_of,
    turn_row,
    usage_row,
    utc,
)

YOUNG = timedelta(minutes=1)
"""A turn that began longer ago may be in the graph already."""

WRITERS = f"""
MATCH (t:{Label.TURN}) WHERE t.id IN $ids AND t.person IS NOT NULL RETURN t.id AS id, t.person AS person
"""
DISOWN = (
    f"MATCH (t:{Label.TURN} {{person: $person}}) REMOVE t.person",
    f"MATCH (n:{Label.USAGE} {{person: $person}}) REMOVE n.person",
    f"MATCH (p:{Label.PERSON} {{id: $person}}) DETACH DELETE p",
)
DISOWN_SESSIONS = f"""
MATCH (s:{Label.SESSION})
WHERE s.person = $person OR coalesce(s.person, '') = '' AND s.user + '@' + s.host = $person
SET s.person = '', s.user = '', s.host = '', s.carriedAt = datetime.realtime()
RETURN s.sessionId AS id
"""
EVERYBODY = f"MATCH (p:{Label.PERSON}) WHERE EXISTS {{ (p)-[:WROTE]->() }} RETURN p.id AS id ORDER BY id"


class Neo4jTurns:
    """Implements `Turns`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def start(self, turn: Turn) -> None:
        """Store the user's message and move the session's head to it.

        Raises Conflict if the session or the parent is not stored, or the index is not the parent's + 1.
        """
        if await self._is_there(turn):
            return
        await self._nodes.need(Label.SESSION, turn.session_id)
        await self._nodes.need(Label.TURN, turn.parent)
        await self._nodes.write(lambda rows: _start(rows, turn))

    async def reword(self, turn_id: str, user: Parts) -> None:
        """Replace the user's message. Raises Conflict if the turn is missing, has a step or does not run."""
        await self._nodes.need_whole(turn_id)
        await self._nodes.write(lambda rows: _reword(rows, turn_id, user))

    async def save_step(self, step: Step, *, waits: bool = False) -> None:
        """Store a step before its calls run; if one waits for consent, its turn waits too.

        Raises Conflict if its turn is not stored.
        """
        await self._nodes.need_whole(step.turn_id)

        def write(rows: Rows) -> None:
            turn = add_step(rows, step)
            if waits and turn["status"] == TurnStatus.RUNNING:
                rows.put(Label.TURN, step.turn_id, {"status": str(TurnStatus.WAITING)})

        await self._nodes.write(write)

    async def end(self, end: TurnEnd) -> None:
        """Store the turn's end, its last step and its text. Raises Conflict if it is not stored."""
        await self._nodes.need_whole(end.turn_id)
        await self._nodes.write(lambda rows: _end(rows, end))

    async def reopen(self, turn_id: str) -> None:
        """Continue a turn that ended or waits, and move its session's head to it.

        Raises Conflict if it is not stored, or was left running on a machine that may still run it.
        """
        await self._nodes.need_whole(turn_id)
        turn = await self._nodes.outbox.read(lambda rows: stored(rows, Label.TURN, turn_id))
        await self._nodes.need(Label.SESSION, turn["sessionId"])
        if turn.get("takenOver"):
            raise Conflict(
                "This turn was left running on another machine and may still be running there. Send its "
                "message again to run it here."
            )

        def write(rows: Rows) -> None:
            ended = {"status": str(TurnStatus.RUNNING), "endTime": None, "error": ""}
            rows.put(Label.TURN, turn_id, ended)
            rows.put(Label.SESSION, turn["sessionId"], {"headId": turn_id})

        await self._nodes.write(write)

    async def get(self, turn_id: str) -> Turn | None:
        found = await self._nodes.get(Label.TURN, turn_id)
        return None if found is None else turn_of(found)

    async def read(self, turn_ids: Sequence[str]) -> list[Turn]:
        """Return the stored turns, in the order of the ids. Without the server, those that are here."""
        found = await self._nodes.read(Label.TURN, turn_ids)
        return [turn_of(found[each]) for each in dict.fromkeys(turn_ids) if each in found]

    async def path(self, head: str | None, *, limit: int | None = None) -> list[Turn]:
        """Return the turns from the root to `head`, oldest first; with a limit, only the newest are read."""
        if head is None or not valid_ids([head]) or (limit is not None and limit <= 0):
            return []
        newest, rest = await self._nodes.outbox.read(lambda rows: self._path_here(rows, head, limit))
        found = [turn_of(props) for props in newest]
        left = None if limit is None else limit - len(found)
        if rest is None or left == 0:
            return found[::-1]
        try:
            older = await self._path_there(rest, left)
        except StoreUnavailable:
            # The rest of what is here, whoever wrote it.
            more = await self._nodes.outbox.read(lambda rows: _walk(rows, rest, left))
            if not found and not more:
                raise
            older = [turn_of(props) for props in more]
        return [*older[::-1], *found[::-1]]

    async def abandoned(self, turn_ids: Sequence[str]) -> set[str]:
        """Return those of the turns that are abandoned. Without the server, judging by what is here."""
        wanted = valid_ids(turn_ids)
        if not wanted:
            return set()
        await self._nodes.settle()
        await self._nodes.settle_abandoned()
        try:
            found = await self._nodes.ask(ABANDONED, ids=wanted)
        except StoreUnavailable:
            return await self._nodes.here.turns.abandoned(wanted)
        return {each["id"] for each in found}

    async def writers(self, turn_ids: Sequence[str]) -> dict[str, str]:
        """Return who wrote these turns. Without the server, as far as they are here."""
        wanted = valid_ids(turn_ids)
        await self._nodes.settle()
        try:
            found = await self._nodes.ask(WRITERS, ids=wanted)
        except StoreUnavailable:
            return await self._nodes.here.turns.writers(wanted)
        return {each["id"]: each["person"] for each in found}

    async def everybody(self) -> list[str]:
        """Return the ids of all who wrote a turn. Without the server, as far as they are here."""
        await self._nodes.settle()
        try:
            found = await self._nodes.ask(EVERYBODY)
        except StoreUnavailable:
            return await self._nodes.here.turns.everybody()
        return [each["id"] for each in found]

    async def disown(self, person: str) -> None:
        """Remove the person from what this user wrote. Raises StoreUnavailable."""
        await self._nodes.arrive()

        async def work(transaction: Transaction) -> list[str]:
            for query in DISOWN:
                await transaction.run(query, person=storable(person))
            found = await transaction.run(DISOWN_SESSIONS, person=storable(person))
            return [each["id"] for each in found]

        sessions = await self._nodes.graph.transaction(work, deadline_s=timeouts.NEO4J_LOAD_S_MAX)

        def forget(rows: Rows) -> None:
            for label in (Label.TURN, Label.USAGE):
                own = [each.id for each in rows.of_label(label) if each.props.get("person") == person]
                rows.forget(label, own)
            for session in sessions:
                rows.forget_session(session)

        await self._nodes.outbox.write(forget)

    async def steps(self, turn_ids: Sequence[str]) -> list[Step]:
        places = {turn: place for place, turn in enumerate(turn_ids)}
        found = await self._nodes.of_turns(Label.STEP, list(places))
        return [
            step_of(each)
            for each in sorted(found, key=lambda each: (places[each["turnId"]], each["stepIndex"]))
        ]

    async def _is_there(self, turn: Turn) -> bool:
        """Whether it was started before; the graph is not asked about what can only be new."""
        if not valid_ids([turn.id]):
            return False
        here, session = await self._nodes.outbox.read(
            lambda rows: (rows.get(Label.TURN, turn.id), rows.get(Label.SESSION, turn.session_id))
        )
        if here or self._is_new(turn, session):
            return here is not None
        try:
            return await self._nodes.get(Label.TURN, turn.id) is not None
        except StoreUnavailable:
            return False

    def _is_new(self, turn: Turn, session: OutboxRow | None) -> bool:
        """Whether a turn that is not here can be nowhere else, so that its start waits for no server.

        One that begins now would be here. For a session that is written here the last activity is known:
        none of its turns began after that.
        """
        if abs(now() - turn.started_at) < YOUNG:
            return True
        if session is None or not self._nodes.is_ours(session):
            return False
        return session.props["lastActivity"] < utc(turn.started_at)

    def _path_here(self, rows: Rows, head: str, limit: int | None) -> tuple[list[Props], str | None]:
        """Return the newest turns, as far as the rows here are current; and the first to be asked for."""
        found: list[Props] = []
        wanted: str | None = head
        while wanted is not None and len(found) != limit:
            row = rows.get(Label.TURN, wanted)
            if row is None or not self._nodes.is_ours(row):
                break
            found.append(row.props)
            wanted = row.props.get("parentId")
        return found, wanted

    async def _path_there(self, head: str, limit: int | None) -> list[Turn]:
        # The length of a pattern cannot be a parameter; it is a number of ours.
        reach = "" if limit is None else str(int(limit) - 1)
        found = await self._nodes.ask(
            f"MATCH (:{Label.TURN} {{id: $head}})<-[:NEXT*0..{reach}]-(t:{Label.TURN}) "
            f"RETURN {fields('t', Label.TURN)} AS t ORDER BY t.turnIndex DESC",
            head=head,
            deadline_s=timeouts.NEO4J_READ_S_MAX,
        )
        return [turn_of(each["t"]) for each in found]


def stored(rows: Rows, label: Label, identifier: str) -> Props:
    """Return the node's properties. Raises Conflict if it is gone."""
    row = rows.get(label, identifier)
    if row is None:
        noun = label.removeprefix("Conversation").lower()
        raise Conflict(f"The {noun} {identifier} is not in the store; it may have been deleted.")
    return row.props


def add_step(rows: Rows, step: Step) -> Props:
    """Store the step unless it is stored; return the properties of its turn."""
    turn = stored(rows, Label.TURN, step.turn_id)
    key = step_key(step.turn_id, step.index)
    if rows.get(Label.STEP, key) is None:
        rows.put(Label.STEP, key, step_row(step, session_id=turn["sessionId"]))
    return turn


def ended_props(turn: Props, end: TurnEnd, *, steps: Sequence[Props], calls: Sequence[Props]) -> Props:
    """Return the changes of a turn that ends; steps and calls: all that it has."""
    ended: dict[str, Any] = {
        "status": str(end.status),
        "assistantMessage": storable(end.assistant),
        "endTime": utc(end.ended_at),
        "error": storable(end.error),
    }
    if any(turn.get(name) != value for name, value in ended.items()):
        # The one until it is embedded again, the other until there is a version (`Versions.unversioned`).
        ended |= {"embeddingStale": True, "versionDue": True}
    ended["charCount"] = len(turn["userMessage"]) + len(end.assistant)
    ended |= _sum_of_steps(steps)
    return ended | reply_props(turn | ended, calls)


def _sum_of_steps(steps: Sequence[Props]) -> Props:
    """Return the turn's usage as its properties; one unknown price makes the sum unknown."""
    found = [step_of(each) for each in steps]
    usage = sum((step.usage for step in found), Usage())
    return usage_row(usage, sum_costs(step.cost_usd for step in found))


def _start(rows: Rows, turn: Turn) -> None:
    if rows.get(Label.TURN, turn.id):
        return
    session = stored(rows, Label.SESSION, turn.session_id)
    parent = None if turn.parent is None else stored(rows, Label.TURN, turn.parent)
    index = 0 if parent is None else parent["turnIndex"] + 1
    if index != turn.index:
        raise Conflict(f"Turn {turn.id} says index {turn.index}, but its parent makes it {index}.")
    props = turn_row(turn, project_id=session["projectId"])
    near = _said_before(rows, props)
    rows.put(Label.TURN, turn.id, props | turn_props(props, near=near), complete=True)
    activity = max(session["lastActivity"], utc(turn.started_at))
    rows.put(Label.SESSION, turn.session_id, {"headId": turn.id, "lastActivity": activity})


def _said_before(rows: Rows, turn: Props) -> list[str]:
    """Return what the user said in the two turns before, as far as they are here."""
    parent = rows.get(Label.TURN, turn["parentId"])
    earlier = parent and rows.get(Label.TURN, parent.props.get("parentId"))
    return [each.props["userMessage"] for each in (parent, earlier) if each]


def _reword(rows: Rows, turn_id: str, user: Parts) -> None:
    turn = stored(rows, Label.TURN, turn_id)
    if turn["status"] != TurnStatus.RUNNING or rows.of_turn(Label.STEP, turn_id):
        raise Conflict(f"The turn {turn_id} was already sent to a model, so its message cannot be changed.")
    props = turn_row(replace(turn_of(turn), user=user), project_id=turn["projectId"])
    rows.put(Label.TURN, turn_id, props | turn_props(props, near=_said_before(rows, props)))


def _end(rows: Rows, end: TurnEnd) -> None:
    if end.last_step is not None:
        add_step(rows, end.last_step)
    turn = stored(rows, Label.TURN, end.turn_id)
    steps, calls = (
        [row.props for row in rows.of_turn(label, end.turn_id)] for label in (Label.STEP, Label.CALL)
    )
    ended = ended_props(turn, end, steps=steps, calls=calls)
    if "embeddingStale" in ended:
        outdate_vector(rows, "turn", end.turn_id)
    rows.put(Label.TURN, end.turn_id, ended, along=("embeddingStale",))
    session = rows.get(Label.SESSION, turn["sessionId"])
    if session:
        activity = max(session.props["lastActivity"], utc(end.ended_at))
        rows.put(Label.SESSION, turn["sessionId"], {"lastActivity": activity})
    parent = rows.get(Label.TURN, turn.get("parentId"))
    if parent and (found := child_props(parent.props, turn)):
        rows.put(Label.TURN, parent.id, found)


def _walk(rows: Rows, head: str, limit: int | None) -> list[Props]:
    """Return the turns from `head` towards the root, as far as they are here."""
    found: list[Props] = []
    row = rows.get(Label.TURN, head)
    while row is not None and len(found) != limit:
        found.append(row.props)
        row = rows.get(Label.TURN, row.props.get("parentId"))
    return found
