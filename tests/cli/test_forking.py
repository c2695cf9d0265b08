"""A run that is forked begins as one that is started, and nothing of it reaches the next."""

import asyncio
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.running import PIPE, Program, ended
from tests.processes import until
from tests.standins.openai import Call, OpenAIStandIn, Reply

ALIKE = ("SigBlk", "SigIgn", "SigCgt", "Threads", "Umask", "NoNewPrivs", "Seccomp")


async def facts(program: Program) -> dict[str, object]:
    """What the system knows of a run that waits for its input."""
    process = await program.start("-p", "x", stdin=PIPE)
    place = Path(f"/proc/{process.pid}")
    await until(lambda: b"pipe" in (place / "wchan").read_bytes())
    status = dict(line.split(":\t", 1) for line in (place / "status").read_text().splitlines())
    names = {file.name: str(file.readlink()).partition(":[")[0] for file in (place / "fd").iterdir()}
    # The vectors of word pieces are mapped by then, or will be.
    files = {number: name for number, name in names.items() if not name.endswith("static/matrix.npy")}
    found = {name: status[name] for name in ALIKE} | {"files": files, "folder": (place / "cwd").readlink()}
    process.send_signal(signal.SIGINT)
    assert (await ended(process)).code == 130
    return found


@pytest.mark.skipif(not Path("/proc/self/wchan").exists(), reason="needs Linux's /proc")
async def test_a_forked_run_begins_as_a_started_one(alone: Program) -> None:
    for before in range(2):
        assert await facts(alone) == await facts(replace(alone, fresh=True)), before


async def test_both_say_the_same_and_end_alike(alone: Program) -> None:
    for args in (("--version",), ("config",), ("search", "-x"), ("search", b"\xff"), ("--no-such",), ()):
        forked, started = await asyncio.gather(alone.run(*args), replace(alone, fresh=True).run(*args))
        assert forked == started, args


async def test_folder_and_environment_of_one_run_are_not_the_next_ones(alone: Program) -> None:
    other = alone.tmp_path / "other"
    other.mkdir()
    env = {"RAGFORGE_MODE": "plan", "TZ": "Asia/Tokyo"}
    first = await alone.run("config", "--json", cwd=other, env=env)
    second = await alone.run("config", "--json")
    modes = [next(row for row in ran.json if row["key"] == "mode") for ran in (first, second)]
    assert [(mode["value"], mode["source"]) for mode in modes] == [
        ("plan", "RAGFORGE_MODE"),
        ("ask", "default"),
    ]


async def test_ids_of_runs_that_begin_together_differ(quick: Program) -> None:
    runs = await asyncio.gather(*(quick.run("-p", "x", "--output-format", "json") for _ in range(3)))
    ids = [ran.json[key] for ran in runs for key in ("session", "turn")]
    assert len({each[-8:] for each in ids}) == 6


async def test_a_turn_of_the_installed_script(quick: Program, openai: OpenAIStandIn) -> None:
    started = replace(quick, fresh=True)
    openai.script(
        Reply(calls=[Call("shell", '{"command": "printf hi > made.txt"}')]), Reply(text=["It is ", "done."])
    )
    ran = await started.run("-p", "make it", "--yolo", stdin=b"and say so")
    assert (ran.code, ran.out) == (0, "It is done.\n")
    # A busy machine may say what the first command waits for.
    assert [line for line in ran.err.splitlines() if "waits for it" not in line] == []
    assert (quick.project / "made.txt").read_text() == "hi"
    assert "*make* it ``` and say so ```" in (await started.run("search", "make")).out
    undone = await started.run("undo")
    assert (undone.code, undone.err) == (0, "")
    assert list(quick.project.iterdir()) == []
    assert (await started.run("redo")).code == 0
    assert [path.name for path in quick.project.iterdir()] == ["made.txt"]
