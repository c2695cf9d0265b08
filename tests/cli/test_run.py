"""`ragforge run`: programs as whole runs against the stand-in."""

import asyncio
import re
import subprocess
from pathlib import Path
from typing import Any

from tests.cli.running import PIPE, Program, ended
from tests.standins.gemini import GeminiStandIn, Text

TALK = """\
.program talk
.description Answer twice.
.input $NAME who speaks
start:
    LLM_EXEC $FIRST, 'helper', {prompt: $NAME}
    DISPLAY $FIRST
    WAIT_INPUT $WORDS
    LLM_EXEC $SECOND, 'helper', {prompt: $WORDS, before: $FIRST}
    DISPLAY $SECOND
"""


OWN_PROMPT = "The section `prompt` says what to do."


def change(folder: Path) -> None:
    """A repository with one commit and a change that is not committed."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run((*git, *command), cwd=folder, check=True)
    (folder / "pool.py").write_text("workers = 8\n")


async def test_shipped_programs_read_the_diff(program: Program, gemini: GeminiStandIn) -> None:
    change(program.project)
    gemini.script((Text("Add a pool of workers"),))
    commit = await program.run("run", "commit")
    assert (commit.code, commit.out) == (0, "Add a pool of workers\n")
    assert "writer (gemini:gemini-3.8-flash): " in commit.err
    assert "+workers = 8" in gemini.requests[-1].last_text
    assert "message of a git commit" in str(gemini.requests[-1].body)
    assert OWN_PROMPT not in str(gemini.requests[-1].body)

    gemini.script((Text("No limit."),), (Text("No limit, too."),), (Text("pool.py:1: no limit."),))
    review = await program.run("run", "review", "--json")
    assert review.code == 0, review.err
    assert review.json["displayed"] == ["pool.py:1: no limit."]
    assert [call["role"] for call in review.json["calls"]][-1] == "reviewer"
    assert len(review.json["calls"]) == 3
    assert review.json["cost_usd"] > 0
    merging = gemini.asked("streamGenerateContent")[-1].last_text
    assert "No limit." in merging
    assert "No limit, too." in merging

    checked = await program.run("run", "review", "--dry-run", "--max-price", "0.25")
    assert "'reviewer' is gemini:gemini-3.8-flash: $" in checked.out
    assert "a run stops at $0.25" in checked.out
    (program.project / "step.spu").write_text("EXTRACT $A, 'seen'\nDISPLAY 'never'\n")
    stepped = await program.run("run", "step.spu", "--step", stdin=b"\na\nr\nq\n")
    assert (stepped.code, stepped.out) == (1, "")
    assert "line 2: DISPLAY 'never'" in stepped.err
    assert stepped.err.count("seen") == 3
    assert (await program.run("run", "step.spu", "--step", stdin=b"c\n")).out == "never\n"

    cost = await program.run("-p", "/cost")
    assert re.search(r"  program +4 ", cost.out)

    too_dear = await program.run("run", "review", "--max-price", "0")
    assert (too_dear.code, too_dear.out) == (1, "")
    assert "price limit is 0" in too_dear.err


async def test_a_killed_run_goes_on_and_asks_nothing_twice(program: Program, gemini: GeminiStandIn) -> None:
    (program.project / "talk.spu").write_text(TALK)
    gemini.script((Text("Hello."),), (Text("Good bye."),))
    process = await program.start("run", "talk.spu", "--input", "name=A, B", stdin=PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(60):
        assert await process.stdout.readline() == b"Hello.\n"
        while b"WAIT" not in await waiting(program):
            await asyncio.sleep(0.05)
    twice = await program.run("run", "talk.spu", "--resume", stdin=b"bye\n")
    assert (twice.code, twice.out) == (1, "")
    assert "is still going on in another window" in twice.err
    process.kill()
    await process.wait()
    assert process.stderr is not None
    began = (await process.stderr.read()).decode()
    assert "helper: gemini:gemini-3.8-flash, the session's model; programs.models sets others." in began
    assert "The run stops at $1." in began

    (program.project / "talk.spu").write_text(TALK.replace("$SECOND", "$OTHER"))
    resumed = await program.run("run", "talk.spu", "--resume", stdin=b"bye\n")
    assert (resumed.code, resumed.out) == (0, "Good bye.\n"), resumed.err
    assert re.search(r"Continuing at line \d+\.\n", resumed.err), "nothing was in progress while it waited"
    assert "programs.models" not in resumed.err
    first, second = (request.last_text for request in gemini.requests[-2:])
    assert "A, B" in first
    assert OWN_PROMPT in str(gemini.requests[-1].body)
    assert "Hello." in second

    again = await program.run("run", "talk.spu", "--resume")
    assert again.code == 1
    assert "talk has no unfinished run: the last one ended, or stopped before" in again.err


async def test_wrong_programs_names_and_inputs_are_told(alone: Program) -> None:
    (alone.project / "talk.spu").write_text(TALK)
    own = alone.tmp_path / "config" / "programs"
    own.mkdir(parents=True)
    (own / "mine.spu").write_text(".program other\nHALT\n")
    theirs = alone.project / ".ragforge" / "programs"
    theirs.mkdir(parents=True)
    (theirs / "theirs.spu").write_text(".program theirs\nDISPLAY 'hi'\n")
    for arguments, code, words in (
        (("commits",), 2, "Did you mean commit?"),
        (("none.spu",), 2, "There is no file none.spu."),
        (("talk.spu",), 2, "needs --input NAME=VALUE: NAME (who speaks)"),
        (("talk.spu", "--input", "age=3"), 2, "has no input AGE; its inputs: NAME."),
        (("talk.spu", "--input", "name"), 2, "--input takes NAME=VALUE"),
        (("talk.spu", "Bob"), 1, "No model is set for helper"),
        (("mine",), 2, "says .program other"),
        (("theirs",), 2, "`ragforge --trust-project run project:theirs` trusts it for one run"),
    ):
        ran = await alone.run("run", *arguments)
        assert (ran.code, ran.out) == (code, ""), ran
        assert words in ran.err

    checked = await alone.run("run", "talk.spu", "--dry-run")
    assert checked.code == 0
    assert checked.out.splitlines() == [
        "talk: 1 label, 5 instructions, 3 different operations",
        "line 5: asks 'helper'",
        "line 8: asks 'helper'",
        "No model is set for helper: add --model, or set programs.models.helper.",
    ]
    trusted = await alone.run("--trust-project", "run", "project:theirs")
    assert (trusted.code, trusted.out) == (0, "hi\n")
    assert (await ended(await alone.start("run", str(theirs / "theirs.spu")))).out == "hi\n"


async def test_a_role_whose_model_cannot_be_used_names_its_setting(alone: Program) -> None:
    (alone.project / "talk.spu").write_text(TALK)
    for model, words in (
        ("openai:gpt-x", "openai needs a key"),
        ("nobody:gpt-x", "Unknown provider 'nobody'"),
    ):
        alone.configure(f'[programs.models]\nhelper = "{model}"\n')
        ran = await alone.run("run", "talk.spu", "Bob")
        assert (ran.code, ran.out) == (1, "")
        assert words in ran.err
        assert "The model of helper is set by programs.models." in ran.err
        checked = await alone.run("run", "talk.spu", "--dry-run")
        assert words in checked.out
        assert "The model of helper is set by programs.models." in checked.out


async def test_a_number_given_as_input_counts_a_loop_and_what_is_piped_stays_as_it_is(alone: Program) -> None:
    (alone.project / "count.spu").write_text(
        ".input $N how often\nLOOP $N, red\nred:\nDISPLAY '\x1b[31mred'\nJMP red\n"
    )
    ran = await alone.run("run", "count.spu", "--input", "N=2")
    assert (ran.code, ran.out) == (0, "\x1b[31mred\n" * 2)
    for wrong in ("-1", "2.5", "x", "\N{SUPERSCRIPT TWO}"):
        ran = await alone.run("run", "count.spu", "--input", f"N={wrong}")
        assert (ran.code, ran.out) == (1, "")
        assert "LOOP takes a whole number from 0 on" in ran.err


async def waiting(program: Program) -> bytes:
    """What is kept of the run, when it waits for input."""
    import apsw

    connection: Any = apsw.Connection(str(program.data / "ragforge.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = list(connection.execute("SELECT data FROM derived WHERE kind = 'ProgramRun'"))
    finally:
        connection.close()
    return b"WAIT" if rows and '"waited_at":2' in str(rows[0][0]).replace(" ", "") else b""


async def test_the_price_of_all_calls_is_unknown_where_that_of_one_is(program: Program) -> None:
    (program.project / "priced.spu").write_text(
        "LLM_EXEC $A, 'reviewer', 'x'\nLLM_EXEC $B, 'gemini:gemini-of-no-price', 'x'\n"
    )
    checked = await program.run("run", "priced.spu", "--dry-run")
    assert "each call once: price unknown; a run stops at $1" in checked.out
