"""Commands to the terminal itself: the bell, the window's title, the mouse."""

import os
from collections.abc import Mapping
from typing import Any

from textual.app import App

from ragforge.domain.printable import one_line
from ragforge.tui.terminal_driver import TerminalDriver


def show(app: App[Any]) -> None:
    """Let the app's pictures replace the first prompt."""
    if isinstance(driver := app._driver, TerminalDriver):  # pyright: ignore[reportPrivateUsage] - as below
        driver.show()


OSC_9_PROGRAMS = ("iTerm.app", "WezTerm", "ghostty", "mintty")
"""Values of TERM_PROGRAM of terminals that show a notification for OSC 9."""


def call_user(app: App[Any], title: str) -> None:
    """Ring, set the title and send a notification, for a user who looks elsewhere."""
    app.bell()
    set_title(app, title)
    driver = app._driver  # pyright: ignore[reportPrivateUsage] - as below
    if driver is not None and not app.is_headless:
        driver.write(notification(title, os.environ))


def notification(text: str, environ: Mapping[str, str]) -> str:
    """Return what makes the terminal notify the desktop: OSC 9 or 777, both if it is unknown.

    Terminals that know neither ignore it, and so does tmux, which passes the bell on.
    """
    shown = one_line(text)[:120].replace(";", ",")
    body = shown.removeprefix("ragforge: ")  # OSC 777 has a title of its own
    osc_9, osc_777 = f"\x1b]9;{shown}\x07", f"\x1b]777;notify;ragforge;{body}\x07"
    if environ.get("TERM_PROGRAM", "") in OSC_9_PROGRAMS or "KITTY_WINDOW_ID" in environ:
        return osc_9
    if "VTE_VERSION" in environ or environ.get("TERM", "").startswith(("foot", "rxvt")):
        return osc_777
    return osc_9 + osc_777


def set_title(app: App[Any], title: str) -> None:
    """Set the window's title (OSC 2); terminals that have none ignore it."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage] - Textual has no public way to the terminal
    if driver is not None and not app.is_headless:
        driver.write(f"\x1b]2;{one_line(title)[:120]}\x07")


def use_mouse(app: App[Any], *, is_ours: bool) -> None:
    """Take the mouse, or leave it to the terminal, which then selects as usual."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage] - as above
    if driver is not None:
        # Else it would be taken, or left, again after a suspension.
        driver._mouse = is_ours  # pyright: ignore[reportPrivateUsage]
        name = "_enable_mouse_support" if is_ours else "_disable_mouse_support"
        getattr(driver, name, lambda: None)()


def part_escape(app: App[Any], *, is_on: bool) -> None:
    """Treat Escape and a key that follows at once as two keys, as Vim's users type them."""
    if isinstance(driver := app._driver, TerminalDriver):  # pyright: ignore[reportPrivateUsage] - as above
        driver.parts_escape = is_on
