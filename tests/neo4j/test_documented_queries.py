"""The queries that docs/stores.md offers for looking at the graph by hand: each finds what it says."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ragforge.domain.derivations import Underived
from ragforge.domain.foresight import KIND, Foresight
from ragforge.store.base import Store
from ragforge.store.open import open_store
from ragforge.workflow.records import MESSAGE, ProgramMessageRecord
from ragforge.workflow.runs import KIND as RUN
from ragforge.workflow.runs import ProgramRun
from tests.contract.builders import (
    DIMENSIONS,
    NOON,
    a_call,
    a_derived,
    a_memory,
    a_request,
    a_step,
    a_summary,
    a_turn,
    an_association,
    an_embedding,
    an_end,
    new_session,
    said,
)
from tests.contract.builders_versions import a_branch, new_version
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer
from tests.servers.shared import Servers

pytestmark = pytest.mark.each_server

PAGE = Path(__file__).parents[2] / "docs" / "stores.md"
QUERIES = re.findall(r"([^\n]+)\n\n```cypher\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
DRAINS_MAX = 10
FORESIGHT = Foresight("Rows.", units_individual=3, alpha=10, depth_individual=5, depth_collective=3)


# One kind is enough: the two differ in nothing that is asked here.
@pytest.fixture(params=["neo4j-2026"])
async def written(
    request: pytest.FixtureRequest, neo4j_servers: Servers, tmp_path: Path
) -> AsyncIterator[tuple[Neo4jServer, dict[str, str]]]:
    """A server with a conversation that has everything, and the ids that the page's parameters stand for."""
    with neo4j_servers.emptied(request.param) as server:
        store = await open_store(server.url, machine_dir=tmp_path, password=server.password)
        await store.vectors.use("static:2", DIMENSIONS)
        session = await new_session(store)
        first = a_turn(session, "Change the parser")
        await store.turns.start(first)
        step = a_step(first, 0, "Let me.", a_request("edit", path="src/parser.py", old="a", new="b"))
        await store.calls.add(a_call(step), step)
        await store.turns.end(an_end(first, "Changed."))
        last = await said(
            store, session, "And the database?", parent=first, answer="We decided to migrate to rows."
        )
        await said(store, session, "Another way", parent=first)
        await store.sessions.set_head(session.id, last.id)
        await store.summaries.save(a_summary(session, "The parser was changed.", first, last))
        memories = [
            a_memory(session, "We use files.", first, importance=0.8, valid_to=NOON + timedelta(hours=1)),
            a_memory(session, "We use rows.", last, importance=0.9),
        ]
        for memory in memories:
            await store.memories.save(memory)
        await store.memories.associate([an_association(memories[1], memories[0])])
        await store.derivations.save(
            a_derived(
                last, project_id=session.project_id, kind="OpenQuestions", data={"questions": ["Which rows?"]}
            )
        )
        await store.derivations.save(KIND.record(Underived(last.id, session.project_id, NOON), FORESIGHT))
        await _talk_with_a_program(store, session.project_id)
        vectors = [
            an_embedding(each, 1.0, number / 8, model="static:2") for number, each in enumerate((first, last))
        ]
        await store.vectors.save(vectors)
        base = await new_version(store, session, turn_id=first.id, title="Change the parser")
        merged = await new_version(
            store, session, base, await new_version(store, session, base), title="merge"
        )
        await store.versions.set_branch(a_branch(merged))
        # A busy server may be given up for a moment, in which draining gives up too.
        for _ in range(DRAINS_MAX):
            if not (await store.drain(timeout_s=60)).waiting:
                break
        assert store.link.waiting == 0
        yield server, {"session": session.id, "turn": first.id}
        await store.close()


async def _talk_with_a_program(store: Store, project_id: str) -> None:
    project = Underived(project_id, project_id, NOON)
    await store.derivations.save(RUN.record(project, ProgramRun("1", "talk", "talk.spu", ""), name="1"))
    message = ProgramMessageRecord("2", "3", "talk", "user_prompt", NOON.isoformat(), "Greet.")
    await store.derivations.save(MESSAGE.record(project, message, name="2"))


def test_the_page_offers_queries_for_all_that_is_asked_often():
    assert len(QUERIES) >= 8


def test_each_documented_query_finds_what_it_says(written: tuple[Neo4jServer, dict[str, str]]):
    server, parameters = written
    neo4j.query(server, "CALL db.awaitIndexes(60)")
    found: dict[str, list[dict[str, Any]]] = {
        words: neo4j.query(server, query, **parameters) for words, query in QUERIES
    }
    assert [words for words, rows in found.items() if not rows] == []
    by_column = {column: rows for rows in found.values() for column in rows[0]}
    assert by_column["tools"][0]["tools"] == ["edit"]
    assert by_column["ended"][0] | {"fault": ""} == {
        "program": "talk",
        "ended": False,
        "fault": "",
        "seconds": 0.0,
        "messages": ["Greet."],
    }
    assert by_column["went_on_with"][0]["went_on_with"] == ["And the database?", "Another way"]
    assert by_column["usd"] == [
        {"week": by_column["usd"][0]["week"], "model": "gemini:a", "usd": 0.25, "read": 100, "written": 10}
    ]
    assert [(row["file"], row["changes"]) for row in by_column["file"]] == [("src/parser.py", 1)]
    assert [row["covers"] for row in by_column["covers"]] == [2]
    texts = [row["text"] for rows in found.values() for row in rows if "text" in row]
    assert texts == ["We decided to migrate to rows."] * 2
    assert by_column["replaced_by"] == [
        {**row, "type": "fact"}
        for row in (
            {"content": "We use rows.", "importance": 0.9, "replaced_by": [], "rests_on": [1]},
            {"content": "We use files.", "importance": 0.8, "replaced_by": ["We use rows."], "rests_on": [0]},
        )
    ]
    assert [(row["branch"], row["title"], row["asked"]) for row in by_column["branch"]] == [
        ("try-it", "merge", []),
        ("try-it", "Change the parser", ["Change the parser"]),
    ]
    assert by_column["still_open"] == [{"asked": "And the database?", "still_open": ["Which rows?"]}]
    assert by_column["uIndividual"] == [
        {"turn": 1, "cwIndividual": 30, "cwCollective": 0, "uIndividual": -10, "uCollective": None}
    ]
    assert [row["held"] for row in by_column["held"]] == ["We use rows."]
    path = next(rows for words, rows in found.items() if "as a path" in words or "draws it" in words)
    assert [row["asked"] for row in path] == ["Change the parser", "And the database?"]
    nearest = next(rows for words, rows in found.items() if "mean the same" in words)
    assert [row["asked"] for row in nearest] == ["And the database?"]
