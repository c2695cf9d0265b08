"""Words of a shell command, with their quotes resolved as by the shell."""

import re
from typing import Literal

from msgspec import Struct


class Word(Struct, frozen=True):
    """A word. `text` is what the program receives if literal, else the word as written.

    pattern: not literal only because of `*`, `?` and `[...]`; file names replace it.
    """

    text: str
    literal: bool
    pattern: bool = False


_PATTERN = re.compile(r"[\w./*?\[\]!^:=@%+,-]+", re.ASCII)


def read_word(written: str) -> Word | None:
    """Return the word with its quotes resolved, or None if it is not a word.

    It is not literal if the shell would replace part of it: a variable, the output of a command, file
    names for a pattern, several words for braces, a home folder for a tilde.
    """
    scan = _Scan(written)
    if not scan.run():
        return None
    if scan.literal:
        return Word(scan.text, literal=True)
    return Word(written, literal=False, pattern=_PATTERN.fullmatch(written) is not None)


_Outcome = Literal["read", "opaque", "broken"]
_BEFORE_NAME = re.compile(r"[A-Za-z0-9_?!#$*@-]")


class _Scan:
    """One pass over a word."""

    def __init__(self, written: str) -> None:
        self.written = written
        self.at = 0
        self.out: list[str] = []
        self.literal = True
        self.brace = False

    @property
    def text(self) -> str:
        return "".join(self.out)

    def run(self) -> bool:
        """Read the whole word; return False if it is not one."""
        if not self.written or self.written.startswith("#"):
            return False
        while self.at < len(self.written):
            outcome = self._step()
            if outcome == "broken":
                return False
            if outcome == "opaque":
                # Anything may follow, even blanks inside $(...): the grammar has read it.
                self.literal = False
                return True
        if self.brace and ("," in self.text or ".." in self.text):
            self.literal = False
        return True

    def _step(self) -> _Outcome:
        char = self.written[self.at]
        rest = self.written[self.at + 1 :]
        if char == "\\":
            return self._escaped(rest)
        if char == "'":
            return self._until_quote(rest)
        if char == '"':
            return self._double(rest)
        if char == "$" and rest[:1] == "'":
            return self._ansi_c()
        if char == "`" or (char == "$" and rest[:1] in {"(", "{", "["}):
            return "opaque"
        if char in "<>" and rest[:1] == "(" and not self.out:
            return "opaque"
        if char in " \t\n;&|<>()":
            return "broken"
        if self._is_replaced(char, rest):
            self.literal = False
        if char == "{":
            self.brace = True
        self.out.append(char)
        self.at += 1
        return "read"

    def _is_replaced(self, char: str, rest: str) -> bool:
        """Whether the shell replaces this unquoted character."""
        if char == "$":
            return bool(_BEFORE_NAME.match(rest)) or rest[:1] == '"'
        if char == "~":
            return self.at == 0 or self.written[self.at - 1] in "=:"
        return char in "*?" or (char == "[" and self.written != "[")

    def _escaped(self, rest: str) -> _Outcome:
        if not rest:
            return "broken"
        if rest[0] != "\n":  # an escaped newline disappears
            self.out.append(rest[0])
        self.at += 2
        return "read"

    def _until_quote(self, rest: str) -> _Outcome:
        inner, quote, _ = rest.partition("'")
        self.out.append(inner)
        self.at += len(inner) + 2
        return "read" if quote else "broken"

    def _double(self, rest: str) -> _Outcome:
        index = 0
        while index < len(rest):
            char, following = rest[index], rest[index + 1 : index + 2]
            if char == '"':
                self.at += index + 2
                return "read"
            if char == "`" or (char == "$" and following in {"(", "{", "["}):
                return "opaque"
            if char == "$" and following not in {'"', " "}:
                self.literal = False
            if char == "\\" and following and following in '$`"\\\n':
                self.out.append(following.strip("\n"))
                index += 2
                continue
            self.out.append(char)
            index += 1
        return "broken"

    def _ansi_c(self) -> _Outcome:
        index = self.at + 2
        while index < len(self.written):
            char = self.written[index]
            if char == "'":
                self.at = index + 1
                return "read"
            if char != "\\":
                self.out.append(char)
                index += 1
                continue
            decoded = _decode_escape(self.written[index + 1 :])
            if decoded is None:
                return "opaque"
            text, length = decoded
            self.out.append(text)
            index += 1 + length
        return "broken"


_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}
_CODED = {"x": (16, 2), "u": (16, 4), "U": (16, 8)}


def _decode_escape(after: str) -> tuple[str, int] | None:
    """Return the meaning of a backslash and these characters in $'...', and their number; None if unsure."""
    if not after:
        return None
    first = after[0]
    if first in _SIMPLE:
        return _SIMPLE[first], 1
    base, digits_max = _CODED.get(first, (8, 3))
    start = 1 if first in _CODED else 0
    digits = ""
    for char in after[start : start + digits_max]:
        if char not in ("01234567" if base == 8 else "0123456789abcdefABCDEF"):
            break
        digits += char
    if not digits:
        return None
    code = int(digits, base)
    # Bytes above 127 depend on the locale, and a zero byte ends the word.
    if not 0 < code < 128 and not (first in "uU" and 0 < code <= 0x10FFFF and not 0xD800 <= code < 0xE000):
        return None
    return chr(code), start + len(digits)
