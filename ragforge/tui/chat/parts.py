"""The widgets of the chat that are mounted after its first frame."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from ragforge.tui.widgets.approval import ApprovalDock
from ragforge.tui.widgets.live_line import LiveLine
from ragforge.tui.widgets.program_panel import ProgramPanel
from ragforge.tui.widgets.queue_list import QueueList
from ragforge.tui.widgets.start_list import StartList
from ragforge.tui.widgets.todo_panel import TodoPanel
from ragforge.tui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from ragforge.domain.turns import ToolCall
    from ragforge.tui.widgets.turn_record import StoredTurns

START_HINT = "Enter resumes the newest · Down chooses another · type to filter, or to start a new session"


class ChatParts(Struct, frozen=True):
    """The widgets around the prompt."""

    transcript: Transcript
    program: ProgramPanel
    todos: TodoPanel
    approval: ApprovalDock
    live: LiveLine
    queue: QueueList
    start_list: StartList


def make_parts(
    *,
    load_before: Callable[[str, int], Awaitable[StoredTurns]],
    load_output: Callable[[ToolCall], Awaitable[str]],
    put_back: Callable[[str], None],
    show_said: Callable[[str], object],
    prompt_is_empty: Callable[[], bool],
) -> ChatParts:
    """Return the widgets, with what they request from the chat."""
    transcript = Transcript(load_before=load_before, load_output=load_output, id="transcript")
    return ChatParts(
        transcript,
        ProgramPanel(id="program"),
        TodoPanel(id="todos"),
        ApprovalDock(
            on_text_left=put_back, on_said_asked=show_said, prompt_is_empty=prompt_is_empty, id="approval"
        ),
        LiveLine(on_shown=transcript.give_room_to_live_line, id="live"),
        QueueList(id="queue"),
        StartList(hint=START_HINT, id="start-list"),
    )
