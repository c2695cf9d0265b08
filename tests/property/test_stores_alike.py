"""Whatever is done to a file and to a graph, both answer alike.

Each call goes to both stores. What one of them returns or refuses, the other must too; what is left open by
the contract (the order of equal rows, the scores of words, the clock of a writer that died) is not compared.
A call is repeated at once, as whoever does not know whether it arrived repeats it.

RAGFORGE_TEST_EXAMPLES=200 looks further than every run does.
"""

import asyncio
import math
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ragforge.domain.errors import RagforgeError
from ragforge.domain.ids import now
from ragforge.domain.messages import ImagePart, TextPart
from ragforge.domain.search import Candidate, Hit, Query
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import CallStatus, ConversationSession, Project, Step, ToolCall, Turn, TurnStatus
from ragforge.domain.vectors import Near, Nearby, OwnerKind
from ragforge.store.base import Claim, Record, Store, UsageRow
from ragforge.store.open import open_store
from tests.contract.builders import (
    NOON,
    a_call,
    a_project,
    a_request,
    a_session,
    a_step,
    a_summary,
    a_turn,
    a_vector,
    an_embedding,
    an_end,
    owner_of,
)
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer
from tests.servers.shared import Servers

T = TypeVar("T")
Ask = Callable[[Store], Awaitable[T]]

EXAMPLES = int(os.environ.get("RAGFORGE_TEST_EXAMPLES", "0")) or 2
STEPS = 25
EVERYTHING = 1_000_000
SCORES_ALIKE = 1e-3
ATTEMPTS_MAX = 30

HOSTILE = (
    *("", " ", "\0", "\ud800", "half \udfff zebra", "zebra\0okapi", "🦜" * 150, "zebra " + "é🦓" * 120),
    *(
        "a" * 300,
        "数" * 120 + " 数",
        "日本語のzebra",
        "e\u0301 é É",
        "Straße STRASSE ﬁne ǅ",
        "\u2028zebra\x1f\x85gnu",
    ),
    *(
        'zebra AND NOT "okapi"~2 (gnu OR *:*) +a -b ^9 \\',
        "'}) DETACH DELETE (n) //",
        "$id `x` ${a} {b} %s ?",
    ),
    *(
        "C:\\zebra\\okapi.py",
        'zebra\'s "gnu"; DROP TABLE words; --',
        "\r\n\t zebra\r",
        "zebra-okapi_gnu.py/π",
    ),
)
VOCABULARY = (
    "zebra",
    "zebras",
    "okapi",
    "gnu",
    "running",
    "runs",
    "the",
    "2026",
    "march",
    "read",
    "Ünïcode",
    "数",
    "parser",
)
TEXTS = st.one_of(
    st.sampled_from(HOSTILE),
    st.lists(st.sampled_from(VOCABULARY), max_size=6).map(" ".join),
    st.text(st.characters(exclude_categories=[]), max_size=30),
)
MODELS = st.sampled_from([("static:2", 2), ("static:2", 2), ("gemini:b", 3), ('hostile "\ud800\0', 2)])
NUMBERS = st.sampled_from([-1.0, 0.0, 1.0, 0.5, 1e-20, 1e20, 0.1])
MINUTES = st.integers(0, 4)
ENDS = st.sampled_from([each for each in TurnStatus if each not in (TurnStatus.RUNNING, TurnStatus.WAITING)])
STRANGE_IDS = st.sampled_from(["", "nowhere", "\0", "a'b\"c\\`", "🦜"])


def test_a_file_and_a_graph_answer_alike(emptied_graph: Neo4jServer) -> None:
    run_state_machine_as_test(
        lambda: StoresAlike(emptied_graph),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            # Ids are new each time, so an example that failed cannot be made smaller faithfully.
            phases=[Phase.reuse, Phase.generate],
        ),
    )


