"""The tool that hands a task to a fresh conversation."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from ragforge.tools.base import AgentTask, Effect, Tool, ToolContext, ToolResult, asks_nothing


class AgentArgs(msgspec.Struct, forbid_unknown_fields=True):
    """The task, and its limits."""

    title: Annotated[str, Meta(description="The task in a few words.", min_length=1, max_length=80)]
    task: Annotated[
        str,
        Meta(
            description="The whole task: what is wanted, where to look, what the answer should hold. "
            "It sees nothing of this conversation.",
            min_length=1,
            max_length=20_000,
        ),
    ]
    tools: Annotated[
        Literal["read", "all"],
        Meta(description="`read` to look and search only; `all` to change files and run commands too."),
    ] = "read"
    steps_max: Annotated[int, Meta(description="The most model calls it may make.", ge=1, le=50)] = 20


async def run(args: AgentArgs, ctx: ToolContext) -> ToolResult:
    """Return the sub-agent's answer."""
    task = AgentTask(" ".join(args.title.split()), args.task, args.tools == "all", args.steps_max)
    return await ctx.run_agent(task, ctx.emit)


TOOL = Tool(
    name="agent",
    description=(
        "Hand a task to a fresh conversation and get its answer: for a search through many files, or for "
        "parts of the work that do not depend on each other. Several calls in one step work at the same "
        "time. Its calls need the same approvals. Do not use it for work that takes you one or two calls."
    ),
    effect=Effect.READ,  # by itself; the effect of each of its calls is decided separately
    args_type=AgentArgs,
    run=run,
    summarise=lambda args: args.title,
    preview=asks_nothing,  # each of its calls is asked about like any other
)
