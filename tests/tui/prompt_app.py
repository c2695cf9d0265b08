"""An app of a few lines around the prompt, and keys with times of their own."""

from typing import Any, ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.pilot import Pilot

from ragforge.tui import keys
from ragforge.tui.widgets.completion import Completion
from ragforge.tui.widgets.prompt import Prompt
from ragforge.tui.widgets.queue_list import QueueList
from tests.tui.waiting import until


class PromptArea(Vertical):
    """The queue, the list and the prompt, as the chat has them."""

    DEFAULT_CSS = "PromptArea { height: auto; }"

    def __init__(self, *, commands: Any = None, files: Any = None, **options: Any) -> None:
        super().__init__()
        self.queue_list = QueueList()
        self.completion = Completion(commands=commands, files=files)
        self.prompt = Prompt(completion=self.completion, **options)

    def compose(self) -> ComposeResult:
        yield self.queue_list
        yield self.completion
        yield self.prompt

    def show_queue(self, texts: list[str]) -> None:
        self.queue_list.show(texts, while_runs=True)
        self.prompt.queued = len(texts)

    def on_completion_clicked(self, event: Completion.Clicked) -> None:
        self.prompt.take(event.choice)
        self.prompt.focus()


class PromptApp(App[None]):
    """Shows a prompt with what belongs to it, and notes its messages."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *keys.app_bindings(),
        Binding("escape", "interrupt"),
        Binding("ctrl+o", "expand"),
    ]

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.area = PromptArea(**options)
        self.messages: list[Message] = []
        self.chat_actions: list[str] = []

    @property
    def prompt(self) -> Prompt:
        return self.area.prompt

    @property
    def sent(self) -> list[str]:
        return [message.text for message in self.messages if isinstance(message, Prompt.Submitted)]

    def got(self, kind: type[Message]) -> list[Any]:
        return [message for message in self.messages if isinstance(message, kind)]

    def compose(self) -> ComposeResult:
        yield self.area

    def on_mount(self) -> None:
        self.prompt.focus()

    def note(self, message: Message) -> None:
        self.messages.append(message)

    on_prompt_submitted = on_prompt_enter_on_empty = on_prompt_take_back = note
    on_prompt_noticed = on_prompt_quit_requested = on_prompt_draft_changed = note

    def action_interrupt(self) -> None:
        self.chat_actions.append("interrupt")

    def action_expand(self) -> None:
        self.chat_actions.append("expand")


NAMES = {"\r": "enter", "\n": "ctrl+j", "\t": "tab", " ": "space"}


async def keys_at(pilot: Pilot[Any], text: str, *, start_s: float, gap_s: float) -> None:
    """The text as keys that the terminal sent `gap_s` apart, whenever their turn comes."""
    prompt = pilot.app.focused
    assert prompt is not None
    for number, char in enumerate(text):
        event = events.Key(NAMES.get(char, char), char)
        event.time = start_s + number * gap_s
        prompt.post_message(event)
    await until(pilot, lambda: not prompt.message_queue_size, what="keys are handled")
