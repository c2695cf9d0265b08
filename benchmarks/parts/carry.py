"""The cost of sending a turn with three tool calls to the server, and the prompt's wait before that.

The rows are those that the store leaves in its outbox for such a turn: the turn, its three calls and four
steps, its session, and the parent, which is now found by its child's words too. Alternating with them, one
query written by hand for only the turn and its calls: the same properties and relationships of those four
nodes, but created without checking whether they exist. It comes from another session's outbox, so that both
histories grow alike.
"""

import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from parts.places import PATIENCE_S, empty_graph, opened, ratios
from ragforge.domain.ids import new_id, now
from ragforge.domain.messages import CallRequest, ModelMessage, TextPart
from ragforge.domain.turns import (
    CallStatus,
    ConversationSession,
    Project,
    Step,
    ToolCall,
    Turn,
    TurnEnd,
    TurnStatus,
)
from ragforge.store.base import Store
from ragforge.store.neo4j.calls import Neo4jToolCalls
from ragforge.store.neo4j.carrier import BYTES_MAX, ROWS_MAX, Carrier
from ragforge.store.neo4j.carry import carry, warm_up
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.migrations import database_info
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.outbox import Cargo, Outbox, OutboxRow, Rows, open_outbox
from ragforge.store.neo4j.rows import Label, Props, project_row, session_row
from ragforge.store.neo4j.turns import Neo4jTurns

REPEATS = 300
WARM = 40
STARTS = 100
EPOCH = 1
HEADER = "                                    min ms   median"

BY_HAND = """
MATCH (s:ConversationSession {sessionId: $turn.sessionId})
CREATE (t:ConversationTurn) SET t = $turn
CREATE (s)-[:HAS_TURN]->(t)
WITH t
MATCH (p:ConversationTurn {id: $turn.parentId})
CREATE (p)-[:NEXT]->(t)
WITH t
UNWIND $calls AS call
CREATE (c:ToolCall) SET c = call
CREATE (t)-[:HAS_TOOL_CALL]->(c), (c)-[:PART_OF]->(t)
"""

SESSION = """
MERGE (p:Project {id: $project.id}) SET p += $project
CREATE (s:ConversationSession) SET s = $session, s.writerEpoch = $epoch
CREATE (p)-[:HAS_SESSION]->(s)
"""

# The first and the last turn differ: one follows none, the other is followed by none. And only the carrier
# updates a parent for its child.
ALIKE = """
MATCH (s:ConversationSession)-[:HAS_TURN]->(t)-[:NEXT]->() WHERE t.turnIndex > 0
MATCH (t)-[:HAS_TOOL_CALL]->(c)-[:PART_OF]->(t)
WITH s, t, count(c) AS calls, sum(size(keys(c))) AS keys
RETURN s.sessionId AS session, count(t) AS turns, sum(calls) AS calls,
  sum(keys + size([key IN keys(t) WHERE key <> 'nearChild'])) AS keys
"""

SAID = "The parser drops the last line of file {} when it lacks a newline; please find out why, and tell me."
RESULT = "\n".join(f"{line:5}  def rule_{line}(text): return text.split({line})" for line in range(60))
ANSWER = "The loop ends at the last newline, so what follows it is never read. " * 12


class Writer:
    """A session that is written with the store's own records, while nothing sends its rows."""

    def __init__(self, graph: Graph, outbox: Outbox, session: ConversationSession) -> None:
        # Not started: rows stay until they are requested.
        carrier = Carrier(graph, outbox, reach=_nothing, fenced=_nothing)
        nodes = Nodes(graph, outbox, carrier)
        self._outbox = outbox
        self._turns, self._calls = Neo4jTurns(nodes), Neo4jToolCalls(nodes)
        self._session = session
        self._head: str | None = None
        self._count = 0

    async def rows(self) -> list[OutboxRow]:
        """Return the rows of one more turn, as the carrier would take them."""
        turn = next_turn(self._session.id, self._head, self._count)
        await self._turns.start(turn)
        for number in range(3):
            call, step = call_of(turn, number)
            await self._calls.add(call, step)
        last = Step(turn.id, 3, ModelMessage("gemini", "some-model", ANSWER))
        await self._turns.end(TurnEnd(turn.id, TurnStatus.FINISHED, ANSWER, now(), last_step=last))
        self._head, self._count = turn.id, self._count + 1
        return await self._outbox.read(
            lambda rows: rows.waiting(Cargo.CONVERSATION, rows_max=ROWS_MAX, bytes_max=BYTES_MAX)
        )

    async def arrived(self, rows: Sequence[OutboxRow]) -> None:
        """Record that they are in the graph."""
        await self._outbox.write(lambda here: here.mark_carried(rows))


async def measure(urls: Sequence[str]) -> None:
    """Measure sending a turn to each server, then the prompt's wait in both stores."""
    for url in urls:
        async with empty_graph(url) as graph:
            # Makes the schema.
            async with opened(url, url):
                pass
            await _beside_hand(graph)
            await _starts(url, graph.version_text)
    if not urls:
        await _starts("", "")


