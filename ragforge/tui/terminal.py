"""What is said to the terminal itself: the bell, the window's title, whose the mouse is."""

from typing import Any

from textual.app import App

from ragforge.domain.printable import one_line


def call_user(app: App[Any], title: str) -> None:
    """Ring and set the title, for one who looks elsewhere."""
    app.bell()
    set_title(app, title)


def set_title(app: App[Any], title: str) -> None:
    """Set the window's title (OSC 2); terminals that have none ignore it."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage] - Textual has no public way to the terminal
    if driver is not None and not app.is_headless:
        driver.write(f"\x1b]2;{one_line(title)[:120]}\x07")


def leave_mouse(app: App[Any]) -> None:
    """Leave the mouse to the terminal, which then selects as it always does."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage] - as above
    if driver is not None:
        getattr(driver, "_disable_mouse_support", lambda: None)()
        # Else it would be taken again after a suspension.
        driver._mouse = False  # pyright: ignore[reportPrivateUsage]
