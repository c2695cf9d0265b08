"""Make the output of programs fit for a model and a store: without control sequences, limited in size."""

import codecs
import re

HELD_CHARS_MAX = 4096
"""How much of an incomplete escape sequence is held back."""

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC, DCS, SOS, PM, APC: titles, links, images
    r"|\x1b[ -/]*[0-Z\\^-~]"  # two or three characters: character sets, keypad
)
_UNFINISHED = re.compile(r"(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?|\r)\Z")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class OutputCleaner:
    """Bytes in, clean text out; a character or sequence split between two pieces is joined."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""

    def feed(self, chunk: bytes) -> str:
        """Return the complete text of this piece."""
        text = self._held + self._decoder.decode(chunk)
        self._held = ""
        unfinished = _UNFINISHED.search(text, max(0, len(text) - HELD_CHARS_MAX))
        if unfinished:
            self._held = text[unfinished.start() :]
            text = text[: unfinished.start()]
        return _clean(text)

    def close(self) -> str:
        """Return what was held back."""
        text = self._held + self._decoder.decode(b"", final=True)
        self._held = ""
        return _clean(text)


def _clean(text: str) -> str:
    if "\x1b" in text:
        text = _SEQUENCE.sub("", text)
    # A lone carriage return redraws the line (progress bars): each state becomes a line.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", text)


class OutputBuffer:
    """The head and the tail of a text that may grow without limit."""

    def __init__(self, *, head_chars_max: int, tail_chars_max: int) -> None:
        self._head = ""
        self._tail: list[str] = []
        self._tail_chars = 0
        self._head_chars_max = head_chars_max
        self._tail_chars_max = tail_chars_max
        self.dropped_chars = 0

    def append(self, text: str) -> None:
        """Append text; what is between head and tail is dropped."""
        room = self._head_chars_max - len(self._head)
        if room > 0:
            self._head += text[:room]
            text = text[room:]
        if not text:
            return
        self._tail.append(text)
        self._tail_chars += len(text)
        if self._tail_chars > 2 * self._tail_chars_max:  # not on every call: joining is expensive
            self._trim()

    def text(self) -> str:
        """Return head and tail; between them, how much is missing."""
        self._trim()
        tail = "".join(self._tail)
        if not self.dropped_chars:
            return self._head + tail
        return f"{self._head}\n[... {self.dropped_chars:,} characters dropped here ...]\n{tail}"

    def _trim(self) -> None:
        over = self._tail_chars - self._tail_chars_max
        if over > 0:
            self._tail = ["".join(self._tail)[over:]]
            self._tail_chars -= over
            self.dropped_chars += over
