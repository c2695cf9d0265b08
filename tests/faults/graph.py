"""Words that a store acknowledged, and the look into the graph whether each is there exactly once."""

import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from ragforge.domain.ids import new_id
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.store.base import Store
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.check import findings
from ragforge.store.neo4j.connection import Graph
from ragforge.store.open import open_store
from tests.contract.builders import a_call, a_request, a_step, a_turn, an_end
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer

ARRIVE_S_MAX = 240.0
"""A server that was stopped or killed may be slow on a busy machine."""

Said = tuple[str, ...]
"""`start TURN PARENT WORDS`, `call TURN CALL` or `end TURN ANSWER`."""

FOUND = """
MATCH (t:ConversationTurn {sessionId: $session})
RETURN t.id AS id, t.userMessage AS words, t.assistantMessage AS answer, t.status AS status,
  COLLECT { MATCH (s:ConversationSession)-[:HAS_TURN]->(t) RETURN s.sessionId } AS sessions,
  COLLECT { MATCH (p:ConversationTurn)-[:NEXT]->(t) RETURN p.id } AS parents,
  COLLECT { MATCH (s:ConversationStep)-[:PART_OF]->(t) RETURN s.message } AS steps,
  COLLECT { MATCH (t)-[:HAS_TOOL_CALL]->(c:ToolCall) RETURN c.id + ' ' + c.toolResult } AS calls,
  COLLECT { MATCH (c:ToolCall)-[:PART_OF]->(t) RETURN c.id } AS parts
"""


@dataclass(slots=True)
class Spoken:
    """A turn as it was acknowledged."""

    parent: str
    words: str
    calls: list[str] = field(default_factory=list[str])
    answer: str = ""


@dataclass(slots=True)
class Acknowledged:
    """What a store said is kept of a session."""

    session_id: str
    turns: dict[str, Spoken] = field(default_factory=dict[str, Spoken])

    def hear(self, said: Said) -> None:
        match said:
            case "start", turn, parent, words:
                self.turns[turn] = Spoken(parent, words)
            case "call", turn, call:
                self.turns[turn].calls.append(call)
            case "end", turn, answer:
                self.turns[turn].answer = answer
            case _:
                raise AssertionError(f"unknown: {said}")


class Speaker:
    """Writes turns into a session, one below the other, and tells what was acknowledged."""

    def __init__(
        self,
        store: Store,
        session: ConversationSession,
        *,
        last: Turn | None = None,
        tell: Callable[[Said], None] = lambda _: None,
    ) -> None:
        self.store = store
        self.session = session
        self.acknowledged = Acknowledged(session.id)
        self.turn = last
        self.times_s: list[float] = []
        """How long each write took."""
        self._tell = tell
        self._steps = 0

    async def start(self) -> Turn:
        """Begin a turn."""
        identifier = new_id()
        words = f"asked in {identifier}"
        turn = a_turn(self.session, words, parent=self.turn, id=identifier)
        await self._timed(self.store.turns.start(turn))
        self.turn, self._steps = turn, 0
        self._hear("start", turn.id, turn.parent or "", words)
        return turn

    async def call(self) -> None:
        """Keep a call with its step."""
        assert self.turn is not None
        request = a_request()
        step = a_step(self.turn, self._steps, f"step of {request.id}", request)
        call = a_call(step, result=f"result of {request.id}")
        await self._timed(self.store.calls.add(call, step))
        self._steps += 1
        self._hear("call", self.turn.id, call.id)

    async def end(self) -> None:
        """End the turn."""
        assert self.turn is not None
        answer = f"answer of {self.turn.id}"
        step = a_step(self.turn, self._steps, answer)
        await self._timed(self.store.turns.end(an_end(self.turn, answer, last_step=step)))
        self._hear("end", self.turn.id, answer)

    async def speak(self) -> Turn:
        """A whole turn with two calls."""
        turn = await self.start()
        await self.call()
        await self.call()
        await self.end()
        return turn

    async def _timed(self, writing: Awaitable[None]) -> None:
        began = time.monotonic()
        await writing
        self.times_s.append(time.monotonic() - began)

    def _hear(self, *said: str) -> None:
        self.acknowledged.hear(said)
        self._tell(said)


async def assert_exactly_once(
    server: Neo4jServer, acknowledged: Acknowledged, *, more: bool = False, head: str | None = None
) -> None:
    """Look into the graph by itself: every acknowledged word is there, nothing is there twice.

    more: what was written and not acknowledged any more may be there too. head: where the session stands.
    """
    session = acknowledged.session_id
    found = {row["id"]: row for row in neo4j.query(server, FOUND, session=session)}
    assert found.keys() >= acknowledged.turns.keys() if more else found.keys() == acknowledged.turns.keys()
    for identifier, turn in acknowledged.turns.items():
        row = found[identifier]
        assert (row["words"], row["sessions"]) == (turn.words, [session])
        assert row["parents"] == ([turn.parent] if turn.parent else [])
        calls = {
            call: json.loads(result)["text"] for call, result in (each.split(" ", 1) for each in row["calls"])
        }
        texts = [json.loads(message)["text"] for message in row["steps"]]
        assert len(row["calls"]) == len(calls)
        assert sorted(row["parts"]) == sorted(calls)
        assert len(texts) == len(set(texts))
        expected = [f"step of {call}" for call in turn.calls] + ([turn.answer] if turn.answer else [])
        assert set(texts) >= set(expected) if more else sorted(texts) == sorted(expected)
        assert set(calls) >= set(turn.calls) if more else sorted(calls) == sorted(turn.calls)
        assert all(result == f"result of {call}" for call, result in calls.items())
        if turn.answer:
            assert (row["status"], row["answer"]) == ("finished", turn.answer)
    (node,) = neo4j.query(
        server, "MATCH (s:ConversationSession {sessionId: $id}) RETURN s.headId AS head", id=session
    )
    assert head is None or node["head"] == head
    await _assert_sound(server, {session, *found})


async def _assert_sound(server: Neo4jServer, ids: set[str]) -> None:
    """The store's own laws hold for these; the server may hold what other tests broke."""
    graph = Graph(Address.from_url(url_of(server)))
    try:
        faults = await findings(graph, repair=False)
    finally:
        await graph.close()
    assert [fault for fault in faults if any(each in fault for each in ids)] == []


async def arrived(store: Store) -> None:
    """Wait until nothing waits here any more."""
    deadline = time.monotonic() + ARRIVE_S_MAX
    while (link := await store.drain(timeout_s=5)).waiting:
        assert time.monotonic() < deadline, f"{link.waiting} rows still wait: {link.away}"


def url_of(server: Neo4jServer, *, port: int | None = None, user: str = "", password: str = "") -> str:
    """The server's address with its login; through a proxy where a port is given."""
    host = f"127.0.0.1:{port or server.port}"
    user, password = user or server.user, password or server.password
    return f"bolt://{quote(user)}:{quote(password)}@{host}" if password else f"bolt://{host}"


@asynccontextmanager
async def opened(url: str, machine_dir: Path) -> AsyncGenerator[Store]:
    store = await open_store(url, machine_dir=machine_dir)
    try:
        yield store
    finally:
        await store.close()


@contextmanager
def replaced(server: Neo4jServer, database_id: str) -> Generator[None]:
    """The server's database is another one, by its id."""
    name = "MATCH (d:RagforgeDatabase) SET d.id = $id"
    neo4j.query(server, name, id=new_id())
    try:
        yield
    finally:
        neo4j.query(server, name, id=database_id)
