"""Update a mounted widget: the screen is laid out only if the content needs another size."""

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from ragforge.tui.textual_types import app_of


def show_in_place(widget: Static, content: Content) -> None:
    """Show the content instead; the screen is laid out again if the widget's size changes."""
    before = _room(widget)
    widget.update(content, layout=False)
    if before is None or _room(widget) != before:
        widget.refresh(layout=True)


def _room(widget: Widget) -> tuple[int, int] | None:
    """Return the cells its content needs, in columns and rows; None before it has been laid out."""
    width = widget.content_size.width
    if not width:
        return None
    container, viewport = widget.container_size, app_of(widget).size
    wanted = widget.get_content_width(container, viewport) if widget.styles.is_auto_width else width
    return wanted, widget.get_content_height(container, viewport, width)
