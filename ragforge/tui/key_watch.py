"""Receive every key before the focused widget does."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from textual import events
from textual.app import App
from textual.widget import Widget

from ragforge.tui.textual_types import app_of

Result = TypeVar("Result")
Pressed: TypeAlias = events.Key | events.Paste
KeyTaker: TypeAlias = Callable[[Pressed], list[Pressed]]
"""Called with every key and paste. Returns what goes to the focused widget now: nothing if it took the key;
else the key, after one that it had kept to see what follows."""


class KeyWatch(App[Result]):
    """An app that knows when a key was last pressed, and lets a question take its answers.

    The decision is made here, in the order of the keys: with a moving focus, quickly typed keys would
    overtake each other.
    """

    last_key_s: float = float("-inf")
    """As `monotonic()`: when the terminal sent it, not when it was processed."""
    key_taker: KeyTaker | None = None
    held: list[Pressed] | None = None
    """Keys that wait until something can take them; None if they are passed on."""

    async def on_event(self, event: events.Event) -> None:
        """Record the time and ask the taker, then do what every app does."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if self.held is not None:
                self.held.append(event)
                return
            await self._pass_on(event)
            return
        await super().on_event(event)

    async def let_go(self) -> None:
        """Pass on the waiting keys, in order; new ones come after them."""
        while self.held:
            await self._pass_on(self.held.pop(0))
        self.held = None

    async def _pass_on(self, event: Pressed) -> None:
        self.last_key_s = max(self.last_key_s, event.time)
        for each in [event] if self.key_taker is None else self.key_taker(event):
            if not self.direct(each):
                await super().on_event(each)

    def direct(self, event: Pressed) -> bool:
        """Move the focus to where the key belongs; return whether that was all."""
        return False


def key_watch_of(widget: Widget) -> KeyWatch[Any]:
    """Return the app of the widget. Raises TypeError in an app of another kind."""
    app = app_of(widget)
    if not isinstance(app, KeyWatch):
        raise TypeError(f"A {type(widget).__name__} needs an app that is a KeyWatch.")
    return app
