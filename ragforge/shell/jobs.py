"""Commands that run in the background, such as servers; they end with the app."""

import asyncio
import itertools
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.ids import now
from ragforge.shell.process import ShellProcess, start_shell
from ragforge.shell.process_output import OutputBuffer

RUNNING_MAX = 16
ENDED_MAX = 32
"""How many ended jobs are remembered."""
HEAD_CHARS_MAX = 50_000
TAIL_CHARS_MAX = 200_000


class JobStatus(StrEnum):
    """The state of a job."""

    RUNNING = "running"
    EXITED = "exited"
    """Ended by itself; `exit_code` says how."""
    STOPPED = "stopped"
    """Ended by us."""


class JobInfo(Struct, frozen=True):
    """A background command as it was when requested."""

    id: str
    command: str
    pid: int
    started_at: datetime
    status: JobStatus
    exit_code: int | None
    """None while it runs; negative for the signal that ended it."""


class _Job(Struct):
    info: JobInfo
    process: ShellProcess
    output: OutputBuffer
    watching: "asyncio.Task[None]"


class Jobs:
    """The background commands of this process. Their ids are "1", "2", ... and never reused."""

    def __init__(self) -> None:
        self._jobs: dict[str, _Job] = {}
        self._numbers = itertools.count(1)

    async def start(self, command: str, *, cwd: Path, env: Mapping[str, str]) -> JobInfo:
        """Start a job. Raises UsageError if too many run, OSError if it cannot start."""
        running = [job for job in self.list() if job.status is JobStatus.RUNNING]
        if len(running) >= RUNNING_MAX:
            raise UsageError(f"{RUNNING_MAX} background jobs run already. Stop one of them first.")
        output = OutputBuffer(head_chars_max=HEAD_CHARS_MAX, tail_chars_max=TAIL_CHARS_MAX)
        process = await start_shell(command, cwd=cwd, env=env, on_output=output.append)
        job_id = str(next(self._numbers))
        info = JobInfo(job_id, command, process.pid, now(), JobStatus.RUNNING, None)
        self._jobs[job_id] = _Job(info, process, output, asyncio.create_task(self._watch(job_id)))
        return info

    def list(self) -> tuple[JobInfo, ...]:
        """Return every running job, and the last ended ones, oldest first."""
        return tuple(job.info for job in self._jobs.values())

    def info(self, job_id: str) -> JobInfo:
        """Return the state of a job. Raises UsageError if there is none of that id."""
        return self._find(job_id).info

    def output(self, job_id: str) -> str:
        """Return its output, or head and tail with the number of characters in between. Raises UsageError."""
        return self._find(job_id).output.text()

    async def wait(self, job_id: str, *, timeout_s: float) -> JobInfo:
        """Return the job's state when it has ended, or after timeout_s. Raises UsageError."""
        job = self._find(job_id)
        await asyncio.wait([job.watching], timeout=timeout_s)
        return self._find(job_id).info

    async def stop(self, job_id: str) -> JobInfo:
        """Stop the job and everything it started; return its state. Raises UsageError."""
        job = self._find(job_id)
        if job.info.status is JobStatus.RUNNING:
            self._set(job, JobStatus.STOPPED)
            await job.process.end()
            await job.watching
        return job.info

    async def stop_all(self) -> None:
        """Stop every job, all at the same time."""
        running = [job.id for job in self.list() if job.status is JobStatus.RUNNING]
        await asyncio.gather(*(self.stop(job_id) for job_id in running))

    async def _watch(self, job_id: str) -> None:
        job = self._jobs[job_id]  # exists already: a task starts when its creator waits
        await job.process.wait()
        if job.info.status is JobStatus.RUNNING:
            await job.process.end_leftovers()
            self._set(job, JobStatus.EXITED)
        else:
            self._set(job, job.info.status)
        self._forget_old()

    def _set(self, job: _Job, status: JobStatus) -> None:
        info = job.info
        job.info = JobInfo(info.id, info.command, info.pid, info.started_at, status, job.process.exit_code)

    def _forget_old(self) -> None:
        ended = [job.id for job in self.list() if job.status is not JobStatus.RUNNING]
        for job_id in ended[:-ENDED_MAX]:
            del self._jobs[job_id]

    def _find(self, job_id: str) -> _Job:
        job = self._jobs.get(job_id)
        if job is None:
            known = f"Known jobs: {', '.join(self._jobs)}." if self._jobs else "No job has run yet."
            raise UsageError(f"There is no background job {job_id!r}. {known}")
        return job
