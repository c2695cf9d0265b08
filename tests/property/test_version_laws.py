"""Whatever is done to the tree of versions, it stays a tree whose parents come first."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from ragforge.domain.errors import Conflict
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.domain.versions import Branch
from ragforge.store.open import open_store
from tests.contract.builders import NOON, a_project, a_session, said
from tests.contract.builders_versions import a_branch, a_version
from tests.new_stores import make_store

T = TypeVar("T")

MINUTES = st.integers(-3, 3).map(lambda minutes: timedelta(minutes=minutes))


class VersionLaws(RuleBasedStateMachine):
    """The store beside a model of it: the parents of every version that was acknowledged."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = TemporaryDirectory()
        path = Path(self.folder.name) / "ragforge.db"
        make_store(path)
        self.store = self.run(open_store(f"sqlite://{path}", machine_dir=path.parent))
        self.project = a_project()
        self.sessions: dict[str, ConversationSession] = {}
        self.turns: dict[str, Turn] = {}
        self.parents: dict[str, tuple[str, ...]] = {}
        self.branches: dict[str, Branch] = {}

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        assert self.run(self.store.check()) == []
        self.run(self.store.close())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.folder.cleanup()

    @initialize()
    def add_project(self) -> None:
        self.run(self.store.projects.add(self.project))

    @rule()
    def add_session(self) -> None:
        session = a_session(self.project.id)
        self.run(self.store.sessions.add(session))
        self.sessions[session.id] = session

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def say(self, data: st.DataObject) -> None:
        session = data.draw(st.sampled_from([*self.sessions.values()]))
        turn = self.run(said(self.store, session))
        self.turns[turn.id] = turn

    @rule(data=st.data(), clock=MINUTES)
    def add(self, data: st.DataObject, clock: timedelta) -> None:
        """A version with any parents, which may not be there, made at any time."""
        parents = data.draw(st.lists(st.sampled_from([*self.parents, "nowhere"]), max_size=2, unique=True))
        turn = data.draw(st.sampled_from([None, *self.turns.values()]))
        of = self.project if turn is None else self.sessions[turn.session_id]
        version = replace(a_version(of, at=NOON + clock), parents=tuple(parents))
        version = replace(version, turn_id="" if turn is None else turn.id)
        try:
            self.run(self.store.versions.add(version))
        except Conflict:
            assert "nowhere" in parents
        else:
            assert "nowhere" not in parents
            self.parents[version.id] = version.parents

    @precondition(lambda self: self.parents)
    @rule(data=st.data(), how=st.sampled_from(["add", "load"]))
    def say_otherwise(self, data: st.DataObject, how: str) -> None:
        """A version that is there comes again with other parents: with itself, or its own descendants."""
        known = st.sampled_from([*self.parents])
        parents = tuple(data.draw(st.lists(known, max_size=2)))
        version = replace(a_version(self.project), id=data.draw(known), parents=parents)
        if how == "add":
            self.run(self.store.versions.add(version))
        else:
            assert self.run(self.store.archive.load([version])) == 0

    @precondition(lambda self: self.parents)
    @rule(data=st.data(), name=st.sampled_from("abc"))
    def set_branch(self, data: st.DataObject, name: str) -> None:
        (version,) = self.run(self.store.versions.get([data.draw(st.sampled_from([*self.parents]))]))
        self.branches[name] = a_branch(version, name)
        self.run(self.store.versions.set_branch(self.branches[name]))

    @rule(name=st.sampled_from("abc"))
    def delete_branch(self, name: str) -> None:
        known = self.branches.pop(name, None) is not None
        assert self.run(self.store.versions.delete_branch(self.project.id, name)) == known

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def delete_session(self, data: st.DataObject) -> None:
        session = self.sessions.pop(data.draw(st.sampled_from([*self.sessions])))
        self.run(self.store.sessions.delete(session.id))
        self.turns = {id_: turn for id_, turn in self.turns.items() if turn.session_id != session.id}

    @invariant()
    def nothing_is_lost_and_parents_stay(self) -> None:
        found = self.run(self.store.versions.get([*self.parents]))
        assert {version.id: version.parents for version in found} == self.parents
        assert self.run(self.store.versions.branches(self.project.id)) == [
            branch for _, branch in sorted(self.branches.items())
        ]

    @invariant()
    def parents_come_first(self) -> None:
        ids = self.run(self.store.versions.all_ids(self.project.id))
        assert {*ids} == {*self.parents}
        places = {id_: place for place, id_ in enumerate(ids)}
        assert all(places[parent] < places[id_] for id_, above in self.parents.items() for parent in above)
        rows = self.run(self.store.versions.rows(self.project.id, limit=len(ids)))
        assert [row.version.id for row in rows] == ids[::-1]

    @invariant()
    def every_line_ends_at_a_root(self) -> None:
        for id_ in self.parents:
            line = self.run(self.store.versions.line(id_))
            ids = [version.id for version in line]
            assert len({*ids}) == len(ids), "a circle"
            assert ids == [id_, *(version.parents[0] for version in line[:-1])]
            assert line[-1].parents == ()

    @invariant()
    def what_is_named_is_stored(self) -> None:
        for version in self.run(self.store.versions.get([*self.parents])):
            assert not version.session_id or version.session_id in self.sessions
            assert not version.turn_id or version.turn_id in self.turns

    @invariant()
    def ended_turns_without_a_version_are_listed(self) -> None:
        of_turns = self.run(self.store.versions.of_turns([*self.turns]))
        lacking = {*self.turns} - {version.turn_id for version in of_turns}
        listed = [
            turn for session in self.sessions for turn in self.run(self.store.versions.unversioned(session))
        ]
        assert sorted(listed) == sorted(lacking)


TestVersionLaws = VersionLaws.TestCase
TestVersionLaws.settings = settings(
    max_examples=30, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
