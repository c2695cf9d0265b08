"""What scripts rely on: prompts without -p, slash commands as prompts, messages that name flags."""

import re
from dataclasses import replace

import pytest

from ragforge.cli.edge import for_the_shell
from ragforge.session.model import GEMINI_DEFAULT
from tests.cli.running import Program
from tests.standins.gemini import GeminiStandIn, Text
from tests.standins.openai import OpenAIStandIn, Reply
from tests.standins.openai_replies import Call, Failure

AS_JSON = ("--output-format", "json")


async def test_a_prompt_needs_a_model_unless_the_store_is_asked_for(alone: Program) -> None:
    ran = await alone.run("-p", "where is the parser?", env={"RAGFORGE_MODEL": ""})
    assert (ran.code, ran.out) == (3, "")
    assert "--model local answers with search results" in ran.err
    as_json = await alone.run("-p", "/retry", *AS_JSON, env={"RAGFORGE_MODEL": ""})
    assert (as_json.code, as_json.json["status"]) == (3, "failed")
    assert (await alone.run("sessions")).out.count("parser") == 0
    assert (await alone.run("-p", "x", "--model", "local", env={"RAGFORGE_MODEL": ""})).code == 0


async def test_status_and_an_answer_without_a_model_name_no_slash_commands(alone: Program) -> None:
    status = (await alone.run("-p", "/status", env={"RAGFORGE_MODEL": ""})).out
    assert "--model PROVIDER:NAME chooses one" in status
    assert "ragforge config set web.search true turns on" in status
    answer = (await alone.run("-p", "the parser", "--model", "local")).out
    assert answer.endswith("To talk to a model, add --model PROVIDER:NAME.\n")
    assert not re.search(r"(?<![\w/])/(model|config|cost|context)\b", status + answer)


async def test_to_go_on_without_a_model_in_the_interface_holds_for_no_script(alone: Program) -> None:
    unset = {"RAGFORGE_MODEL": ""}
    chosen = await alone.run("-p", "/model local", env=unset)
    assert (chosen.code, "uses **local**" in chosen.out) == (0, True)
    ran = await alone.run("-p", "where is the parser?", env=unset)
    assert (ran.code, ran.out) == (3, "")
    assert "No model is chosen." in ran.err
    assert (await alone.run("-p", "x", "--model", "local", env=unset)).code == 0
    assert (await alone.run("-c", "-p", "x", "--model", "local", env=unset)).code == 0
    continued = await alone.run("-c", "-p", "x", env=unset)
    assert (continued.code, continued.out) == (3, "")
    assert "This session was continued without a model. Add --model PROVIDER:NAME" in continued.err


async def test_no_model_chosen_in_the_interface_leaves_a_script_the_one_of_its_key(
    program: Program, gemini: GeminiStandIn
) -> None:
    gemini.script(Text("Yes."))
    unset = {"RAGFORGE_MODEL": ""}
    assert (await program.run("-p", "/model local", env=unset)).code == 0
    ran = await program.run("-p", "is it?", *AS_JSON, env=unset)
    assert (ran.code, ran.json["text"], ran.json["model"]) == (0, "Yes.", GEMINI_DEFAULT)


async def test_keys_that_clash_are_set_by_no_command_of_a_script(alone: Program) -> None:
    swapped = '[keys]\ncycle_mode = "f3"\nexpand = "shift+tab"\n'
    alone.configure(swapped)
    for line in ("/config unset keys.cycle_mode", "/config keys.sessions f3"):
        ran = await alone.run("-p", line)
        assert (ran.code, "both use" in ran.err) == (2, True), ran
    assert (alone.tmp_path / "config" / "config.toml").read_text() == swapped
    alone.configure('[keys]\nexpand = "ctrl+"\ntodos = "control+x"\n')
    for action in ("expand", "todos"):
        assert (await alone.run("config", "unset", f"keys.{action}")).code == 0


