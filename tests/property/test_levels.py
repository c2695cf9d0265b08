"""Whatever happens, in whatever order: no turn is rolled up twice, and nothing that is due stays undone."""

import asyncio
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from msgspec.structs import replace

from ragforge.config.schema import MemorySettings
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.memory.derive.levels import (
    Children,
    Uncovered,
    due,
    due_over_summaries,
    due_over_turns,
    newest_turns,
    roll_up_session,
    turn_chars,
)
from ragforge.memory.material import summary_id
from ragforge.memory.summarise import roll_up_offline
from ragforge.store.open import open_store
from tests.contract.builders import a_project, a_session, a_summary, a_turn, an_end
from tests.new_stores import make_store
from tests.property.folders import quick_folder

T = TypeVar("T")

SMALL = MemorySettings(raw_chars_max=200, rollup_min=2, level_chars_max=150)
"""So that a few dozen turns reach the third level."""


class LevelLaws(RuleBasedStateMachine):
    """Sessions that grow, fork and move their heads, with workers that are late, die, or do things twice."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = quick_folder()
        self.path = Path(self.folder.name) / "ragforge.db"
        make_store(self.path)
        self.open()
        self.sessions: dict[str, ConversationSession] = {}
        self.heads: dict[str, str | None] = {}
        self.turns: dict[str, Turn] = {}
        self.decided: list[Summary] = []

    def open(self) -> None:
        self.store = self.run(open_store(f"sqlite://{self.path}", machine_dir=self.path.parent))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @initialize()
    def begin(self) -> None:
        self.project = a_project()
        self.run(self.store.projects.add(self.project))
        session = a_session(self.project.id)
        self.add(session)
        self.say(session, count=14, chars=30)

    def add(self, session: ConversationSession) -> None:
        self.run(self.store.sessions.add(session))
        self.sessions[session.id], self.heads[session.id] = session, session.head

    @rule(data=st.data(), count=st.integers(1, 12), chars=st.integers(20, 60))
    def talk(self, data: st.DataObject, count: int, chars: int) -> None:
        self.say(self.sessions[data.draw(st.sampled_from([*self.sessions]))], count=count, chars=chars)

    def say(self, session: ConversationSession, *, count: int, chars: int) -> None:
        for _ in range(count):
            head = self.heads[session.id]
            turn = a_turn(session, "u" * chars, parent=self.turns[head] if head else None)
            self.run(self.store.turns.start(turn))
            end = an_end(turn, "a" * chars)
            self.run(self.store.turns.end(end))
            self.turns[turn.id] = replace(turn, assistant=end.assistant, ended_at=end.ended_at)
            self.heads[session.id] = turn.id

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def move_a_head(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from([*self.sessions]))
        turn = data.draw(st.sampled_from([*self.turns]))
        self.run(self.store.sessions.set_head(session, turn))
        self.heads[session] = turn

    @precondition(lambda self: self.turns and len(self.sessions) < 4)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        head = data.draw(st.sampled_from([*self.turns]))
        self.add(a_session(self.project.id, head=head, forked_from=self.turns[head].session_id))

    @rule(data=st.data(), share=st.sampled_from([10, 50, 100]))
    def summarise_some_in_any_order(self, data: st.DataObject, share: int) -> None:
        lacking = self.run(self.store.summaries.lacking())
        for turn in data.draw(st.permutations(lacking))[: 1 + len(lacking) * share // 100]:
            self.summarise(turn)

    def summarise(self, turn: Turn) -> None:
        summary = a_summary(
            self.sessions[turn.session_id],
            turn.assistant,
            turn,
            id=summary_id(1, [turn.id]),
            model="",
            method=SummaryMethod.EXTRACTIVE,
        )
        self.run(self.store.summaries.save(summary))

    @rule(data=st.data())
    def decide_and_write_later_or_never(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from([*self.sessions]))
        if children := self.run(due(self.store, session, SMALL)):
            self.decided.append(roll_up_offline(children))

    @precondition(lambda self: self.decided)
    @rule(data=st.data(), keep=st.booleans())
    def write_late(self, data: st.DataObject, keep: bool) -> None:
        summary = data.draw(st.sampled_from(self.decided))
        self.run(self.store.summaries.roll_up(summary))
        if not keep:
            self.decided.remove(summary)

    @rule(data=st.data(), meanwhile=st.booleans())
    def roll_up(self, data: st.DataObject, meanwhile: bool) -> None:
        self.settle(data.draw(st.sampled_from([*self.sessions])), meanwhile=meanwhile)

    def settle(self, session: str, *, meanwhile: bool = False) -> None:
        """Roll up what is due; meanwhile: while it is being written, another worker is faster."""

        async def make(children: Children) -> Summary:
            await self.nothing_left_is_built_on(children)
            if meanwhile:
                for faster in (*self.decided, replace(roll_up_offline(children[:2]), text="faster")):
                    await self.store.summaries.roll_up(faster)
            return roll_up_offline(children)

        self.run(roll_up_session(self.store, session, SMALL, make))

    async def nothing_left_is_built_on(self, children: Children) -> None:
        """All turns below lie on the path to one head."""
        below = list(children)
        while below[0].level > 1:
            below = [each for summary in below for each in await self.store.summaries.get(summary.covers)]
        turns = {turn for summary in below for turn in summary.covers}
        assert any(turns <= set(self.ancestors(head)) for head in self.heads.values())

    @rule(data=st.data())
    def a_models_takes_the_place_of_a_stand_in(self, data: st.DataObject) -> None:
        if stand_ins := self.run(self.store.summaries.stand_ins()):
            summary = data.draw(st.sampled_from(stand_ins))
            better = replace(summary, text=f"better {summary.text}"[:70], method=SummaryMethod.MODEL)
            self.run(self.store.summaries.save(better))

    @rule()
    def die_and_open_again(self) -> None:
        self.run(self.store.close())
        self.open()
        self.decided.clear()

    def teardown(self) -> None:
        if not hasattr(self, "project"):
            return
        for turn in self.run(self.store.summaries.lacking(limit=10_000)):
            self.summarise(turn)
        for session in self.sessions:
            self.settle(session, meanwhile=True)
        try:
            self.all_laws_hold()
        finally:
            self.run(self.store.close())
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()
            self.folder.cleanup()

    # What must hold is worked out anew here, from all turns and heads, the slow way.

    def all_laws_hold(self) -> None:
        summaries = [
            summary
            for session in self.sessions
            for summary in self.run(self.store.summaries.of_session(session))
        ]
        assert {summary.covers for summary in summaries if summary.level == 1} == {
            (turn_id,) for turn_id in self.turns
        }
        covered = [(summary.level, child) for summary in summaries for child in summary.covers]
        assert len(covered) == len(set(covered)), "something is covered twice"
        by_id = {summary.id: summary for summary in summaries}
        paths = [set(self.ancestors(head)) for head in self.heads.values()]
        self.each_stands_for_one_path_of_one_session(summaries, by_id)
        self.only_what_lies_on_a_path_serves(summaries, by_id, paths)
        for path in paths:
            for session in self.sessions:
                self.nothing_is_due([s for s in summaries if s.session_id == session], by_id, path, session)

    def ancestors(self, turn_id: str | None) -> list[str]:
        found: list[str] = []
        while turn_id is not None:
            found.append(turn_id)
            turn_id = self.turns[turn_id].parent
        return found

    def turns_of(self, summary: Summary, by_id: dict[str, Summary]) -> list[str]:
        if summary.level == 1:
            return list(summary.covers)
        return [turn for child in summary.covers for turn in self.turns_of(by_id[child], by_id)]

    def each_stands_for_one_path_of_one_session(
        self, summaries: Iterable[Summary], by_id: dict[str, Summary]
    ) -> None:
        for summary in summaries:
            turns = self.turns_of(summary, by_id)
            assert set(turns) <= set(self.ancestors(turns[-1]))
            assert [self.turns[turn].index for turn in turns] == sorted(
                self.turns[turn].index for turn in turns
            )
            assert {self.turns[turn].session_id for turn in turns} == {summary.session_id}
            assert summary.turn_count == len(turns)

    def only_what_lies_on_a_path_serves(
        self, summaries: list[Summary], by_id: dict[str, Summary], paths: list[set[str]]
    ) -> None:
        newest = self.run(newest_turns(self.store, summaries))
        abandoned = self.run(self.store.turns.abandoned(list(newest.values())))
        for summary in summaries:
            turns = set(self.turns_of(summary, by_id))
            assert (newest[summary.id] not in abandoned) == any(turns <= path for path in paths)

    def nothing_is_due(
        self, summaries: list[Summary], by_id: dict[str, Summary], path: set[str], session: str
    ) -> None:
        second = {turn for s in summaries if s.level == 2 for turn in self.turns_of(s, by_id)}
        own = [
            turn for turn in self.turns.values() if turn.session_id == session and turn.id in path - second
        ]
        older = sorted(own, key=lambda turn: turn.index)[:-3]
        assert len(older) < SMALL.rollup_min or sum(map(turn_chars, older)) <= SMALL.raw_chars_max
        covered = {child for summary in summaries for child in summary.covers}
        for level in range(2, 8):
            on_path = [
                (self.turns[self.turns_of(s, by_id)[-1]].index, s)
                for s in summaries
                if s.level == level and s.id not in covered and set(self.turns_of(s, by_id)) <= path
            ]
            kept = [s for _, s in sorted(on_path, key=lambda each: each[0])][:-2]
            assert len(kept) < 2 or sum(len(s.text) for s in kept) <= SMALL.level_chars_max


TestLevelLaws = LevelLaws.TestCase
TestLevelLaws.settings = settings(
    max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)


SESSION = a_session("p")
SUMMARY = a_summary(SESSION, "It was fixed.", a_turn(SESSION))

UNCOVERED = st.builds(Uncovered, st.integers(0, 3_000), st.one_of(st.just(SUMMARY), st.none()))


@given(st.lists(UNCOVERED, max_size=40))
def test_level_2_takes_the_oldest_and_leaves_the_newest_three(path: list[Uncovered]) -> None:
    limits = MemorySettings()
    children = due_over_turns(path, limits)
    older = path[:-3]
    is_due = len(older) >= limits.rollup_min and sum(turn.chars for turn in older) > limits.raw_chars_max
    known = all(turn.summary for turn in older[:12])
    assert bool(children) == (is_due and known)
    assert len(children) in (0, min(len(older), 12))


def test_exactly_the_limit_is_not_more_than_the_limit() -> None:
    limits = MemorySettings()
    path = [Uncovered(limits.raw_chars_max // 4, SUMMARY)] * 4 + [Uncovered(0, None)] * 3
    assert due_over_turns(path, limits) == ()
    assert len(due_over_turns([replace(path[0], chars=1_251), *path[1:]], limits)) == 4


@given(st.lists(st.integers(1, 1_200), max_size=40))
def test_a_higher_level_never_rolls_up_fewer_than_two(sizes: list[int]) -> None:
    summaries = tuple(replace(SUMMARY, level=2, text="x" * size) for size in sizes)
    for limits in (MemorySettings(), MemorySettings(level_chars_max=1)):
        children = due_over_summaries(summaries, limits)
        older = sizes[:-2]
        assert bool(children) == (len(older) >= 2 and sum(older) > limits.level_chars_max)
        assert len(children) in (0, min(len(older), 12))
