"""Typed access to parts of Textual without complete types."""

from abc import ABCMeta
from collections.abc import Mapping
from typing import Any, cast

from textual.app import App
from textual.message_pump import _MessagePumpMeta  # pyright: ignore[reportPrivateUsage]
from textual.reactive import Reactive
from textual.scrollbar import ScrollBar
from textual.widget import Widget
from textual.worker import (
    Worker,
    active_worker,  # pyright: ignore[reportUnknownVariableType]
)


class AbstractMeta(ABCMeta, _MessagePumpMeta):
    """For screens and widgets with methods that a subclass must have."""


def app_of(widget: Widget) -> App[Any]:
    """Return the app of the widget."""
    return cast("App[Any]", widget.app)  # pyright: ignore[reportUnknownMemberType]


def changed_keys(widget: Widget) -> Mapping[str, str]:
    """Return the keys that are not the table's, by action, as by `keys.keymap`; none before it is shown."""
    return app_of(widget)._keymap if widget.is_attached else {}  # pyright: ignore[reportPrivateUsage]


def worker_at_work() -> Worker[Any] | None:
    """Return the worker that this is called from, if any."""
    return cast("Worker[Any] | None", active_worker.get(None))  # pyright: ignore[reportUnknownMemberType]


def set_scroll_y(widget: Widget, y: float) -> None:
    """Move a scrolling widget without telling its watchers, like Textual's own anchor in a layout."""
    widget.set_reactive(Widget.scroll_y, y)
    widget.set_reactive(cast("Reactive[float]", Widget.scroll_target_y), y)
    widget.vertical_scrollbar.set_reactive(ScrollBar.position, y)