@pytest.fixture(params=tuple(neo4j.VERSIONS))
def emptied_graph(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[Neo4jServer]:
    """A server of each kind with nobody else in it."""
    with neo4j_servers.emptied(request.param) as server:
        yield server


@dataclass(frozen=True, slots=True)
class Refused:
    """What a store raised, as far as it must be the same in both."""

    error: type[RagforgeError]


class StoresAlike(RuleBasedStateMachine):
    """Two stores and the things that were ever given to them; what is deleted is still asked for."""

    def __init__(self, server: Neo4jServer) -> None:
        super().__init__()
        neo4j.empty(server)
        self.loop = asyncio.new_event_loop()
        self.folder = TemporaryDirectory()
        self.urls = f"sqlite://{self.folder.name}/store/ragforge.db", server.url
        self.password = server.password
        self.stores = self.opened()
        self.projects: list[Project] = []
        self.sessions: dict[str, ConversationSession] = {}
        self.turns: dict[str, Turn] = {}
        self.steps: list[Step] = []
        self.calls: list[ToolCall] = []
        self.summaries: dict[str, Summary] = {}
        self.claims: dict[str, list[Claim]] = {}

    # Calling both

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def opened(self) -> list[Store]:
        folder = Path(self.folder.name)
        return [
            self.run(open_store(url, machine_dir=folder / part, password=self.password))
            for part, url in zip(("file", "graph"), self.urls, strict=True)
        ]

    def both(self, ask: Ask[T]) -> tuple[T | Refused, T | Refused]:
        async def answer(store: Store) -> T | Refused:
            for _ in range(ATTEMPTS_MAX):
                try:
                    found = await ask(store)
                except RagforgeError as error:
                    found = Refused(type(error))
                if not store.link.away:
                    return found
                # A busy machine's server may be silent for a while: what is answered without it is another
                # matter, so it is asked again once it is back.
                await store.drain(timeout_s=10)
            raise AssertionError(f"the server was away: {store.link.away}")

        async def answers() -> list[T | Refused]:
            return await asyncio.gather(*map(answer, self.stores))

        file, graph = self.run(answers())
        return file, graph

    def alike(self, ask: Ask[T], seen: Callable[[T], object] = lambda answer: answer) -> T | Refused:
        """What both answered; seen: what of the answer must be the same."""
        file, graph = self.both(ask)
        shown = [each if isinstance(each, Refused) else seen(each) for each in (file, graph)]
        assert shown[0] == shown[1]
        return file

    def alike_in(self, ask: Ask[T], compare: Callable[[T, T], None]) -> T | Refused:
        """What both answered, after a comparison that raises AssertionError."""
        file, graph = self.both(ask)
        if isinstance(file, Refused) or isinstance(graph, Refused):
            assert file == graph
        else:
            compare(file, graph)
        return file

    # Choosing

    def one_of(self, data: st.DataObject, known: Any) -> str:
        """An id that was ever used, rarely one that never was."""
        ids = [*known]
        if not ids or data.draw(st.integers(0, 15)) == 7:
            return data.draw(STRANGE_IDS)
        return data.draw(st.sampled_from(ids))

    def maybe(self, data: st.DataObject, known: Any) -> str | None:
        return self.one_of(data, known) if data.draw(st.booleans()) else None

    def since(self, data: st.DataObject) -> datetime | None:
        minutes = data.draw(st.one_of(st.none(), MINUTES))
        return None if minutes is None else NOON + timedelta(minutes=minutes, microseconds=500)

    # Projects and sessions

    @initialize()
    def begin(self) -> None:
        self.add_project("parser")
        self.alike(lambda store: store.vectors.use("static:2", 2))
        self.add_first_session()

    def add_first_session(self) -> None:
        session = a_session(self.projects[0].id)
        self.sessions[session.id] = session
        self.alike(lambda store: store.sessions.add(session))

    @precondition(lambda self: len(self.projects) < 3)
    @rule(text=TEXTS)
    def add_project(self, text: str) -> None:
        project = a_project(name=text, git_remote=text, first_commit="c" * len(self.projects))
        self.projects.append(project)
        self.alike(lambda store: store.projects.add(project))

    @rule(data=st.data(), text=TEXTS)
    def change_project(self, data: st.DataObject, text: str) -> None:
        place = data.draw(st.integers(0, len(self.projects) - 1))
        self.projects[place] = project = replace(self.projects[place], name=text, git_remote=text)
        self.alike(lambda store: store.projects.add(project))
        self.alike(lambda store: store.projects.find(git_remote=text))

    @rule(data=st.data(), text=TEXTS, minutes=MINUTES, again=st.booleans())
    def add_session(self, data: st.DataObject, text: str, minutes: int, again: bool) -> None:
        at = NOON + timedelta(minutes=minutes, microseconds=1)
        session = a_session(
            self.one_of(data, [project.id for project in self.projects]),
            cwd=text,
            title=text,
            user=text,
            project_path=text,
            head=self.maybe(data, self.turns),
            forked_from=self.maybe(data, self.sessions),
            started_at=at,
            last_activity_at=at,
        )
        self.sessions[session.id] = session
        for _ in range(1 + again):
            self.alike(lambda store: store.sessions.add(session))

    @rule(data=st.data(), text=TEXTS, what=st.sampled_from(["rename", "set_model", "set_mode"]))
    def change_session(self, data: st.DataObject, text: str, what: str) -> None:
        session = self.one_of(data, self.sessions)
        self.alike(lambda store: getattr(store.sessions, what)(session, text))
        self.alike(lambda store: store.sessions.get(session))

    @rule(data=st.data())
    def set_head(self, data: st.DataObject) -> None:
        session, head = self.one_of(data, self.sessions), self.maybe(data, self.turns)
        self.alike(lambda store: store.sessions.set_head(session, head))
        self.alike(lambda store: store.sessions.get(session))

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        session = self.one_of(data, self.sessions)
        self.alike(lambda store: store.sessions.delete(session, dry_run=True))
        self.alike(lambda store: store.sessions.delete(session))

    @rule(data=st.data())
    def claim(self, data: st.DataObject) -> None:
        session = self.one_of(data, self.sessions)
        found = self.both(lambda store: store.sessions.claim(session))
        refused = [each for each in found if isinstance(each, Refused)]
        held = [each for each in found if not isinstance(each, Refused)]
        assert len(refused) in (0, 2)
        assert refused[:1] == refused[1:]
        if held:
            self.claims[session] = held

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from([*self.claims]))
        for claim in self.claims.pop(session):
            assert claim.lost == ""
            self.run(claim.release())

    @rule()
    def open_anew(self) -> None:
        self.close()
        self.claims.clear()
        self.stores = self.opened()

    # Turns, steps and calls

    @rule(data=st.data(), text=TEXTS, minutes=MINUTES, again=st.booleans())
    def start(self, data: st.DataObject, text: str, minutes: int, again: bool) -> None:
        parent = self.turns.get(self.maybe(data, self.turns) or "")
        known = self.sessions[data.draw(st.sampled_from([*self.sessions]))]
        turn = a_turn(known, text, parent=parent, started_at=NOON + timedelta(minutes=minutes))
        if data.draw(st.integers(0, 9)) == 5:
            turn = replace(
                turn, index=turn.index + 1, user=(TextPart(text), ImagePart("b" * 64, "image/png", text))
            )
        self.turns[turn.id] = turn
        for _ in range(1 + again):
            self.alike(lambda store: store.turns.start(turn))
        self.look_at(turn.id)

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), text=TEXTS)
    def save_step(self, data: st.DataObject, text: str) -> None:
        step = self.a_step(data, text)
        self.alike(lambda store: store.turns.save_step(step))
        self.look_at(step.turn_id)

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), text=TEXTS, status=st.sampled_from(CallStatus), again=st.booleans())
    def call(self, data: st.DataObject, text: str, status: CallStatus, again: bool) -> None:
        step = self.a_step(data, text)
        call = a_call(
            step,
            status=status,
            result=text,
            diff=text,
            provider_id=text,
            result_chars=len(text),
            images=(ImagePart("b" * 64, "image/png", text),),
            started_at=NOON + timedelta(minutes=data.draw(MINUTES)),
        )
        if data.draw(st.integers(0, 9)) == 5:
            call = replace(
                call, turn_id=self.one_of(data, self.turns), step_index=data.draw(st.integers(0, 2))
            )
        self.calls.append(call)
        for _ in range(1 + again):
            self.alike(lambda store: store.calls.add(call, step))
        self.look_at(step.turn_id)

    def a_step(self, data: st.DataObject, text: str) -> Step:
        """A step of a turn, new or one that was tried before."""
        if self.steps and data.draw(st.booleans()):
            return data.draw(st.sampled_from(self.steps))
        turn = self.turns[data.draw(st.sampled_from([*self.turns]))]
        request = a_request(
            data.draw(st.sampled_from(["read", text])), path=text, more=[text, {"a": [1, None]}]
        )
        values = {"cost_usd": data.draw(st.sampled_from([None, 0.25, 0.1, 0.0]))}
        step = a_step(turn, data.draw(st.integers(0, 2)), text, request, **values)
        self.steps.append(step)
        return step

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), text=TEXTS, status=ENDS, again=st.booleans())
    def end(self, data: st.DataObject, text: str, status: TurnStatus, again: bool) -> None:
        turn = self.turns[data.draw(st.sampled_from([*self.turns]))]
        step = replace(self.a_step(data, text), turn_id=turn.id) if data.draw(st.booleans()) else None
        end = an_end(turn, text, status=status, error=text, last_step=step)
        for _ in range(1 + again):
            self.alike(lambda store: store.turns.end(end))
        self.look_at(turn.id)

    @rule(data=st.data())
    def reopen(self, data: st.DataObject) -> None:
        turn = self.one_of(data, self.turns)
        self.alike(lambda store: store.turns.reopen(turn))
        self.look_at(turn)

    def look_at(self, turn: str) -> None:
        self.alike(lambda store: store.turns.get(turn), without_clock)
        self.alike(lambda store: store.turns.steps([turn]))
        self.alike(lambda store: store.calls.of_turns([turn]))

    # Summaries and vectors

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), text=TEXTS, roll_up=st.booleans(), method=st.sampled_from(SummaryMethod))
    def summarise(self, data: st.DataObject, text: str, roll_up: bool, method: SummaryMethod) -> None:
        below: list[Turn] | list[Summary] = [*self.turns.values()]
        if self.summaries and data.draw(st.booleans()):
            level = data.draw(st.sampled_from([*self.summaries.values()])).level
            below = [each for each in self.summaries.values() if each.level == level]
        covered = data.draw(
            st.lists(st.sampled_from(below), min_size=1, max_size=3, unique_by=lambda one: one.id)
        )
        session = self.sessions[data.draw(st.sampled_from([*self.sessions]))]
        texts = (text, "", "zebra")
        summary = a_summary(
            session, text, *covered, method=method, files=texts, findings=texts, tools=texts, topics=texts,
            constraints=texts,
        )  # fmt: skip
        if self.summaries and data.draw(st.integers(0, 3)) == 1:
            known = data.draw(st.sampled_from([*self.summaries.values()]))
            summary = replace(summary, id=known.id, session_id=known.session_id, project_id=known.project_id)
        if data.draw(st.integers(0, 15)) == 7:
            summary = replace(summary, level=data.draw(st.integers(0, 3)))
        self.keep(summary, roll_up=roll_up)

    @precondition(lambda self: self.summaries)
    @rule(data=st.data(), text=TEXTS, roll_up=st.booleans())
    def summarise_again(self, data: st.DataObject, text: str, roll_up: bool) -> None:
        known = self.summaries[data.draw(st.sampled_from([*self.summaries]))]
        self.keep(data.draw(st.sampled_from([known, replace(known, text=text)])), roll_up=roll_up)

    def keep(self, summary: Summary, *, roll_up: bool) -> None:
        if roll_up:
            kept = self.alike(lambda store: store.summaries.roll_up(summary))
        else:
            kept = self.alike(lambda store: store.summaries.save(summary))
        if not isinstance(kept, Refused):
            self.summaries.setdefault(summary.id, summary)
        self.alike(lambda store: store.summaries.get([summary.id, "nowhere"]))

    @rule(model=MODELS)
    def use(self, model: tuple[str, int]) -> None:
        self.alike(lambda store: store.vectors.use(*model))

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def embed(self, data: st.DataObject) -> None:
        owners = [*self.turns.values(), *self.summaries.values()]
        chosen = data.draw(st.lists(st.sampled_from(owners), min_size=1, max_size=4))
        made = [
            an_embedding(each, **self.a_point(data), text_hash=data.draw(st.sampled_from("ab")) * 64)
            for each in chosen
        ]
        self.alike(lambda store: store.vectors.save(made))
        self.alike(lambda store: store.vectors.get([each.owner for each in made]))

    def a_point(self, data: st.DataObject) -> dict[str, Any]:
        """A model and a vector of it, rarely one that cannot be compared."""
        model, dimensions = data.draw(MODELS)
        numbers = data.draw(st.lists(NUMBERS, min_size=dimensions, max_size=dimensions).filter(any))
        if data.draw(st.integers(0, 15)) == 7:
            numbers = data.draw(st.sampled_from([[], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]]))
        return {"model": model, "vector": a_vector(*numbers)}

    # Asking

    @rule(data=st.data(), limit=st.sampled_from([0, 1, 3, 1000]))
    def ask_for_what_is_near(self, data: st.DataObject, limit: int) -> None:
        kinds = data.draw(st.sampled_from([(), (OwnerKind.TURN,), (OwnerKind.SUMMARY,), tuple(OwnerKind)]))
        nearby = Nearby(
            **self.a_point(data), **self.a_scope(data), since=self.since(data), kinds=kinds, limit=limit
        )
        self.alike_in(lambda store: store.vectors.nearest(nearby), assert_equally_near)

    def a_scope(self, data: st.DataObject) -> dict[str, Any]:
        return {
            "project_id": self.maybe(data, [project.id for project in self.projects]),
            "session_id": self.maybe(data, self.sessions),
        }

    @rule(data=st.data(), text=TEXTS)
    def ask_for_words(self, data: st.DataObject, text: str) -> None:
        query = Query(text, **self.a_scope(data), since=self.since(data), limit=1000)
        self.alike(lambda store: store.search.words(query), whatever_order)
        nearby = Nearby(**self.a_point(data), **self.a_scope(data), since=self.since(data), limit=1000)
        found = self.alike_in(lambda store: store.search.candidates(query, nearby), assert_same_candidates)
        if not isinstance(found, Refused):
            self.alike(lambda store: store.search.hits(found, text), whatever_order)

    @rule(data=st.data(), limit=st.sampled_from([None, -1, 0, 1, 2]))
    def ask_for_a_path(self, data: st.DataObject, limit: int | None) -> None:
        head = self.maybe(data, self.turns)
        self.alike(lambda store: store.turns.path(head, limit=limit), without_clocks)

    @rule(data=st.data(), limit=st.sampled_from([-1, 0, 1, 1000]), length=st.integers(0, 36))
    def ask_for_sessions(self, data: st.DataObject, limit: int, length: int) -> None:
        session, project = self.one_of(data, self.sessions), self.a_scope(data)["project_id"]
        part = (
            session[:length]
            if data.draw(st.booleans())
            else session[len(session) - min(length, len(session)) :]
        )
        part = data.draw(st.sampled_from([part, part.upper()]))
        self.alike(lambda store: store.sessions.recent(project_id=project, with_id_part=part, limit=limit))

    @rule(data=st.data(), level=st.sampled_from([None, 0, 1, 2]), uncovered=st.booleans())
    def ask_for_summaries(self, data: st.DataObject, level: int | None, uncovered: bool) -> None:
        session = self.one_of(data, self.sessions)
        self.alike(lambda store: store.summaries.of_session(session, level=level, uncovered=uncovered))

    @rule(data=st.data(), limit=st.sampled_from([-1, 0, 1, 1000]))
    def ask_for_what_lacks(self, data: st.DataObject, limit: int) -> None:
        project, model = self.a_scope(data)["project_id"], data.draw(MODELS)[0]
        self.alike(lambda store: store.summaries.lacking(project_id=project, limit=limit), without_clocks)
        self.alike(
            lambda store: store.vectors.lacking(model, project_id=project, limit=limit),
            set if limit == 1000 else len,
        )

    @rule(data=st.data())
    def ask_for_usage(self, data: st.DataObject) -> None:
        scope, since = self.a_scope(data), self.since(data)
        self.alike(lambda store: store.usage.by_model(**scope, since=since), as_sums)

    @rule(data=st.data())
    def load(self, data: st.DataObject) -> None:
        """Things as another store has them, new and newer."""
        session = replace(
            self.sessions[data.draw(st.sampled_from([*self.sessions]))],
            last_activity_at=NOON + timedelta(hours=data.draw(st.integers(1, 9))),
            title="from elsewhere",
            head=None,
        )
        records: list[Record] = [*self.projects, session]
        if self.turns:
            turn = self.turns[data.draw(st.sampled_from([*self.turns]))]
            end = NOON + timedelta(hours=data.draw(st.integers(1, 9)))
            records += [replace(turn, status=TurnStatus.FINISHED, assistant="from zebra", ended_at=end)]
        for known in (self.steps, self.calls, [*self.summaries.values()]):
            records += data.draw(st.lists(st.sampled_from(known), max_size=2)) if known else []
        if self.turns:
            records.append(an_embedding(turn, **{**self.a_point(data), "vector": a_vector(1, 1)}))
        self.alike(lambda store: store.archive.load(records))
        if data.draw(st.booleans()):
            self.alike(load_own_dump)

    def compare_all(self) -> None:
        turns, summaries = [*self.turns], [*self.summaries]
        owners = [owner_of(each) for each in (*self.turns.values(), *self.summaries.values())]
        self.alike(lambda store: store.sessions.recent())
        for session in self.sessions:
            self.alike(lambda store, session=session: store.summaries.of_session(session))
        for turn in turns:
            self.alike(lambda store, turn=turn: store.turns.path(turn), without_clocks)
        self.alike(lambda store: store.turns.steps(turns))
        self.alike(lambda store: store.calls.of_turns(turns))
        self.alike(lambda store: store.summaries.get(summaries))
        self.alike(lambda store: store.summaries.covering(turns))
        self.alike(lambda store: store.summaries.lacking(limit=EVERYTHING), without_clocks)
        self.alike(lambda store: store.vectors.get(owners))
        self.alike(lambda store: store.vectors.lacking("static:2", limit=EVERYTHING), set)
        self.alike(lambda store: store.usage.by_model(), as_sums)
        self.alike(lambda store: store.archive.counts(), dict)
        self.alike(dump_of, without_clocks)
        for text in (" ".join(VOCABULARY), "zebra", "gnu read"):
            query = Query(text, limit=1000)
            self.alike(lambda store, query=query: store.search.words(query), whatever_order)
        found = self.both(lambda store: store.check())
        assert found == ([], [])

    # The end

    def close(self) -> None:
        for store in self.stores:
            self.run(store.close())

    def teardown(self) -> None:
        try:
            self.compare_all()
        finally:
            self.close()
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()
            self.folder.cleanup()


