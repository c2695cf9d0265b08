"""The schema on real servers: built, built again, by two at once, too new, too old, somebody else's."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragforge.domain.errors import StoreDamaged, StoreForeign, StoreNewer, StoreOlder, UsageError
from ragforge.domain.search import Query
from ragforge.domain.turns import Turn
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.connection import Graph, Transaction
from ragforge.store.neo4j.migrations import database_info, migrate, prepare
from ragforge.store.neo4j.schema import find, fits, standing, use_embedder, wanted_now
from ragforge.store.neo4j.steps import STEPS, Step, statements
from ragforge.store.open import open_store
from tests import scope
from tests.contract.builders import a_memory, a_turn
from tests.neo4j.graph_rows import Rows
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer
from tests.servers.shared import Servers

pytestmark = pytest.mark.remakes

SCHEMA = Path(__file__).parents[2] / "schema.cypher"
PATIENT_S = 60.0


@pytest.fixture(params=tuple(neo4j.VERSIONS))
def server(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[Neo4jServer]:
    with neo4j_servers.remade(request.param) as server:
        yield server


@pytest.fixture
async def graph(server: Neo4jServer) -> AsyncIterator[Graph]:
    """A database without anything, not even a schema; so it is left, for whoever is next makes one."""
    graph = Graph(Address.from_url(server.url, server.password))
    await graph.connect()
    await strip(graph)
    yield graph
    await strip(graph)
    await graph.close()


async def strip(graph: Graph) -> None:
    await graph.run("MATCH (n) DETACH DELETE n")
    await run_at_once(graph, [each.definition.drop for each in (await standing(graph)).values()])


async def run_at_once(graph: Graph, changes: Sequence[str]) -> None:
    """Change the schema in one transaction, which takes a fifth of the time of one for each change."""

    async def work(transaction: Transaction) -> None:
        for change in changes:
            await transaction.run(change)

    await graph.transaction(work, deadline_s=PATIENT_S)


async def shown(graph: Graph) -> list[list[dict[str, Any]]]:
    """All that the server says of its schema, but for when it was used."""
    indexes = "SHOW INDEXES YIELD name, type, labelsOrTypes, properties, options, owningConstraint"
    constraints = "SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties, options"
    return [
        await graph.read(f"{query} WHERE type <> 'LOOKUP' RETURN * ORDER BY name")
        for query in (indexes, constraints)
    ]


@pytest.mark.each_server
async def test_the_file_and_two_processes_build_one_schema_in_which_an_embedder_gets_its_indexes(
    graph: Graph,
) -> None:
    lines = [line for line in SCHEMA.read_text().splitlines() if not line.startswith("//")]
    await run_at_once(graph, statements("\n".join(lines) + "\n"))
    of_file = await shown(graph)
    await strip(graph)
    await prepare_by_two_processes(graph)
    assert await shown(graph) == of_file
    for one, there in await find(graph, wanted_now(graph, "", 256)):
        assert fits(one, there), one
    await assert_other_dimensions_get_indexes(graph)


async def prepare_by_two_processes(graph: Graph) -> None:
    other = Graph(graph.address)
    await other.connect()
    first, second = await asyncio.gather(prepare(graph, adopt=False), prepare(other, adopt=False))
    await other.close()
    assert first == second
    assert await graph.read("MATCH (d:RagforgeDatabase) RETURN count(d) AS n") == [{"n": 1}]
    assert await prepare(graph, adopt=False) == first


async def assert_other_dimensions_get_indexes(graph: Graph) -> None:
    await graph.run(
        "CREATE "
        "(:ConversationTurn {id: 'old', embedding: [1.0, 2], embeddingModel: 'm', embeddingHash: 'h'}), "
        "(:ConversationTurn {id: 'other', embedding: [1.0], embeddingModel: 'x', embeddingHash: 'h'})"
    )
    for dimensions, made in ((3, True), (3, False), (4, True)):
        assert await use_embedder(graph, "m", dimensions, wait_s=PATIENT_S) is made
        found = await standing(graph)
        assert found["turn_embedding"].definition.dimensions == dimensions
        assert found["summary_embedding"].definition.dimensions == dimensions
        assert found["memory_embedding"].definition.dimensions == dimensions
        inside = found["turn_embedding"].definition.properties[1:]
        assert inside == (("projectId", "sessionId", "embeddingModel") if graph.version >= (2026, 1) else ())
    rows = await graph.read(
        "MATCH (t:ConversationTurn) RETURN t.id AS id, t.embedding AS vector, t.embeddingStale AS stale "
        "ORDER BY id"
    )
    assert rows == [
        {"id": "old", "vector": None, "stale": True},
        {"id": "other", "vector": [1.0], "stale": None},
    ]
    info = await database_info(graph)
    assert info is not None
    assert (info.embedder, info.dimensions) == ("m", 4)


async def test_looking_at_an_empty_database_writes_nothing(graph: Graph) -> None:
    assert await database_info(graph) is None
    assert await shown(graph) == [[], []]


@pytest.mark.long_on_servers
async def test_what_was_begun_and_killed_is_finished(graph: Graph) -> None:
    for statement in statements(STEPS[0].schema)[:5]:
        await graph.run(statement)
    # The lock of one that died an hour ago.
    await graph.run(
        "CREATE (:RagforgeMigration {version: 0, holder: 'gone', until: datetime() - duration('PT1H')})"
    )
    assert (await prepare(graph, adopt=False)).schema == len(STEPS)


async def test_nodes_without_a_label_are_somebodys_too(graph: Graph) -> None:
    await graph.run("CREATE ()")
    with pytest.raises(StoreForeign, match="nodes without a label"):
        await prepare(graph, adopt=False)


async def test_other_peoples_data_needs_a_yes_and_an_older_schema_a_migration_and_a_newer_one_is_refused(
    graph: Graph,
) -> None:
    await graph.run("CREATE (:Person), (:`odd``label`), (:Project {mine: true})")
    with pytest.raises(StoreForeign, match="Person, Project, odd`label"):
        await prepare(graph, adopt=False)
    assert await shown(graph) == [[], []]
    info = await prepare(graph, adopt=True)
    assert await prepare(graph, adopt=False) == info
    more = (*STEPS, Step("more", data="MERGE (:Scratch {n: 1});\nMERGE (:Scratch {n: 2});\n"))
    with pytest.raises(StoreOlder, match="ragforge db migrate"):
        await prepare(graph, adopt=False, steps=more)
    told: list[str] = []
    assert await migrate(graph, told.append, steps=more) == 1
    assert told[0] == f"Step {len(more)} of {len(more)}: more."
    assert await migrate(graph, told.append, steps=more) == 0
    assert await graph.read("MATCH (n:Scratch) RETURN count(n) AS n") == [{"n": 2}]
    found = await prepare(graph, adopt=False, steps=more)
    assert (found.id, found.schema) == (info.id, len(more))
    with pytest.raises(StoreNewer):
        await prepare(graph, adopt=False)
    with pytest.raises(StoreDamaged, match="unreleased"):
        await migrate(graph, told.append, steps=(*STEPS, Step("other", data="MERGE (:Scratch);\n")))


async def take_first_step(graph: Graph) -> None:
    for statement in statements(STEPS[0].schema):
        await graph.run(statement)
    await graph.run(
        "CREATE (:RagforgeDatabase {id: randomUUID(), schema: 1, dimensions: 256}), "
        "(:RagforgeMigration {version: 1, name: $name, checksum: $checksum})",
        name=STEPS[0].name,
        checksum=STEPS[0].checksum,
    )


async def test_a_database_that_was_never_used_is_built_to_its_end(graph: Graph) -> None:
    # `prepare` with one step would wait for indexes that come with later ones.
    await take_first_step(graph)
    begun = await database_info(graph)
    assert begun
    assert begun.schema == 1
    built = await prepare(graph, adopt=False)
    assert (built.id, built.schema) == (begun.id, len(STEPS))
    for one, there in await find(graph, wanted_now(graph, "", 256)):
        assert fits(one, there), one


async def add_first_turns(graph: Graph, rows: Rows) -> list[Turn]:
    """A turn and one below it, as the first schema had them, with the head at the first."""
    turns = [first := a_turn(rows.session), a_turn(rows.session, parent=first)]
    await rows.add_turns(turns)
    await graph.run(
        "MATCH (s:ConversationSession) SET s.headId = $head, s.carriedAt = null "
        "WITH s MATCH (a:ConversationTurn {id: $head}), (b:ConversationTurn {id: $below}) "
        "MERGE (a)-[:NEXT]->(b) MERGE (s)-[:HAS_TURN]->(a) MERGE (s)-[:HAS_TURN]->(b) "
        "WITH s MATCH (p:Project {id: s.projectId}) MERGE (p)-[:HAS_SESSION]->(s)",
        head=turns[0].id,
        below=turns[1].id,
    )
    return turns


async def add_first_moves(
    graph: Graph, rows: Rows, turns: Sequence[Turn]
) -> list[tuple[list[str], str | None]]:
    """Moves as the first schema had them; what migrating finds of each: its turns, and what it undoes."""
    first, second = (turn.id for turn in turns)
    moves = (
        ("undo", second, None, [second, first], None),
        ("redo", None, first, [first], "m0"),
        ("undo", first, first, [], None),
        ("rewind", first, first, [], None),
        ("redo", first, first, [], "m3"),
        ("redo", first, first, [], "m2"),
        ("checkout", first, second, [], None),
        ("undo", second, first, [second], None),
        ("redo", "deleted", "deleted", [], None),
    )
    await graph.run(
        "MATCH (p:Project {id: $project}) "
        "UNWIND range(0, size($moves) - 1) AS at WITH p, at, $moves[at] AS move "
        "CREATE (p)-[:HAS_MOVE]->(:CheckoutLog {id: 'm' + at, projectId: p.id, sessionId: $session, "
        "action: move[0], timestamp: datetime({epochMillis: at / 2}), fromTurn: move[1], toTurn: move[2]})",
        moves=[list(move[:3]) for move in moves],
        project=rows.project.id,
        session=rows.session.id,
    )
    return [move[3:] for move in moves]


async def add_places(graph: Graph) -> None:
    """Sessions of the same project: in a folder above on the same machine, and on another one."""
    await graph.run(
        "MATCH (s:ConversationSession) UNWIND [['desk', '/home/ada'], ['lap', '']] AS place "
        "CREATE (:ConversationSession {sessionId: place[0], host: place[0], projectId: s.projectId, "
        "cwd: s.cwd, projectPath: place[1]})"
    )


async def roots(graph: Graph) -> list[str]:
    """Where each session's project is, by machine; what `add_places` added is gone then."""
    found = await graph.read(
        "MATCH (s:ConversationSession) RETURN s.projectPath AS root ORDER BY s.host, s.projectPath"
    )
    await graph.run("MATCH (s:ConversationSession) WHERE s.sessionId = s.host DELETE s")
    return [row["root"] for row in found]


