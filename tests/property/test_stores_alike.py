"""Whatever is done to a file and to a graph, both answer alike.

Each call goes to both stores. What one of them returns or refuses, the other must too; what is left open by
the contract (the order of equal rows, the scores of words, the clock of a writer that died) is not compared.
A call is repeated at once, as whoever does not know whether it arrived repeats it.

RAGFORGE_TEST_EXAMPLES=200 looks further than every run does.
"""

import math
import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test
from msgspec.structs import replace

from ragforge.domain.memories import (
    AssociationKind,
    MemoryFilter,
    MemoryScope,
    MemorySort,
    MemorySource,
    MemoryType,
)
from ragforge.domain.search import INDEXED_KINDS, HitKind, Query
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.domain.vectors import Nearby, OwnerKind
from ragforge.store.base import Record
from tests.contract.builders import (
    DIMENSIONS,
    NOON,
    a_memory,
    a_spending,
    a_summary,
    a_vector,
    an_association,
    an_embedding,
    an_odd_vector,
    owner_of,
)
from tests.property.alike import (
    MINUTES,
    MODELS,
    NUMBERS,
    TEXTS,
    VOCABULARY,
    Refused,
    as_sums,
    assert_equally_near,
    assert_same_candidates,
    dump_of,
    load_own_dump,
    whatever_order,
    without_clocks,
)
from tests.property.alike_versions import Versioning
from tests.scope import TIMES
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer
from tests.servers.shared import Servers

EXAMPLES = int(os.environ.get("RAGFORGE_TEST_EXAMPLES", "0")) or 2 * TIMES
STEPS = 25
EVERYTHING = 1_000_000


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


