"""The shell tool with real processes."""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from ragforge.shell.jobs import Jobs
from ragforge.tools.base import ToolContext
from ragforge.tools.shell import TOOL, ShellArgs
from tests.processes import running_with, until
from tests.tool_context import make_context

LIMIT_S = 3.0
"""Long enough for bash to have started on a busy machine."""


@pytest.fixture
def emitted() -> list[str]:
    return []


@pytest.fixture
async def ctx(tmp_path: Path, emitted: list[str]) -> AsyncIterator[ToolContext]:
    jobs = Jobs()
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    yield replace(make_context(tmp_path), env=env, jobs=jobs, emit=emitted.append)
    await jobs.stop_all()


async def shell(ctx: ToolContext, command: str, **args: object) -> tuple[str, bool]:
    result = await TOOL.run(msgspec.convert({"command": command, **args}, ShellArgs), ctx)
    return result.text, result.failed


async def test_output_and_errors_come_back_in_order_with_the_exit_code(
    ctx: ToolContext, emitted: list[str]
) -> None:
    text, failed = await shell(ctx, "echo one; echo two >&2; echo three; exit 3")
    assert text.startswith("one\ntwo\nthree\n")
    assert "Exit code 3" in text
    assert failed
    assert "".join(emitted) == "one\ntwo\nthree\n"


async def test_a_command_runs_in_the_folder_of_the_session(ctx: ToolContext) -> None:
    text, failed = await shell(ctx, "pwd")
    assert text.splitlines()[0] == str(ctx.cwd)
    assert not failed


async def test_output_arrives_while_the_command_runs(ctx: ToolContext, emitted: list[str]) -> None:
    flag = ctx.cwd / "go on"
    task = asyncio.create_task(
        shell(ctx, "echo started; until [ -e 'go on' ]; do sleep 0.01; done; echo done")
    )
    await until(lambda: "started\n" in emitted)
    flag.touch()
    text, _ = await task
    assert text.startswith("started\ndone\n")


async def test_escape_sequences_and_broken_encoding_do_not_come_through(
    ctx: ToolContext, emitted: list[str]
) -> None:
    text, _ = await shell(
        ctx,
        r"printf '\033[31mred\033[0m \033]0;title\007x \033]8;;http://e.org\033\\link \377\000 x\303'; "
        r"sleep 0.1; printf '\251y\r\n10%%\r20%%\n\033[3'; sleep 0.1; printf '1mend'",
    )
    assert text.startswith("red x link � xéy\n10%\n20%\nend\n")
    assert "\x1b" not in "".join(emitted)


async def test_the_command_has_no_terminal_and_nothing_to_read(ctx: ToolContext) -> None:
    text, _ = await shell(ctx, "read -r line; echo \"got '$line'\"; tty; echo < /dev/tty")
    assert "got ''" in text
    assert "not a tty" in text
    assert "/dev/tty" in text


async def test_only_the_given_environment_is_seen(ctx: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "do-not-tell")
    text, _ = await shell(ctx, "env; cat /proc/$$/environ")
    assert "HOME=" in text
    assert "do-not-tell" not in text
    assert "GEMINI_API_KEY" not in text


async def test_a_name_never_means_a_program_in_the_project(ctx: ToolContext) -> None:
    (ctx.cwd / "ls").write_text("#!/bin/sh\necho stolen\n")
    (ctx.cwd / "ls").chmod(0o755)
    for path in (":/usr/bin:/bin", ".:/usr/bin:/bin", "bin/..:/usr/bin:/bin"):
        ctx.env["PATH"] = path
        text, _ = await shell(ctx, "ls")
        assert "stolen" not in text
        assert "ls" in text.split()


async def test_pagers_and_editors_never_block(ctx: ToolContext) -> None:
    setup = (
        "git init -q . && git config user.email a@b.c && git config user.name n && "
        "for i in $(seq 300); do echo line $i; done > f && git add f && git commit -qm first"
    )
    _, failed = await shell(ctx, setup)
    assert not failed
    text, failed = await shell(ctx, "git log -p", timeout_s=20)
    assert "line 300" in text
    assert not failed
    text, failed = await shell(ctx, "git commit --amend", timeout_s=20)
    assert failed
    assert "time limit" not in text


async def test_git_status_runs_nothing_that_the_repository_says(ctx: ToolContext) -> None:
    await shell(ctx, "git init -q . && git config core.fsmonitor 'touch stolen; false' && touch a")
    text, failed = await shell(ctx, "git status --short")
    assert "?? a" in text
    assert not failed
    assert not (ctx.cwd / "stolen").exists()


