"""How a message names a command: as the user who reads it would type it."""

from contextvars import ContextVar

_IN_SHELL = ContextVar("in_shell", default=False)
_HAS_SCREENS = ContextVar("has_screens", default=True)


def in_shell() -> None:
    """From now on messages are read on the command line, and not in the interface."""
    _IN_SHELL.set(True)
    without_screens()


def without_screens() -> None:
    """From now on results are read as lines, and no screen can be opened."""
    _HAS_SCREENS.set(False)


def is_in_shell() -> bool:
    """Whether messages are read on the command line, where nobody answers a question."""
    return _IN_SHELL.get()


def has_screens() -> bool:
    """Whether a command may open a screen."""
    return _HAS_SCREENS.get()


def typed(command: str, *, shell: str = "") -> str:
    """What is typed for it: `/undo 2` in the interface, `ragforge undo 2` on the command line.

    shell: the same where it is written otherwise on the command line.
    """
    return f"ragforge {shell or command}" if _IN_SHELL.get() else f"/{command}"
