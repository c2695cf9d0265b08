"""Laws of the figures of foresight: they are those of the path, whoever computes them, and whenever."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ragforge.config.schema import ForesightSettings, Settings
from ragforge.domain.foresight import Foresight, TurnUnits
from ragforge.domain.json import JsonObject
from ragforge.domain.redact import Redactor
from ragforge.domain.turns import ConversationSession, Person, Turn
from ragforge.memory.derive.foresight import PART
from ragforge.memory.foresight_records import read_foresight
from ragforge.memory.material import Material
from ragforge.store.base import Store
from ragforge.store.open import open_store
from tests.contract.builders import a_project, a_session, a_summary, an_end, said
from tests.flow.test_foresight_figures import QUERY
from tests.new_stores import make_store
from tests.property.test_store_laws import STORABLE
from tests.scope import TIMES
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer
from tests.servers.shared import Servers

PERSON = Person("ada@example.org")
UNITS = st.builds(TurnUnits, *[st.integers(0, 10**9)] * 2, st.none() | st.integers(1, 100))
Done: TypeAlias = tuple[TurnUnits | None, str, str]
"""What a turn changed, and what is said of it after it."""
Back: TypeAlias = int
"""So many turns are undone."""
STEPS = st.lists(
    st.tuples(st.none() | UNITS | UNITS, STORABLE, STORABLE) | st.integers(0, 3), min_size=1, max_size=8
)


@dataclass
class Home:
    """A project whose turns changed what the example says."""

    store: Store
    settings: Settings
    project_id: str
    person: Person = PERSON
    foresees: bool = True
    units: dict[str, TurnUnits | None] = field(default_factory=dict[str, TurnUnits | None])

    @property
    def measure(self) -> Callable[[Turn], Awaitable[TurnUnits | None]]:
        async def measured(turn: Turn) -> TurnUnits | None:
            return self.units[turn.id]

        return measured


@dataclass
class World:
    """A session in a store; `path` holds the turns to its head, the oldest first."""

    home: Home
    session: ConversationSession
    path: list[Turn] = field(default_factory=list[Turn])

    async def do(self, step: Done | Back) -> None:
        """Do it, and compare."""
        if isinstance(step, int):
            await self.go_back(step)
        else:
            await self.take_turn(*step)

    async def take_turn(self, units: TurnUnits | None, individual: str, collective: str) -> None:
        """A turn, and the call after it, which says nothing that can be read where both texts are empty."""
        home, store = self.home, self.home.store
        turn = await said(store, self.session, parent=self.path[-1] if self.path else None, person=PERSON.id)
        turn = replace(turn, ended_at=an_end(turn).ended_at)
        home.units[turn.id] = units
        brought = await PART.bring(home, turn) if PART.bring else None
        assert brought is not None
        material = Material(turn, home.project_id, inputs={PART.name: brought})
        answer: JsonObject = {
            "individual_before_description": individual,
            "collective_before_description": collective,
        }
        value = PART.read(material, answer) or PART.without(material)
        assert value is not None
        await PART.keep(store, Redactor(), a_summary(self.session, "Said.", turn), value)
        self.path.append(turn)
        await self.compare()

    async def go_back(self, count: int) -> None:
        """Undo so many turns, and redo them: nothing changes. Then undo them for good."""
        whole, kept = self.path, self.path[: max(1, len(self.path) - count)]
        for self.path in (kept, whole, kept):
            if self.path:
                await self.home.store.sessions.set_head(self.session.id, self.path[-1].id)
                await self.compare()

    async def read(self, store: Store) -> list[Foresight]:
        head = self.path[-1].id if self.path else None
        rows = await read_foresight(store, self.home.project_id, head, person=PERSON)
        made = [row.made for row in rows if row.made is not None]
        assert len(made) == len(self.path)
        return made

    async def compare(self) -> None:
        """What is stored is what simple sums over the path have."""
        made = await self.read(self.home.store)
        chosen = self.home.settings.foresight
        told = [
            (self.home.units[turn.id], each.individual_before_description, each.collective_before_description)
            for turn, each in zip(self.path, made, strict=True)
        ]
        expected = by_hand(told, (chosen.depth_individual, chosen.depth_collective))
        assert [figures(each) for each in made] == expected


def figures(made: Foresight) -> tuple[int | None, ...]:
    return made.cw_individual, made.cw_collective, made.u_individual, made.u_collective


def by_hand(told: Sequence[Done], depths: tuple[int, int]) -> list[tuple[int | None, ...]]:
    """C_w and U of every turn of a path, of the individual and the collective side."""
    found: list[tuple[int | None, ...]] = []
    for at, (units, *texts) in enumerate(told):
        alpha = units.alpha if units else None
        before = [each for each, *_ in told[: at + 1]]
        own = [each.individual if each else 0 for each in before][-depths[0] :]
        everybody = [each.collective if each else 0 for each in before][-depths[1] :]
        cw = [None if alpha is None else alpha * sum(each) for each in (own, everybody)]
        u = [
            None if bits is None or not text else bits - 8 * len(text)
            for bits, text in zip(cw, texts, strict=True)
        ]
        found.append((*cw, *u))
    return found


@pytest.fixture(params=["sqlite", "neo4j-5"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, neo4j_servers: Servers
) -> Iterator[tuple[str, Neo4jServer | None]]:
    """The address of a store, and the server where it is one."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            make_store(tmp_path / "store.db")
            yield f"sqlite://{tmp_path}/store.db", None
        else:
            server = stack.enter_context(neo4j_servers.among_others(request.param))
            yield server.url, server


def test_figures_are_those_of_the_path_turn_by_turn_after_moves_after_a_restart_and_in_the_graph(
    tmp_path: Path, place: tuple[str, Neo4jServer | None]
) -> None:
    url, server = place

    async def hold(store: Store, steps: Sequence[Done | Back], depths: tuple[int, int]) -> None:
        project = a_project()
        session = a_session(project.id)
        await store.projects.add(project)
        await store.sessions.add(session)
        chosen = ForesightSettings(depth_individual=depths[0], depth_collective=depths[1])
        world = World(Home(store, Settings(store=url, foresight=chosen), project.id), session)
        for step in steps:
            await world.do(step)
        await store.drain(timeout_s=60)
        made = await world.read(store)
        again = await open_store(url, machine_dir=tmp_path / "another")
        try:
            assert await world.read(again) == made, "after a restart"
        finally:
            await again.close()
        if server is not None:
            rows: list[dict[str, Any]] = neo4j.query(server, QUERY, session=session.id)
            names = ("cwIndividual", "cwCollective", "uIndividual", "uCollective")
            assert [tuple(row[name] for name in names) for row in rows] == [figures(each) for each in made]

    with asyncio.Runner() as runner:
        store = runner.run(open_store(url, machine_dir=tmp_path))

        @settings(max_examples=5 * TIMES, deadline=None, phases=[Phase.generate])
        @given(STEPS, st.tuples(st.integers(1, 4), st.integers(1, 4)))
        def law(steps: Sequence[Done | Back], depths: tuple[int, int]) -> None:
            runner.run(hold(store, steps, depths))

        try:
            law()
        finally:
            runner.run(store.close())
