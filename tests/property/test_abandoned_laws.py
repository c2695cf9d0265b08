"""Whatever moves the heads, the abandoned turns are those that the definition names."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ragforge.domain.memories import Memory, MemorySource
from ragforge.domain.search import Query
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.store.base import Store
from ragforge.store.open import open_store
from tests.contract.builders import a_memory, a_project, a_session, a_summary, a_turn, an_end
from tests.property.folders import quick_folder

T = TypeVar("T")


class LeftLaws(RuleBasedStateMachine):
    """The store beside a model of it: sessions with their heads, turns with their parents."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = quick_folder()
        self.store = self.opened("one")
        self.sessions: dict[str, ConversationSession] = {}
        self.heads: dict[str, str | None] = {}
        self.turns: dict[str, Turn] = {}
        self.summaries: dict[str, Summary] = {}
        self.memories: dict[str, Memory] = {}

    def opened(self, name: str) -> Store:
        path = Path(self.folder.name) / name
        return self.run(open_store(f"sqlite://{path}/ragforge.db", machine_dir=path))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.run(self.loop.shutdown_default_executor())
        self.loop.close()
        self.folder.cleanup()

    @initialize()
    def add_project(self) -> None:
        self.project = a_project()
        self.run(self.store.projects.add(self.project))
        self.add_session(None)

    def add_session(self, head: str | None) -> None:
        session = a_session(self.project.id, head=head)
        self.run(self.store.sessions.add(session))
        self.sessions[session.id], self.heads[session.id] = session, head

    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        self.add_session(data.draw(st.sampled_from([None, *self.turns])))

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), count=st.integers(1, 3), again=st.booleans())
    def go_on(self, data: st.DataObject, count: int, again: bool) -> None:
        session = self.any_session(data)
        for _ in range(count):
            self.start(session, self.heads[session], again=again)

    @precondition(lambda self: self.sessions)
    @rule(data=st.data(), again=st.booleans())
    def go_on_elsewhere(self, data: st.DataObject, again: bool) -> None:
        parent = data.draw(st.sampled_from([None, *self.turns]))
        self.start(self.any_session(data), parent, again=again)

    def start(self, session: str, parent: str | None, *, again: bool) -> None:
        turn = a_turn(self.sessions[session], parent=None if parent is None else self.turns[parent])
        for _ in range(1 + again):
            self.run(self.store.turns.start(turn))
        self.turns[turn.id], self.heads[session] = turn, turn.id

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def move_head(self, data: st.DataObject) -> None:
        session, head = self.any_session(data), data.draw(st.sampled_from([None, *self.turns]))
        self.run(self.store.sessions.set_head(session, head))
        self.heads[session] = head

    @precondition(lambda self: any(self.heads.values()))
    @rule(data=st.data())
    def leave_it_to_a_fork(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from([key for key, head in self.heads.items() if head]))
        self.add_session(self.heads[session])
        self.run(self.store.sessions.set_head(session, None))
        self.heads[session] = None

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def reopen(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from([*self.turns]))
        self.run(self.store.turns.end(an_end(self.turns[turn])))
        self.run(self.store.turns.reopen(turn))
        owner = self.run(self.store.turns.get(turn))
        assert owner is not None
        self.heads[owner.session_id] = turn

    @precondition(lambda self: len(self.sessions) > 1)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        session = self.any_session(data)
        self.run(self.store.sessions.delete(session))
        del self.sessions[session], self.heads[session]
        self.turns = {key: turn for key, turn in self.turns.items() if self.is_stored(key)}
        kept = self.run(self.store.summaries.get([*self.summaries]))
        self.summaries = {summary.id: summary for summary in kept}
        self.memories = {memory.id: memory for memory in self.run(self.store.memories.get([*self.memories]))}

    @precondition(lambda self: self.turns and self.sessions)
    @rule(data=st.data(), source=st.sampled_from(MemorySource))
    def remember(self, data: st.DataObject, source: MemorySource) -> None:
        turns = data.draw(st.lists(st.sampled_from([*self.turns.values()]), min_size=1, max_size=3))
        session = self.sessions[self.any_session(data)]
        memory = a_memory(session, f"number {len(self.memories)} {session.id}", *turns, source=source)
        self.run(self.store.memories.save(memory))
        self.memories[memory.id] = memory

    @precondition(lambda self: self.turns and self.sessions)
    @rule(data=st.data(), upper=st.booleans())
    def summarise(self, data: st.DataObject, upper: bool) -> None:
        below = self.summaries if upper and self.summaries else self.turns
        parts = data.draw(st.lists(st.sampled_from([*below.values()]), min_size=1, max_size=2))
        level = parts[0].level if isinstance(parts[0], Summary) else 0
        parts = [part for part in parts if not isinstance(part, Summary) or part.level == level]
        summary = a_summary(self.sessions[self.any_session(data)], "text", *dict.fromkeys(parts))
        self.run(self.store.summaries.save(summary))
        self.summaries[summary.id] = summary

    @rule(size=st.integers(1, 9))
    def copy(self, size: int) -> None:
        """Go on in a store that was loaded from this one, in batches cut anywhere."""

        async def carry(old: Store, new: Store) -> None:
            records = [record async for record in old.archive.dump()]
            for at in range(0, len(records), size):
                await new.archive.load(records[at : at + size])
            await old.close()

        other = self.opened(f"copy {len(list(Path(self.folder.name).iterdir()))}")
        self.run(carry(self.store, other))
        self.store = other

    def any_session(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from([*self.sessions]))

    def is_stored(self, turn: str) -> bool:
        return self.run(self.store.turns.get(turn)) is not None

    def abandoned(self) -> set[str]:
        """By the definition: on the path to no session's head."""
        kept: set[str] = set()
        for head in self.heads.values():
            turn = head
            while turn is not None:
                kept.add(turn)
                turn = self.turns[turn].parent
        return self.turns.keys() - kept

    def turns_under(self, identifier: str) -> set[str]:
        if identifier in self.turns:
            return {identifier}
        return {turn for part in self.summaries[identifier].covers for turn in self.turns_under(part)}

    @invariant()
    def what_is_left_is_what_the_definition_names(self) -> None:
        abandoned = self.abandoned()
        assert self.run(self.store.turns.abandoned([*self.turns, "nowhere"])) == abandoned
        assert self.run(self.store.check()) == []
        expected = {turn: turn in abandoned for turn in self.turns}
        expected |= {each: bool(self.turns_under(each) & abandoned) for each in self.summaries}
        for key, memory in self.memories.items():
            evidence = {turn for turn in memory.turns if turn in self.turns}
            by_user = memory.source is MemorySource.USER
            expected[key] = bool(evidence) and evidence <= abandoned and not by_user
        found = self.run(self.store.search.candidates(Query("fix text number", limit=1000)))
        assert {each.id: each.abandoned for each in found} == expected
        memories = self.run(self.store.memories.get([*self.memories]))
        assert {memory.id: memory.abandoned for memory in memories}.items() <= expected.items()


TestLeftLaws = LeftLaws.TestCase
TestLeftLaws.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
