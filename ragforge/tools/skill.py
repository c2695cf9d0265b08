"""The tool that reads a skill."""

from typing import Annotated

import msgspec
from msgspec import Meta

from ragforge.tools.base import Effect, Tool, ToolContext, ToolResult, asks_nothing


class SkillArgs(msgspec.Struct, forbid_unknown_fields=True):
    """Which skill, and which of its files."""

    name: Annotated[str, Meta(description="The skill's name, as it is listed.", min_length=1)]
    file: Annotated[
        str,
        Meta(description="One of the files beside it, by its path there; leave it out for the skill itself."),
    ] = ""


async def run(args: SkillArgs, ctx: ToolContext) -> ToolResult:
    """Return the skill's text."""
    return await ctx.read_skill(args.name, args.file)


TOOL = Tool(
    name="skill",
    description=(
        "Read a skill listed under Skills before you do that kind of work. It says how to work but grants "
        "no permissions: calls need approval as usual."
    ),
    effect=Effect.READ,
    args_type=SkillArgs,
    run=run,
    summarise=lambda args: f"{args.name} {args.file}".rstrip(),
    preview=asks_nothing,  # the user put it there, or trusts it
)
