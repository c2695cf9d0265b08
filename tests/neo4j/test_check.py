"""What `check` finds in a graph that was broken by hand, and what it puts right."""

from collections.abc import AsyncIterator, Iterator

import pytest

from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.check import findings
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.migrations import prepare
from ragforge.store.neo4j.schema import use_embedder
from tests.servers.neo4j import Neo4jServer
from tests.servers.shared import Servers

pytestmark = pytest.mark.remakes

BROKEN = """
CREATE (p:Project {id: 'p'}),
  (s:ConversationSession {sessionId: 's', projectId: 'p', headId: 'gone'}),
  (x:ConversationSession {sessionId: 'x', projectId: 'nowhere'}),
  (t1:ConversationTurn {id: 't1', sessionId: 's', turnIndex: 0, timestamp: datetime(), searchScope: 'a',
    embedding: [1.0, 2.0], embeddingModel: 'm', embeddingHash: 'h'}),
  (t2:ConversationTurn {id: 't2', sessionId: 's', parentId: 't1', turnIndex: 5, searchScope: 'a',
    timestamp: datetime() - duration('PT1H'), embedding: [1.0]}),
  (c1:ConversationTurn {id: 'c1', sessionId: 'nosession', parentId: 'c2', turnIndex: 1}),
  (c2:ConversationTurn {id: 'c2', sessionId: 's', parentId: 'c1', turnIndex: 2, searchScope: 'a',
    timestamp: datetime() - duration('PT1H')}),
  (c1)-[:NEXT]->(c2), (c2)-[:NEXT]->(c1), (x)-[:HAS_TURN]->(t1), (t2)-[:NEXT]->(t1),
  (k:ToolCall {id: 'k', turnId: 't1', searchScope: 'a'}), (k)-[:PART_OF]->(t1), (k)-[:PART_OF]->(t1),
  (:ToolCall {id: 'k2', turnId: 'noturn', searchScope: 'a'}),
  (:ConversationStep {id: 't1/0', turnId: 't1'}),
  (:ConversationStep {id: 'twice'}), (:ConversationStep {id: 'twice'}),
  (m:ConversationSummary {id: 'm', sessionId: 's', level: 1, covers: ['gone'], searchScope: 'a'}),
  (:ConversationSummary {id: 'm2', sessionId: 's', level: 2, covers: ['m'], searchScope: 'a'}),
  (m)-[:SUMMARIZES]->(t1),
  (:Derived {id: 'f', relation: 'MADE_OF', ownerKind: 'turn', ownerId: 't1'}),
  (:Derived {id: 'f2', relation: 'MADE_OF', ownerKind: 'session', ownerId: 'gone'})
"""

# What is wrong, and what repairing says of it; nothing where only a user can tell what is right.
FAULTS = {
    "The index turn_session is missing.": "It was created again.",
    "The index conversation_words differs from the expected one.": "It was created again.",
    "The constraint call_id is missing.": "It was created again.",
    "There are 2 nodes of ConversationStep with the id twice.": "",
    "Session x names a Project that is not stored.": "",
    "Session s lacks its HAS_SESSION.": "It was added.",
    "Turn c1 names a Session that is not stored.": "",
    "Turn t1 has a HAS_TURN that its sessionId does not name.": "It was removed.",
    "Turn t1 lacks its HAS_TURN.": "It was added.",
    "Turn t1 has a NEXT that its parentId does not name.": "It was removed.",
    "Turn t2 lacks its NEXT.": "It was added.",
    "ToolCall k2 names a Turn that is not stored.": "",
    "ToolCall k lacks its HAS_TOOL_CALL.": "It was added.",
    "ToolCall k has more than one PART_OF.": "Only one was kept.",
    "Step t1/0 lacks its PART_OF.": "It was added.",
    "Summary m lacks its HAS_SUMMARY.": "It was added.",
    "Session s has a head that is not stored.": "Its newest turn is its head now.",
    "Turn t2 is not one level below its parent.": "",
    "Turn c1 is not one level below its parent.": "",
    "Turn c1 is its own ancestor.": "",
    "Turn c1 cannot be found by search.": "",
    "Summary m covers nothing that is stored.": "",
    "Summary m has a SUMMARIZES that its covers do not name.": "It was removed.",
    "Summary m2 lacks a SUMMARIZES.": "It was added.",
    "Derived record f lacks the relationship to its owner.": "It was added.",
    "Derived record f2 belongs to something that is not stored.": "It was removed.",
    "Turn t2 has only a part of its embedding, its model and its hash.": "It will be embedded again.",
    "Turn t1 has a vector of m that is not 4 long.": "It will be embedded again.",
}


# One kind is enough: the two differ in nothing that is asked here.
@pytest.fixture(params=["neo4j-5"])
def server(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[Neo4jServer]:
    with neo4j_servers.remade(request.param) as server:
        yield server


@pytest.fixture
async def graph(server: Neo4jServer) -> AsyncIterator[Graph]:
    graph = Graph(Address.from_url(server.url, server.password))
    await graph.connect()
    await prepare(graph, adopt=False)
    await use_embedder(graph, "m", 4, wait_s=60)
    yield graph
    await graph.close()


async def test_what_is_broken_is_found_and_what_can_be_derived_is_put_right(graph: Graph) -> None:
    # That a store in order has no findings is the contract's to say.
    await graph.run("DROP CONSTRAINT step_id")
    await graph.run(BROKEN)
    for statement in (
        "DROP INDEX turn_session",
        "DROP CONSTRAINT call_id",
        "DROP INDEX conversation_words",
        "CREATE FULLTEXT INDEX conversation_words FOR (n:ToolCall) ON EACH [n.other]",
        "CALL db.awaitIndexes(120)",  # one that is being filled is told and left alone
    ):
        await graph.run(statement)

    repaired = await findings(graph, repair=True)
    assert {f"{fault} {done}".strip() for fault, done in FAULTS.items()} - set(repaired) == set()
    refused = "The constraint step_id is missing. It could not be created again:"
    assert any(each.startswith(refused) for each in repaired)
    left = {fault for fault, done in FAULTS.items() if not done}
    await graph.run("MATCH (n:ConversationStep {id: 'twice'}) DELETE n")
    again = set(await findings(graph, repair=True))
    assert {each for each in left if "twice" not in each} - again == set()
    assert "The constraint step_id is missing. It was created again." in again
    again.remove("The constraint step_id is missing. It was created again.")
    assert again <= FAULTS.keys(), "repairing broke something else"

    (row,) = await graph.read(
        "MATCH (s:ConversationSession {sessionId: 's'}) MATCH (t:ConversationTurn) "
        "RETURN s.headId AS head, count(t) AS turns"
    )
    assert row == {"head": "t1", "turns": 4}


@pytest.mark.long_on_servers
async def test_an_index_that_does_the_same_under_another_name_is_enough(graph: Graph) -> None:
    await graph.run("DROP INDEX step_turn")
    await graph.run("CREATE INDEX by_hand FOR (n:ConversationStep) ON (n.turnId)")
    assert await findings(graph, repair=True) == []
    await graph.run("DROP INDEX by_hand")
    assert await findings(graph, repair=True) == ["The index step_turn is missing. It was created again."]
