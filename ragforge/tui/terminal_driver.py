"""How the interface writes to its terminal."""

from typing import IO, Any, cast

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver


class TerminalDriver(LinuxDriver):
    """Textual's driver, which also ends where the terminal has gone.

    Its writing thread dies of the first error, and what is written then waits for it for ever: a window
    that was closed left the process behind.
    """

    def __init__(self, app: App[Any], **options: Any) -> None:
        cast(Any, super()).__init__(app, **options)
        self._file = cast(IO[str], _WhileThere(self._file))


class _WhileThere:
    """A file that swallows what can no longer be written."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write it, or let it go."""
        try:
            return self._file.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        """Flush it, or let it go."""
        try:
            self._file.flush()
        except OSError:
            return

    def fileno(self) -> int:
        """The terminal's own."""
        return self._file.fileno()

    def isatty(self) -> bool:
        """Whether it was a terminal."""
        return self._file.isatty()
