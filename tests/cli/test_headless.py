"""`ragforge -p`: what goes where, with which exit code."""

import asyncio
import gzip
import subprocess
from pathlib import Path

import pytest

from ragforge.providers.local import FIRST_LINE
from tests.cli.running import Program
from tests.standins.gemini import Calls, Finish, GeminiStandIn, Text, Tokens
from tests.standins.gemini_replies import Call as GeminiCall
from tests.standins.openai import Call, OpenAIStandIn, Reply

JSON_KEYS = [
    *("schema_version", "session", "turn", "status", "text", "model", "usage", "cost_usd", "memory_cost_usd"),
    *("tools", "sources", "warnings", "recalled", "version", "files", "error"),
]


def tool(name: str, arguments: str) -> Reply:
    return Reply(calls=[Call(name, arguments)])


async def test_text_goes_out_alone_and_json_has_exactly_its_keys(program: Program, gemini: GeminiStandIn):
    look = (Text("Let me look."), Calls(GeminiCall("read", {"path": "a.txt"})))
    said = (Text("It says ", "ü."), Finish(usage=Tokens(prompt=100, cached=40, candidates=7, thoughts=2)))
    (program.project / "a.txt").write_text("ü\n")
    gemini.script(look, said, (Calls(GeminiCall("read", {"path": "a.txt"})), Finish(usage=None)), said)

    text = await program.run("-p", "What does a.txt say?")
    assert (text.code, text.out, text.err) == (0, "It says ü.\n", "")

    ran = await program.run("-p", "And now?", "--output-format", "json", "-c")
    assert (ran.code, ran.err) == (0, "")
    assert list(ran.json) == JSON_KEYS
    assert (ran.json["status"], ran.json["text"], ran.json["error"]) == ("finished", "It says ü.", None)
    assert ran.json["model"] == "gemini:gemini-3.8-flash"
    usage = ran.json["usage"]
    assert list(usage) == ["input_tokens", "cached_tokens", "output_tokens", "thought_tokens"]
    assert usage["cached_tokens"] == 40
    assert usage["thought_tokens"] == 2
    assert ran.json["cost_usd"] > 0
    # Of the summary of the turn before; this one's is made once the answer is out.
    assert ran.json["memory_cost_usd"] > 0
    [read] = ran.json["tools"]
    assert list(read) == ["name", "args", "ok", "duration_ms"]
    assert (read["name"], read["args"], read["ok"]) == ("read", {"path": "a.txt"}, True)
    # Continued: the model was given what was said before.
    (chat,) = [request for request in gemini.requests if request.last_text.endswith("And now?")]
    assert "What does a.txt say?" in str(chat.body)


async def test_stream_json_is_one_event_a_line_and_ends_with_the_result(
    quick: Program, openai: OpenAIStandIn
):
    openai.script(tool("list", '{"path": "."}'), Reply(text=["One ", "two"]))
    ran = await quick.run("-p", "count", "--output-format", "stream-json")
    assert (ran.code, ran.err) == (0, "")
    types = [line["type"] for line in ran.lines]
    assert types[:2] == ["run_started", "turn_started"]
    assert ran.lines[0]["schema_version"] == 1
    assert types[-2:] == ["turn_ended", "result"]
    assert {"step_started", "text_delta", "tool_started", "tool_ended", "usage_updated"} <= set(types)
    assert "".join(line["text"] for line in ran.lines if line["type"] == "text_delta") == "One two"
    assert list(ran.lines[-1]) == ["type", *JSON_KEYS]


async def test_what_is_piped_in_follows_the_prompt_or_is_the_message(quick: Program, openai: OpenAIStandIn):
    (quick.project / "a.png").write_bytes(b"GIF89a\1\0\1\0")
    both = await quick.run("-p", "Sum up @a.png:", stdin="Grüße\n@b.png".encode())
    piped = await quick.run(stdin=b"only this")
    assert both.code == piped.code == 0
    first, second = (chat["messages"][-1]["content"] for chat in openai.chats)
    assert "Sum up @a.png:\n\n```\nGrüße\n@b.png\n```" in str(first).replace("\\n", "\n")
    assert str(first).count("image_url': {") == 1, "the prompt's image goes along"
    assert "only this" in str(second)


async def test_what_is_piped_in_beside_a_prompt_is_nobodys_wish(quick: Program, openai: OpenAIStandIn):
    """Not a word of a log or a diff is kept as the user's, nor does it end a block of code in it."""
    log = b"shell-hooks: line 24: we cannot open ```shared``` objects\nwe always use tabs here, never spaces"
    ran = await quick.run("-p", "what does this say", stdin=log)
    assert ran.code == 0, ran.err
    assert (await quick.run("memory", "list", "--json")).out.strip() in ("", "[]"), "nothing is kept of it"
    assert "````\nshell-hooks" in str(openai.chats[0]["messages"][-1]["content"]).replace("\\n", "\n")


