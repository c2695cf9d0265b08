"""The foot of the chat: what waits, what is offered, and the prompt."""

from collections.abc import Callable, Mapping, Sequence
from time import monotonic

from textual.app import ComposeResult
from textual.containers import Vertical

from ragforge.tui.widgets.completion import CommandRow, Completion, Files
from ragforge.tui.widgets.history import History
from ragforge.tui.widgets.prompt import Prompt
from ragforge.tui.widgets.queue_list import QueueList


class PromptArea(Vertical):
    """The prompt with its list and the queue. The messages are `Prompt`'s; they bubble."""

    DEFAULT_CSS = """
    PromptArea { height: auto; }
    """

    def __init__(
        self,
        *,
        commands: Callable[[], Sequence[CommandRow]] | None = None,
        files: Files | None = None,
        history: History | None = None,
        bound: Mapping[str, tuple[str, ...]] | None = None,
        env: Mapping[str, str] | None = None,
        clock: Callable[[], float] = monotonic,
        id: str | None = None,
    ) -> None:
        """commands: the slash commands; files: such as `ProjectFiles(root).find`; the rest as in `Prompt`."""
        super().__init__(id=id)
        self.queue_list = QueueList()
        self.completion = Completion(commands=commands, files=files)
        self.prompt = Prompt(completion=self.completion, history=history, bound=bound, env=env, clock=clock)

    def compose(self) -> ComposeResult:
        """The queue on top, the prompt at the bottom."""
        yield self.queue_list
        yield self.completion
        yield self.prompt

    def show_queue(self, texts: Sequence[str]) -> None:
        """Show the messages that wait."""
        self.queue_list.show(texts)
        self.prompt.queued = len(texts)

    def on_completion_clicked(self, event: Completion.Clicked) -> None:
        """A click takes the line, as Tab does."""
        event.stop()
        self.prompt.take(event.choice)
        self.prompt.focus()
