"""`ragforge undo`, `redo`, `log`, `diff`, `checkout` and `branch` as a user or a script runs them."""

import asyncio
import json
import re
from pathlib import Path

from tests.cli.running import Program, ended
from tests.standins.openai import Call, End, OpenAIStandIn, Reply

LOG_KEYS = [
    *("version", "parents", "at", "by", "person", "session", "turn", "label", "branches", "head", "files")
]
FILE_KEYS = ["path", "kind", "provenance"]


async def turn(
    quick: Program, openai: OpenAIStandIn, words: str, path: str, content: str, *more: str
) -> dict:
    """A turn in which the model writes a file by a command, which needs not have read it."""
    command = json.dumps({"command": f"printf '%b' {json.dumps(content)} > {path}"})
    openai.script(Reply(calls=[Call("shell", command)]), Reply(text=["Done."]))
    ran = await quick.run("--yolo", "-p", words, "--output-format", "json", *more)
    assert ran.code == 0, ran.err
    return ran.json


async def log(quick: Program) -> list[dict]:
    ran = await quick.run("log", "--json")
    assert (ran.code, ran.err) == (0, "")
    return ran.json


async def test_a_run_tells_which_version_it_made_and_which_files_it_changed(
    quick: Program, openai: OpenAIStandIn
):
    ran = await turn(quick, openai, "write one", "größe.txt", "one\\n")
    [newest] = await log(quick)
    assert (ran["version"], ran["files"]) == (newest["version"], newest["files"])
    assert ran["files"] == [{"path": "größe.txt", "kind": "added", "provenance": "during-shell"}]

    openai.script(Reply(text=["Nothing to do."]))
    streamed = await quick.run("-c", "-p", "anything else?", "--output-format", "stream-json")
    [ended_line] = [line for line in streamed.lines if line["type"] == "turn_ended"]
    empty, _ = await log(quick)
    assert (ended_line["version"], ended_line["files"]) == (empty["version"], [])
    assert streamed.lines[-1]["version"] == empty["version"]


async def test_back_and_forth(quick: Program, openai: OpenAIStandIn):
    file = quick.project / "a.txt"
    first = await turn(quick, openai, "write one", "a.txt", "one\\n")
    await turn(quick, openai, "write two", "a.txt", "two\\n", "-c")

    undone = await quick.run("undo")
    assert (undone.code, undone.err, file.read_text()) == (0, "", "one\n")
    assert "Undone turn 2" in undone.out
    assert "write two" in undone.out
    assert "Restored: a.txt." in undone.out
    rows = (await quick.run("sessions", "--json")).json
    assert [(row["turns"], row["last_message"]) for row in rows] == [(1, "write one")]

    redone = await quick.run("redo", "--json")
    assert (redone.code, file.read_text()) == (0, "two\n")
    told = (redone.json["action"], redone.json["restored"], redone.json["memories"])
    assert told == ("redo", ["a.txt"], {"inactive": [], "active": []})
    away = await quick.run("undo", "2")
    assert (away.code, file.exists()) == (0, False)
    assert "Removed: a.txt." in away.out
    assert "Restored" not in away.out
    nothing = await quick.run("undo")
    assert (nothing.code, nothing.out) == (2, "")
    assert "nothing to undo" in nothing.err
    back = await quick.run("redo", "2")
    assert (back.code, file.read_text()) == (0, "two\n")
    assert "Restored: a.txt." in back.out
    assert "Removed" not in back.out
    nothing = await quick.run("redo")
    assert (nothing.code, nothing.out) == (2, "")
    assert "nothing to redo" in nothing.err

    versions = await log(quick)
    assert [list(version) for version in versions] == [LOG_KEYS] * 2
    newest, oldest = versions
    assert newest["parents"] == [oldest["version"]]
    assert (newest["head"], oldest["head"], newest["label"], newest["branches"]) == (True, False, "", [])
    assert (oldest["session"], oldest["turn"]) == (first["session"], first["turn"])
    assert oldest["by"] == "stand-in:test-model"
    assert [list(file) for file in newest["files"]] == [FILE_KEYS]
    assert newest["files"] == [{"path": "a.txt", "kind": "changed", "provenance": "during-shell"}]


async def test_the_message_that_was_undone_waits_in_the_prompt(quick: Program, openai: OpenAIStandIn):
    session = (await turn(quick, openai, "write one", "a.txt", "one\\n"))["session"]
    assert (await quick.run("undo")).code == 0
    stored = b"".join(file.read_bytes() for file in quick.data.glob("local.db*"))
    assert b"write one" in stored
    assert session.encode() in stored


