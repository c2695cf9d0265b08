"""Whether the terminal's background is dark: from its environment, else from its answer to a query."""

import re
from collections.abc import Mapping

QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
"""Every terminal answers the second query, which ends the wait if the first is not understood."""
_COLOR = re.compile(
    rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[^\x07\x1b]*(?:\x07|\x1b\\)"
)
_ATTRIBUTES = re.compile(rb"\x1b\[\?[0-9;]*c")
_BEGUN = re.compile(rb"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b]{0,64}\x1b?)?)?)?|\[(?:\?[0-9;]{0,64})?)?$")
"""What may be the first part of an answer."""


class Answers:
    """Removes the terminal's answers from the input, in whatever parts they arrive."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.is_dark = from_colorfgbg(environ.get("COLORFGBG", ""))
        """None while the terminal has not answered."""
        term = environ.get("TERM", "")
        # The console of Linux has no answer; GNU screen swallows it.
        self.is_expected = self.is_dark is None and term != "linux" and not term.startswith("screen.")
        """Whether there is a question to ask, or an answer to come."""
        self._held: bytes = b""

    @property
    def is_begun(self) -> bool:
        """Whether something is held back that may be the start of an answer."""
        return bool(self._held)

    def take(self, data: bytes) -> bytes:
        """Return what was typed: the data without answers, and without a possible start of one."""
        if not self.is_expected:
            return data
        data, self._held = self._held + data, b""
        if color := _COLOR.search(data):
            self.is_dark = _is_dark(color)
            data = data[: color.start()] + data[color.end() :]
        if attributes := _ATTRIBUTES.search(data):
            self.is_expected = False
            return data[: attributes.start()] + data[attributes.end() :]
        if begun := _BEGUN.search(data):
            data, self._held = data[: begun.start()], data[begun.start() :]
        return data

    def release(self) -> bytes:
        """Return what was held back: nothing has followed, so it was typed."""
        held, self._held = self._held, b""
        return held


def from_colorfgbg(value: str) -> bool | None:
    """Whether the background of `15;0` is dark. None if it does not say."""
    last = value.rpartition(";")[2]
    if not last.isdigit():
        return None
    return int(last) not in {7, *range(9, 16)}


def _is_dark(color: re.Match[bytes]) -> bool:
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in color.groups())
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
