"""`/jobs`: commands that run in the background."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import NoArguments, Outcome, Tell, Verb
from ragforge.domain.arguments import word
from ragforge.domain.printable import fenced, inline_code

if TYPE_CHECKING:
    from ragforge.session.state import Session
    from ragforge.shell.jobs import Jobs


class JobArguments(Struct, frozen=True):
    """Which job."""

    id: Annotated[str, word("ID", "The id of a job; /jobs lists them.")]


async def _run(session: "Session", args: NoArguments) -> Outcome:
    return Tell(_listed(session.workspace.jobs))


async def _output(session: "Session", args: JobArguments) -> Outcome:
    shown = session.workspace.redactor.text(session.workspace.jobs.output(args.id))
    return Tell(fenced(shown))


async def _stop(session: "Session", args: JobArguments) -> Outcome:
    job = await session.workspace.jobs.stop(args.id)
    return Tell(f"Stopped job {job.id}: {inline_code(job.command)}")


def _listed(jobs: "Jobs") -> str:
    from ragforge.shell.jobs import JobStatus

    if not jobs.list():
        return "No background jobs."
    return "\n".join(
        f"- **{job.id}** {job.status}"
        + (f" with {job.exit_code}" if job.status is JobStatus.EXITED else "")
        + f": {inline_code(job.command)} (since {job.started_at.astimezone():%H:%M:%S})"
        for job in jobs.list()
    )


VERB = Verb(
    "jobs",
    "List background jobs, show their output, or stop one.",
    NoArguments,
    _run,
    verbs=(
        Verb("output", "Show the output of a job.", JobArguments, _output),
        Verb("stop", "Stop a job.", JobArguments, _stop),
    ),
)
