"""The tool that searches what was said and done before, in this project's sessions."""

from datetime import UTC
from typing import Annotated

import msgspec

from ragforge.domain.search import Hit
from ragforge.tools.base import Effect, Preview, Tool, ToolContext, ToolResult

HITS_MAX = 10


class SearchHistoryArgs(msgspec.Struct, forbid_unknown_fields=True):
    """What to look for."""

    query: Annotated[
        str, msgspec.Meta(description="Words that were said, or names of files and commands.", min_length=1)
    ]
    limit: Annotated[int, msgspec.Meta(description="How many places to show at most.", ge=1, le=50)] = (
        HITS_MAX
    )


async def run(args: SearchHistoryArgs, ctx: ToolContext) -> ToolResult:
    """The places found, the best first."""
    if not args.query.strip():
        return ToolResult("The query is empty. Give words to look for.", failed=True)
    hits = await ctx.search(args.query, args.limit)
    if not hits:
        return ToolResult("Nothing in the history matches. Try other or fewer words.")
    return ToolResult("\n\n".join(_shown(number, hit) for number, hit in enumerate(hits, 1)))


async def preview(_args: SearchHistoryArgs, _ctx: ToolContext) -> Preview:
    """Nothing: only what is stored is read."""
    return Preview()


def _shown(number: int, hit: Hit) -> str:
    title = hit.session_title or "untitled session"
    at = hit.at.astimezone(UTC)
    tool = f", tool {hit.tool}" if hit.tool else ""
    return f"{number}. {title}, {at:%Y-%m-%d %H:%M} UTC, turn {hit.turn_index + 1}{tool}\n{hit.text.strip()}"


TOOL = Tool(
    name="search_history",
    description=(
        "Search earlier conversations and tool calls of this project by words. Use it when the person refers "
        "to something that is not in this conversation."
    ),
    effect=Effect.READ,
    args_type=SearchHistoryArgs,
    run=run,
    summarise=lambda args: args.query,
    preview=preview,
)