async def dump_of(store: Store) -> list[Record]:
    """All that the store holds, in the order that the contract demands."""
    async with aclosing(store.archive.dump()) as records:
        return [record async for record in records]


async def load_own_dump(store: Store) -> int:
    """How many records are new to the store that they come from."""
    return await store.archive.load(await dump_of(store))


def without_clock(record: Any) -> Any:
    """The record without the moment at which a claim ended its turn."""
    if isinstance(record, Turn) and record.status is TurnStatus.INTERRUPTED and record.ended_at:
        ended_now = abs(now() - record.ended_at) < timedelta(hours=1)
        return replace(record, ended_at=None) if ended_now else record
    return record


def without_clocks(records: list[Any]) -> list[Any]:
    return [without_clock(record) for record in records]


def whatever_order(hits: list[Hit]) -> dict[tuple[str, str], Hit]:
    """The hits without their order and scores."""
    assert all(0 <= start < end <= len(hit.text) for hit in hits for start, end in hit.marks)
    return {(hit.kind, hit.id): replace(hit, score=0) for hit in hits}


def as_sums(rows: list[UsageRow]) -> list[UsageRow]:
    """The sums, but for the last bits, which depend on the order of adding."""
    return [replace(row, cost_usd=None if row.cost_usd is None else round(row.cost_usd, 9)) for row in rows]


