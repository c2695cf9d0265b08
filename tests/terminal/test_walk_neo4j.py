"""The whole way of a user once more, with the conversation in a graph; then the graph, read by hand."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.flow.running import MODEL
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer
from tests.standins.gemini import KEY
from tests.terminal.screen import COMMAND, CTRL_D, DOWN, ENTER, OPEN, Desk, Screen

PROMPT = "Message, /command"

COMMANDS_MAX = 10
START_S_MAX = 120
"""For a server that others keep busy."""

CAPITAL, PARIS = "What is the capital of France?", "It is **Paris**, on the Seine."
POLITE, DONE = "Make it more polite", "It is polite now."


@dataclass(frozen=True, slots=True)
class GraphDesk:
    """A desk whose conversations are kept on a server, in a project that nobody else has."""

    desk: Desk
    server: Neo4jServer
    name: str
    """Of the project."""

    def start(self, *args: str) -> Screen:
        return self.desk.start("--store", self.server.url, *args)

    def connect(self) -> None:
        """As the README begins; the first time it builds the schema, which takes a cold server a while."""
        done = self._command("connect", self.server.url, "--yes", "--no-copy")
        assert done.returncode == 0, done.stderr

    def settle(self) -> None:
        """Let all arrive: a command at its end waits 5 s for a busy server, and the next one goes on."""
        said = ""
        for _ in range(COMMANDS_MAX):
            done = self._command("status", "--json")
            if done.returncode == 0 and json.loads(done.stdout)["waiting"] == 0:
                return
            said = done.stdout + done.stderr
        raise AssertionError(f"not all arrived: {said}")

    def _command(self, *args: str) -> "subprocess.CompletedProcess[str]":
        command = [COMMAND, "db", *args]
        return subprocess.run(
            command, env=self.desk.env, cwd=self.desk.project, capture_output=True, text=True, check=False
        )

    def rows(self, query: str) -> list[dict[str, Any]]:
        """What a user would see who asks the server in plain Cypher; `$name` is the project's name."""
        return neo4j.query(self.server, query, name=self.name)


@pytest.fixture
def graph_desk(tmp_path: Path, model_url: str, server: Neo4jServer) -> Iterator[GraphDesk]:
    # A project is called as its folder, and is found by that.
    name = f"walk-{uuid4()}"
    project = tmp_path / name
    desk = Desk(
        tmp_path,
        model=MODEL,
        env={
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": model_url,
            "RAGFORGE_STORE_PASSWORD": server.password,
        },
    )
    desk.project = desk.project.rename(project)
    yield GraphDesk(desk, server, name)
    desk.close()


@pytest.mark.long
def test_ask_approve_quit_resume_and_search_with_the_conversation_in_a_graph(graph_desk: GraphDesk):
    file = graph_desk.desk.project / "greet.txt"
    file.write_text("Hello there\n")

    graph_desk.connect()
    first = graph_desk.start()
    first.wait_for(OPEN, timeout_s=START_S_MAX)
    first.send(CAPITAL)
    first.wait_for("It is Paris, on the Seine.")
    first.send(POLITE)
    first.wait_for("press 1")
    assert file.read_text() == "Hello there\n"
    first.press(b"1")
    first.wait_for(DONE)
    first.wait_for("/undo undoes it")  # the turn has ended; left before, it would be interrupted
    first.wait_for(PROMPT)
    assert file.read_text() == "Good day there\n"
    first.press(CTRL_D)
    assert first.ended() == 0
    first.assert_restored()
    [session] = re.findall(r"ragforge -r ([0-9a-f]{8})\b", first.unwrapped)

    second = graph_desk.start()
    second.wait_for("What is the capital", timeout_s=START_S_MAX)
    second.press(DOWN)
    second.press(ENTER)
    second.wait_for(DONE)
    second.send("/search Paris")
    second.wait_for("Search this project")
    second.wait_for(lambda screen: screen.count("turn 1") and "It is **Paris**, on the Seine." in screen)
    second.press(ENTER)
    second.wait_for("Shown up to turn 1")
    second.press(CTRL_D)
    assert second.ended() == 0

    graph_desk.settle()
    assert_reads_as_it_was_said(graph_desk, session)


def assert_reads_as_it_was_said(graph_desk: GraphDesk, session: str) -> None:
    """The graph holds the conversation in nodes and relationships that can be read without ragforge."""
    assert_turns_are_there(graph_desk, session)
    assert_calls_are_there(graph_desk)
    assert_nothing_is_there_twice(graph_desk)
    assert_versions_and_summaries_are_there(graph_desk)


