"""`ragforge search`: ranked, marked, with commands that work, and quick to load."""

import re
import shlex
from dataclasses import replace

import pytest

from ragforge.domain.ids import now
from ragforge.memory.derive.vectors import embed_owners
from ragforge.store.local.state import open_local_state
from tests.cli.running import Program
from tests.contract.builders import a_project, new_session, said
from tests.contract.builders_versions import a_version
from tests.faults.graph import opened as stored
from tests.flow.running import opened, say
from tests.house import RECORDED
from tests.standins.gemini import Calls, GeminiStandIn, Text
from tests.standins.gemini_replies import Call

HIT_KEYS = ["kind", "id", "session", "turn", "shared", "person", "at", "score", "text"]
HIT_KEYS += ["tool", "level", "type", "version", "undone", "replaced", "forgotten", "why", "resume"]
HEAVY = ("textual", "httpx2", "neo4j", "tree_sitter", "keyring", "tomlkit", "rich")
OTHERS = ("ragforge.cli.memory", "ragforge.cli.db", "ragforge.commands.undo", "ragforge.embedders.gemini")


@pytest.fixture
async def filled(program: Program, gemini: GeminiStandIn) -> Program:
    """Two sessions of one project."""
    del_parser = (Text("The parser lies in parse.py."), Calls(Call("read", {"path": "parse.py"})))
    (program.project / "parse.py").write_text("def marmalade(): ...\n")
    gemini.script(del_parser, Text("It parses."), Text("No parser in it."), Text("Bread."))
    async with opened(program.tmp_path, program.env) as session:
        await say(session, "Where is the parser? The parser!")
        await say(session, "Something else")
    async with opened(program.tmp_path, program.env) as session:
        await say(session, "a loaf")
        await session.workspace.background.finish(timeout_s=30)
        recall = session.workspace.recall
        assert recall.embedder
        lacking = await recall.store.vectors.lacking(recall.embedder.name, limit=1_000)
        await embed_owners(recall.store, recall.embedder, lacking)
    return program


async def test_hits_are_ranked_marked_and_open_with_the_command_that_is_shown(
    filled: Program, gemini: GeminiStandIn
):
    shown = await filled.run("search", "parser")
    assert (shown.code, shown.err) == (0, "")
    assert "*parser*" in shown.out
    assert "turn 1" in shown.out
    command = next(line.strip() for line in shown.out.splitlines() if line.strip().startswith("ragforge -r"))
    name, *args = shlex.split(command)
    assert name == "ragforge"

    ran = await filled.run("search", "parser", "--json")
    assert list(ran.json) == ["query", "took_ms", "limited", "hits"]
    assert ran.json["query"] == "parser"
    assert ran.json["took_ms"] > 0
    hits = ran.json["hits"]
    assert [list(hit) for hit in hits] == [HIT_KEYS] * len(hits)
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) > 1
    assert (hits[0]["kind"], hits[0]["turn"], hits[0]["resume"]) == ("turn", 1, command)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*\+00:00", hits[0]["at"])

    gemini.script(Text("Forked."))
    before = len(gemini.requests)
    alone = {"RAGFORGE_MEMORY_ENABLED": "false"}
    resumed = await filled.run("-p", "go on", *args, "--fork", "--output-format", "json", env=alone)
    assert (resumed.code, resumed.json["text"]) == (0, "Forked.")
    # Summaries may have been asked for as well, and those have no tools.
    [sent] = [str(request.body) for request in gemini.requests[before:] if "tools" in request.body]
    assert "Where is the parser?" in sent
    assert "Something else" not in sent


async def test_tool_calls_are_found_and_limits_hold(filled: Program):
    call, *_ = (await filled.run("search", "marmalade", "--json")).json["hits"]
    assert (call["kind"], call["tool"]) == ("tool_call", "read")
    [same] = (await filled.run("search", "marmalade", "--json", "--kind", "tool_call")).json["hits"]
    assert same["id"] == call["id"]
    session = call["session"]
    every = (await filled.run("search", "parser", "--json")).json["hits"]
    assert len(every) > 1
    few = (await filled.run("search", "parser", "--json", "--limit", "1")).json["hits"]
    assert few == every[:1]
    there = (await filled.run("search", "parser", "--json", "--session", session[-10:])).json["hits"]
    assert {hit["session"] for hit in there} == {session}
    assert (await filled.run("search", "parser", "--json", "--since", "1h")).json["hits"] == every
    assert (await filled.run("search", "parser", "--json", "--since", "2999-01-01")).json["hits"] == []
    assert (await filled.run("search", "parser", "--json", "--until", "2020-01-01")).json["hits"] == []
    assert (await filled.run("search", "parser", "--json", "--until", "2999-01-01")).json["hits"] == every


async def test_each_hit_says_what_it_is_and_why_it_matched(filled: Program):
    told = await filled.run("search", "parser", "--limit", "3")
    assert "(turn 1)" in told.out
    assert "words: parser" in told.out
    assert "share" not in told.out
    explained = await filled.run("search", "parser", "--limit", "3", "--explain")
    assert re.search(r"words +rank 1 +score [\d.]+ +share 0\.\d+", explained.out)
    assert re.search(r"meaning +rank \d+ +score 0\.\d+ +share 0\.\d+", explained.out)
    hits = (await filled.run("search", "parser", "--json")).json["hits"]
    for hit in hits:
        assert hit["score"] == pytest.approx(sum(why["share"] for why in hit["why"]))
        assert hit["undone"] is False
    assert {"words", "meaning"} <= {why["source"] for hit in hits for why in hit["why"]}
    kinds = (await filled.run("search", "parser", "--json", "--kind", "summary", "--kind", "turn")).json[
        "hits"
    ]
    assert {hit["kind"] for hit in kinds} == {"summary", "turn"}