def is_calendar(lines: list[str]) -> bool:
    """Whether its newest week is in sight at 40 columns."""
    return lines[0].startswith("Prompts a day since") and max(map(len, lines)) <= 32


async def test_a_slash_command_runs_or_is_refused_and_never_reaches_the_model(
    quick: Program, openai: OpenAIStandIn
) -> None:
    await quick.run("-p", "hello")
    asked = len(openai.chats)
    cost = await quick.run("-c", "-p", "/cost")
    assert (cost.code, cost.err) == (0, "")
    assert "This session: chat price unknown, memory price unknown\n" in cost.out
    as_json = (await quick.run("-c", "-p", " /cost", *AS_JSON)).json
    assert (as_json["schema_version"], as_json["status"], as_json["turn"]) == (1, "finished", None)
    assert "This project: chat" in as_json["text"]
    for part in ("session", "project"):  # unknown is never 0
        used = (await quick.run("cost", "--json")).json[part]
        assert {each["cost_usd"] for each in (used, *used["rows"])} == {None}
    assert (await quick.run("rate", "6")).code == 2
    for stars in ("1", "4"):
        assert (await quick.run("rate", stars)).code == 0
    stats = (await quick.run("stats", "--group", "model", "--json")).json
    assert [row["satisfaction"] for row in stats["rows"] if row["rated"]] == [0.75]
    assert sum(row["prompts"] for row in stats["rows"]) == 1
    assert all(row["cost_usd"] is None for row in stats["rows"])
    shown = await quick.run("-c", "-p", "/stats --since 1d")
    assert is_calendar(shown.out.partition("\n\n")[0].splitlines())
    assert "█" in shown.out
    assert "1 session · 1 prompt\n" in shown.out
    assert "satisfaction 0.75 (1 rated)" in shown.out
    assert "success 0.75, mean of the 1 newest task" in shown.out
    assert (await quick.run("stats", "--since", "never")).code == 2
    assert "Nothing to count" in (await quick.run("stats", "--since", "2999-01-01")).err
    assert "bob" in (await quick.run("stats", "--by", "bob")).err
    alike = await quick.run("similar", "\x1b]0;x\x07 MATCH (n) DETACH DELETE n")
    assert "No earlier task is similar" in alike.err
    assert (await quick.run("similar", " ")).code == 2
    [found] = (await quick.run("similar", "hello", "--json")).json["similar"]
    assert (found["kind"], found["outcome"], found["turn"]) == ("task", "kept", 1)
    assert found["resume"] == f"ragforge -r {found['session']} --at 1"
    for line, said in (
        ("/cots", "Unknown command /cots. Did you mean `ragforge cost`?"),
        ("/sessions", "type it there with a slash. In a shell, see `ragforge sessions --help`."),
        ("/exit", "needs the interface"),
        ("/model", "needs the interface"),
        ("/rename", "needs TITLE"),
    ):
        refused = await quick.run("-c", "-p", line)
        assert (refused.code, refused.out) == (2, ""), line
        assert said in refused.err, line
    assert len(openai.chats) == asked
    path = await quick.run("-p", "/etc/hosts is odd")
    assert path.code == 0
    assert len(openai.chats) == asked + 1


