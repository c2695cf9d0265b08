"""What is said to the terminal itself: the bell and the window's title."""

from typing import Any

from textual.app import App

from ragforge.tui.widgets.printable import one_line


def call_person(app: App[Any], title: str) -> None:
    """Ring and set the title, for one who looks elsewhere."""
    app.bell()
    set_title(app, title)


def set_title(app: App[Any], title: str) -> None:
    """Set the window's title (OSC 2); terminals that have none ignore it."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage] - Textual has no public way to the terminal
    if driver is not None and not app.is_headless:
        driver.write(f"\x1b]2;{one_line(title)[:120]}\x07")
