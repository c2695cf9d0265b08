"""`ragforge alternatives` as a user or a script runs it."""

import json
import signal
from typing import Any

from tests.cli.running import Program, ended
from tests.flow.moving import tree
from tests.processes import until
from tests.standins import gemini_replies
from tests.standins.gemini import GeminiStandIn, Recorded
from tests.standins.openai import Call, OpenAIStandIn, Reply

KEYS = [
    "number",
    "name",
    "version",
    "turn",
    "by",
    "ended",
    "check",
    "files",
    "lines_added",
    "lines_removed",
    "tokens",
    "cost_usd",
    "duration_ms",
    "taken",
]


def answer(request: Recorded) -> gemini_replies.Reply:
    if "functionResponse" in str(request.body):
        return gemini_replies.Text("Done.")
    return gemini_replies.Calls(gemini_replies.Call("write", {"path": "a.txt", "content": "one\n"}))


async def test_worked_out_listed_and_taken(program: Program, gemini: GeminiStandIn) -> None:
    (program.project / "old.txt").write_text("old")
    before = tree(program.project)
    gemini.script(*[answer] * 4)
    ran = await program.run("alternatives", "2", "write it", "--json")
    assert ran.code == 0, ran.err
    assert "1 (readable): write a.txt" in ran.err
    assert [list(row) for row in ran.json["alternatives"]] == [KEYS] * 2
    assert [row["files"] for row in ran.json["alternatives"]] == [
        [{"path": "a.txt", "kind": "added", "provenance": "tool"}]
    ] * 2
    assert {row["ended"] for row in ran.json["alternatives"]} == {"finished"}
    assert tree(program.project) == before

    listed = await program.run("alternatives")
    assert listed.code == 0
    assert "`ragforge alternatives take K` moves" in listed.err
    assert [line.split()[:2] for line in listed.out.splitlines()] == [
        ["#", "way"],
        ["1", "readable"],
        ["2", "fast"],
    ]
    taken = await program.run("alternatives", "take", "2")
    assert (taken.code, taken.err) == (0, "")
    assert "Taken" in taken.out
    assert (program.project / "a.txt").read_text() == "one\n"
    rows: list[Any] = (await program.run("alternatives", "--json")).json["alternatives"]
    assert [row["taken"] for row in rows] == [False, True]
    log = (await program.run("log", "--json")).json
    assert [version["label"] for version in log if version["head"]] == ["alternative 2 (fast)"]
    assert len(log) == 3


async def test_interrupted_it_keeps_what_was_done_and_leaves_no_copy(
    quick: Program, openai: OpenAIStandIn
) -> None:
    slow = Reply(calls=[Call("shell", json.dumps({"command": "touch made; sleep 1000"}))])
    openai.script(slow, slow)
    process = await quick.start("--yolo", "alternatives", "2", "wait")
    copies = quick.data / "copies"
    await until(lambda: len(list(copies.rglob("made"))) == 2, timeout_s=60)
    process.send_signal(signal.SIGTERM)
    ran = await ended(process)
    assert ran.code == 130, ran.err
    assert not list(copies.iterdir())
    assert "stopped" in ran.out
    rows: list[Any] = (await quick.run("alternatives", "--json")).json["alternatives"]
    assert [[file["path"] for file in row["files"]] for row in rows] == [["made"], ["made"]]
    assert tree(quick.project) == {}


async def test_what_makes_no_sense_is_said(quick: Program) -> None:
    for args, words in (
        (("2",), "Add a prompt"),
        (("99", "x"), "at once"),
        (("take", "1"), "No session was started"),
        (("--take", "1"), "--take K is now take K; the old spelling works until the next release."),
        (("take",), "Missing argument 'K'"),
        (("take", "0"), "whole number of at least 1"),
        (("take", "1", "2"), "Too many arguments: 2."),
        (("2", "x", "--take", "1"), "Too many arguments"),
    ):
        ran = await quick.run("alternatives", *args)
        assert (ran.code, ran.out) == (2, ""), ran.err
        assert words in ran.err
