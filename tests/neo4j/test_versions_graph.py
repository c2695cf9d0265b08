"""The version tree in a graph: what is read from an index, what breaks, what comes late, what is dumped."""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from datetime import timedelta
from typing import Any, LiteralString, cast

import pytest
from neo4j import GraphDatabase

from ragforge.domain.ids import new_id
from ragforge.domain.versions import Branch
from ragforge.store.archive_items import key_of
from ragforge.store.base import Record
from ragforge.store.neo4j.archive_read import dump
from ragforge.store.neo4j.carry import carry, whole_rows
from ragforge.store.neo4j.carry_versions import GONE, MACHINE
from ragforge.store.neo4j.check import findings
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.index_rows import version_props
from ragforge.store.neo4j.migrations import database_info
from ragforge.store.neo4j.rows import Label, project_row, session_row
from ragforge.store.neo4j.version_rows import branch_row, version_row
from ragforge.store.neo4j.versions import MOVES, ROWS, ROWS_BEFORE
from tests.contract.builders import NOON, a_project, a_session
from tests.contract.builders_versions import a_branch, a_version
from tests.neo4j.graph_rows import connected
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer
from tests.servers.shared import Servers

PROJECT = a_project()
SESSION = a_session(PROJECT.id)


@pytest.fixture(params=tuple(neo4j.VERSIONS))
def server(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[Neo4jServer]:
    with neo4j_servers.emptied(request.param) as server:
        yield server


@pytest.fixture
async def graph(server: Neo4jServer) -> AsyncIterator[Graph]:
    async with connected(server) as graph:
        yield graph


async def write(graph: Graph, *pairs: tuple[str, dict[str, Any]], batch: int = 0) -> None:
    """Write the nodes, all of one cargo, as the store does."""
    info = await database_info(graph)
    assert info is not None
    await carry(graph, whole_rows(pairs), batch=batch, deadline_s=30, database=info.id)


async def three_in_line(graph: Graph) -> list[str]:
    """Ids of a line of versions, the oldest first."""
    await write(graph, (Label.PROJECT, project_row(PROJECT)), (Label.SESSION, session_row(SESSION)))
    first = a_version(SESSION)
    second = a_version(SESSION, first)
    versions = [first, second, a_version(SESSION, second)]
    rows = [version_row(version) for version in versions]
    await write(graph, *((Label.VERSION, row | version_props(row)) for row in rows))
    return [version.id for version in versions]


@pytest.mark.each_server
async def test_newest_are_read_from_the_end_of_an_index(neo4j_server: Neo4jServer) -> None:
    indexes = "SHOW INDEXES YIELD name WHERE name IN ['version_time', 'move_time']"
    assert len(neo4j.query(neo4j_server, indexes)) == 2
    neo4j.query(neo4j_server, "CALL db.awaitIndexes(60)")  # no plan uses one that is being filled
    values = {"project": "p", "before": "b", "at": NOON, "session": None, "limit": 200}
    user = (neo4j_server.user, neo4j_server.password) if neo4j_server.password else None
    with GraphDatabase.driver(neo4j_server.url, auth=user) as driver:
        for query in (ROWS, ROWS_BEFORE, MOVES):
            # A plan of another test, made when the index was being filled, would be shown otherwise.
            asked = cast("LiteralString", f"CYPHER replan=force EXPLAIN {query}")
            steps = operators(driver.execute_query(asked, values).summary.plan)
            assert any("IndexSeek" in step for step in steps), (query, steps)
            # What is put in order by `Sort` or `Top` was read whole before.
            assert [
                step for step in steps if "Sort" in step or step.startswith("Top") or "Scan" in step
            ] == []


def operators(plan: Any) -> list[str]:
    """What the plan does, from its last step down."""
    return [plan["operatorType"], *(step for child in plan.get("children", ()) for step in operators(child))]


async def test_batch_that_comes_late_moves_no_branch_back(graph: Graph) -> None:
    first, second, _ = await three_in_line(graph)
    for batch, version, machine in ((2, second, "one"), (1, first, "one"), (1, first, "other")):
        props = branch_row(a_branch(a_version(SESSION, id=version))) | {MACHINE: machine, GONE: False}
        await write(graph, (Label.BRANCH, props), batch=batch)
        (found,) = await graph.read(
            "MATCH (b:Branch)-[:POINTS_TO]->(v) RETURN v.id AS id, b.versionId AS tip"
        )
        expected = second if machine == "one" else first
        assert found == {"id": expected, "tip": expected}
    assert await findings(graph, repair=False) == []


async def test_what_is_broken_in_the_tree_is_found_and_what_can_be_derived_is_put_right(graph: Graph) -> None:
    first, second, third = await three_in_line(graph)
    await write(graph, (Label.BRANCH, branch_row(a_branch(a_version(SESSION, id=third), "tip"))))
    assert await findings(graph, repair=False) == []
    await graph.run(
        """
        MATCH (a:Version {id: $first}), (b:Version {id: $second}), (c:Version {id: $third})
        MATCH (c)-[r:PARENT]->(b) DELETE r
        CREATE (c)-[:PARENT {ord: 7}]->(a), (b)-[:PARENT {ord: 0}]->(a)
        SET a.parents = [$third], c.sessionId = 'gone'
        CREATE (a)-[:PARENT {ord: 0}]->(c)
        CREATE (:Version {id: 'lone', projectId: 'nowhere', parents: ['gone'], timestamp: datetime(),
          turnId: 'noturn', searchScope: 'a'})
        CREATE (:Branch {id: 'x', projectId: a.projectId, versionId: 'gone'})
        WITH a, c
        MATCH (t:Branch)-[p:POINTS_TO]->(c) DELETE p CREATE (t)-[:POINTS_TO]->(a)
        """,
        first=first,
        second=second,
        third=third,
    )
    (tip,) = await graph.read("MATCH (b:Branch) WHERE b.name = 'tip' RETURN b.id AS id")
    faults = {
        "Version lone names a Project that is not stored.": "",
        "Version lone names a Turn that is not stored.": "",
        "Version lone names a parent that is not stored.": "",
        f"Version {third} lacks a PARENT.": "It was added.",
        f"Version {third} has a PARENT that its parents do not name.": "It was removed.",
        f"Version {second} has the same PARENT more than once.": "Only one was kept.",
        f"Version {first} does not come after its parent, or belongs to another project.": "",
        f"Version {third} names a Session that is not stored.": "",
        "Branch x names a Version that is not stored.": "",
        f"Branch {tip['id']} has a POINTS_TO that its versionId does not name.": "It was removed.",
        f"Branch {tip['id']} lacks its POINTS_TO.": "It was added.",
    }
    found = await findings(graph, repair=False)
    assert faults.keys() - set(found) == set()
    repaired = await findings(graph, repair=True)
    assert {f"{fault} {done}".strip() for fault, done in faults.items()} - set(repaired) == set()
    # The line is closed now, so that the circle can be seen.
    again = await findings(graph, repair=True)
    assert f"Version {first} is its own ancestor." in again
    assert {fault for fault, done in faults.items() if not done} - set(again) == set()
    assert {fault for fault, done in faults.items() if done} & set(again) == set()


async def test_many_merges_are_checked_in_no_time(graph: Graph) -> None:
    """Between the ends of a chain of 60 diamonds lie 2 to the 60 ways, and its root has a wrong time."""
    await write(graph, (Label.PROJECT, project_row(PROJECT)))
    tip = [a_version(PROJECT)]
    rows = [version_row(tip[0]) | {"timestamp": NOON + timedelta(days=9)}]
    for _ in range(60):
        sides = [a_version(PROJECT, *tip), a_version(PROJECT, *tip)]
        tip = [a_version(PROJECT, *sides)]
        rows += [version_row(version) for version in (*sides, *tip)]
    await write(graph, *((Label.VERSION, row | version_props(row)) for row in rows))
    found = await findings(graph, repair=False)
    late = "does not come after its parent, or belongs to another project."
    assert len([sentence for sentence in found if sentence.endswith(late)]) == len(found) == 2


async def test_dump_holds_no_branch_that_points_to_what_came_too_late(graph: Graph) -> None:
    versions = await three_in_line(graph)
    await write(graph, (Label.BRANCH, branch_row(a_branch(a_version(SESSION, id=versions[-1])))))
    late = version_row(a_version(SESSION, id=new_id(), parents=(versions[-1],)))
    found: list[Record] = []
    async with aclosing(dump(graph)) as dumping:
        async for record in dumping:
            if not found:
                await write(graph, (Label.VERSION, late | version_props(late)))
                await write(graph, (Label.BRANCH, branch_row(a_branch(a_version(SESSION, id=late["id"])))))
            found.append(record)
    assert [key_of(record) for record in found] == [
        PROJECT.id, SESSION.id, *versions, f"{PROJECT.id}/try-it",
    ]  # fmt: skip
    assert isinstance(found[-1], Branch)
    assert found[-1].version_id == versions[-1]