@pytest.mark.parametrize(
    "args", [("-p",), ("-p", "--no-memory"), ("--prompt", "-"), ("-p", "--output-format=json")]
)
async def test_a_prompt_flag_without_a_prompt_sends_what_is_piped_in(
    quick: Program, openai: OpenAIStandIn, args: tuple[str, ...]
):
    ran = await quick.run(*args, stdin=b"only this")
    assert ran.code == 0, ran.err
    assert openai.chats[0]["messages"][-1]["content"].endswith("only this")


async def test_a_prompt_may_begin_with_a_dash_and_nothing_piped_in_is_said(
    quick: Program, openai: OpenAIStandIn
):
    assert (await quick.run("-p", "- one thing")).code == 0
    assert openai.chats[0]["messages"][-1]["content"].endswith("- one thing")
    empty = await quick.run("-p", stdin=b"")
    assert (empty.code, len(openai.chats)) == (2, 1)
    assert "Nothing to send" in empty.err


async def test_input_that_is_not_utf_8_is_refused_with_a_way_out(quick: Program, openai: OpenAIStandIn):
    piped = await quick.run("-p", "Read:", stdin=b"gr\xfc\xdfe")
    assert (piped.code, piped.out) == (2, "")
    assert "not UTF-8" in piped.err
    assert "iconv" in piped.err
    typed = await quick.run("-p", b"gr\xfc\xdfe")
    assert (typed.code, typed.out) == (2, "")
    assert "not UTF-8" in typed.err
    nothing = await quick.run("-p", "  ")
    assert (nothing.code, nothing.out) == (2, "")
    assert "Nothing to send" in nothing.err
    assert openai.chats == []


async def test_without_consent_a_write_is_refused_and_the_model_hears_it(
    quick: Program, openai: OpenAIStandIn
):
    write = tool("write", '{"path": "new.txt", "content": "hi"}')
    openai.script(write, Reply(text=["I may not."]))
    ran = await quick.run("-p", "write it", "--output-format", "json")
    assert ran.code == 0
    assert not (quick.project / "new.txt").exists()
    assert [call["ok"] for call in ran.json["tools"]] == [False]
    assert "--allow" in ran.err
    assert "This run cannot ask for approval" in str(openai.chats[-1]["messages"][-1])


async def test_allow_and_yolo_are_consent_for_what_they_say(quick: Program, openai: OpenAIStandIn):
    commands = [f'{{"command": "touch {name}"}}' for name in ("allowed", "other", "yolo")]
    for command in commands:
        openai.script(tool("shell", command), Reply(text=["Done."]))
    await quick.run("-p", "go", "--allow", "shell(touch allowed)")
    await quick.run("-p", "go", "--allow", "shell(touch allowed)")
    await quick.run("-p", "go", "--yolo")
    assert {path.name for path in quick.project.iterdir()} == {"allowed", "yolo"}
    wrong = await quick.run("-p", "go", "--allow", "shell(")
    assert wrong.code == 2
    assert "shell(git status)" in wrong.err
    # Neither stays behind: the next run asks again.
    openai.script(tool("shell", '{"command": "touch later"}'), Reply(text=["Done."]))
    await quick.run("-p", "go", "-c")
    assert not (quick.project / "later").exists()


async def test_max_turns_and_max_price_stop_with_one(quick: Program, openai: OpenAIStandIn):
    openai.script(*(tool("list", '{"path": "."}') for _ in range(2)))
    stopped = await quick.run("-p", "go on and on", "--max-turns", "2", "--output-format", "json")
    assert (stopped.code, stopped.json["status"], len(openai.chats)) == (1, "stopped", 2)
    assert stopped.json["error"]
    assert stopped.err
    wrong = await quick.run("-p", "x", "--max-price", "-1")
    assert wrong.code == 2
    zero = await quick.run("-p", "x", "--max-price", "0")
    assert zero.code == 2
    assert "price_usd_max" in zero.err


async def test_a_price_cap_stops_a_turn_that_became_dear(program: Program, gemini: GeminiStandIn):
    dear = Finish(usage=Tokens(prompt=900_000, candidates=60_000))
    gemini.script((Calls(GeminiCall("list", {"path": "."})), dear), (Text("more"), dear))
    ran = await program.run("-p", "go", "--max-price", "0.01", "--output-format", "json")
    assert (ran.code, ran.json["status"]) == (1, "stopped")
    assert len(gemini.asked("streamGenerateContent")) == 1
    assert ran.json["cost_usd"] > 0.01


