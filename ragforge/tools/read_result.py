"""The tool that opens a tool's whole result, where the model was given head and tail only."""

from typing import Annotated

import msgspec

from ragforge.domain.errors import StoreError
from ragforge.tools.base import Effect, Preview, Tool, ToolContext, ToolResult
from ragforge.tools.limits import READ_LINES_MAX, cut_result

REFERENCE = r"^[0-9a-f]{64}$"


class ReadResultArgs(msgspec.Struct, forbid_unknown_fields=True):
    """Which result, and from where to where."""

    reference: Annotated[
        str, msgspec.Meta(description="The reference in the note of the cut result.", pattern=REFERENCE)
    ]
    offset: Annotated[int, msgspec.Meta(description="First line, counted from 1.", ge=1)] = 1
    limit: Annotated[int, msgspec.Meta(description="How many lines at most.", ge=1, le=READ_LINES_MAX)] = 500


async def run(args: ReadResultArgs, ctx: ToolContext) -> ToolResult:
    """The lines; or why they cannot be had."""
    try:
        text = (await ctx.get_blob(args.reference)).decode("utf-8", "replace")
    except StoreError as error:
        return ToolResult(f"There is no result under this reference: {error}", failed=True)
    lines = text.split("\n")
    if args.offset > len(lines):
        return ToolResult(f"The result has {len(lines)} lines, there is no line {args.offset}.", failed=True)
    shown = lines[args.offset - 1 : args.offset - 1 + args.limit]
    last = args.offset + len(shown) - 1
    rest = "" if last == len(lines) else f"; go on with offset={last + 1}"
    note = f"[lines {args.offset}-{last} of {len(lines)}{rest}]"
    return ToolResult(cut_result("\n".join([note, *shown])).text)


async def preview(args: ReadResultArgs, ctx: ToolContext) -> Preview:
    """It reads what this program keeps, no path."""
    return Preview()


TOOL = Tool(
    name="read_result",
    description="Open the whole result of an earlier tool call that was cut, by the reference in its note.",
    effect=Effect.READ,
    args_type=ReadResultArgs,
    run=run,
    summarise=lambda args: f"{args.reference[:12]} from line {args.offset}",
    preview=preview,
)