def assert_same_candidates(file: list[Candidate], graph: list[Candidate]) -> None:
    """The same things, found by words or not, and as near."""
    known = {(each.kind, each.id): each for each in graph}
    assert len(known) == len(graph)
    assert known.keys() == {(each.kind, each.id) for each in file}
    for one in file:
        other = known[one.kind, one.id]
        assert replace(one, words=None, meaning=None) == replace(other, words=None, meaning=None)
        assert (one.words is None) == (other.words is None)
        assert one.meaning == (other.meaning and pytest.approx(other.meaning, abs=SCORES_ALIKE))


def assert_equally_near(file: list[Near], graph: list[Near]) -> None:
    """The same scores at each place; the same owners but where scores are as good as equal."""
    assert [each.score for each in graph] == pytest.approx([each.score for each in file], abs=SCORES_ALIKE)
    last = file[-1].score if file else 0.0
    for found, others in ((file, graph), (graph, file)):
        scores = {each.owner: each.score for each in others}
        assert len(scores) == len(others)
        for each in found:
            # What is equal to the last may be on either side of the limit.
            assert each.score == pytest.approx(scores.get(each.owner, last), abs=SCORES_ALIKE)
        for one, next_one in pairwise(found):
            assert (-one.score, one.owner.id) < (-next_one.score, next_one.owner.id)