async def test_versions_are_found_and_opened_where_they_were_made(filled: Program):
    turn = (await filled.run("search", "parser", "--json", "--kind", "turn")).json["hits"][0]
    async with opened(filled.tmp_path, filled.env) as session:
        store, project = session.workspace.store, session.workspace.project
        made_in = await store.sessions.get(turn["session"])
        assert made_in is not None
        made = a_version(made_in, turn_id=turn["id"], words="+quince = 1", at=now())
        by_hand = a_version(project, made, words="+medlar = 1")
        for version in (made, by_hand):
            await store.versions.add(version)
    [hit] = (await filled.run("search", "quince", "--json", "--kind", "version")).json["hits"]
    assert (hit["kind"], hit["version"], hit["turn"]) == ("version", made.id, turn["turn"])
    assert hit["resume"] == f"ragforge -r {turn['session']} --at {turn['turn']}"
    shown = await filled.run("search", "medlar")
    assert f"(version {by_hand.id[-8:]})" in shown.out
    assert "+*medlar* = 1" in shown.out
    assert f"ragforge diff {by_hand.id[-8:]}~ {by_hand.id[-8:]}\n" in shown.out
    differs = await filled.run("diff", f"{by_hand.id[-8:]}~", by_hand.id[-8:])
    assert (differs.code, "1 file" in differs.err) == (0, True), differs.err


async def test_other_projects_are_found_with_all(filled: Program):
    other = filled.tmp_path / "other"
    other.mkdir()
    nothing = await filled.run("search", "parser", cwd=other)
    assert (nothing.code, nothing.out) == (0, "")
    assert "--all" in nothing.err
    assert "*parser*" in (await filled.run("search", "parser", "--all", cwd=other)).out


async def test_wrong_dates_sessions_and_limits_are_named(alone: Program):
    for args, words in (
        (("--since", "yesterday"), "2026-11-21"),
        (("--since", "0001-01-01"), "2026-11-21"),
        (("--session", "ffffffff"), "ragforge sessions"),
        (("--limit", "0"), "must be a whole number from 1 to 1,000"),
        (("--limit", "many"), "must be a whole number from 1 to 1,000"),
        (("--until", "tomorrow"), "--until 'tomorrow'"),
        (("--kind", "turns"), "Unknown kind 'turns'. Choose from: turn, tool_call,"),
        ((b"\xff",), "UTF-8"),
    ):
        ran = await alone.run("search", "x", *args, env={"TZ": "Asia/Tokyo"})
        assert (ran.code, ran.out) == (2, ""), args
        assert words in ran.err, args


@pytest.mark.parametrize("words", ['"', "AND OR (", "*", "a" * 5000, "NEAR(", "-x"])
async def test_any_words_can_be_looked_for(alone: Program, words: str):
    ran = await alone.run("search", "--json", "--", words)
    assert (ran.code, ran.json["query"], ran.json["hits"]) == (0, words, [])


@pytest.mark.parametrize("words", [("",), (" ", "\t"), ("", "--json")])
async def test_a_search_for_nothing_asks_for_what(alone: Program, words: tuple[str, ...]):
    ran = await alone.run("search", *words)
    assert (ran.code, ran.out) == (2, "")
    assert "Add what to look for, for example: ragforge search" in ran.err


async def test_search_loads_nothing_heavy(filled: Program):
    started = replace(filled, fresh=True)
    ran = await started.run("search", "parser", env={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {
        line.rpartition("|")[2].strip() for line in ran.err.splitlines() if line.startswith("import time:")
    }
    assert "apsw" in loaded
    assert not [name for name in loaded if name.startswith((*HEAVY, *OTHERS))]
    ours = sorted(name for name in loaded if name.startswith("ragforge"))
    assert len(ours) <= RECORDED["modules of the program that a search loads"], ours


async def test_search_and_log_say_who_and_are_narrowed_to_one_user(alone: Program) -> None:
    """Of two that share a name the id tells which is meant."""
    people = ("ada@example.org", "ada@laptop", "bob@example.org")
    async with stored(f"sqlite://{alone.data}/ragforge.db", alone.data) as store:
        project = a_project()
        await store.projects.add(project)
        session = await new_session(store, project, title="Animals")
        parent, version = None, None
        for person in people:
            parent = await said(store, session, f"The zebra of {person}.", parent=parent, person=person)
            version = a_version(
                session, *([version] if version else []), turn_id=parent.id, title=f"Of {person}"
            )
            await store.versions.add(version)
    local = await open_local_state(alone.data)
    await local.places.set_project(alone.project, project.id)
    await local.close()
    everybody, logged = (await alone.run("search", "zebra")).out, (await alone.run("log")).out
    assert all(f"  Animals  {person}  (turn" in everybody for person in people)
    assert all(f"  {person}  Of {person}" in logged for person in people)
    for named, person in (("bob", "bob@example.org"), ("ada@laptop", "ada@laptop")):
        hits = (await alone.run("search", "zebra", "--by", named, "--kind", "turn", "--json")).json["hits"]
        assert [(hit["text"], hit["person"]) for hit in hits] == [(f"The zebra of {person}.", person)]
        rows = (await alone.run("log", "--by", named, "--json")).json
        assert [row["person"] for row in rows] == [person]
    for verb in (("search", "zebra"), ("log",)):
        several, nobody = await alone.run(*verb, "--by", "ada"), await alone.run(*verb, "--by", "eve")
        assert (several.code, nobody.code) == (2, 2)
        assert "ada@example.org, ada@laptop" in several.err
        assert "No user called 'eve'" in nobody.err
