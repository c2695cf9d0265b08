"""Name a command in a message, as the user would type it."""

from contextvars import ContextVar

_IN_SHELL = ContextVar("in_shell", default=False)
_HAS_SCREENS = ContextVar("has_screens", default=True)


def in_shell() -> None:
    """Declare that messages are read on the command line from now on, not in the interface."""
    _IN_SHELL.set(True)
    without_screens()


def without_screens() -> None:
    """Declare that output is read as lines from now on, and no screen can be opened."""
    _HAS_SCREENS.set(False)


def is_in_shell() -> bool:
    """Whether messages are read on the command line, where questions cannot be asked."""
    return _IN_SHELL.get()


def has_screens() -> bool:
    """Whether a command may open a screen."""
    return _HAS_SCREENS.get()


def typed(command: str, *, shell: str = "") -> str:
    """Return what to type: `/undo 2` in the interface, `ragforge undo 2` on the command line.

    shell: its form on the command line, if that differs.
    """
    return f"ragforge {shell or command}" if _IN_SHELL.get() else f"/{command}"
