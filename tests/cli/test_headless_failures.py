"""What goes wrong in a run ends with a sentence, its exit code, and nothing lost."""

import asyncio
import json
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ragforge.domain.secret_kinds import KINDS
from ragforge.domain.usage import TOKENS_TOLD_MAX
from tests.cli.running import Program, ended
from tests.planted import planted
from tests.standins.gemini import Calls, GeminiStandIn, Hang, Text
from tests.standins.gemini_replies import Call
from tests.standins.openai import End, Failure, OpenAIStandIn, Raw, Reply

NEWER = 1_000_000
KEY = planted(next(kind for kind in KINDS if "sk_live" in kind.pattern))[1]


async def test_a_wrong_key_and_an_unknown_model_say_which_and_what_to_do(program: Program):
    key, model = await asyncio.gather(
        program.run("-p", "x", env={"GEMINI_API_KEY": "a-wrong-key-indeed"}),
        program.run("-p", "x", "--model", "gemini:gemini-0-nil", "--output-format", "json"),
    )
    assert (key.code, key.out) == (3, "")
    assert "GEMINI_API_KEY" in key.err
    assert "a-wrong-key-indeed" not in key.err
    assert (model.code, model.json["status"]) == (3, "failed")
    assert "gemini-0-nil" in model.json["error"]
    assert model.json["error"] in model.err


async def test_a_key_that_a_service_quotes_in_its_error_is_not_printed(quick: Program, openai: OpenAIStandIn):
    body: dict[str, Any] = {"error": {"message": f"Incorrect API key: {KEY}", "type": "x", "code": None}}
    openai.script(Failure(401, body))
    ran = await quick.run("-p", "x", "--output-format", "json")
    assert ran.code == 3
    assert "Incorrect API key: [redacted]" in ran.json["error"]
    assert KEY not in ran.out + ran.err


@pytest.mark.parametrize("tokens", [10**23, 1e300, -5, "many"])
async def test_a_number_of_tokens_that_makes_no_sense_costs_no_answer(
    quick: Program, openai: OpenAIStandIn, tokens: Any
):
    openai.script(Reply(text=["Here it is."], usage={"prompt_tokens": tokens, "completion_tokens": tokens}))
    ran = await quick.run("-p", "x", "--output-format", "json")
    assert (ran.code, ran.json["text"], ran.err) == (0, "Here it is.", "")
    assert 0 <= ran.json["usage"]["input_tokens"] <= TOKENS_TOLD_MAX


async def test_no_key_and_no_network_are_failures_of_the_model(quick: Program, alone: Program):
    quick.configure('retry.attempts_max = 1\n[endpoints.away]\nbase_url = "http://127.0.0.1:9/v1"\n')
    away, no_key = await asyncio.gather(
        quick.run("-p", "x", "--model", "away:m"),
        quick.run("-p", "x", "--model", "gemini:gemini-3.8-flash"),
    )
    assert (away.code, away.out) == (3, "")
    assert "127.0.0.1:9" in away.err
    assert (no_key.code, no_key.out) == (3, "")
    assert "GEMINI_API_KEY" in no_key.err


async def test_answers_that_are_none_have_code_3_and_keep_what_arrived(quick: Program, openai: OpenAIStandIn):
    replies = {
        "blocked": Reply(finish="content_filter"),
        "empty": Reply(),
        "malformed": Raw([b"data: this is not JSON\n\n"]),
        "cut": Reply(text=["Half of "], finish=None, done=False, end=End.CUT),
        "too long": Reply(text=["Half of it"], finish="length"),
    }
    with (quick.tmp_path / "config" / "config.toml").open("a") as file:
        file.write("[retry]\nattempts_max = 1\n")
    sessions: dict[str, str] = {}
    for word, reply in replies.items():
        openai.script(reply)
        ran = await quick.run("-p", word, "--output-format", "json")
        assert (ran.code, ran.json["status"]) == (3, "failed"), word
        assert ran.json["error"], word
        assert ran.json["error"] in ran.err, word
        assert ran.json["text"] == "".join(getattr(reply, "text", "")), word
        sessions[word] = ran.json["session"]
    assert len(openai.chats) == len(replies)
    kept = await quick.run("search", "Half", "--kind", "turn", "--json")
    # What is found by meaning alone comes too, and says so.
    by_words = [hit["session"] for hit in kept.json["hits"] if "words" in sources(hit)]
    assert sorted(by_words) == sorted([sessions["cut"], sessions["too long"]])