async def test_sessions_are_resumed_by_id_or_a_unique_part(quick: Program, openai: OpenAIStandIn):
    first = (await quick.run("-p", "the first", "--output-format", "json")).json["session"]
    second = (await quick.run("-p", "the second", "--output-format", "json")).json["session"]
    assert first != second

    by_id, by_part = await asyncio.gather(
        quick.run("-p", "again", "-r", first, "--output-format", "json"),
        quick.run("-p", "again", "-r", second[-8:], "--output-format", "json"),
    )
    assert (by_id.json["session"], by_part.json["session"]) == (first, second)

    several, unknown, bare = await asyncio.gather(
        quick.run("-p", "x", "-r", first[:6]),
        quick.run("-p", "x", "-r", "ffffffff"),
        quick.run("-p", "x", "-r"),
    )
    assert [several.code, unknown.code, bare.code] == [2, 2, 2]
    assert first in several.err
    assert second in several.err
    assert "ragforge sessions" in unknown.err
    assert "needs an ID" in bare.err


async def test_a_fork_goes_on_from_its_turn_and_leaves_the_other_as_it_was(
    quick: Program, openai: OpenAIStandIn
):
    session = (await quick.run("-p", "turn one", "--output-format", "json")).json["session"]
    await quick.run("-p", "turn two", "-c")
    flags = ("--at", "1", "--fork", "--no-memory", "--output-format", "json")
    fork = await quick.run("-p", "other", "-r", session, *flags)
    assert fork.code == 0
    assert fork.json["session"] != session
    (sent,) = [chat["messages"] for chat in openai.chats if chat["messages"][-1]["content"] == "other"]
    assert "turn one" in str(sent)
    assert "turn two" not in str(sent)
    wrong = await quick.run("-p", "x", "-r", session, "--at", "7", "--fork")
    assert (wrong.code, "2 turns" in wrong.err) == (2, True)
    alone = await quick.run("-p", "x", "-r", session, "--at", "1")
    assert (alone.code, "--fork" in alone.err) == (2, True)
    listed = {row["id"]: row["turns"] for row in (await quick.run("sessions", "--json")).json}
    assert listed == {session: 2, fork.json["session"]: 2}


async def test_flags_that_contradict_each_other_are_named(alone: Program):
    cases = (
        (("-c", "-r", "abcd"), "only one"),
        (("--new", "-c"), "--new"),
        (("--at", "2"), "-r ID"),
        (("-c",), "No session"),
        (("--model", "nope"), "provider:name"),
        (("--model", "nope:x"), "Unknown provider"),
        (("--store", "what://x"), "sqlite://"),
        (("--no-such-flag",), "No such option"),
        (("--output-format", "xml"), "stream-json"),
    )
    runs = await asyncio.gather(*(alone.run("-p", "x", *args) for args, _ in cases))
    for (args, words), ran in zip(cases, runs, strict=True):
        assert (ran.code, ran.out) == (2, ""), args
        assert words in " ".join(ran.err.split()), (args, ran.err)


async def test_without_a_model_the_store_answers_and_says_so(alone: Program, tmp_path: Path):
    ran = await alone.run("-p", "where is the parser?")
    assert (ran.code, ran.out.splitlines()[0]) == (0, FIRST_LINE)
    found = await alone.run("-p", "parser", "--model", "local", "--output-format", "json")
    assert found.json["model"] == "local"
    assert found.json["cost_usd"] == 0
    assert "where is the parser?" in found.json["text"]


async def test_the_context_block_is_stored_nowhere_with_a_model_or_without(
    quick: Program, openai: OpenAIStandIn
):
    as_json = ("--output-format", "json")
    await quick.run("-p", "the parser fails on tabs")
    with_it = await quick.run("-p", "why does the parser fail?", *as_json)
    assert with_it.json["recalled"]["count"] > 0
    assert "</recalled-context>" in openai.chats[-1]["messages"][-1]["content"]
    without = await quick.run("-p", "how did the parser fail?", "--model", "local", *as_json)
    # There is nobody to put a block in front of, and what it would hold is found all the same.
    assert without.json["recalled"]["count"] == 0
    assert "the parser fails on tabs" in without.json["text"]
    assert (await quick.run("db", "backup", "all.gz")).code == 0
    stored = gzip.decompress((quick.project / "all.gz").read_bytes()).decode()
    assert "the parser fails on tabs" in stored
    assert "recalled-context" not in stored


async def test_the_folders_of_a_project_share_its_search_and_not_their_newest_session(quick: Program):
    subprocess.run(["git", "init", "-q", quick.project], check=True)
    below = quick.project / "below"
    below.mkdir()
    await quick.run("-p", "quicksort above")
    hit = await quick.run("search", "quicksort", cwd=below)
    assert "*quicksort* above" in hit.out
    other = await quick.run("-p", "x", "-c", cwd=below)
    assert other.code == 2
