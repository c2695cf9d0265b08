"""Background jobs with real processes."""

import asyncio
import os
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import UsageError
from ragforge.shell.jobs import ENDED_MAX, RUNNING_MAX, Jobs, JobStatus
from ragforge.tools import job, shell
from ragforge.tools.base import ToolContext
from ragforge.tools.job import JobArgs
from ragforge.tools.shell import ShellArgs
from tests.processes import running_with, until
from tests.tool_context import make_context

ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture
async def jobs() -> AsyncIterator[Jobs]:
    jobs = Jobs()
    yield jobs
    await jobs.stop_all()


@pytest.fixture
def ctx(jobs: Jobs, tmp_path: Path) -> ToolContext:
    return replace(make_context(tmp_path), env=ENV, jobs=jobs)


async def test_a_server_is_started_listed_used_and_stopped(ctx: ToolContext, jobs: Jobs) -> None:
    marker = f"mark-{uuid.uuid4().hex}"
    (ctx.cwd / "hello.txt").write_text("served")
    server = (
        "import http.server as h; s = h.ThreadingHTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); "
        "print('port', s.server_port, flush=True); s.serve_forever()"
    )
    result = await shell.TOOL.run(
        ShellArgs(f'"{sys.executable}" -c "{server}" {marker}; true', background=True), ctx
    )
    assert "Job 1 is running" in result.text
    await until(lambda: "port" in jobs.output("1"))
    port = int(jobs.output("1").split()[1])
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()
    listed = await job.TOOL.run(JobArgs(), ctx)
    assert listed.text.startswith("1  running  ")
    assert len(running_with(marker)) == 2
    stopped = await job.TOOL.run(JobArgs("1", stop=True), ctx)
    assert "was stopped" in stopped.text
    assert running_with(marker) == []
    assert jobs.info("1").status is JobStatus.STOPPED


async def test_a_job_that_ends_by_itself_says_how(ctx: ToolContext) -> None:
    result = await shell.TOOL.run(ShellArgs("echo no port; exit 4", background=True), ctx)
    assert result.failed
    assert result.text == "no port\n\n[Job 1 has ended: exit code 4.]"


async def test_the_model_can_wait_for_a_job(ctx: ToolContext, jobs: Jobs, tmp_path: Path) -> None:
    await jobs.start("until [ -e go ]; do sleep 0.01; done; echo built", cwd=tmp_path, env=ENV)
    early = await job.TOOL.run(JobArgs("1"), ctx)
    assert "running" in early.text
    (tmp_path / "go").touch()
    late = await job.TOOL.run(JobArgs("1", wait_s=30), ctx)
    assert late.text.startswith("built\n")


async def test_stop_all_ends_every_job_and_what_it_started(jobs: Jobs, tmp_path: Path) -> None:
    marker = f"mark-{uuid.uuid4().hex}"
    for number in range(3):
        await jobs.start(
            f"bash -c 'trap \"\" TERM; echo up; while :; do sleep 1; done' {marker}-{number} & wait",
            cwd=tmp_path,
            env=ENV,
        )
    await until(lambda: all("up" in jobs.output(info.id) for info in jobs.list()))
    await jobs.stop_all()
    assert running_with(marker) == []
    assert {info.status for info in jobs.list()} == {JobStatus.STOPPED}


async def test_stopping_twice_and_stopping_what_has_ended_is_no_mistake(jobs: Jobs, tmp_path: Path) -> None:
    running = await jobs.start("sleep 300", cwd=tmp_path, env=ENV)
    first, second = await asyncio.gather(jobs.stop(running.id), jobs.stop(running.id))
    assert first.status is second.status is JobStatus.STOPPED
    ended = await jobs.start("exit 0", cwd=tmp_path, env=ENV)
    await jobs.wait(ended.id, timeout_s=30)
    assert (await jobs.stop(ended.id)).status is JobStatus.EXITED


async def test_an_unknown_job_is_named_with_the_known_ones(
    ctx: ToolContext, jobs: Jobs, tmp_path: Path
) -> None:
    await jobs.start("true", cwd=tmp_path, env=ENV)
    with pytest.raises(UsageError, match=r"'9'.*Known jobs: 1"):
        jobs.output("9")
    result = await job.TOOL.run(JobArgs("9"), ctx)
    assert result.failed
    assert (await job.TOOL.run(JobArgs(stop=True), ctx)).failed


async def test_only_so_many_jobs_run(ctx: ToolContext, jobs: Jobs, tmp_path: Path) -> None:
    for _ in range(RUNNING_MAX):
        await jobs.start("sleep 300", cwd=tmp_path, env=ENV)
    result = await shell.TOOL.run(ShellArgs("sleep 300", background=True), ctx)
    assert result.failed
    assert "Stop one" in result.text


async def test_ended_jobs_are_forgotten_after_a_while(jobs: Jobs, tmp_path: Path) -> None:
    for _ in range(ENDED_MAX + 2):
        info = await jobs.start("true", cwd=tmp_path, env=ENV)
        await jobs.wait(info.id, timeout_s=30)
    assert len(jobs.list()) == ENDED_MAX
    assert jobs.list()[0].id == "3"


async def test_a_job_in_a_missing_folder_is_told(ctx: ToolContext, tmp_path: Path) -> None:
    tmp_path.rmdir()
    result = await shell.TOOL.run(ShellArgs("true", background=True), ctx)
    assert result.failed


APP = """
import asyncio, sys
from pathlib import Path
from ragforge.shell.jobs import Jobs

async def main():
    jobs = Jobs()
    await jobs.start(sys.argv[1], cwd=Path.cwd(), env={"PATH": "/usr/bin:/bin"})
    while "up" not in jobs.output("1"):
        await asyncio.sleep(0.01)
    print("up", flush=True)
    await asyncio.sleep(300)

asyncio.run(main())
"""


async def test_jobs_end_even_when_the_app_is_killed(tmp_path: Path) -> None:
    marker = f"mark-{uuid.uuid4().hex}"
    command = f"bash -c 'trap \"\" TERM HUP; echo up; while :; do sleep 1; done' {marker} & wait"
    app = subprocess.Popen([sys.executable, "-c", APP, command], stdout=subprocess.PIPE, text=True)
    assert app.stdout is not None
    with app.stdout:
        assert app.stdout.readline() == "up\n"
    assert running_with(marker) != []
    app.kill()
    app.wait()
    await until(lambda: running_with(marker) == [])
