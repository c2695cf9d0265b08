"""Tools that work in one folder only. A shell cannot be confined, so it is not among them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragforge.files.paths import inside
from ragforge.tools.base import AnyTool, Effect, Preview, ToolContext


def confined(tools: Mapping[str, AnyTool], root: Path) -> dict[str, AnyTool]:
    """Return the tools, made to refuse every path outside the root, whatever the user allowed.

    root: links resolved. A tool's preview is checked again right before it runs, so a link that was changed
    in between does not lead outside.
    """
    return {name: _confined(tool, root) for name, tool in tools.items()}


def _confined(tool: AnyTool, root: Path) -> AnyTool:
    if tool.effect is Effect.SHELL:
        return tool
    look = tool.preview

    async def preview(args: Any, ctx: ToolContext) -> Preview:
        found = await look(args, ctx)
        outside = next((path for path in found.paths if not inside(path, root)), None)
        if outside is None:
            return found
        return Preview(
            refused=f"{outside} is outside this copy of the project. `{tool.name}` works only in {root} "
            "now; use paths inside it."
        )

    return replace(tool, preview=preview)
