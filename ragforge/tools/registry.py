"""All tools there are: every module of this package that has a `TOOL`."""

import importlib
import pkgutil
from pathlib import Path

from ragforge.tools.base import AnyTool, Tool


def find_tools() -> dict[str, AnyTool]:
    """The tools by name, in the order of their names. Adding a tool is adding a file here."""
    package = __name__.rpartition(".")[0]
    tools: dict[str, AnyTool] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        tool: object = getattr(importlib.import_module(f"{package}.{module.name}"), "TOOL", None)
        if not isinstance(tool, Tool):
            continue
        if tool.name in tools:
            raise ValueError(f"two tools are called {tool.name!r}, one of them in {module.name}.py")
        tools[tool.name] = tool
    return dict(sorted(tools.items()))
