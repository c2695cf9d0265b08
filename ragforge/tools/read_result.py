"""The tool that opens a complete tool result of which the model has only a part or a reference."""

from typing import Annotated

import msgspec

from ragforge.domain.errors import StoreError
from ragforge.domain.messages import ImagePart
from ragforge.files.images import image_type
from ragforge.files.open import size
from ragforge.tools.base import Effect, Preview, Tool, ToolContext, ToolResult
from ragforge.tools.limits import READ_LINES_MAX, cut_result

REFERENCE = r"^[0-9a-f-]{36}$|^[0-9a-f]{64}$"
"""The id of a call whose result was left out of the conversation, or the hash of one that was cut."""


class ReadResultArgs(msgspec.Struct, forbid_unknown_fields=True):
    """Which result, and which lines."""

    reference: Annotated[
        str, msgspec.Meta(description="The reference in the note of the result.", pattern=REFERENCE)
    ]
    offset: Annotated[int, msgspec.Meta(description="First line, counted from 1.", ge=1)] = 1
    limit: Annotated[int, msgspec.Meta(description="How many lines at most.", ge=1, le=READ_LINES_MAX)] = 500


async def run(args: ReadResultArgs, ctx: ToolContext) -> ToolResult:
    """Return the lines; or why they cannot be read."""
    images: tuple[ImagePart, ...] = ()
    if earlier := ctx.get_result(args.reference):
        text, images = earlier.text, earlier.images
    else:
        try:
            content = await ctx.get_blob(args.reference)
        except StoreError as error:
            return ToolResult(f"There is no result under this reference: {error}", failed=True)
        if mime := image_type(content):
            return ToolResult(f"{mime}, {size(len(content))}", images=(ImagePart(args.reference, mime),))
        text = content.decode("utf-8", "replace")
    lines = text.split("\n")
    if args.offset > len(lines):
        return ToolResult(f"The result has {len(lines)} lines, there is no line {args.offset}.", failed=True)
    shown = lines[args.offset - 1 : args.offset - 1 + args.limit]
    last = args.offset + len(shown) - 1
    rest = "" if last == len(lines) else f"; go on with offset={last + 1}"
    note = f"[lines {args.offset}-{last} of {len(lines)}{rest}]"
    return ToolResult(cut_result("\n".join([note, *shown])), images=images)


async def preview(args: ReadResultArgs, ctx: ToolContext) -> Preview:
    """Nothing to approve: it reads ragforge's own data, no path."""
    return Preview()


TOOL = Tool(
    name="read_result",
    description="Open the whole result of an earlier call, or an image, that was left out, by its reference.",
    effect=Effect.READ,
    args_type=ReadResultArgs,
    run=run,
    summarise=lambda args: f"{args.reference[:12]} from line {args.offset}",
    preview=preview,
)
