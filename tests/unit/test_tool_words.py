"""A call that is read from the store is told in the words that it had while it ran."""

import msgspec
import pytest

from ragforge.tools import memory_recall, memory_save, skill, web_fetch
from ragforge.tools.base import Tool
from ragforge.tui.widgets.tool_words import about
from ragforge.tui.widgets.turn_record import Called


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (skill.TOOL, {"name": "deploy"}),
        (skill.TOOL, {"name": "deploy", "file": "steps.md"}),
        (memory_save.TOOL, {"type": "decision", "content": "The port is 8080."}),
        (memory_recall.TOOL, {"question": "Which port?"}),
        (web_fetch.TOOL, {"url": "https://example.org/a"}),
    ],
)
def test_a_stored_call_is_told_as_a_running_one(tool: Tool, args: dict[str, str]) -> None:
    running = tool.summarise(msgspec.convert(args, tool.args_type))
    assert about(Called("1", tool.name, args)) == running
