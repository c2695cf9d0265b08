"""`/jobs`: commands that run in the background."""

from ragforge.commands.base import Command, Outcome, Tell
from ragforge.domain.errors import UsageError
from ragforge.session.state import Session
from ragforge.shell.jobs import Jobs, JobStatus


async def _run(session: Session, args: str) -> Outcome:
    verb, _, job_id = args.partition(" ")
    jobs = session.workspace.jobs
    match verb:
        case "":
            return Tell(_listed(jobs))
        case "stop" if job_id:
            job = await jobs.stop(job_id.strip())
            return Tell(f"Job {job.id} is stopped: `{job.command}`")
        case "output" if job_id:
            shown = session.workspace.redactor.text(jobs.output(job_id.strip()))
            return Tell(f"```\n{shown}\n```")
        case _:
            raise UsageError("Write /jobs, /jobs output ID or /jobs stop ID.")


def _listed(jobs: Jobs) -> str:
    if not jobs.list():
        return "Nothing runs in the background."
    return "\n".join(
        f"- **{job.id}** {job.status}"
        + (f" with {job.exit_code}" if job.status is JobStatus.EXITED else "")
        + f": `{job.command}` (since {job.started_at.astimezone():%H:%M:%S})"
        for job in jobs.list()
    )


COMMAND = Command(
    "jobs", "List background commands, show their output, stop one.", _run, usage="[output ID | stop ID]"
)
