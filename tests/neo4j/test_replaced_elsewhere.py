"""What one machine says anew of things that another one put into the graph."""

from msgspec.structs import replace

from ragforge.store.base import Store
from tests.contract.builders import a_summary, conversation, new_session
from tests.faults.graph import arrived
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer


async def test_a_project_that_another_machine_keeps_anew_is_replaced(
    there: Store, far: Store, server: Neo4jServer
) -> None:
    session = await new_session(there)
    project = await there.projects.get(session.project_id)
    assert project is not None
    await arrived(there)
    await far.projects.add(replace(project, name="renamed"))
    await arrived(far)
    found = neo4j.query(server, "MATCH (p:Project {id: $id}) RETURN p.name AS name", id=project.id)
    assert found == [{"name": "renamed"}]


async def test_a_summary_that_another_machine_makes_anew_is_replaced(
    there: Store, far: Store, server: Neo4jServer
) -> None:
    session = await new_session(there)
    turns = await conversation(there, session, 2)
    summary = a_summary(session, "as it was", *turns)
    await there.summaries.save(summary)
    await arrived(there)
    await far.summaries.save(replace(summary, text="anew", covers=(turns[1].id,), turn_count=1))
    await arrived(far)
    found = neo4j.query(
        server,
        "MATCH (m:ConversationSummary {id: $id})-[:SUMMARIZES]->(t) RETURN m.summary AS text, t.id AS turn",
        id=summary.id,
    )
    assert found == [{"text": "anew", "turn": turns[1].id}]
