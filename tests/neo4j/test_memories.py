"""Memories and what was left, between machines that share a graph and do not always reach it."""

from datetime import timedelta

from msgspec.structs import replace

from ragforge.domain.memories import Association, AssociationKind, MemoryFilter, MemorySource
from ragforge.domain.search import Query
from ragforge.store.base import Store
from tests.contract.builders import (
    NOON,
    a_call,
    a_memory,
    a_request,
    a_spending,
    a_step,
    a_turn,
    an_end,
    conversation,
    new_session,
)
from tests.faults.graph import arrived
from tests.neo4j.machines import cut_off
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer
from tests.servers.proxy import Proxy


async def test_what_two_machines_save_at_once_becomes_one_memory_of_all_evidence(
    there: Store, far: Store, proxy: Proxy
) -> None:
    session = await new_session(far)
    turns = await conversation(far, session, 3)
    await arrived(far)
    first = a_memory(session, "We use tabs.", turns[0], turns[1], importance=0.5, topic="style")
    again = replace(
        first,
        importance=0.9,
        confidence=0.5,
        topic="tabs",
        source=MemorySource.USER,
        turns=(turns[2].id, turns[1].id),
        created_at=NOON - timedelta(days=1),
        updated_at=NOON + timedelta(days=1),
    )
    await cut_off(proxy, far)
    await far.memories.save(again)
    await there.memories.save(first)
    await arrived(there)
    await proxy.accept()
    await arrived(far)
    expected = replace(
        first,
        importance=0.9,
        source=MemorySource.USER,
        turns=(turns[0].id, turns[1].id, turns[2].id),
        created_at=again.created_at,
        updated_at=again.updated_at,
    )
    for store in (there, far):
        assert await store.memories.get([first.id]) == [expected]
        # It is found by the day of its older beginning.
        assert [hit.id for hit in await store.search.words(Query("tuesday", session.project_id))] == [
            first.id
        ]
    found = await there.search.candidates(Query("tuesday", session.project_id))
    related = await there.search.related(found)
    assert [each.turn.id for each in related] == list(expected.turns)


async def test_memories_go_on_while_the_server_is_away(there: Store, far: Store, proxy: Proxy) -> None:
    session = await new_session(far)
    turns = await conversation(far, session, 2)
    old = a_memory(session, "We use MySQL.", turns[0], type="decision")
    await far.memories.save(old)
    await arrived(far)
    await far.sessions.claim(session.id)
    await cut_off(proxy, far)
    new = a_memory(session, "We use PostgreSQL.", turns[1], type="decision")
    link = Association(AssociationKind.UPDATES, new.id, old.id, NOON)
    await far.memories.save(new)
    await far.memories.associate([link])
    await far.memories.touch([new.id], NOON)
    await far.usage.add(spent := a_spending(session))
    assert await far.leases.take("session", seconds=60), "work that is done twice is better than none"
    await far.leases.give_back("session")
    scope = MemoryFilter(project_id=session.project_id)
    assert await far.memories.find(scope) == [new]
    by_id = {memory.id: memory for memory in await far.memories.find(replace(scope, replaced=True))}
    assert by_id == {new.id: new, old.id: replace(old, replaced=True)}
    assert await far.memories.associations([old.id]) == [link]
    assert [hit.id for hit in await far.search.words(Query("postgresql"))] == [new.id]
    assert [each.id for each in await far.search.candidates(Query("postgresql"))] == [new.id]
    assert [row.purpose for row in await far.usage.by_model(session_id=session.id)] == [spent.purpose]
    await far.sessions.set_head(session.id, turns[0].id)
    assert await far.turns.abandoned([turn.id for turn in turns]) == {turns[1].id}
    (found,) = await far.memories.get([new.id])
    assert found.abandoned
    by_user = a_memory(session, "We use tabs.", turns[1], importance=0.1, source=MemorySource.USER)
    await far.memories.save(by_user)
    assert [memory.abandoned for memory in await far.memories.get([by_user.id])] == [False]
    await proxy.accept()
    await arrived(far)
    assert await there.turns.abandoned([turn.id for turn in turns]) == {turns[1].id}
    assert await there.memories.find(scope) == [old, by_user], "what was taken back replaces nothing"
    assert await there.memories.associations([new.id]) == [link]
    assert len(await there.usage.by_model(session_id=session.id)) == 1


async def test_what_was_forgotten_stays_so_until_the_user_says_it_anew(there: Store, far: Store) -> None:
    session = await new_session(far)
    memory = a_memory(session, "We use tabs.")
    await far.memories.save(memory)
    await arrived(far)
    await there.memories.forget([memory.id], NOON)
    await arrived(there)
    # This machine has not heard of it.
    await far.memories.save(replace(memory, importance=1.0))
    await arrived(far)
    assert [each.forgotten_at for each in await there.memories.get([memory.id])] == [NOON]
    await far.memories.save(replace(memory, source=MemorySource.USER))
    await arrived(far)
    assert [each.forgotten_at for each in await there.memories.get([memory.id])] == [None]


async def test_who_goes_on_in_a_session_that_was_deleted_makes_no_half_nodes(
    server: Neo4jServer, far: Store
) -> None:
    session = await new_session(far)
    turn = a_turn(session)
    await far.turns.start(turn)
    await arrived(far)
    of_session = "MATCH (n) WHERE n.sessionId = $id"
    neo4j.query(server, f"{of_session} DETACH DELETE n", id=session.id)
    step = a_step(turn, 0, "Let me look.", a_request())
    await far.calls.add(a_call(step), step)
    await far.turns.end(an_end(turn, last_step=a_step(turn, 1)))
    await far.sessions.rename(session.id, "Parsing")
    await arrived(far)
    assert neo4j.query(server, f"{of_session} RETURN labels(n) AS labels", id=session.id) == []
    # New words are not lost: the session comes back with them.
    await far.turns.start(said := a_turn(session, "Are you there?"))
    await arrived(far)
    found = neo4j.query(
        server,
        f"{of_session} RETURN labels(n)[0] AS label, n.title AS title, n.headId AS head, "
        "n.userMessage AS words ORDER BY label",
        id=session.id,
    )
    assert found == [
        {"label": "ConversationSession", "title": "Parsing", "head": said.id, "words": None},
        {"label": "ConversationTurn", "title": None, "head": None, "words": "Are you there?"},
    ]
