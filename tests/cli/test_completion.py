"""What is offered where a command line is completed."""

import asyncio
import shutil

from tests.cli.running import Program
from tests.cli.test_versions import turn
from tests.standins.openai import OpenAIStandIn


async def offered(program: Program, line: str, **more: str) -> list[str]:
    words = line.split(" ")
    asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    ran = await program.run(env={"_RAGFORGE_COMPLETE": "complete_bash"} | asked | more)
    assert ran.err == ""
    return ran.out.split()


async def test_commands_options_values_and_names_are_offered(quick: Program, openai: OpenAIStandIn) -> None:
    session = (await turn(quick, openai, "write one", "a.txt", "one\\n"))["session"]
    assert (await quick.run("branch", "first")).code == 0
    lines = {
        "ragforge ch": ["checkout"],
        "ragforge merge x --on-conflict ": ["markers", "ours", "theirs"],
        "ragforge undo --o": ["--on-conflict"],
        "ragforge checkout f": ["first"],
        "ragforge undo -r ": [session],
        "ragforge sessions rename ": [session],
        "ragforge config set memory.embed": ["memory.embedder"],
        "ragforge checkout none": [],
        "ragforge completion ": ["bash", "zsh", "fish"],
    }
    found = await asyncio.gather(*(offered(quick, line) for line in lines))
    assert dict(zip(lines, found, strict=True)) == lines


async def test_a_completion_waits_for_no_server_makes_no_store_and_tells_no_error(quick: Program) -> None:
    shutil.rmtree(quick.data)
    assert await offered(quick, "ragforge checkout ", RAGFORGE_STORE="bolt://192.0.2.1:7687") == []
    assert await offered(quick, "ragforge checkout ", RAGFORGE_STORE="no address") == []
    assert await offered(quick, "ragforge checkout ") == []
    assert not (quick.data / "ragforge.db").exists()
    wrong = await quick.run("completion", "csh")
    assert (wrong.code, wrong.out) == (2, "")
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in " ".join(wrong.err.replace("│", " ").split())
    assert (await quick.run("completion")).code == 2
