"""The tool that searches what was said and done before, in this project's sessions."""

from datetime import UTC
from typing import Annotated

import msgspec

from ragforge.domain.search import Hit, what
from ragforge.tools.base import Effect, Tool, ToolContext, ToolResult, asks_nothing

HITS_MAX = 10
PLACE_CHARS_MAX = 1_000
RESULT_CHARS_MAX = 8_000
"""For all results together: they must not fill the context window."""


class SearchHistoryArgs(msgspec.Struct, forbid_unknown_fields=True):
    """What to search for."""

    query: Annotated[
        str, msgspec.Meta(description="Words that were said, or names of files and commands.", min_length=1)
    ]
    limit: Annotated[int, msgspec.Meta(description="How many places to show at most.", ge=1, le=50)] = (
        HITS_MAX
    )


async def run(args: SearchHistoryArgs, ctx: ToolContext) -> ToolResult:
    """Return the results, the best first."""
    if not args.query.strip():
        return ToolResult("The query is empty. Give words to look for.", failed=True)
    hits = await ctx.search(args.query, args.limit)
    if not hits:
        return ToolResult("Nothing in the history matches. Try other or fewer words.")
    return ToolResult(_listed([_shown(number, hit) for number, hit in enumerate(hits, 1)]))


def _listed(places: list[str]) -> str:
    """Return as many results as fit, and how many did not."""
    size = 0
    for count, place in enumerate(places):
        size += len(place) + 2
        if size > RESULT_CHARS_MAX and count:
            left = len(places) - count
            return "\n\n".join([*places[:count], f"{left} more left out. Ask for something narrower."])
    return "\n\n".join(places)


def _shown(number: int, hit: Hit) -> str:
    title = hit.session_title or ("untitled session" if hit.session_id else "no session")
    at = f"{hit.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return f"{number}. {title}, {at}, {what(hit)}\n{hit.text.strip()[:PLACE_CHARS_MAX]}"


TOOL = Tool(
    name="search_history",
    description=(
        "Search earlier conversations, tool calls, summaries, memories and versions of the files of this "
        "project, by words and by meaning. Use it when the user refers to something that is not in this "
        "conversation. 'Undone' marks what is on an abandoned branch, 'replaced' what a newer memory "
        "supersedes."
    ),
    effect=Effect.READ,
    args_type=SearchHistoryArgs,
    run=run,
    summarise=lambda args: args.query,
    preview=asks_nothing,  # it only reads stored data
)