async def test_a_missing_key_is_pasted_in_the_interface_and_needs_no_flag(alone: Program) -> None:
    nothing = {"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "", "RAGFORGE_MODEL": "gemini:gemini-3.8-flash"}
    ran = await alone.run("-p", "Hi.", env=nothing)
    assert ran.code == 3
    assert "none is set" in ran.err
    assert "in the interface" in ran.err
    assert "--model PROVIDER" not in ran.err


async def test_a_screen_is_not_unknown_but_needs_the_interface(quick: Program) -> None:
    refused = await quick.run("-p", "/trust")
    assert (refused.code, refused.out) == (2, "")
    assert "needs the interface" in refused.err


def test_a_verb_behind_a_verb_is_named_with_it() -> None:
    assert for_the_shell("/program list lists them.") == "`ragforge program list` lists them."
    assert for_the_shell("Say it: /program new WORDS") == "Say it: `ragforge program new` WORDS"
    assert for_the_shell("/project:hello asks.") == "/project:hello asks."
    assert for_the_shell("Choose another with /model.") == "Choose another with --model PROVIDER:NAME."
    assert for_the_shell("Unknown command /x. Try /help.") == "Unknown command /x. Try `ragforge --help`."
    assert for_the_shell("It is in /log.txt and /model.") == "It is in /log.txt and --model PROVIDER:NAME."
    assert for_the_shell("/log lists the versions") == "`ragforge log` lists the versions"
    assert for_the_shell("/permissions lists them.") == "`ragforge -c -p /permissions` lists them."
    assert for_the_shell("/retry asks again") == "`ragforge -c -p /retry` asks again"


async def test_a_failure_names_what_can_be_typed_in_the_shell_and_that_works(
    quick: Program, openai: OpenAIStandIn
) -> None:
    openai.script(Failure(404, {"error": {"message": "no such model"}}), Reply(text=["Now it works."]))
    failed = await quick.run("-p", "count", *AS_JSON)
    assert failed.code == 3
    assert "/model" not in failed.err
    assert "/model" not in failed.json["error"]
    again = await quick.run("-c", "-p", "/retry")
    assert (again.code, again.out) == (0, "Now it works.\n")
    assert (await quick.run("sessions")).out.split("turn")[0].endswith("1 ")


@pytest.mark.parametrize(
    ("args", "sent"),
    [
        (("explain this",), "explain this"),
        (("explain", "this"), "explain this"),
        (("fix it", "--max-turns", "3"), "fix it"),
        (("--max-turns", "3", "fix it"), "fix it"),
        (("--", "search", "for", "it"), "search for it"),
        (("--", "--yolo is odd"), "--yolo is odd"),
        (("search party",), "search party"),
    ],
)
async def test_a_prompt_needs_no_flag(
    quick: Program, openai: OpenAIStandIn, args: tuple[str, ...], sent: str
) -> None:
    ran = await quick.run(*args)  # without a terminal it is as with -p
    assert (ran.code, ran.err) == (0, "")
    assert openai.chats[0]["messages"][-1]["content"].endswith(sent)


async def test_what_a_commands_text_says_is_no_wish_of_the_users(quick: Program) -> None:
    (folder := quick.tmp_path / "config" / "commands").mkdir(parents=True)
    (folder / "fix.md").write_text("Fix it. Never use npm in this project. $ARGUMENTS\n")
    for line in ("/init", "/fix and never touch vendor/"):
        ran = await quick.run("-p", line, env={"RAGFORGE_MEMORY_MODEL": "local"})
        assert ran.code == 0
    kept = [each["content"] for each in (await quick.run("memory", "list", "--json")).json]
    assert len(kept) == 1
    assert "never touch vendor/" in kept[0]


async def test_accents_survive_a_locale_that_knows_only_ascii(quick: Program, openai: OpenAIStandIn) -> None:
    ascii_only = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    program = replace(quick, env=quick.env | ascii_only, fresh=True)
    write = Call("write", '{"path": "é.txt", "content": "à"}')
    openai.script(Reply(calls=[write]), Reply(text=["Voilà ☃"]))
    ran = await program.run("--yolo", "-p", "un été")
    assert (ran.code, ran.out, ran.err) == (0, "Voilà ☃\n", "")
    assert openai.chats[0]["messages"][-1]["content"].endswith("un été")
    assert (program.project / "é.txt").read_text("utf-8") == "à"


async def test_a_subcommand_is_one_and_a_slip_is_no_prompt(quick: Program, openai: OpenAIStandIn) -> None:
    assert (await quick.run("search", "nothing")).code in (0, 1)
    slip = await quick.run("searchh", "parser")
    assert slip.code == 2
    assert "Did you mean `ragforge search`?" in slip.err
    assert "ragforge -- searchh" in slip.err
    for words, said in (
        ("cost of living", "Too many arguments: of living. To send this as a message, use: ragforge -- cost"),
        ("program branch mails", "'BRANCH'. To send this as a message, use: ragforge -- program"),
        ("undo the last thing", "not 'the'. To send this as a message, use: ragforge -- undo the last thing"),
        (
            "memory about 'dogs'",
            "No such command 'about'. To send this as a message, use: ragforge -- memory about",
        ),
    ):
        taken = await quick.run(*words.split())
        assert taken.code == 2
        assert said in " ".join(taken.err.replace("│", " ").split())
    few = await quick.run("cost", "x")
    assert "Too many arguments: x." in few.err
    assert "ragforge --" not in few.err, "a slip hardly was a message"
    commands, programs = (quick.project / ".ragforge" / name for name in ("commands", "programs"))
    for file in (commands / "git" / "publish.md", programs / "deploy.spu"):
        file.parent.mkdir(parents=True)
        file.write_text("Do it.\n")
    for word, said in (
        ("git-publish", "/git-publish is a"),
        ("deplo", "/deploy is a"),
        ("model", "/model is a slash command"),
        ("themes", "/theme is a"),
        ("clear", "/clear is a slash command"),
        ("cots", "`ragforge cost`"),
    ):
        alone = await quick.run(word)
        assert (alone.code, alone.out) == (2, "")
        assert said in alone.err
        assert f"ragforge -- {word}" in alone.err
        assert "-c -p" not in alone.err, "some need the interface"
    cost = await quick.run("cost")
    assert (cost.code, cost.err) == (0, "")
    assert "This project: nothing used yet." in cost.out
    clash = await quick.run("config", "set", "keys.submit", "tab")
    assert (clash.code, "both use tab" in clash.err) == (2, True)
    assert "keys.submit" not in (await quick.run("config")).out
    both = await quick.run("-p", "one", "two")
    assert both.code == 2
    assert "Give the prompt only once" in both.err
    assert openai.chats == []


@pytest.mark.parametrize("between", [["--output-format", "text"], ["--"], ["--no-memory", "--"]])
async def test_the_prompt_of_p_may_stand_at_the_end(
    quick: Program, openai: OpenAIStandIn, between: list[str]
) -> None:
    openai.script(Reply(text=["Here it is."]))
    ran = await quick.run("-p", *between, "look", "for", "the", "bug")
    assert (ran.code, ran.out, ran.err) == (0, "Here it is.\n", "")
    assert openai.chats[-1]["messages"][-1]["content"].endswith("look for the bug")


async def test_your_own_instructions_go_along_in_every_project(quick: Program, openai: OpenAIStandIn) -> None:
    home = quick.tmp_path / "dotfiles.md"
    home.write_text("Answer in verse.")
    (quick.tmp_path / "config" / "AGENTS.md").symlink_to(home)
    await quick.run("-p", "hello")
    assert "Answer in verse." in openai.chats[-1]["messages"][0]["content"]


async def test_a_key_is_not_unset_where_two_actions_would_share_one(quick: Program) -> None:
    for action, key in (("cycle_mode", "f3"), ("expand", "shift+tab")):
        assert (await quick.run("config", "set", f"keys.{action}", key)).code == 0
    clash = await quick.run("config", "unset", "keys.cycle_mode")
    assert clash.code == 2
    assert "keys.cycle_mode is not removed" in clash.err
    assert (await quick.run("config", "unset", "keys.expand")).code == 0
    assert (await quick.run("config", "unset", "keys.cycle_mode")).code == 0
    gone = await quick.run("config", "unset", "keys.cycle_mode")
    assert "`ragforge config` shows where a value comes from." in gone.err
