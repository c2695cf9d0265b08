"""The figures of foresight: how much changed in each turn, whoever looks, and whenever."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ragforge.commands.base import run_command
from ragforge.domain.approvals import Mode
from ragforge.domain.foresight import Foresight
from ragforge.memory.foresight_records import read_foresight
from ragforge.session.open import close_session, fork_session, new_session
from ragforge.session.state import Session
from ragforge.versions import units
from ragforge.versions.attempts.merge import merge
from tests.flow.beside import beside, done, until
from tests.flow.moving import root_of, shell, turn, write
from tests.flow.parting import LINES, parted
from tests.flow.recorded import busy
from tests.flow.running import environ
from tests.flow.test_foresight import ANSWER, foreseeing, records
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer
from tests.servers.shared import Servers
from tests.standins.gemini import GeminiStandIn

PAGE = (Path(__file__).parents[2] / "docs" / "stores.md").read_text(encoding="utf-8")
[QUERY] = re.findall(r"How unexpected each turn[^\n]*\n\n```cypher\n(.*?)```", PAGE, re.DOTALL)

BROUGHT = 3
"""A line that was taken out, and two that were added."""
EXPECTED = ANSWER["individual_after_prediction"]


# That the graph has the same figures, by the documented query too, is proved by
# `property/test_foresight_figures_laws.py` on many histories.
@pytest.fixture(params=["sqlite", pytest.param("neo4j-5", marks=pytest.mark.long_on_servers)])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, neo4j_servers: Servers
) -> Iterator[tuple[str, Neo4jServer | None]]:
    """The address of a store, and the server where it is one."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            yield f"sqlite://{tmp_path}/store.db", None
        else:
            server = stack.enter_context(neo4j_servers.among_others(request.param))
            yield server.url, server


def figures(made: Foresight) -> tuple[int | None, ...]:
    return made.cw_individual, made.cw_collective, made.u_individual, made.u_collective


async def work(session: Session, gemini: GeminiStandIn) -> list[Foresight]:
    """Five turns with all kinds of changes, with something of the user's between them."""
    session.live.consent.mode = Mode.ALL
    root = root_of(session)
    await turn(session, gemini, "Begin.", write("a.py", "one\ntwo\nthree\n"))
    await done(session)
    (root / "notes.txt").write_text("mine\nalone\n")
    await turn(session, gemini, "Change it.", write("a.py", "one\n2\nthree\n"))
    await done(session)
    (root / "package-lock.json").write_text("")
    made = "seq 500 > package-lock.json; printf 'a\\0b' > x.bin; seq 120000 > large.txt; mv a.py b.py"
    await turn(session, gemini, "Install it.", shell(made))
    await done(session)
    await turn(session, gemini, "Explain it.")
    await done(session)
    await turn(session, gemini, "More.", shell("echo four >> b.py"))
    await done(session)
    return await records(session, 5)


async def test_figures_are_the_same_turn_by_turn_after_undo_and_redo_after_a_restart_and_in_the_graph(
    tmp_path: Path, gemini: GeminiStandIn, store: tuple[str, Neo4jServer | None]
) -> None:
    url, server = store
    words = {**ANSWER, "individual_before_description": "Ça marche 🙂."}
    gemini.always_structured(foreseeing(lambda _: words))
    env = environ(tmp_path, gemini, RAGFORGE_STORE=url, RAGFORGE_HISTORY_FILE_MB_MAX="0.5")
    async with beside(tmp_path, env) as session:
        made = await work(session, gemini)
        for line in ("undo", "undo", "redo", "redo"):
            await run_command(session, line, "")
        assert await records(session, 5) == made
        await session.workspace.store.drain(timeout_s=60)
        id, head, project = session.id, session.live.record.head, session.workspace.project.id
    assert [each.units_individual for each in made] == [3, 2, 2, 0, 1]
    assert [each.units_collective for each in made] == [3, 4, 2, 0, 1]
    for at, each in enumerate(made):
        assert each.alpha is not None
        assert each.cw_individual == each.alpha * sum((3, 2, 2, 0, 1)[max(0, at - 4) : at + 1])
        assert each.cw_collective == each.alpha * sum((3, 4, 2, 0, 1)[max(0, at - 2) : at + 1])
        assert (each.cd_individual, each.cd_collective) == (8 * 12, 8 * 30)
        assert each.u_individual == (each.cw_individual or 0) - 8 * 12
    async with beside(tmp_path, env) as again:
        workspace = again.workspace
        rows = await read_foresight(workspace.store, project, head, person=workspace.person)
        assert [row.made for row in rows] == made
    if server is not None:
        found: list[dict[str, Any]] = neo4j.query(server, QUERY, session=id)
        by_query = [(r["cwIndividual"], r["cwCollective"], r["uIndividual"], r["uCollective"]) for r in found]
        assert by_query == [figures(each) for each in made]


