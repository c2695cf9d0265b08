"""The tool that finds files by their names."""

from typing import Annotated

import msgspec

from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.tools.base import Effect, Tool, ToolContext, ToolResult
from ragforge.tools.scan import as_bytes, folder_of, preview_scan, report, scan
from ragforge.tools.scan_values import GlobRequest

FILES_MAX = 200


class GlobArgs(msgspec.Struct, forbid_unknown_fields=True):
    """The pattern, and where to search."""

    pattern: Annotated[
        str,
        msgspec.Meta(
            description="Like *.py, src/**/*.{ts,tsx} or **/test_*. Without a slash it is looked for at any "
            "depth.",
            min_length=1,
        ),
    ]
    path: Annotated[str, msgspec.Meta(description="The folder to look in.")] = "."
    limit: Annotated[int, msgspec.Meta(description="How many files to name at most.", ge=1, le=2_000)] = (
        FILES_MAX
    )


async def run(args: GlobArgs, ctx: ToolContext) -> ToolResult:
    """Return the files, most recently changed first."""
    try:
        request = GlobRequest(
            folder=as_bytes(folder_of(args.path, ctx)),
            root=as_bytes(ctx.root),
            cwd=as_bytes(ctx.cwd),
            limit_s=timeouts.SCAN_S_MAX,
            limit=args.limit,
            pattern=args.pattern,
        )
        return report(await scan(request, ctx), found="files match", limit=args.limit)
    except UsageError as error:
        return ToolResult(str(error), failed=True)


TOOL = Tool(
    name="glob",
    description=(
        "Find files by name, the one that changed last first. Files that git ignores are left out, unless "
        "path is an ignored folder; links are not followed."
    ),
    effect=Effect.READ,
    args_type=GlobArgs,
    run=run,
    summarise=lambda args: args.pattern if args.path == "." else f"{args.pattern} in {args.path}",
    preview=lambda args, ctx: preview_scan(args.path, ctx),
)