class StoresAlike(Versioning):
    """What is made of conversations, and what is asked."""

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
        owners = [*self.turns.values(), *self.summaries.values(), *self.memories.values()]
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
        length = min(dimensions, 3)
        numbers = data.draw(st.lists(NUMBERS, min_size=length, max_size=length).filter(any))
        if data.draw(st.integers(0, 15)) == 7:
            numbers = data.draw(st.sampled_from([[], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]]))
        make = a_vector if dimensions == DIMENSIONS else an_odd_vector
        return {"model": model, "vector": make(*numbers)}

    # Memories

    @rule(data=st.data(), text=TEXTS, again=st.booleans(), made_in_none=st.booleans())
    def remember(self, data: st.DataObject, text: str, again: bool, made_in_none: bool) -> None:
        known = self.sessions[data.draw(st.sampled_from([*self.sessions]))]
        project = next((each for each in self.projects if each.id == known.project_id), None)
        created = NOON + timedelta(minutes=data.draw(MINUTES), microseconds=1)
        memory = a_memory(
            project if made_in_none and project else known,
            text,
            scope=data.draw(st.sampled_from(MemoryScope)),
            type=data.draw(st.sampled_from(MemoryType)),
            source=data.draw(st.sampled_from(MemorySource)),
            topic=data.draw(st.sampled_from(["", "zebra"])),
            importance=data.draw(st.sampled_from([0.0, 0.5, 1.0, 1.5])),
            confidence=data.draw(st.sampled_from([0.25, 1.0])),
            created_at=created,
            updated_at=created + timedelta(minutes=data.draw(MINUTES)),
            turns=tuple(
                data.draw(st.lists(st.sampled_from([*self.turns]), max_size=3)) if self.turns else ()
            ),
        )
        for _ in range(1 + again):
            kept = self.alike(lambda store: store.memories.save(memory))
        if not isinstance(kept, Refused):
            self.memories.setdefault(memory.id, memory)
        self.alike(lambda store: store.memories.get([memory.id, "nowhere"]))

    @precondition(lambda self: self.memories)
    @rule(data=st.data(), kind=st.sampled_from(MemoryType), topic=TEXTS)
    def change_memory(self, data: st.DataObject, kind: MemoryType, topic: str) -> None:
        known = self.memories[data.draw(st.sampled_from([*self.memories]))]
        memory = replace(
            known,
            type=kind,
            topic=topic,
            importance=data.draw(st.sampled_from([0.0, 0.75])),
            updated_at=known.updated_at + timedelta(minutes=data.draw(MINUTES)),
        )
        self.alike(lambda store: store.memories.change(memory))
        self.alike(lambda store: store.memories.get([memory.id]))

    @precondition(lambda self: self.memories)
    @rule(data=st.data(), what=st.sampled_from(["forget", "restore", "touch"]), minutes=MINUTES)
    def use_memories(self, data: st.DataObject, what: str, minutes: int) -> None:
        ids = [self.one_of(data, self.memories) for _ in range(2)]
        when = [] if what == "restore" else [NOON + timedelta(minutes=minutes, microseconds=1)]
        self.alike(lambda store: getattr(store.memories, what)(ids, *when))
        self.alike(lambda store: store.memories.get(ids))

    @precondition(lambda self: self.memories)
    @rule(data=st.data(), kind=st.sampled_from(AssociationKind), minutes=MINUTES)
    def associate(self, data: st.DataObject, kind: AssociationKind, minutes: int) -> None:
        ends = [self.memories[data.draw(st.sampled_from([*self.memories]))] for _ in range(2)]
        turn = self.maybe(data, self.turns) or ""
        link = an_association(*ends, kind=kind, at=NOON + timedelta(minutes=minutes), turn=turn)
        self.alike(lambda store: store.memories.associate([link]))
        ids = [self.one_of(data, self.memories), ends[0].id]
        self.alike(lambda store: store.memories.associations(ids))

    @rule(data=st.data(), again=st.booleans(), cost_usd=st.sampled_from([None, 0.25]))
    def spend(self, data: st.DataObject, again: bool, cost_usd: float | None) -> None:
        session = self.sessions[data.draw(st.sampled_from([*self.sessions]))]
        spent = a_spending(session, cost_usd=cost_usd, at=NOON + timedelta(minutes=data.draw(MINUTES)))
        for _ in range(1 + again):
            self.alike(lambda store: store.usage.add(spent))

    @rule(data=st.data(), sort=st.sampled_from(MemorySort), limit=st.sampled_from([-1, 0, 1, 1000]))
    def ask_for_memories(self, data: st.DataObject, sort: MemorySort, limit: int) -> None:
        wanted = MemoryFilter(
            **self.a_scope(data),
            types=tuple(data.draw(st.lists(st.sampled_from(MemoryType), max_size=2))),
            importance_min=data.draw(st.sampled_from([0.0, 0.6])),
            since=self.since(data),
            forgotten=data.draw(st.booleans()),
            replaced=data.draw(st.booleans()),
            abandoned=data.draw(st.booleans()),
            sort=sort,
            limit=limit,
        )
        self.alike(lambda store: store.memories.find(wanted))

    # Asking

    @rule(data=st.data(), limit=st.sampled_from([0, 1, 3, 1000]))
    def ask_for_what_is_near(self, data: st.DataObject, limit: int) -> None:
        kinds = data.draw(
            st.sampled_from(
                [(), (OwnerKind.TURN,), (OwnerKind.SUMMARY,), (OwnerKind.MEMORY,), tuple(OwnerKind)]
            )
        )
        nearby = Nearby(
            **self.a_point(data), **self.a_scope(data), **self.a_time(data), kinds=kinds, limit=limit
        )
        self.alike_in(lambda store: store.vectors.nearest(nearby), assert_equally_near)

    def a_time(self, data: st.DataObject) -> dict[str, Any]:
        return {"since": self.since(data), "until": self.since(data)}

    def a_scope(self, data: st.DataObject) -> dict[str, Any]:
        return {
            "project_id": self.maybe(data, [project.id for project in self.projects]),
            "session_id": self.maybe(data, self.sessions),
        }

    @rule(data=st.data(), text=TEXTS)
    def ask_for_words(self, data: st.DataObject, text: str) -> None:
        kinds = data.draw(st.sampled_from([INDEXED_KINDS, (), (HitKind.TURN, HitKind.MEMORY)]))
        query = Query(text, **self.a_scope(data), **self.a_time(data), kinds=kinds, limit=1000)
        self.alike(lambda store: store.search.words(query), whatever_order)
        nearby = Nearby(**self.a_point(data), **self.a_scope(data), since=self.since(data), limit=1000)
        found = self.alike_in(lambda store: store.search.candidates(query, nearby), assert_same_candidates)
        if not isinstance(found, Refused):
            self.alike(lambda store: store.search.hits(found, text), whatever_order)
            # Their order is that of the candidates.
            self.alike(lambda store: store.search.related(found, limit=1000), set)
            self.alike(lambda store: store.turns.abandoned([each.turn_id for each in found]))

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
        self.alike(lambda store: store.summaries.stand_ins(project_id=project, limit=limit))
        self.alike(lambda store: store.summaries.outdated(project_id=project, limit=limit))
        # The file counts bytes, which are never fewer than characters.
        self.alike(lambda store: store.summaries.sessions_to_roll_up(EVERYTHING, project_id=project))
        self.alike(lambda store: store.vectors.same_text(model, ["a" * 64, "b" * 64, ""]), len)

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
        for known in (self.steps, self.calls, [*self.summaries.values()], [*self.memories.values()]):
            records += data.draw(st.lists(st.sampled_from(known), max_size=2)) if known else []
        if self.turns:
            records.append(an_embedding(turn, **{**self.a_point(data), "vector": a_vector(1, 1)}))
        self.alike(lambda store: store.archive.load(records))
        if data.draw(st.booleans()):
            self.alike(load_own_dump)

    def compare_all(self) -> None:
        turns, summaries = [*self.turns], [*self.summaries]
        known = [*self.turns.values(), *self.summaries.values(), *self.memories.values()]
        owners = [owner_of(each) for each in known]
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
        self.alike(lambda store: store.turns.abandoned(turns))
        self.alike(lambda store: store.summaries.stand_ins(limit=EVERYTHING))
        self.alike(lambda store: store.summaries.outdated(limit=EVERYTHING))
        self.alike(lambda store: store.memories.get([*self.memories]))
        self.alike(lambda store: store.memories.associations([*self.memories]))
        self.compare_tree()
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

    def teardown(self) -> None:
        try:
            self.compare_all()
        finally:
            self.finish()