def sources(hit: dict[str, Any]) -> set[str]:
    """By what it was found."""
    return {why["source"] for why in hit["why"]}


async def test_two_first_runs_in_a_new_folder_are_of_one_project(quick: Program):
    await asyncio.gather(quick.run("-p", "marmalade one"), quick.run("-p", "marmalade two"))
    assert len((await quick.run("sessions", "--json")).json) == 2


async def test_sigint_in_the_middle_keeps_what_had_arrived(program: Program, gemini: GeminiStandIn):
    gemini.script((Text("The beginning"), Hang()))
    process = await program.start("-p", "tell", "--output-format", "stream-json")
    assert process.stdout
    lines: list[str] = []
    while not any("The beginning" in line for line in lines):
        async with asyncio.timeout(180):
            lines.append((await process.stdout.readline()).decode())
    process.send_signal(signal.SIGINT)
    ran = await ended(process)
    assert ran.code == 130
    result = ran.lines[-1]
    assert (result["type"], result["status"], result["text"]) == ("result", "interrupted", "The beginning")
    [request] = gemini.asked("streamGenerateContent")
    async with asyncio.timeout(180):
        await request.hung_up.wait()
    found = await program.run("search", "beginning", "--kind", "turn", "--json")
    assert [hit["session"] for hit in found.json["hits"]] == [result["session"]]


async def test_sigint_while_waiting_for_input_ends_at_once(alone: Program):
    process = await alone.start("-p", "x", "--output-format", "json", stdin=asyncio.subprocess.PIPE)
    # It has no sign of its own; the data folder is not made before the input was read.
    async with asyncio.timeout(180):
        while not _reads_input(process.pid):
            await asyncio.sleep(0.02)
    process.send_signal(signal.SIGINT)
    ran = await ended(process)
    assert (ran.code, ran.json["status"]) == (130, "interrupted")


def _reads_input(pid: int) -> bool:
    # Reading from its pipe: only then is nothing else of the start under way.
    if not Path("/proc/self/wchan").exists():
        pytest.skip("needs Linux's /proc to see what a process waits for")
    return b"pipe" in Path(f"/proc/{pid}/wchan").read_bytes()


async def test_a_command_that_runs_is_ended_with_the_run(program: Program, gemini: GeminiStandIn):
    gemini.script(Calls(Call("shell", {"command": "echo $$ > pid; sleep 1000"})))
    process = await program.start("-p", "wait", "--yolo")
    file = program.project / "pid"
    async with asyncio.timeout(180):
        while not (file.exists() and file.read_text().strip()):
            await asyncio.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    ran = await ended(process)
    assert ran.code == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text()), 0)


async def test_a_damaged_and_a_newer_database_are_refused_untouched(quick: Program):
    await quick.run("-p", "words to keep")
    database = quick.data / "ragforge.db"
    with sqlite3.connect(database) as connection:
        [[version]] = connection.execute("PRAGMA user_version")
        connection.execute(f"PRAGMA user_version = {NEWER}")
    before = database.read_bytes()
    for ran in await asyncio.gather(
        quick.run("-p", "x"), quick.run("search", "words"), quick.run("sessions")
    ):
        assert (ran.code, ran.out) == (4, "")
        assert "newer" in ran.err
        assert str(database) in ran.err
    assert database.read_bytes() == before

    with sqlite3.connect(database) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    assert "words" in (await quick.run("search", "words")).out

    for leftover in quick.data.glob("ragforge.db-*"):
        leftover.unlink()
    database.write_bytes(b"not a database, " * 1000)
    runs = await asyncio.gather(quick.run("-p", "x", "--output-format", "json"), quick.run("search", "words"))
    for ran in runs:
        assert ran.code == 4
        assert str(database) in ran.err
    assert runs[0].json["error"] in runs[0].err
    assert database.read_bytes() == b"not a database, " * 1000


@pytest.mark.parametrize("folder", ["file", "proc"])
async def test_a_data_folder_that_cannot_be_made_is_a_failure_of_the_store(alone: Program, folder: str):
    # Root may write everywhere, but not below a file and not in /proc.
    (alone.tmp_path / "file").write_text("")
    data = {"file": alone.tmp_path / "file" / "data", "proc": Path("/proc/ragforge")}[folder]
    runs = await asyncio.gather(
        *(alone.run(*args, env={"RAGFORGE_DATA_DIR": str(data)}) for args in (("-p", "x"), ("search", "x")))
    )
    for ran in runs:
        assert (ran.code, ran.out) == (4, "")
        assert str(data) in ran.err
        assert "RAGFORGE_DATA_DIR" in ran.err


