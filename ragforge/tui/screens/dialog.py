"""What every dialog is: a screen above the chat that answers once, and stops what it was doing then."""

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, ScreenResultType

from ragforge.tui.textual_types import worker_at_work

ROWS_ROOMY = 16


class Dialog(ModalScreen[ScreenResultType]):
    """A modal screen whose workers end when it is closed.

    Textual cancels them once the screen is gone, and its parts go before it does: a worker whose answer came
    in between would look for parts that no longer exist, and end the program. A second answer that was under
    way already, such as the other half of a double click, does not count: it would close the screen below.
    """

    typed_meanwhile: str = ""
    """What was typed instead of an answer: it was meant for the prompt."""
    _is_answered = False

    def on_resize(self) -> None:
        """Leave out what is only pleasant where there are few rows."""
        self.set_class(self.size.height < ROWS_ROOMY, "-low")
        self.call_after_refresh(self._keep_focus_in_view)

    def _keep_focus_in_view(self) -> None:
        """Where not even what is left fits, scroll to what takes the keys."""
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
