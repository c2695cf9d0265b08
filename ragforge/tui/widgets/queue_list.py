"""The queued messages, above the prompt."""

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.widgets import Static

from ragforge.tui.keys import present_key, with_present_keys
from ragforge.tui.textual_types import app_of, changed_keys
from ragforge.tui.widgets.key_hint import KeyLine, key_lines, own_names
from ragforge.tui.widgets.prompt import Prompt

SHOWN_MAX = 3
KEYS = "Up edits the last · Esc interrupts, and returns all to the prompt"
IDLE_KEYS = "Enter sends · Up edits the last · Esc returns all to the prompt"


class QueueList(Static):
    """One line a message. On an empty prompt Up takes the last back, Esc all: see `Prompt.TakeBack`."""

    DEFAULT_CSS = """
    QueueList {
        display: none;
        height: auto;
        padding: 0 2;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        &.-waiting { display: block; }
    }
    """

    _keys: KeyLine | None = None
    """The keys in the last line."""
    _keys_y = 0
    """Which line that is: beside a question there may be room for the first only."""

    def show(self, texts: Sequence[str], *, while_runs: bool) -> None:
        """Show these, the next one on top; if there are many, those in the middle are only counted.

        while_runs: whether they wait for a running turn; else for the user, whose turn was interrupted.
        """
        self.set_class(bool(texts), "-waiting")
        lines = [
            Content.assemble((f"queued{_number(at, texts)}  ", "dim"), " ".join(text.split())[:500])
            for at, text in enumerate(texts, 1)
        ]
        if (hidden := len(texts) - SHOWN_MAX) > 0:
            more = Content.styled(f"queued  {hidden} more", "dim")
            lines = [*lines[: SHOWN_MAX - 1], more, lines[-1]]
        self._keys = None
        if lines:
            changed = changed_keys(self)
            words = KEYS if while_runs else IDLE_KEYS
            said = with_present_keys(words, changed, "submit", "up", "close")
            [self._keys] = key_lines(said, max(1, len(said)), own_names(changed))
            self._keys_y = len(lines)
            lines.append(Content.styled(said, "dim"))
        self.update(Content("\n").join(lines))

    def on_click(self, event: events.Click) -> None:
        """Do what the clicked key in the last line says, whatever it would do in a draft or an approval."""
        at = event.get_content_offset(self)
        if at and self._keys and at.y == self._keys_y and (key := self._keys.key_at(at.x)):
            event.stop()
            changed = changed_keys(self)
            if key == present_key("up", changed):
                self.post_message(Prompt.TakeBack(last=True))
            elif key == present_key("submit", changed):
                self.post_message(Prompt.EnterOnEmpty())
            else:
                app_of(self).simulate_key(key)


def _number(at: int, texts: Sequence[str]) -> str:
    """Return which of several it is: the only one that is shown tells that there are more."""
    return f" {at}/{len(texts)}" if len(texts) > 1 else ""