async def owners(graph: Graph) -> dict[str, str]:
    """Whose each memory is, and who is drawn as the writer of each turn."""
    found = await graph.read(
        "MATCH (m:Memory) RETURN m.id AS id, m.owner AS person UNION ALL "
        "MATCH (p:Person)-[:WROTE]->(t:ConversationTurn {person: p.id}) RETURN t.id AS id, p.id AS person"
    )
    return {row["id"]: row["person"] for row in found}


async def write_as_before_marks(graph: Graph, rows: Rows) -> Turn:
    """Add a turn as a ragforge that knows no marks does, and end all turns."""
    await rows.add_turns([turn := a_turn(rows.session)])
    await graph.run(
        "MATCH (t:ConversationTurn) SET t.status = 'finished', t.endTime = t.timestamp "
        "WITH DISTINCT t.sessionId AS id MATCH (s:ConversationSession {sessionId: id}) "
        "SET s.carriedAt = datetime.realtime()"
    )
    return turn


async def test_a_database_of_the_first_schema_knows_after_migrating_what_was_left_and_finds_memories(
    graph: Graph, tmp_path: Path
) -> None:
    await take_first_step(graph)
    rows = Rows(graph)
    await rows.begin()
    turns = await add_first_turns(graph, rows)
    wanted = await add_first_moves(graph, rows, turns)
    await graph.run(
        "MATCH (s:ConversationSession) SET s.user = 'ada', s.host = 'desk' "
        "CREATE (a:Memory {id: 'mine', type: 'preference', created: datetime('2026-01-03')}), "
        "(b:Memory {id: 'shared', type: 'decision', created: datetime('2026-01-02')}), "
        "(a)-[:UPDATES {at: datetime('2026-01-03'), turn: ''}]->(b) "
        "SET a.sessionId = s.sessionId, b.sessionId = s.sessionId"
    )
    await add_places(graph)
    assert await migrate(graph, lambda _: None) == len(STEPS) - 1
    assert await owners(graph) == {"mine": "ada@desk", "shared": ""} | {turn.id: "ada@desk" for turn in turns}
    assert await roots(graph) == ["/home/ada", "/home/ada", "/home/ada/parser"]
    held = await graph.read(
        "MATCH (n:Memory) RETURN n.validFrom.day AS begin, n.validTo.day AS end, n.origin AS origin "
        "ORDER BY n.id"
    )
    assert [(row["begin"], row["end"], row["origin"]) for row in held] == [
        (3, None, "found in a turn"),
        (2, 3, "found in a turn"),
    ]
    await graph.run("MATCH (n:Memory) DETACH DELETE n")
    known = await graph.read(
        "MATCH (n:CheckoutLog) RETURN n.turns AS turns, n.undoes AS undoes ORDER BY n.id"
    )
    assert [(row["turns"], row["undoes"]) for row in known] == wanted
    store = await open_store(graph.address.driver_uri, machine_dir=tmp_path)
    try:
        assert await store.turns.abandoned([turn.id for turn in turns]) == {turns[1].id}
        assert await store.summaries.lacking() == []
        turns.append(await write_as_before_marks(graph, rows))
        assert {turn.id for turn in await store.summaries.lacking()} == {turn.id for turn in turns}
        assert {owner.id for owner in await store.vectors.lacking("m")} == {turn.id for turn in turns}
        memory = a_memory(rows.session, "We use tabs.")
        await store.memories.save(memory)
        assert [hit.id for hit in await store.search.words(Query("tabs"))] == [memory.id]
        if scope.ALL:  # with all else that is planned for it, a third of what this test takes
            assert await store.check() == []
    finally:
        await store.close()
    info = await database_info(graph)
    assert info is not None
    assert not info.abandoned_stale


@pytest.mark.parametrize("dimensions", [0, -1, 4097])
async def test_dimensions_that_no_index_takes_are_refused(dimensions: int) -> None:
    with pytest.raises(UsageError):
        await use_embedder(Graph(Address.from_url("bolt://127.0.0.1:1")), "m", dimensions)
