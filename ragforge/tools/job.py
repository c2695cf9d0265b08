"""The tool that shows and stops background commands, which were approved when they started."""

from typing import Annotated

import msgspec

from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.tools.base import Effect, Preview, Tool, ToolContext, ToolResult
from ragforge.tools.shell import describe_job

DESCRIPTION = """\
Read what a background command has written and its status, or stop it. Without an id: list all of them."""


class JobArgs(msgspec.Struct, forbid_unknown_fields=True):
    """Which job, and what to do with it."""

    id: Annotated[str, msgspec.Meta(description="The job's id; leave it out to list all jobs.")] = ""
    stop: Annotated[bool, msgspec.Meta(description="End the job and everything it started.")] = False
    wait_s: Annotated[
        float, msgspec.Meta(ge=0, le=timeouts.JOB_WAIT_S_MAX, description="Wait this long for its end first.")
    ] = 0.0


async def run(args: JobArgs, ctx: ToolContext) -> ToolResult:
    """Return the job's output and state, or the list of jobs."""
    if not args.id:
        return _list(args, ctx)
    try:
        if args.stop:
            info = await ctx.jobs.stop(args.id)
        else:
            info = await ctx.jobs.wait(args.id, timeout_s=args.wait_s)
        return describe_job(info, ctx.jobs.output(args.id))
    except UsageError as error:
        return ToolResult(str(error), failed=True)


def _list(args: JobArgs, ctx: ToolContext) -> ToolResult:
    if args.stop:
        return ToolResult("Which job should be stopped? Give its id.", failed=True)
    lines = [f"{job.id}  {job.status}  {job.command}" for job in ctx.jobs.list()]
    return ToolResult("\n".join(lines) or "There are no background jobs.")


def summarise(args: JobArgs) -> str:
    """Return which job, and what to do with it."""
    if not args.id:
        return "all jobs"
    return f"stop {args.id}" if args.stop else args.id


async def preview(args: JobArgs, ctx: ToolContext) -> Preview:
    """Nothing to approve: no file is touched."""
    return Preview()


TOOL = Tool(
    name="job",
    description=DESCRIPTION,
    effect=Effect.READ,
    args_type=JobArgs,
    run=run,
    summarise=summarise,
    preview=preview,
)
