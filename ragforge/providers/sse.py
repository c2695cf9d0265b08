"""Server-sent events from bytes that arrive in arbitrary pieces.

httpx2 has a reader of its own, but it hides comments, and servers send comments as a sign of life while
a model thinks: the idle watchdog has to see them.
"""

import codecs
import re

EVENT_BYTES_MAX = 16 * 1024 * 1024
"""Some servers send a complete tool call, and so a complete file, in one event."""

# A lone \r at the end may be the first half of \r\n.
_LINE_END = re.compile(rb"\r\n|\n|\r(?=[^\n])")


class EventTooLong(Exception):
    """One event holds more than EVENT_BYTES_MAX."""


class EventDecoder:
    """Reads the `data` fields of a stream, event by event.

    Lines are split as bytes, so a border within a character does no harm.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._is_first = True
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[str]:
        """Return the payloads that this chunk completes; none for comments and partial lines."""
        searched = max(0, len(self._rest) - 1)
        self._rest += chunk
        payloads: list[str] = []
        start = 0
        for end in _LINE_END.finditer(self._rest, searched):
            payloads += self._line(bytes(self._rest[start : end.start()]))
            start = end.end()
        del self._rest[:start]
        if len(self._rest) + sum(map(len, self._data)) > EVENT_BYTES_MAX:
            raise EventTooLong
        return payloads

    def flush(self) -> list[str]:
        """Return what the end of the stream completes: not every server sends the last empty line."""
        last = bytes(self._rest).rstrip(b"\r")
        self._rest.clear()
        return [*self._line(last), *self._line(b"")]

    def _line(self, line: bytes) -> list[str]:
        """Return the payload of the event that this line ends."""
        if self._is_first:  # as the specification of event streams requires
            line, self._is_first = line.removeprefix(codecs.BOM_UTF8), False
        if line:
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
            return []
        if not self._data:
            return []
        payload = b"\n".join(self._data).decode("utf-8", "replace")
        self._data.clear()
        return [payload]
