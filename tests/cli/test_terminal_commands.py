"""What others wrote commands no terminal: titles, answers, output of commands, messages of a server."""

import asyncio
import os
import pty

from tests.cli.running import Program
from tests.flow.running import opened, say
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31mfig\x7f\u202egnol"
COMMANDS = ("\x1b", "\x07", "\x9b", "\x7f", "\u202e")


def harmless(text: str) -> bool:
    return not any(char in text for char in COMMANDS)


async def test_lists_and_hits_are_shown_without_what_commands_a_terminal(
    program: Program, gemini: GeminiStandIn
) -> None:
    (program.project / "f.txt").write_text(f"a fig {EVIL}\n")
    gemini.script(Calls(Call("read", {"path": "f.txt"})), Text(f"the fig {EVIL}"))
    async with opened(program.tmp_path, program.env) as session:
        await say(session, f"fig {EVIL}")
    listed, as_json, found, found_json = await asyncio.gather(
        program.run("sessions"),
        program.run("sessions", "--json"),
        program.run("search", "fig"),
        program.run("search", "fig", "--json"),
    )
    assert "owned" in listed.out
    assert "*fig*" in found.out
    for ran in (listed, as_json, found, found_json):
        assert ran.code == 0
        assert harmless(ran.out), repr(ran.out)
    assert as_json.json[0]["last_message"] == f"fig {EVIL}"


async def test_a_refused_command_is_told_without_what_commands_a_terminal(
    program: Program, gemini: GeminiStandIn
) -> None:
    gemini.script(Calls(Call("shell", {"command": f"touch {EVIL}"})), Text("I was not allowed."))
    ran = await program.run("-p", "do it")
    assert "not allowed: " in ran.err
    assert harmless(ran.err), repr(ran.err)


async def test_an_answer_reaches_a_file_whole_and_a_terminal_harmless(
    program: Program, gemini: GeminiStandIn
) -> None:
    gemini.script(Text(f"So: {EVIL}"), Text(f"So: {EVIL}"))
    assert (await program.run("-p", "hi")).out == f"So: {EVIL}\n"
    here, there = pty.openpty()
    process = await program.start("-p", "hi", stdout=there)
    os.close(there)
    shown = b""
    try:
        while more := await asyncio.to_thread(os.read, here, 65536):
            shown += more
    except OSError:  # the other end is closed
        pass
    os.close(here)
    await process.communicate()
    assert "So: " in shown.decode()
    assert harmless(shown.decode()), shown
