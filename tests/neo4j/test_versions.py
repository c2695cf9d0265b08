"""The version tree between machines that share a graph and do not always reach it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.search import HitKind, Query
from ragforge.domain.versions import CheckoutLog, MoveAction
from ragforge.store.base import Store
from ragforge.store.files import outbox_folder
from ragforge.store.neo4j.outbox import Outbox
from ragforge.store.neo4j.rows import Label
from ragforge.store.neo4j.version_rows import move_row
from tests.contract.builders import new_session, said
from tests.contract.builders_versions import (
    a_branch,
    a_change,
    a_move,
    a_version,
    an_operation,
    new_version,
    worked,
)
from tests.faults.graph import arrived
from tests.neo4j.machines import cut_off
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer
from tests.servers.proxy import Proxy


async def put_as_before(folder: Path, move: CheckoutLog) -> None:
    """Let the move wait as the release before kept it, which did not say what it did."""
    (file,) = outbox_folder(folder).glob("*.db")
    outbox = Outbox(file)
    later = {"turns", "undoes", "kept", "aside", "commandId"}
    row = {name: value for name, value in move_row(move).items() if name not in later}
    await outbox.write(lambda rows: rows.put(Label.MOVE, move.id, row))
    await outbox.close()


async def test_the_tree_grows_on_while_the_server_is_away(
    there: Store, far: Store, proxy: Proxy, tmp_path: Path
) -> None:
    session = await new_session(far)
    claim = await far.sessions.claim(session.id)
    turn, first = await worked(far, session)
    await arrived(far)
    await cut_off(proxy, far)
    below, second = await worked(far, session, first, below=turn, words="+zebra = 1")
    ended = await said(far, session, parent=below)
    merged = await new_version(far, session, second, first, label="both")
    await far.versions.label(first.id, "okapi")
    first = replace(first, label="okapi")
    await far.versions.set_branch(branch := a_branch(merged))
    await far.versions.add_move(
        move := a_move(session, to_version=merged.id, **an_operation(turn.id, undoes="m"))
    )
    await put_as_before(tmp_path / "far", old := a_move(session, from_turn=below.id, to_turn=turn.id))

    async def assert_known_to(store: Store) -> None:
        project = session.project_id
        assert await store.versions.get([merged.id, first.id]) == [merged, first]
        assert await store.versions.line(merged.id) == [merged, second, first]
        assert await store.versions.line(merged.id, limit=2) == [merged, second]
        assert await store.versions.of_turns([below.id, turn.id]) == [first, second]
        assert await store.versions.unversioned(session.id) == [ended.id]
        rows = await store.versions.rows(project)
        assert [row.version for row in rows] == [
            replace(each, changes=(), words="") for each in (merged, second, first)
        ]
        assert await store.versions.rows(project, before=second.id) == rows[2:]
        assert await store.versions.with_id_part(project, "okapi") == [rows[2].version]
        assert await store.versions.children(first.id) == [second, merged]
        assert await store.versions.branches(project) == [branch]
        assert await store.versions.moves(project, session_id=session.id) == [old, move]
        (hit,) = await store.search.words(Query("zebra", project, kinds=(HitKind.VERSION,)))
        assert (hit.version_id, hit.turn_id) == (second.id, below.id)

    await assert_known_to(far)
    assert far.link.away
    await proxy.accept()
    await arrived(far)
    await claim.release()
    await assert_known_to(far)
    await assert_known_to(there)


async def test_what_is_not_here_is_no_answer_while_the_server_is_away(
    there: Store, far: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the server is away on purpose, how long that is waited out is not the question.
    monkeypatch.setattr(timeouts, "NEO4J_REACH_S_MAX", 1.0)
    session = await new_session(there)
    turn, first = await worked(there, session)
    second = await new_version(there, session, first)
    await arrived(there)
    # What it read it may build upon.
    assert await far.versions.get([second.id]) == [second]
    await cut_off(proxy, far)
    for ask in (
        far.versions.line(second.id),
        far.versions.get([second.id, first.id]),
        far.versions.of_turns([turn.id]),
        far.versions.rows(session.project_id, before=first.id),
        far.versions.all_ids(session.project_id),
    ):
        with pytest.raises(StoreUnavailable):
            await ask
    assert await far.versions.line(second.id, limit=1) == [second]
    assert await far.versions.unversioned(session.id) == []


async def test_version_is_built_upon_one_of_another_machine_without_the_server(
    there: Store, far: Store, proxy: Proxy
) -> None:
    session = await new_session(there)
    first = await new_version(there, session)
    await arrived(there)
    assert await far.projects.get(session.project_id)
    assert await far.versions.line(first.id) == [first]
    await cut_off(proxy, far)
    project = replace(a_version(session, first), session_id="")
    await far.versions.add(project)
    assert await far.versions.line(project.id) == [project, first]
    await proxy.accept()
    await arrived(far)
    assert await there.versions.line(project.id) == [project, first]


async def test_branch_points_to_where_it_was_set_by_who_came_last(
    there: Store, far: Store, proxy: Proxy
) -> None:
    session = await new_session(far)
    first = await new_version(far, session)
    second = await new_version(far, session, first)
    await far.versions.set_branch(kept := a_branch(second, "kept"))
    await far.versions.set_branch(a_branch(first, "gone"))
    await arrived(far)
    await cut_off(proxy, far)
    await far.versions.set_branch(ours := a_branch(second))
    assert await far.versions.delete_branch(session.project_id, "gone")
    assert not await far.versions.delete_branch(session.project_id, "gone")
    assert await far.versions.branches(session.project_id) == [kept, ours]
    await there.versions.set_branch(a_branch(first))
    await arrived(there)
    await proxy.accept()
    await arrived(far)
    for store in (there, far):
        assert await store.versions.branches(session.project_id) == [kept, ours]


async def test_version_whose_session_was_deleted_meanwhile_arrives_without_it(
    server: Neo4jServer, there: Store, far: Store, proxy: Proxy
) -> None:
    session = await new_session(far)
    turn, first = await worked(far, session, text="Feed the zebra.")
    await arrived(far)
    await cut_off(proxy, far)
    version = await new_version(far, session, first, turn_id=turn.id, title="Feed the zebra.")
    await there.sessions.delete(session.id)
    await proxy.accept()
    await arrived(far)
    expected = replace(version, session_id="", turn_id="", title="")
    assert await there.versions.get([version.id]) == [expected]
    assert await there.versions.get([first.id]) == [replace(first, session_id="", turn_id="", title="")]
    assert await there.search.words(Query("zebra", session.project_id)) == []
    found = neo4j.query(
        server,
        "MATCH (p:Project {id: $project})-[:HAS_VERSION]->(v:Version) "
        "RETURN count(v) AS versions, count { (v)-[:MADE_IN]->() } AS made",
        project=session.project_id,
    )
    assert found == [{"versions": 2, "made": 0}]


async def test_graph_can_be_followed_by_hand(server: Neo4jServer, far: Store) -> None:
    session = await new_session(far)
    turn, base = await worked(far, session, changes=(a_change("a \udcff.py"), a_change("b.py")))
    ours, theirs = await new_version(far, session, base), await new_version(far, session, base)
    merged = await new_version(far, session, ours, theirs)
    await far.versions.set_branch(a_branch(merged))
    await far.versions.add_move(a_move(session, action=MoveAction.MERGE, to_version=merged.id))
    await arrived(far)
    found = neo4j.query(
        server,
        "MATCH (p:Project {id: $project})-[:HAS_BRANCH]->(b:Branch)-[:POINTS_TO]->(tip:Version) "
        "MATCH (tip)-[r:PARENT]->(up)-[:PARENT {ord: 0}]->(base)-[:MADE_IN]->(t:ConversationTurn) "
        "MATCH (p)-[:HAS_MOVE]->(m:CheckoutLog {toVersion: tip.id}) "
        "RETURN b.name AS branch, r.ord AS ord, up.id AS up, base.paths AS paths, t.id AS turn, "
        "m.action AS action ORDER BY ord",
        project=session.project_id,
    )
    same = {"branch": "try-it", "paths": ["a \ufffd.py", "b.py"], "turn": turn.id, "action": "merge"}
    assert found == [{**same, "ord": 0, "up": ours.id}, {**same, "ord": 1, "up": theirs.id}]
    assert await far.versions.get([base.id]) == [base], "the path comes back as it was"
