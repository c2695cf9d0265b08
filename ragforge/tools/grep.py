"""The tool that finds lines by a regular expression."""

from typing import Annotated

import msgspec

from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.tools.base import Effect, Tool, ToolContext, ToolResult
from ragforge.tools.scan import as_bytes, folder_of, preview_scan, report, scan
from ragforge.tools.scan_values import GrepRequest

MATCHES_MAX = 100


class GrepArgs(msgspec.Struct, forbid_unknown_fields=True):
    """The pattern, and where to search."""

    pattern: Annotated[
        str, msgspec.Meta(description="A regular expression as in Python, tried on each line.", min_length=1)
    ]
    path: Annotated[str, msgspec.Meta(description="The folder or file to search.")] = "."
    include: Annotated[
        str, msgspec.Meta(description="Search only files whose path matches, like *.py or src/**/*.ts.")
    ] = ""
    ignore_case: Annotated[bool, msgspec.Meta(description="Take a and A as the same.")] = False
    context: Annotated[
        int, msgspec.Meta(description="Lines to show before and after each match.", ge=0, le=20)
    ] = 0
    limit: Annotated[
        int, msgspec.Meta(description="How many matching lines to show at most.", ge=1, le=1_000)
    ] = MATCHES_MAX


async def run(args: GrepArgs, ctx: ToolContext) -> ToolResult:
    """Return the matching lines, by file."""
    try:
        request = GrepRequest(
            folder=as_bytes(folder_of(args.path, ctx, or_file=True)),
            root=as_bytes(ctx.root),
            cwd=as_bytes(ctx.cwd),
            limit_s=timeouts.SCAN_S_MAX,
            limit=args.limit,
            pattern=args.pattern,
            include=args.include,
            ignore_case=args.ignore_case,
            context=args.context,
        )
        return report(await scan(request, ctx), found="lines match", limit=args.limit)
    except UsageError as error:
        return ToolResult(str(error), failed=True)


def summarise(args: GrepArgs) -> str:
    """Return the pattern, and where it is searched."""
    places = [place for place in (args.path if args.path != "." else "", args.include) if place]
    return f"{args.pattern} in {' '.join(places)}" if places else args.pattern


TOOL = Tool(
    name="grep",
    description=(
        "Find lines by a regular expression, shown as path:line: text. Binary files, files over 5 MB, links "
        "and what git ignores are left out, unless path is the ignored folder or file itself."
    ),
    effect=Effect.READ,
    args_type=GrepArgs,
    run=run,
    summarise=summarise,
    preview=lambda args, ctx: preview_scan(args.path, ctx),
)
