"""All tools: every module of this package that has a `TOOL`."""

from ragforge.domain.discovery import discover
from ragforge.tools.base import AnyTool, Tool


def find_tools() -> dict[str, AnyTool]:
    """Return the tools by name, in the order of their names. To add a tool, add a file here."""
    found: dict[str, AnyTool] = discover(__name__.rpartition(".")[0], "TOOL", Tool)
    tools: dict[str, AnyTool] = {}
    for module, tool in found.items():
        if tool.name in tools:
            raise ValueError(f"two tools are called {tool.name!r}, one of them in {module}.py")
        tools[tool.name] = tool
    return dict(sorted(tools.items()))
