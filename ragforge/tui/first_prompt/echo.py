"""The prompt's text after the keys typed so far, drawn before the real prompt takes over.

This is only for drawing: the prompt receives the bytes themselves.
"""

import re
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragforge.tui.widgets.paste import Folds

_PASTE_BEGIN, _PASTE_END = "\x1b[200~", "\x1b[201~"
_KEY = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1bO[@-~]"  # SS3
    r"|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)"  # answers of the terminal
    r"|\x1b[^\[O\]P_^X\x1b]"  # Alt
    r"|[^\x1b]",
    re.DOTALL,
)
_WORD_BEFORE = re.compile(r"(?:\w+|\W*[^\w\s])?\s*$")
_DOES = {
    **dict.fromkeys(("\x7f", "\x08", "\x1b[127u"), "delete_left"),
    **dict.fromkeys(("\x04", "\x1b[3~"), "delete_right"),
    **dict.fromkeys(("\x02", "\x1b[D", "\x1bOD"), "left"),
    **dict.fromkeys(("\x06", "\x1b[C", "\x1bOC"), "right"),
    **dict.fromkeys(("\x01", "\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~"), "line_start"),
    **dict.fromkeys(("\x05", "\x1b[F", "\x1bOF", "\x1b[4~", "\x1b[8~"), "line_end"),
    **dict.fromkeys(("\x17", "\x1b\x7f", "\x1b\x08"), "delete_word"),
    "\x15": "delete_to_start",
    "\x0b": "delete_to_end",
    "\x03": "clear",
    **dict.fromkeys(("\n", "\x1b\r", "\x1b[13;2u", "\x1b[13;3u", "\x1b[27;2;13~"), "newline"),
}


class Echo:
    """A text and the position of the cursor in it. `text` has long pastes folded, `whole` as they are."""

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""
        self._paste: list[str] | None = None
        self._folds: Folds | None = None

    @property
    def is_begun(self) -> bool:
        """Whether a key has arrived in part, or Escape, which starts the same way."""
        return bool(self._rest)

    @property
    def whole(self) -> str:
        """The text with complete pastes, including one that is still arriving."""
        text = self._folds.unfold(self.text) if self._folds else self.text
        return text + "".join(self._paste or ())

    def feed(self, data: bytes) -> None:
        """Process this input."""
        text = self._rest + self._decode(data)
        self._rest = ""
        place = 0
        while place < len(text):
            if self._paste is not None:
                place = self._go_on_pasting(text, place)
            elif text.startswith(_PASTE_BEGIN, place):
                self._paste = []
                place += len(_PASTE_BEGIN)
            elif key := _KEY.match(text, place):
                self._press(key[0], is_last=key.end() == len(text))
                place = key.end()
            elif place + 1 < len(text) and text[place + 1] == "\x1b":
                place += 1  # Escape, and then something else
            else:
                self._rest, place = text[place:], len(text)

    def settle(self) -> None:
        """The partial key was Escape: it draws nothing."""
        self._rest = ""

    def _go_on_pasting(self, text: str, place: int) -> int:
        """Return where the text continues after the paste."""
        paste = self._paste or []
        end = text.find(_PASTE_END, place)
        if end >= 0:
            self._insert(self._folded("".join([*paste, text[place:end]])))
            self._paste = None
            return end + len(_PASTE_END)
        # The mark of its end may have arrived in part.
        begun = next(
            (size for size in range(len(_PASTE_END) - 1, 0, -1) if text.endswith(_PASTE_END[:size])), 0
        )
        kept = max(place, len(text) - begun)
        paste.append(text[place:kept])
        self._paste, self._rest = paste, text[kept:]
        return len(text)

    def _folded(self, paste: str) -> str:
        from ragforge.tui.widgets.paste import Folds, cleaned  # loaded only for pastes

        self._folds = self._folds or Folds()
        return self._folds.fold(cleaned(paste), beside=self.text)

    def _press(self, key: str, *, is_last: bool) -> None:
        if does := _DOES.get(key):
            getattr(self, f"_{does}")()
        elif key == "\r" and not is_last:
            self._insert("\n")  # what is read at once after it shows that this was pasted, or typed ahead
        elif len(key) == 1 and (key.isprintable() or key in "\u200c\u200d\u00ad"):
            self._insert(key)

    def _insert(self, text: str) -> None:
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    @property
    def _start_of_line(self) -> int:
        return self.text.rfind("\n", 0, self.cursor) + 1

    @property
    def _end_of_line(self) -> int:
        end = self.text.find("\n", self.cursor)
        return len(self.text) if end < 0 else end

    def _newline(self) -> None:
        self._insert("\n")

    def _left(self) -> None:
        self.cursor = self._grown(max(0, self.cursor - 1), self.cursor)[0]

    def _right(self) -> None:
        self.cursor = self._grown(self.cursor, min(len(self.text), self.cursor + 1))[1]

    def _line_start(self) -> None:
        start = self._start_of_line
        line = self.text[start : self._end_of_line]
        indent = len(line) - len(line.lstrip()) if line.strip() else 0
        self.cursor = start + (0 if 0 < self.cursor - start <= indent else indent)

    def _line_end(self) -> None:
        self.cursor = self._end_of_line

    def _delete_left(self) -> None:
        self._delete(max(0, self.cursor - 1), self.cursor)

    def _delete_right(self) -> None:
        self._delete(self.cursor, min(len(self.text), self.cursor + 1))

    def _delete_word(self) -> None:
        line = self.text[self._start_of_line : self.cursor]
        found = _WORD_BEFORE.search(line)
        self._delete(max(0, self.cursor - (len(found[0]) if found and line else 1)), self.cursor)

    def _delete_to_start(self) -> None:
        start = self._start_of_line
        self._delete(start if start < self.cursor else max(0, self.cursor - 1), self.cursor)

    def _delete_to_end(self) -> None:
        self._delete(self.cursor, self._end_of_line)

    def _clear(self) -> None:
        if self.text.strip():
            self.text, self.cursor = "", 0

    def _delete(self, start: int, end: int) -> None:
        start, end = self._grown(start, end)
        self.text, self.cursor = self.text[:start] + self.text[end:], start

    def _grown(self, start: int, end: int) -> tuple[int, int]:
        """Return the range, extended to the folded pastes that it cuts."""
        for word in self._folds.whole if self._folds else ():
            place = self.text.find(word)
            if place >= 0 and place < end and start < place + len(word):
                start, end = min(start, place), max(end, place + len(word))
        return start, end
