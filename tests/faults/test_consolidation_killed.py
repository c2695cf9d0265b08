"""Whatever moment `sessions consolidate` is killed at: another run finishes, and comes to the same."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragforge.domain.ids import now
from ragforge.domain.summaries import Summary
from ragforge.memory.derive.consolidation import count_archived, read_summaries
from ragforge.store.base import keep_project
from tests.contract.builders import a_session
from tests.contract.builders import conversation as said_in
from tests.faults.children import Children, children
from tests.faults.graph import opened
from tests.faults.shim import Action, Fault, Kind, why_no_shim
from tests.soak.conversation import ScriptedProvider, conversation

pytestmark = pytest.mark.skipif(bool(why_no_shim()), reason=why_no_shim())

TURNS = (3, 14)
"""Of the archived sessions: of one all is summed up at once, of the other by levels."""
STORE = "ragforge.db"
POINTS, POINTS_LONG = 3, 50
"""Spread over some hundred writes."""


@pytest.fixture
def forked(tmp_path: Path) -> Iterator[Children]:
    with children(tmp_path / "faults") as started:
        yield started


async def archived(folder: Path) -> list[str]:
    """The ids of archived sessions of the folder's project that nobody summarised."""
    ids: list[str] = []
    async with conversation(folder, ScriptedProvider(lambda _: [])) as session:
        store, project = session.workspace.store, session.workspace.project
        await keep_project(store, project)
        for turns in TURNS:
            another = a_session(project.id)
            await store.sessions.add(another)
            await said_in(store, another, turns, answer="The walrus eats at noon, and all is in order. ")
            await store.sessions.set_archived(another.id, now())
            ids.append(another.id)
    return ids


async def digests(folder: Path, ids: list[str]) -> dict[str, tuple[str, int, list[int]]]:
    """Of each session: the words of its summary, how many turns that covers, and the levels of all."""
    async with opened(f"sqlite://{folder}/data/{STORE}", folder / "data") as store:
        assert await count_archived(store) == (len(ids), 0)
        assert await store.check() == []
        whole = await read_summaries(store, ids)
        of_session = {each: await store.summaries.of_session(each) for each in ids}
        return {each: _came_to(whole[each], of_session[each]) for each in ids}


def _came_to(whole: Summary, summaries: list[Summary]) -> tuple[str, int, list[int]]:
    return whole.text, whole.turn_count, sorted(each.level for each in summaries)


@pytest.mark.parametrize(
    "points_max", [POINTS, pytest.param(POINTS_LONG, marks=pytest.mark.long)], ids=("few", "many")
)
async def test_what_is_killed_at_a_write_is_gone_on_with_and_nothing_is_made_twice(
    tmp_path: Path, forked: Children, points_max: int
) -> None:
    folder, kept = tmp_path / "place", tmp_path / "kept"
    ids = await archived(folder)
    shutil.copytree(folder / "data", kept)

    def run(nth: int) -> int:
        """How many writes there were; killed before that one, where it is not 0."""
        fault = Fault(
            str(folder), nth, Action.KILL_BEFORE if nth else Action.COUNT, kinds=Kind.WRITE, part=STORE
        )
        ended = forked.run("consolidate", folder, fault)
        assert ended.was_killed == bool(nth), (nth, ended)
        return len(ended.calls)

    writes = run(0)
    uncut = await digests(folder, ids)
    assert [count for _, count, _ in uncut.values()] == list(TURNS)
    step = max(1, writes // points_max)
    for nth in range(step, writes, step):
        shutil.rmtree(folder / "data")
        shutil.copytree(kept, folder / "data")
        run(nth)
        run(0)
        assert await digests(folder, ids) == uncut, nth
