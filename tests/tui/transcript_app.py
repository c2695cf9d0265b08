"""A small app around the widgets of a conversation, and values to show in it."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import TextArea

import ragforge.tui
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import CallStatus, ToolCall, Turn, TurnStatus
from ragforge.tui.key_watch import KeyWatch
from ragforge.tui.theme import ThemedApp
from ragforge.tui.widgets.answer import AnswerView
from ragforge.tui.widgets.approval import ApprovalDock
from ragforge.tui.widgets.live_line import LiveLine
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.status_line import Status, StatusLine
from ragforge.tui.widgets.text_rows import TextRows
from ragforge.tui.widgets.tool_line import LoadOutput, ToolCallView, ToolHead
from ragforge.tui.widgets.transcript import LoadBefore, Transcript

NOW = datetime(2026, 1, 1, tzinfo=UTC)

DIFF = """\
--- a/parser.py
+++ b/parser.py
@@ -10,5 +10,6 @@
 def parse(text: str) -> Tree:
     \"\"\"Parse [bold]text[/bold].\"\"\"
-    tokens = text.split()
+    tokens = tokenize(text)
+    check(tokens)
     return build(tokens)
 
@@ -40,2 +41,2 @@
 def main() -> None:
-    print(parse(sys.argv[1]))
+    print(parse(sys.stdin.read()))
"""


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class ChatApp(ThemedApp[None], KeyWatch[None]):
    """Transcript, approvals, a prompt and the status line."""

    CSS_PATH = Path(ragforge.tui.__file__).with_name("theme.tcss")
    CSS = """
    TextArea { height: 3; border: round $border-blurred; &:focus { border: round $border; } }
    .-asked-tight TextArea { height: 1 !important; border: none !important; }
    """

    def __init__(
        self,
        *,
        theme: str = "dark",
        status: Status | None = None,
        load_before: LoadBefore | None = None,
        load_output: LoadOutput | None = None,
        on_text_left: Callable[[str], None] = lambda reason: None,
    ) -> None:
        super().__init__()
        self.clock = Clock()
        self.begin_with_theme(theme, terminal_is_dark=None)
        self.transcript = Transcript(load_before=load_before, load_output=load_output, clock=self.clock)
        self.live = LiveLine(on_shown=self.transcript.give_room_to_live_line, clock=self.clock)
        self.said_asked = list[str]()
        """Turns that the user wanted to see."""
        self.dock = ApprovalDock(
            on_text_left=on_text_left,
            on_said_asked=self.said_asked.append,
            prompt_is_empty=lambda: not self.prompt.text,
        )
        self.prompt = TextArea()
        self.prompt.cursor_blink = False
        self.status = StatusLine(status or Status(model="gemini:flash", folder="~/parser", git_branch="main"))

    def compose(self) -> ComposeResult:
        yield self.transcript
        yield self.dock
        yield self.live
        yield self.prompt
        yield self.status

    def on_mount(self) -> None:
        self.prompt.focus()

    def text(self) -> str:
        """What the mounted conversation says, from top to bottom, wherever it is scrolled to."""
        return "\n".join(_texts(self.transcript))

    def screen_text(self) -> str:
        """What is on the screen now, but for the last column, where the scrollbar is."""
        return "\n".join(
            "".join(segment.text for segment in strip)[: self.size.width - 1].rstrip()
            for strip in self.screen._compositor.render_strips()
        )


def _texts(widget: Widget) -> list[str]:
    if not widget.display:
        return []
    match widget:
        case TextRows():
            return [line.gutter + line.text for line in widget.lines]
        case PlainText():
            return [str(widget.content)]
        case ToolHead():
            return [str(widget.render())]
        case AnswerView():
            return [widget.text]
        case _:
            content = widget.render() if not widget.children else None
            own = [str(content)] if isinstance(content, Content) else []
            return own + [line for child in widget.children for line in _texts(child)]


def answers_drawn(app: ChatApp) -> bool:
    """Is all Markdown on the screen?"""
    return all(view.drawn for view in app.query(AnswerView))


def open_tools(app: ChatApp) -> None:
    """Open all mounted tool calls."""
    for view in app.query(ToolCallView):
        view.set_open(True)


def toggle_last(app: ChatApp) -> None:
    """Open or close the last tool call, as Enter does with the cursor on it."""
    app.query(ToolCallView).last().action_open_close()


def turn(
    index: int = 0,
    text: str = "Why does it break?",
    status: TurnStatus = TurnStatus.RUNNING,
    *,
    assistant: str = "",
    error: str = "",
) -> Turn:
    parent = f"turn-{index - 1}" if index else None
    return Turn(
        f"turn-{index}", "session", parent, index, (TextPart(text),), NOW, status, assistant, error=error
    )


def call(
    name: str = "read",
    args: JsonObject | None = None,
    result: str = "1 a\n2 b",
    *,
    status: CallStatus = CallStatus.OK,
    diff: str = "",
    id: str = "call-1",
    turn_id: str = "turn-0",
    duration_ms: int = 35,
    result_blob: str | None = None,
    result_chars: int | None = None,
) -> ToolCall:
    chars = len(result) if result_chars is None else result_chars
    return ToolCall(
        id, turn_id, 0, 0, name, args if args is not None else {"path": "parser.py"},
        status, result, NOW, duration_ms, chars, result_blob, diff,
    )  # fmt: skip