async def test_other_conversations_count_for_the_project_and_a_fork_goes_on_from_the_shared_turns(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(foreseeing(lambda _: ANSWER))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        session.live.consent.mode = Mode.ALL
        await turn(session, gemini, "Begin.", write("a.py", "1\n2\n3\n"))
        await done(session)
        other = await new_session(session.workspace)
        other.live.consent.mode = Mode.ALL
        await turn(other, gemini, "Something else.", write("b.py", "1\n2\n3\n4\n5\n"))
        await done(other)
        await turn(session, gemini, "Go on.", write("c.py", "1\n"))
        await done(session)
        forked = await fork_session(session.workspace, session.live.record)
        forked.live.consent.mode = Mode.ALL
        await turn(forked, gemini, "Another way.", write("d.py", "1\n2\n"))
        await done(forked)
        made = await records(forked, 3)
        [theirs] = await records(other, 1)
        await close_session(forked)
        await close_session(other)
    assert [(each.units_individual, each.units_collective) for each in made] == [(3, 3), (1, 6), (2, 2)]
    assert (theirs.units_individual, theirs.units_collective) == (5, 5)
    last = made[-1]
    assert last.alpha is not None
    assert (last.cw_individual, last.cw_collective) == (last.alpha * 6, last.alpha * 11)
    assert last.predictability_individual == 7, "what was expected of the shared turn's next one"


async def test_figures_come_once_a_version_that_takes_long_is_made(
    tmp_path: Path, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(units, "VERSION_WAIT_S", 0.0)
    gemini.always_structured(foreseeing(lambda _: ANSWER))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await turn(session, gemini, "Begin.")
        await done(session)
        (root_of(session) / "notes.txt").write_text("mine\nalone\n")
        async with busy(session):
            await turn(session, gemini, "Go on.")
            [_, late] = await records(session, 2)
            assert (late.units_collective, late.individual_after_prediction) == (None, EXPECTED)

        async def measured() -> bool:
            return (await records(session, 2))[-1].units_collective is not None

        await until(measured)
        [_, made] = await records(session, 2)
    assert (made.units_individual, made.units_collective) == (0, 2)
    assert made.u_collective == (made.cw_collective or 0) - (made.cd_collective or 0)
    assert made.individual_after_prediction == EXPECTED, "what was predicted in time stays"


async def test_what_a_merge_brought_counts_for_the_project_by_its_first_parent(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(foreseeing(lambda _: ANSWER))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        session.live.consent.mode = Mode.ALL
        await parted(session, gemini, ["LEFT\n", *LINES[1:]], [*LINES[:9], "RIGHT\n"])
        await done(session)
        before = await records(session, 2)
        await merge(session, "right")
        await turn(session, gemini, "Go on.", write("new.py", "1\n"))
        await done(session)
        made = await records(session, 3)
    assert made[:2] == before
    assert (made[-1].units_individual, made[-1].units_collective) == (1, 1 + BROUGHT)