async def test_a_full_disk_is_told_and_what_was_stored_stays(quick: Program, openai: OpenAIStandIn):
    await quick.run("-p", "kept words")
    # A file may not grow past this: the nearest to a full disk that needs no rights. Python ignores
    # SIGXFSZ, so that writing fails as it does there.
    limited = Program(quick.tmp_path, quick.model, wrapper=("prlimit", "--fsize=200000"))
    openai.script(Reply(text=["long " * 100_000]))
    ran = await limited.run("-p", "say much", "--output-format", "json")
    assert ran.code == 4
    assert ran.json["error"] in ran.err
    found = await quick.run("search", "kept", "--kind", "turn", "--json")
    assert found.code == 0
    by_words = [hit["text"] for hit in found.json["hits"] if "words" in sources(hit)]
    assert by_words == ["kept words"]


async def test_output_that_cannot_be_written_is_told_and_a_closed_pipe_is_not(quick: Program):
    await quick.run("-p", "some words")
    with Path("/dev/full").open("wb") as full:
        process = await quick.start("search", "words", stdout=full)
        ran = await ended(process)
    assert (ran.code, "The output is incomplete: No space left" in ran.err) == (1, True)
    reading, writing = os.pipe()
    os.close(reading)
    process = await quick.start("search", "words", stdout=writing)
    os.close(writing)
    ran = await ended(process)
    assert (ran.code, ran.err) == (1, "")


async def test_a_session_that_another_process_writes_is_refused(quick: Program, openai: OpenAIStandIn):
    openai.script(Reply(text=["Working"], finish=None, done=False, end=End.HANG))
    process = await quick.start("-p", "work", "--output-format", "stream-json")
    assert process.stdout
    async with asyncio.timeout(180):
        started = json.loads(await process.stdout.readline())
        await openai.wait_for(lambda server: server.chats)
    session = started["session"]
    busy, forked, deleted = await asyncio.gather(
        quick.run("-p", "me too", "-r", session),
        quick.run("-p", "then so", "-r", session, "--fork"),
        quick.run("sessions", "delete", session, "--yes"),
    )
    assert (busy.code, busy.out) == (4, "")
    assert str(process.pid) in busy.err
    assert forked.code == 0
    assert deleted.code == 4
    process.send_signal(signal.SIGTERM)
    ran = await ended(process)
    assert ran.lines[-1]["status"] == "interrupted"


async def test_a_killed_turn_is_interrupted_at_the_next_start(quick: Program, openai: OpenAIStandIn):
    openai.script(
        Reply(text=["Nobody keeps this"], finish=None, done=False, end=End.HANG), Reply(text=["Fine."])
    )
    process = await quick.start("-p", "remember the marmalade")
    await openai.wait_for(lambda server: server.chats)
    process.kill()
    await process.wait()
    ran = await quick.run("-p", "go on", "-c", "--output-format", "json")
    assert (ran.code, ran.json["text"]) == (0, "Fine."), ran.err
    assert "marmalade" in (await quick.run("search", "marmalade")).out


async def test_a_folder_that_is_gone_and_settings_that_are_wrong_are_named(alone: Program):
    alone.configure("mouse = 7\n")
    wrong = await alone.run("-p", "x")
    assert wrong.code == 2
    assert all(part in wrong.err for part in ("config.toml", "mouse", "7", "true or false"))
    alone.configure("mouse = [\n")
    broken = await alone.run("search", "x")
    assert (broken.code, "config.toml" in broken.err) == (2, True)
    shell = "mkdir gone && cd gone && rmdir ../gone && exec " + '"$@"'
    gone = Program(alone.tmp_path, wrapper=("sh", "-c", shell, "sh"))
    ran = await gone.run("-p", "x")
    assert (ran.code, "folder no longer exists" in ran.err) == (2, True)


async def test_a_stores_password_is_in_no_message(alone: Program) -> None:
    for scheme in ("neo4j", "sqlite"):
        ran = await alone.run("-p", "hi", env={"RAGFORGE_STORE": f"{scheme}://me:hunter2two@host/db"})
        assert ran.code in (2, 4)
        assert "host" in ran.err
        assert "hunter2two" not in ran.out + ran.err
