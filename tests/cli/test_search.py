"""`ragforge search`: ranked, marked, with commands that work, and quick to load."""

import re
import shlex

import pytest

from tests.cli.running import Program
from tests.flow.running import opened, say
from tests.standins.gemini import Calls, GeminiStandIn, Text
from tests.standins.gemini_replies import Call

HIT_KEYS = ["kind", "id", "session", "turn", "at", "score", "text", "resume"]
HEAVY = ("textual", "google.genai", "httpx2", "neo4j", "tree_sitter", "keyring", "tomlkit", "rich")


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
    assert list(ran.json) == ["query", "took_ms", "hits"]
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
    resumed = await filled.run("-p", "go on", *args, "--fork", "--output-format", "json")
    assert (resumed.code, resumed.json["text"]) == (0, "Forked.")
    sent = str(gemini.requests[-1].body)
    assert "Where is the parser?" in sent
    assert "Something else" not in sent


async def test_tool_calls_are_found_and_limits_hold(filled: Program):
    [call] = (await filled.run("search", "marmalade", "--json")).json["hits"]
    assert call["kind"] == "tool_call"
    session = call["session"]
    every = (await filled.run("search", "parser", "--json")).json["hits"]
    assert len(every) > 1
    few = (await filled.run("search", "parser", "--json", "--limit", "1")).json["hits"]
    assert few == every[:1]
    there = (await filled.run("search", "parser", "--json", "--session", session[-10:])).json["hits"]
    assert {hit["session"] for hit in there} == {session}
    assert (await filled.run("search", "parser", "--json", "--since", "1h")).json["hits"] == every
    assert (await filled.run("search", "parser", "--json", "--since", "2999-01-01")).json["hits"] == []


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
        (("--limit", "0"), "1<=x"),
        ((b"\xff",), "UTF-8"),
    ):
        ran = await alone.run("search", "x", *args, env={"TZ": "Asia/Tokyo"})
        assert (ran.code, ran.out) == (2, ""), args
        assert words in ran.err, args


@pytest.mark.parametrize("words", ['"', "AND OR (", "*", "a" * 5000, "", "NEAR(", "-x"])
async def test_any_words_can_be_looked_for(alone: Program, words: str):
    ran = await alone.run("search", "--json", "--", words)
    assert (ran.code, ran.json["query"], ran.json["hits"]) == (0, words, [])


async def test_search_loads_nothing_heavy(filled: Program):
    ran = await filled.run("search", "parser", env={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {
        line.rpartition("|")[2].strip() for line in ran.err.splitlines() if line.startswith("import time:")
    }
    assert "apsw" in loaded
    assert not [name for name in loaded if name.startswith(HEAVY)]