async def test_files_that_were_edited_since(quick: Program, openai: OpenAIStandIn):
    file = quick.project / "a.txt"
    await turn(quick, openai, "one", "a.txt", "1\\n2\\n3\\n4\\n5\\n")
    await turn(quick, openai, "two", "a.txt", "ONE\\n2\\n3\\n4\\n5\\n", "-c")
    file.write_text("ONE\n2\n3\n4\nmine\n")
    kept = await quick.run("undo")
    assert (kept.code, file.read_text()) == (1, "ONE\n2\n3\n4\nmine\n")
    assert "Kept as it is, because it has changed since then: a.txt." in kept.out
    assert "--on-conflict" in kept.err
    assert (await quick.run("redo", "--on-conflict", "keep")).code == 0
    merged = await quick.run("undo", "--on-conflict", "merge")
    assert (merged.code, file.read_text()) == (0, "1\n2\n3\n4\nmine\n")
    assert "Merged: a.txt." in merged.out
    wrong = await quick.run("undo", "--on-conflict", "guess")
    assert (wrong.code, wrong.out) == (2, "")


async def test_any_version_can_be_had_by_its_name(quick: Program, openai: OpenAIStandIn):
    file = quick.project / "a.txt"
    await turn(quick, openai, "one", "a.txt", "one\\n")
    assert (await quick.run("branch", "first")).code == 0
    await turn(quick, openai, "two", "a.txt", "two\\n", "-c")
    newest, oldest = await log(quick)
    assert (newest["branches"], oldest["branches"]) == (["first"], [])  # a new version moves its branch
    started = await quick.run("branch", "start", oldest["version"])
    assert (started.code, started.err) == (0, "")
    assert started.out.endswith("`ragforge checkout start` goes there.\n")

    there = await quick.run("checkout", "start")
    assert (there.code, file.read_text()) == (0, "one\n")
    assert "Restored: a.txt." in there.out
    listed = await quick.run("branch")
    assert (listed.code, len(listed.out.splitlines())) == (0, 2)
    assert "start (current)" in listed.out
    assert (await quick.run("checkout", newest["version"][-8:], "--files")).code == 0
    assert file.read_text() == "two\n"
    rows = (await quick.run("sessions", "--json")).json
    assert rows[0]["turns"] == 1

    differs = await quick.run("diff", "start", "first")
    assert "-one\n+two\n" in differs.out
    assert (await quick.run("diff", "first")).out == ""
    assert (await quick.run("branch", "-d", "start")).code == 0
    shown = await quick.run("log")
    assert (shown.code, "HEAD" in shown.out, "start" in shown.out) == (0, True, False)


async def test_names_that_are_none_and_names_that_are_too_short(quick: Program, openai: OpenAIStandIn):
    before = await asyncio.gather(
        *(
            quick.run(*args)
            for args in (("undo",), ("log",), ("branch",), ("branch", "x"), ("checkout", "HEAD"))
        )
    )
    assert [ran.code for ran in before] == [2, 0, 0, 2, 2]
    assert all(ran.out == "" for ran in before)
    assert all(ran.err for ran in before)
    await turn(quick, openai, "one", "a.txt", "one\\n")
    await turn(quick, openai, "two", "a.txt", "two\\n", "-c")
    newest, _ = await log(quick)
    wrong = {
        ("checkout", "nowhere"): "no version or branch 'nowhere'. `ragforge log` lists the versions, ",
        ("checkout", newest["version"][:4]): "Several versions match",
        ("checkout", "HEAD~7"): "only 1 versions come before",
        ("diff", "nowhere"): "no version or branch",
        ("branch", "a..b"): "is not a valid branch name",
        ("branch", "-d", "none"): "no branch 'none'. `ragforge branch` lists them.",
        ("undo", "0"): "'[N]': must be a whole number of at least 1, not '0'.",
        ("redo", "two"): "'[N|ID]': must be a whole number of at least 1 or at least 4 characters of an id",
        ("log", "10001"): "a whole number from 1 to 10,000, not",
        ("log", "--limit", "0"): "--limit N is now N; the old spelling works until the next release.",
        ("undo", "-r", "ffffffff"): "no session 'ffffffff'",
        ("undo", "--files", "--chat"): "only one of",
        ("undo", "3"): "Only 2 turns",
        ("redo", "ffff"): "nothing to redo",
        ("redo", "--turn", "ffff"): "--turn ID is now ID; the old spelling works until the next release.",
        ("redo", "--turn=ffff"): "nothing to redo",
        ("redo", "--turn"): "whole number of at least 1 or at least 4 characters of an id, not ''",
        ("undo", "--on-conflict", "guess"): "'guess' is not one of 'keep', 'restore', 'merge'.",
        ("undo", "--on-conflict"): "requires an argument",
        ("undo", "--hard"): "No such option: --hard",
        ("merge",): "Missing argument 'NAME|VERSION'.",
        ("merge", "x", "--ours", "--strategy", "none"): "--ours is now --on-conflict ours; the old",
    }
    for args, words in wrong.items():  # one after the other: two would find the session open elsewhere
        ran = await quick.run(*args)
        assert (ran.code, ran.out) == (2, ""), args
        assert words in " ".join(ran.err.replace("│", " ").split()), args
    assert (quick.project / "a.txt").read_text() == "two\n"


