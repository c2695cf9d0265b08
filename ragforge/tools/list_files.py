"""The tool that lists a folder."""

from typing import Annotated

import msgspec

from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.tools.base import Effect, Tool, ToolContext, ToolResult
from ragforge.tools.scan import as_bytes, folder_of, preview_scan, report, scan
from ragforge.tools.scan_values import ListRequest

ENTRIES_MAX = 500


class ListArgs(msgspec.Struct, forbid_unknown_fields=True):
    """Which folder, and how deep."""

    path: Annotated[str, msgspec.Meta(description="The folder.")] = "."
    depth: Annotated[
        int, msgspec.Meta(description="How many levels to show; 1 is the folder itself.", ge=1, le=10)
    ] = 1


async def run(args: ListArgs, ctx: ToolContext) -> ToolResult:
    """Return the contents of the folder, by name: folders with a slash, files with their size."""
    try:
        request = ListRequest(
            folder=as_bytes(folder_of(args.path, ctx)),
            root=as_bytes(ctx.root),
            cwd=as_bytes(ctx.cwd),
            limit_s=timeouts.SCAN_S_MAX,
            limit=ENTRIES_MAX,
            depth=args.depth,
        )
        return report(await scan(request, ctx), found="files or folders", limit=ENTRIES_MAX)
    except UsageError as error:
        return ToolResult(str(error), failed=True)


TOOL = Tool(
    name="list",
    description=(
        "Show what is in a folder by name: folders with a slash, files with their size, links with their "
        "target. What git ignores is left out, unless path is an ignored folder."
    ),
    effect=Effect.READ,
    args_type=ListArgs,
    run=run,
    summarise=lambda args: args.path,
    preview=lambda args, ctx: preview_scan(args.path, ctx),
)