def assert_turns_are_there(graph_desk: GraphDesk, session: str) -> None:
    path = """
        MATCH (:Project {name: $name})-[:HAS_SESSION]->(s:ConversationSession)-[:HAS_TURN]->(t)
        RETURN right(s.sessionId, 8) AS session, s.title AS title, t.turnIndex AS turn, t.userMessage AS user,
          t.assistantMessage AS assistant, t.status AS status, t.model AS model,
          t.charCount = size(t.userMessage) + size(t.assistantMessage) AS counted,
          s.startTime <= t.timestamp <= s.lastActivity AS in_time
        ORDER BY turn
    """
    same = {"session": session, "title": CAPITAL, "status": "finished", "model": MODEL}
    assert graph_desk.rows(path) == [
        {**same, "turn": 0, "user": CAPITAL, "assistant": PARIS, "counted": True, "in_time": True},
        {**same, "turn": 1, "user": POLITE, "assistant": DONE, "counted": True, "in_time": True},
    ]
    tree = """
        MATCH (:Project {name: $name})-[:HAS_SESSION]->()-[:HAS_TURN]->(a)-[:NEXT]->(b)
        RETURN a.userMessage AS before, b.userMessage AS after
    """
    assert graph_desk.rows(tree) == [{"before": CAPITAL, "after": POLITE}]


def assert_calls_are_there(graph_desk: GraphDesk) -> None:
    calls = """
        MATCH (:Project {name: $name})-[:HAS_SESSION]->()-[:HAS_TURN]->(t)-[:HAS_TOOL_CALL]->(c:ToolCall)
        WHERE (c)-[:PART_OF]->(t)
        RETURN t.turnIndex AS turn, c.toolName AS tool, c.success AS success,
          c.toolArgs CONTAINS 'greet.txt' AS args, c.toolResult STARTS WITH '{"text":' AS result,
          c.durationMs >= 0 AS took, c.timestamp IS NOT NULL AS timed
        ORDER BY c.stepIndex, c.position
    """
    told = {"success": True, "args": True, "result": True, "took": True, "timed": True}
    assert graph_desk.rows(calls) == [
        {"turn": 1, "tool": "read", **told},
        {"turn": 1, "tool": "edit", **told},
    ]
    steps = """
        MATCH (:Project {name: $name})-[:HAS_SESSION]->()-[:HAS_TURN]->(t)<-[:PART_OF]-(e:ConversationStep)
        RETURN t.turnIndex AS turn, count(e) AS steps ORDER BY turn
    """
    assert graph_desk.rows(steps) == [{"turn": 0, "steps": 1}, {"turn": 1, "steps": 3}]


def assert_nothing_is_there_twice(graph_desk: GraphDesk) -> None:
    everything = """
        MATCH (p:Project {name: $name})-[:HAS_SESSION]->(s)
        RETURN count(DISTINCT p) AS projects, count(s) AS sessions,
          size(COLLECT {
            MATCH (p:Project {name: $name})-[*]->(n)
            WHERE NOT n:ConversationSummary AND NOT n:Memory AND NOT n:Version
            RETURN DISTINCT n
          }) AS nodes
    """
    # A session, two turns and two calls: nothing twice, nothing left behind.
    assert graph_desk.rows(everything) == [{"projects": 1, "sessions": 1, "nodes": 5}]


def assert_versions_and_summaries_are_there(graph_desk: GraphDesk) -> None:
    versions = """
        MATCH (:Project {name: $name})-[:HAS_SESSION]->()-[:HAS_TURN]->(t)<-[:MADE_IN]-(v:Version)
        RETURN t.turnIndex AS turn, v.paths AS paths ORDER BY turn
    """
    assert graph_desk.rows(versions) == [{"turn": 0, "paths": []}, {"turn": 1, "paths": ["greet.txt"]}]
    # What the turns come to is written beside the conversation; leaving does not wait for it.
    summaries = """
        MATCH (:Project {name: $name})-[:HAS_SESSION]->(s)-[:HAS_SUMMARY]->(m {level: 1})
        RETURN COLLECT { MATCH (m)-[:SUMMARIZES]->(t)<-[:HAS_TURN]-(s) RETURN t.turnIndex } AS turns
        ORDER BY turns[0]
    """
    summarised = [row["turns"] for row in graph_desk.rows(summaries)]
    assert summarised in ([], [[0]], [[1]], [[0], [1]])
