"""Whatever is done to a store, in whatever order, its laws hold."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
)
from msgspec.structs import replace

from ragforge.domain.json import well_formed
from ragforge.domain.search import Query
from ragforge.domain.turns import ConversationSession, Step, ToolCall, Turn, TurnEnd, TurnStatus
from ragforge.store.open import open_store
from tests.contract.builders import a_call, a_project, a_request, a_session, a_step, a_turn, an_end
from tests.new_stores import make_store

T = TypeVar("T")

WORDS = st.text(st.characters(exclude_categories=[]), max_size=30)
STORABLE = WORDS.map(well_formed)
"""What the store gives back as it was given; of half a surrogate pair it keeps a sign."""
ENDS = st.sampled_from(
    [status for status in TurnStatus if status not in (TurnStatus.RUNNING, TurnStatus.WAITING)]
)


class StoreLaws(RuleBasedStateMachine):
    """The store beside a model of it: plain dictionaries of what was acknowledged."""

    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name) / "ragforge.db"
        make_store(self.path)
        self.store = self.run(open_store(f"sqlite://{self.path}", machine_dir=self.path.parent))
        self.heads: dict[str, str | None] = {}
        self.known: dict[str, ConversationSession] = {}
        self.turns: dict[str, Turn] = {}
        self.ends: dict[str, TurnEnd] = {}
        self.steps: dict[tuple[str, int], Step] = {}
        self.calls: dict[str, ToolCall] = {}

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.folder.cleanup()

    @initialize()
    def add_project(self) -> None:
        self.project = a_project()
        self.run(self.store.projects.add(self.project))

    @rule(target=sessions)
    def add_session(self) -> str:
        session = a_session(self.project.id)
        self.run(self.store.sessions.add(session))
        self.known[session.id], self.heads[session.id] = session, None
        return session.id

    @precondition(lambda self: self.turns)
    @rule(target=sessions, data=st.data())
    def fork(self, data: st.DataObject) -> str:
        head = data.draw(st.sampled_from([*self.turns]))
        session = a_session(self.project.id, head=head, forked_from=self.turns[head].session_id)
        self.run(self.store.sessions.add(session))
        self.known[session.id], self.heads[session.id] = session, head
        return session.id

    @rule(session=sessions, texts=st.lists(STORABLE, min_size=1, max_size=4), again=st.booleans())
    def start(self, session: str, texts: list[str], again: bool) -> None:
        for text in texts:
            head = self.heads[session]
            turn = a_turn(self.known[session], text, parent=self.turns[head] if head else None)
            for _ in range(1 + again):
                self.run(self.store.turns.start(turn))
            self.turns[turn.id], self.heads[session] = turn, turn.id

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), result=STORABLE, again=st.booleans())
    def call(self, data: st.DataObject, result: str, again: bool) -> None:
        turn = self.turns[data.draw(st.sampled_from([*self.turns]))]
        index = sum(place[0] == turn.id for place in self.steps)
        step = a_step(turn, index, "", a_request(path=result))
        call = a_call(step, result=result)
        for _ in range(1 + again):
            self.run(self.store.calls.add(call, step))
        self.steps[turn.id, index], self.calls[call.id] = step, call

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), status=ENDS, again=st.booleans())
    def end(self, data: st.DataObject, status: TurnStatus, again: bool) -> None:
        turn = self.turns[data.draw(st.sampled_from([*self.turns]))]
        end = an_end(turn, f"answer to {turn.index}", status=status)
        for _ in range(1 + again):
            self.run(self.store.turns.end(end))
        self.ends[turn.id] = end

    @precondition(lambda self: self.turns)
    @rule(session=sessions, data=st.data())
    def move_head(self, session: str, data: st.DataObject) -> None:
        head = data.draw(st.sampled_from([None, *self.turns]))
        self.run(self.store.sessions.set_head(session, head))
        self.heads[session] = head

    @rule(session=consumes(sessions))
    def delete(self, session: str) -> None:
        del self.heads[session], self.known[session]
        needed = {turn for head in self.heads.values() for turn in self.path_of(head)}
        deleted = self.run(self.store.sessions.delete(session))
        kept = {turn.id: turn for turn in map(self.stored, self.turns) if turn is not None}
        assert needed <= kept.keys()
        assert deleted.turns == len(self.turns) - len(kept)
        # Who owns a shared turn is the store's to decide; that it is a session there is, is not.
        self.turns = {
            key: replace(turn, session_id=kept[key].session_id)
            for key, turn in self.turns.items()
            if key in kept
        }
        assert {turn.session_id for turn in self.turns.values()} <= self.known.keys()
        self.ends = {key: end for key, end in self.ends.items() if key in kept}
        self.steps = {place: step for place, step in self.steps.items() if place[0] in kept}
        self.calls = {key: call for key, call in self.calls.items() if call.turn_id in kept}

    @rule(text=WORDS)
    def search(self, text: str) -> None:
        for hit in self.run(self.store.search.words(Query(text))):
            assert hit.turn_id in self.turns
            assert hit.session_id in self.known
            assert all(0 <= start < end <= len(hit.text) for start, end in hit.marks)

    @rule()
    def open_anew(self) -> None:
        self.run(self.store.close())
        self.store = self.run(open_store(f"sqlite://{self.path}", machine_dir=self.path.parent))

    def stored(self, turn_id: str) -> Turn | None:
        return self.run(self.store.turns.get(turn_id))

    def path_of(self, head: str | None) -> list[str]:
        path: list[str] = []
        while head is not None:
            path.append(head)
            head = self.turns[head].parent
        return path[::-1]

    @invariant()
    def paths_are_chains_whose_indexes_increase(self) -> None:
        rows = {row.session.id: row for row in self.run(self.store.sessions.recent())}
        assert rows.keys() == self.heads.keys()
        for session, head in self.heads.items():
            path = self.run(self.store.turns.path(head))
            assert [turn.id for turn in path] == self.path_of(head)
            assert [turn.index for turn in path] == list(range(len(path)))
            assert [turn.parent for turn in path] == [None, *(turn.id for turn in path)][: len(path)]
            assert rows[session].session.head == head
            assert rows[session].turns == len(path)

    @invariant()
    def nothing_acknowledged_is_lost(self) -> None:
        ids = [*self.turns]
        steps = self.run(self.store.turns.steps(ids))
        assert {(step.turn_id, step.index): step for step in steps} == self.steps
        assert {call.id: call for call in self.run(self.store.calls.of_turns(ids))} == self.calls
        for key, turn in self.turns.items():
            found = self.stored(key)
            assert found is not None
            assert (found.user, found.session_id) == (turn.user, turn.session_id)
            if key in self.ends:
                assert (found.assistant, found.status) == (self.ends[key].assistant, self.ends[key].status)

    @invariant()
    def the_store_is_sound(self) -> None:
        assert self.run(self.store.check()) == []


TestStoreLaws = StoreLaws.TestCase
TestStoreLaws.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