async def _beside_hand(graph: Graph) -> None:
    async with _writer(graph) as ours, _writer(graph) as theirs:
        info = await database_info(graph)
        assert info is not None
        await warm_up(graph, database=info.id, deadline_s=60)
        carried: list[float] = []
        by_hand: list[float] = []
        for number in range(WARM + REPEATS):
            rows = await ours.rows()
            began = time.perf_counter()
            await carry(graph, rows, batch=number + 1, deadline_s=PATIENCE_S, database=info.id)
            carried.append((time.perf_counter() - began) * 1000)
            await ours.arrived(rows)
            other = await theirs.rows()
            parameters = four_nodes(other)
            query = BY_HAND if number else FIRST
            began = time.perf_counter()
            await graph.write(query, deadline_s=PATIENCE_S, **parameters)
            by_hand.append((time.perf_counter() - began) * 1000)
            await theirs.arrived(other)
        del carried[:WARM], by_hand[:WARM]
        await _check(graph)
    kinds = {label: sum(row.label == label for row in rows) for label in Label}
    what = ", ".join(f"{count} {label}" for label, count in kinds.items() if count)
    _say(f"{graph.version_text} carry", carried)
    _say(f"{graph.version_text} by hand", by_hand, ratios(carried, by_hand))
    print(f"  carried: {what}; by hand: 1 {Label.TURN}, 3 {Label.CALL}", flush=True)


FIRST = BY_HAND.replace(
    "MATCH (p:ConversationTurn {id: $turn.parentId})\nCREATE (p)-[:NEXT]->(t)\nWITH t\n", ""
)
"""Return the query for the first turn of a session, which follows none."""


def four_nodes(rows: Sequence[OutboxRow]) -> dict[str, Any]:
    """Return the new turn and its calls, with all their properties."""
    turn = max((row for row in rows if row.label == Label.TURN), key=lambda row: row.props["turnIndex"])
    calls = [row.props for row in rows if row.label == Label.CALL]
    assert len(calls) == 3
    return {"turn": turn.props, "calls": calls}


async def _check(graph: Graph) -> None:
    """Check that both sessions have the same turns and calls, with as many properties and relationships."""
    found = await graph.read(ALIKE, deadline_s=PATIENCE_S)
    told = [{name: value for name, value in each.items() if name != "session"} for each in found]
    assert len(told) == 2, told
    assert told[0] == told[1], told


@asynccontextmanager
async def _writer(graph: Graph) -> AsyncIterator[Writer]:
    project = Project(new_id(), "bench", now())
    session = ConversationSession(new_id(), project.id, "/bench", now(), now())
    kept: dict[str, Props] = {"project": project_row(project), "session": session_row(session)}
    await graph.write(SESSION, deadline_s=60, epoch=EPOCH, **kept)
    with tempfile.TemporaryDirectory() as folder:
        outbox = open_outbox(Path(folder) / "outbox.db", lock_dir=Path(folder))
        outbox.claims[session.id] = EPOCH

        def keep(rows: Rows) -> None:
            rows.keep(Label.PROJECT, [kept["project"]])
            rows.keep(Label.SESSION, [kept["session"]])

        await outbox.write(keep)
        try:
            yield Writer(graph, outbox, session)
        finally:
            await outbox.close()


async def _starts(url: str, name: str) -> None:
    """Measure how long the user's words take to be durable, alternating with a bare fsync of their size."""
    names = {"sqlite": "SQLite", **({url: name} if url else {})}
    times: dict[str, list[float]] = {each: [] for each in (*names, "fsync")}
    with tempfile.TemporaryDirectory() as folder:
        file = os.open(Path(folder) / "appended", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        async with _sessions(names) as sessions:
            heads: dict[str, str | None] = dict.fromkeys(names)
            for number in range(STARTS):
                for kind, (store, session_id) in sessions.items():
                    # People pause between turns: the previous rows have arrived.
                    await store.drain(timeout_s=60)
                    turn = next_turn(session_id, heads[kind], number)
                    times[kind].append(await _timed(store.turns.start(turn)))
                    heads[kind] = turn.id
                began = time.perf_counter()
                os.write(file, repr(turn).encode())
                os.fsync(file)
                times["fsync"].append((time.perf_counter() - began) * 1000)
        os.close(file)
    _say("bare fsync", times["fsync"])
    for kind, each in names.items():
        _say(f"{each} turns.start", times[kind], ratios(times[kind], times["fsync"]))


@asynccontextmanager
async def _sessions(names: Mapping[str, str]) -> AsyncIterator[dict[str, tuple[Store, str]]]:
    async with AsyncExitStack() as stack:
        found: dict[str, tuple[Store, str]] = {}
        for kind in names:
            store = await stack.enter_async_context(opened(kind, kind))
            project = Project(new_id(), "bench", now())
            await store.projects.add(project)
            session = ConversationSession(new_id(), project.id, "/bench", now(), now())
            await store.sessions.add(session)
            claim = await store.sessions.claim(session.id)
            stack.push_async_callback(claim.release)
            found[kind] = store, session.id
        yield found


def next_turn(session_id: str, head: str | None, index: int) -> Turn:
    """Return a new turn."""
    return Turn(
        new_id(), session_id, head, index, (TextPart(SAID.format(index)),), now(), model="gemini:some-model"
    )


def call_of(turn: Turn, number: int) -> tuple[ToolCall, Step]:
    """Return one of its tool calls, with its step."""
    request = CallRequest(new_id(), "read", {"path": f"src/parser_{number}.py"})
    step = Step(turn.id, number, ModelMessage("gemini", "some-model", "Let me look.", (request,)))
    call = ToolCall(
        request.id, turn.id, number, 0, "read", request.args, CallStatus.OK, RESULT, now(), duration_ms=3
    )
    return call, step


async def _timed(work: Awaitable[None]) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


async def _nothing(*_: object) -> None:
    pass


def _say(what: str, times: Sequence[float], ratios: str = "") -> None:
    print(f"{what:<32} {min(times):9.2f} {statistics.median(times):8.2f} {ratios}", flush=True)
