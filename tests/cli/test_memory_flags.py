"""What is put in front of a message, looked at and switched off, and runs that leave nothing behind."""

import signal
from pathlib import Path
from typing import Any

from tests.cli.running import Program
from tests.standins.openai import End, OpenAIStandIn, Reply

SECRET = "walnut-plan"


def holding(folder: Path, text: str) -> list[Path]:
    """The files below the folder that hold the text, compressed contents apart."""
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def chats(server: OpenAIStandIn) -> list[Any]:
    """The requests for an answer; those of the background carry a schema."""
    return [chat for chat in server.chats if "response_format" not in chat]


async def test_context_prints_what_the_next_call_would_carry_without_a_model(
    quick: Program, openai: OpenAIStandIn
) -> None:
    nothing = await quick.run("context", "Which database?")
    assert (nothing.code, nothing.err) == (0, "")
    assert "Nothing is recalled for this message." in nothing.out
    await quick.run("-p", "We use PostgreSQL for the database.")
    ran = await quick.run("-p", "Hello there.", "--output-format", "json")
    asked = len(chats(openai))

    newest = (await quick.run("context", "Which", "database?", "--json")).json
    assert newest["session"] == ran.json["session"]
    assert "## Recent Conversation (raw)\n\nYou: Hello there." in newest["raw"]["text"]
    assert newest["raw"]["turns"] == 1
    assert any("PostgreSQL" in item["text"] for item in newest["block"]["items"])
    parts = [newest[name]["tokens"] for name in ("system", "tools", "raw", "block", "prompt")]
    assert newest["tokens"] == sum(parts)
    assert newest["tools"]["count"] > 5

    shown = await quick.run("context", "Which database?", "-r", ran.json["session"])
    assert newest["block"]["text"] in shown.out
    quiet = await quick.run("--no-memory", "context", "Which database?", "--json")
    assert quiet.json["block"]["items"] == []
    assert len(chats(openai)) == asked
    for wrong in (("context", " "), ("context", "x", "-r"), ("context", "x", "-r", "none")):
        assert (await quick.run(*wrong)).code == 2


async def test_no_memory_recalls_nothing_and_is_said_in_no_request(
    quick: Program, openai: OpenAIStandIn
) -> None:
    await quick.run("-p", "We use PostgreSQL for the database.")
    as_json = ("--output-format", "json")
    with_it = await quick.run("-p", "Which database do we use?", *as_json)
    without = await quick.run("-p", "Which database do we use, again?", "--no-memory", *as_json)
    assert with_it.json["recalled"]["count"] > 0
    assert with_it.json["recalled"]["tokens"] > 0
    assert without.json["recalled"] == {"count": 0, "tokens": 0, "took_ms": 0.0, "limited": None}
    (chat,) = [chat for chat in chats(openai) if str(chat["messages"][-1]["content"]).endswith("again?")]
    assert "PostgreSQL" not in str(chat)


async def test_incognito_leaves_nothing_behind(quick: Program, openai: OpenAIStandIn, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {"TMPDIR": str(scratch)}
    await quick.run("-p", "An ordinary message.", env=env)
    openai.script(Reply(text=[f"The {SECRET} is noted."]))
    ran = await quick.run("--incognito", "-p", f"The {SECRET} is on.", "--output-format", "json", env=env)
    assert (ran.code, ran.json["text"]) == (0, f"The {SECRET} is noted.")
    assert list(scratch.iterdir()) == []
    assert holding(quick.data, "ordinary message")
    assert holding(tmp_path, SECRET) == []
    assert ran.json["session"] not in (await quick.run("sessions", "--json", env=env)).out
    assert "ordinary" not in str(chats(openai)[-1])


async def test_an_incognito_run_that_was_killed_is_removed_at_the_next_start_and_one_that_runs_is_not(
    quick: Program, openai: OpenAIStandIn, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {"TMPDIR": str(scratch)}
    hangs = Reply(text=["Half"], finish=None, done=False, end=End.HANG)
    openai.script(hangs, hangs)
    killed = await quick.start("--incognito", "-p", f"The {SECRET} is on.", env=env)
    await openai.wait_for(lambda server: len(chats(server)) == 1)
    (dead,) = scratch.iterdir()
    running = await quick.start("--incognito", "-p", "Another one.", env=env)
    await openai.wait_for(lambda server: len(chats(server)) == 2)
    assert holding(dead, SECRET)
    assert dead.stat().st_mode & 0o777 == 0o700
    killed.kill()
    await killed.communicate()
    openai.script(Reply(text=["Hello."]))
    await quick.run("-p", "An ordinary message.", env=env)
    (alive,) = scratch.iterdir()
    assert alive != dead
    running.send_signal(signal.SIGTERM)
    await running.communicate()
    assert list(scratch.iterdir()) == []
    assert holding(tmp_path, SECRET) == []


async def test_incognito_refuses_what_contradicts_it(alone: Program) -> None:
    refused = [
        await alone.run("--incognito", *args)
        for args in (("-p", "x", "-c"), ("-p", "x", "--store", "sqlite:///x.db"), ("search", "x"))
    ]
    assert [ran.code for ran in refused] == [2, 2, 2]
    assert all("--incognito" in ran.err for ran in refused)
    assert list(alone.project.iterdir()) == []