async def test_a_session_that_is_open_elsewhere_is_not_moved(quick: Program, openai: OpenAIStandIn):
    session = (await turn(quick, openai, "one", "a.txt", "one\\n"))["session"]
    openai.script(Reply(text=["It "], finish=None, done=False, end=End.HANG))
    asked = len(openai.chats)
    running = await quick.start("-p", "two", "-c")
    async with asyncio.timeout(180):
        while len(openai.chats) == asked:
            await asyncio.sleep(0.01)
    busy = await quick.run("undo")
    assert (busy.code, busy.out) == (4, "")
    said = " ".join(busy.err.split())
    assert re.search(
        r"is being written by process \d+ on \S+ since \d{4}-\d\d-\d\d \d\d:\d\d\. Close it", said
    )
    assert (quick.project / "a.txt").read_text() == "one\n"
    running.terminate()
    await ended(running)
    assert (await quick.run("undo", "2", "-r", session)).code == 0
    assert not (quick.project / "a.txt").exists()


async def test_a_home_folder_has_no_versions(quick: Program, openai: OpenAIStandIn):
    home = Path(quick.env["HOME"])
    home.mkdir(exist_ok=True)
    openai.script(Reply(text=["Hello."]))
    assert (await quick.run("-p", "hi", cwd=home)).code == 0
    refused = await quick.run("undo", cwd=home)
    assert (refused.code, refused.out) == (2, "")
    assert "never tracked" in " ".join(refused.err.split())
    assert "--chat" in refused.err
    undone = await quick.run("undo", "--chat", cwd=home)
    assert (undone.code, "Undone turn 1" in undone.out) == (0, True)


async def test_lines_of_work_are_merged(quick: Program, openai: OpenAIStandIn):
    await turn(quick, openai, "base", "a.txt", "1\\n2\\n3\\n")
    base = (await log(quick))[0]["version"]
    await turn(quick, openai, "left", "a.txt", "LEFT\\n2\\n3\\n", "-c")
    assert (await quick.run("branch", "left")).code == 0
    assert (await quick.run("checkout", base)).code == 0
    await turn(quick, openai, "right", "a.txt", "1\\n2\\nRIGHT\\n", "-c")
    merged = await quick.run("merge", "left")
    assert (merged.code, (quick.project / "a.txt").read_text()) == (0, "LEFT\n2\nRIGHT\n")
    assert "Merged: a.txt." in merged.out
    newest, *_ = await log(quick)
    assert (newest["by"], len(newest["parents"]), newest["head"]) == ("merge", 2, True)
    again = await quick.run("merge", "left")
    assert (again.code, "Nothing to merge" in again.err) == (2, True)
    assert (await quick.run("checkout", "left")).code == 0
    await turn(quick, openai, "clash", "a.txt", "left\\n2\\nCLASH\\n", "-c")
    marked = await quick.run("merge", newest["version"])
    assert (marked.code, "With conflict markers to resolve: a.txt." in marked.out) == (1, True)
    assert (await quick.run("merge", "nowhere")).code == 2


async def test_what_versions_take(quick: Program, openai: OpenAIStandIn):
    await turn(quick, openai, "one", "a.txt", "one\\n")
    size = (await quick.run("history", "size", "--json")).json
    assert {"contents", "bytes", "versions_bytes", "conversations_bytes", "free_bytes"} <= set(size)
    assert size["contents"] >= 1
    assert "contents take" in (await quick.run("history", "size")).out
    for args in (("gc", "--dry-run"), ("gc", "--yes")):
        ran = await quick.run("history", *args)
        assert (ran.code, ran.out) == (0, "There is nothing to remove.\n")
    assert (await quick.run("undo")).code == 0
    wrong = await quick.run("history", "gc", "--dry-run", "--gone", "bolt://nowhere")
    assert (wrong.code, "only one of" in wrong.err) == (2, True)


async def test_one_content_of_a_version_is_had_back(quick: Program, openai: OpenAIStandIn):
    await turn(quick, openai, "one", "größe.txt", "one\\n")
    await turn(quick, openai, "two", "größe.txt", "two\\n")
    listed = await quick.run("history", "show", "HEAD", "größe.txt")
    assert listed.code == 0, listed.err
    assert [row.split()[0] for row in listed.out.splitlines()] == ["1", "2"]
    shown = [(await quick.run("history", "show", "HEAD", "größe.txt", number)).out for number in "12"]
    assert shown == ["one\n", "two\n"]
    wrong = await quick.run("history", "show", "HEAD", "größe.txt", "3")
    assert (wrong.code, "no number 3" in wrong.err) == (2, True)
    wrong = await quick.run("history", "show", "HEAD", "other.txt")
    assert (wrong.code, "did not change" in wrong.err) == (2, True)


async def test_every_help_tells_the_options_and_exit_codes(quick: Program):
    commands = ("undo", "redo", "log", "diff", "checkout", "branch", "merge", "history gc", "history show")
    for name, ran in zip(
        commands,
        await asyncio.gather(*(quick.run(*name.split(), "--help") for name in commands)),
        strict=True,
    ):
        assert (ran.code, ran.err) == (0, "")
        words = " ".join(ran.out.split())
        assert "Exit codes: 0 done; 1 failed or stopped" in words
        assert ("--on-conflict" in words) == (name in ("undo", "redo", "checkout", "merge"))
