"""`ragforge merge` with a check command, as a user or a script runs it."""

import signal
from pathlib import Path

from tests.cli.running import Program, ended
from tests.flow.moving import tree
from tests.processes import until
from tests.standins.gemini import Call, Calls, GeminiStandIn, JsonText, Recorded, Text
from tests.standins.gemini_replies import Reply


def answer(request: Recorded) -> Reply:
    if "content" in (request.schema or {}).get("properties", {}):
        return JsonText({"content": "WHOLE\n2\nmore\n3\n", "why": "Whole."})
    return JsonText({"resolutions": [{"conflict": 1, "lines": ["PARTS"], "why": "Parts."}]})


async def wrote(program: Program, gemini: GeminiStandIn, content: str, *flags: str) -> None:
    gemini.script(Calls(Call("shell", {"command": f"printf '{content}' > a.txt"})), Text("Done."))
    ran = await program.run(*flags, "--yolo", "-p", "write it")
    assert ran.code == 0, ran.err


async def parted(program: Program, gemini: GeminiStandIn) -> None:
    """Two lines of work that changed the same line."""
    await wrote(program, gemini, r"1\n2\n3\n")
    base = (await program.run("log", "--json")).json[0]["version"]
    await wrote(program, gemini, r"LEFT\n2\n3\n", "-c")
    assert (await program.run("branch", "left")).code == 0
    assert (await program.run("checkout", base)).code == 0
    await wrote(program, gemini, r"RIGHT\n2\n3\n", "-c")
    gemini.always_structured(answer)


async def test_the_check_chooses_and_says_what_ran(program: Program, gemini: GeminiStandIn) -> None:
    await parted(program, gemini)
    (program.project / ".ragforge").mkdir()
    (program.project / ".ragforge" / "config.toml").write_text(
        '[history]\ncheck_command = "grep WHOLE a.txt"\n'
    )
    command = {"RAGFORGE_HISTORY_CHECK_COMMAND": "grep WHOLE a.txt"}
    checked = await program.run("merge", "left", "--strategy", "best", env=command)
    assert checked.code == 0, checked.err
    assert "combine_best: check passed: `grep WHOLE a.txt`, exit code 0, " in checked.err
    assert "resolve_conflicts: check failed: exit code 1: " in checked.err
    assert "it alone passed the check" in checked.out
    assert (program.project / "a.txt").read_text() == "WHOLE\n2\nmore\n3\n"


async def test_a_projects_own_command_is_not_run_and_how_to_allow_it_is_said(
    program: Program, gemini: GeminiStandIn
) -> None:
    await parted(program, gemini)
    mark = program.tmp_path / "ran"
    (program.project / ".ragforge").mkdir()
    (program.project / ".ragforge" / "config.toml").write_text(f'[history]\ncheck_command = "touch {mark}"\n')
    merged = await program.run("merge", "left", "--strategy", "best")
    assert merged.code == 0, merged.err
    assert f"RAGFORGE_HISTORY_CHECK_COMMAND='touch {mark}'" in merged.out
    assert not mark.exists()
    assert (program.project / "a.txt").read_text() == "PARTS\n2\n3\n", "the smaller difference"


async def test_interrupted_in_the_middle_of_the_check_nothing_is_merged(
    program: Program, gemini: GeminiStandIn
) -> None:
    await parted(program, gemini)
    before, mark = tree(program.project), program.tmp_path / "began"
    hangs = {"RAGFORGE_HISTORY_CHECK_COMMAND": f"echo $$ > {mark}; sleep 1000"}
    process = await program.start("merge", "left", "--strategy", "best", env=hangs)
    await until(lambda: mark.exists() and bool(mark.read_text().strip()), timeout_s=60)
    process.send_signal(signal.SIGINT)
    ran = await ended(process)
    assert ran.code == 130, ran.err
    assert tree(program.project) == before
    assert not list((program.data / "copies").iterdir())
    await until(lambda: not Path("/proc", mark.read_text().strip()).exists())

    # Killed, it leaves copies behind, which go with the next start.
    mark.unlink()
    process = await program.start("merge", "left", "--strategy", "best", env=hangs)
    await until(lambda: mark.exists() and bool(mark.read_text().strip()), timeout_s=60)
    process.kill()
    await process.communicate()
    assert list((program.data / "copies").iterdir())
    assert tree(program.project) == before
    failing = {"RAGFORGE_HISTORY_CHECK_COMMAND": "exit 4"}
    doubted = await program.run("merge", "left", "--strategy", "best", env=failing)
    assert (doubted.code, "neither passed the check" in doubted.out) == (1, True), doubted.err
    assert not list((program.data / "copies").iterdir())
