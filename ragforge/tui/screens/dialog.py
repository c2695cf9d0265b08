"""The base of dialogs: a screen above the chat that answers once, and then stops its work."""

from textual import events
from textual.await_complete import AwaitComplete
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType

from ragforge.tui.textual_types import worker_at_work
from ragforge.tui.widgets.paste import cleaned

ROWS_ROOMY = 16
TYPED_CHARS_SHOWN = 30


class QuestionText(VerticalScroll, can_focus=False):
    """The text of a question; if it is long it scrolls, and the answers below stay visible."""

    DEFAULT_CSS = """
    QuestionText { height: auto; max-height: 50vh; scrollbar-size-vertical: 1; }
    """


class Dialog(ModalScreen[ScreenResultType]):
    """A modal screen whose workers end when it is closed.

    Textual cancels them once the screen is gone, after its parts: a worker whose answer came in between
    would look for parts that no longer exist, and end the program. A second answer that was on its way,
    such as the other half of a double click, does not count: it would close the screen below.
    """

    typed_meanwhile: str = ""
    """What was typed instead of an answer: it was meant for the prompt."""
    _is_answered = False

    def keep_typed(self, event: events.Key | events.Paste) -> None:
        """Keep what is no answer for the prompt, and show it. Enter starts a line: two messages stay two."""
        typed = self.typed_meanwhile
        if isinstance(event, events.Paste):
            typed += cleaned(event.text)
        elif event.key == "backspace":
            typed = typed[:-1]
        elif event.key == "enter":
            typed += "\n" if typed else ""
        elif event.is_printable:
            typed += event.character or ""
        self.typed_meanwhile = typed
        end = " ".join(typed.split())
        cut = "…" + end[-TYPED_CHARS_SHOWN:] if len(end) > TYPED_CHARS_SHOWN else end
        for box in self.query(".dialog"):
            box.border_subtitle = Content(f"kept for the prompt: {cut}" if cut else "")

    def on_resize(self) -> None:
        """Leave out decoration if there are few rows."""
        self.set_class(self.size.height < ROWS_ROOMY, "-low")
        self.call_after_refresh(self._keep_focus_in_view)

    def _keep_focus_in_view(self) -> None:
        """If not even the rest fits, scroll to what takes the keys."""
        if self.focused is not None and self.is_attached:
            self.focused.scroll_visible(animate=False)

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close, answer, and cancel every worker of this screen except the one that closes it."""
        if self._is_answered:
            return AwaitComplete.nothing()
        self._is_answered = True
        closing = super().dismiss(result)
        for worker in list(self.workers):
            if worker.node is self and worker is not worker_at_work():
                worker.cancel()
        return closing