async def test_an_interrupt_leaves_nothing_running(ctx: ToolContext, emitted: list[str]) -> None:
    marker = f"mark-{uuid.uuid4().hex}"
    command = (
        f"(exec -a {marker}-a sleep 300) & "
        f"bash -c 'trap \"\" TERM INT HUP; echo up-b; while :; do sleep 1; done' {marker}-b & "  # is deaf
        f"(bash -c 'echo up-c; sleep 300; true' {marker}-c & ) ; "  # its parent is gone
        f"setsid bash -c 'echo up-d; sleep 300; true' {marker}-d & "  # left the session
        f"set -m; bash -c 'echo up-e; sleep 300; true' {marker}-e & "  # a group of its own
        "wait"
    )
    task = asyncio.create_task(shell(ctx, command))
    await until(lambda: all(f"up-{name}" in "".join(emitted) for name in "bcde"))
    assert len(running_with(marker)) >= 5
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert running_with(marker) == []


async def test_an_interrupt_while_it_starts_leaves_nothing_running(ctx: ToolContext) -> None:
    marker = f"mark-{uuid.uuid4().hex}"
    for turns in range(12):
        task = asyncio.create_task(shell(ctx, f"bash -c 'sleep 300; true' {marker}"))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert running_with(marker) == []


async def test_the_time_limit_ends_everything_and_keeps_the_output(ctx: ToolContext) -> None:
    marker = f"mark-{uuid.uuid4().hex}"
    text, failed = await shell(
        ctx,
        f"echo before; bash -c 'trap \"\" TERM; while :; do sleep 1; done' {marker}",
        timeout_s=LIMIT_S,
    )
    assert failed
    assert text.startswith("before\n")
    assert f"time limit of {LIMIT_S:g} s" in text
    assert running_with(marker) == []


async def test_a_command_that_may_tidy_up_does(ctx: ToolContext) -> None:
    text, _ = await shell(
        ctx, "trap 'echo tidied; exit 0' TERM; echo up; while :; do sleep 0.05; done", timeout_s=LIMIT_S
    )
    assert "tidied" in text


async def test_a_process_left_behind_neither_blocks_nor_stays(ctx: ToolContext) -> None:
    marker = f"mark-{uuid.uuid4().hex}"
    async with asyncio.timeout(180):
        text, failed = await shell(ctx, f"bash -c 'sleep 300; true' {marker} & echo done")
    assert text.startswith("done\n")
    assert "left running were ended" in text
    assert not failed
    assert running_with(marker) == []


async def test_a_daemon_that_left_the_session_does_not_block_the_end(ctx: ToolContext) -> None:
    marker = f"mark-{uuid.uuid4().hex}"
    async with asyncio.timeout(180):
        text, _ = await shell(ctx, f"setsid bash -c 'echo $$ > pid; sleep 300; true' {marker} & echo done")
    assert text.startswith("done\n")
    await until((ctx.cwd / "pid").exists)
    assert running_with(marker) != [], "what leaves the session on purpose, as daemons do, is let be"
    os.killpg(int((ctx.cwd / "pid").read_text()), 9)


async def test_a_hundred_megabytes_are_bounded(ctx: ToolContext, emitted: list[str]) -> None:
    text, failed = await shell(ctx, "echo first; yes 0123456789abcdef | head -c 100000000; echo last")
    assert not failed
    assert text.startswith("first\n")
    assert "last\n" in text[-100:]
    assert len(text) < 2_500_000
    assert "characters dropped here" in text
    assert sum(map(len, emitted)) < 300_000


async def test_a_signal_is_named(ctx: ToolContext) -> None:
    text, failed = await shell(ctx, "kill -SEGV $$")
    assert "Killed by SIGSEGV" in text
    assert failed


async def test_what_cannot_start_is_told(ctx: ToolContext) -> None:
    ctx.cwd.rmdir()
    text, failed = await shell(ctx, "echo x")
    assert failed
    assert str(ctx.cwd) in text


async def test_a_nul_character_is_refused_before_anybody_is_asked(ctx: ToolContext) -> None:
    preview = await TOOL.preview(ShellArgs("echo \0"), ctx)
    assert "NUL" in preview.refused
    _, failed = await shell(ctx, "echo \0")
    assert failed


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"command": ""},
        {"command": 3},
        {"command": "x", "timeout_s": -1},
        {"command": "x", "timeout_s": 1e9},
        {"command": "x", "surprise": 1},
    ],
)
def test_wrong_arguments_are_refused(args: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        TOOL.parse(args)  # type: ignore[arg-type]
