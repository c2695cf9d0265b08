"""Bytes as text and back, preserving the encoding, the byte order mark and the line endings."""

import codecs

from msgspec import Struct

from ragforge.domain.errors import UsageError

# UTF-32 first: its little-endian mark begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
GUESS_BYTES_MAX = 256 * 1024


class TextFile(Struct, frozen=True):
    """A file's exact text, including line endings, and how it is encoded."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def newline(self) -> str:
        """The most frequent line ending; "" if there is none."""
        windows = self.text.count("\r\n")
        unix = self.text.count("\n") - windows
        if not windows and not unix:
            return ""
        return "\r\n" if windows > unix else "\n"

    @property
    def how(self) -> str:
        """How it differs from plain UTF-8 with LF, in words; "" if it does not."""
        notes = [] if self.encoding == "utf-8" else [self.encoding]
        if self.mark and self.encoding == "utf-8":
            notes.append("UTF-8 with byte order mark")
        if self.newline == "\r\n":
            notes.append("CRLF line endings")
        return ", ".join(notes)


def decode(content: bytes) -> TextFile | None:
    """Return the text of the bytes, or None if they are not text. `encode` returns the same bytes."""
    for mark, encoding in MARKS:
        if content.startswith(mark):
            return _decode_as(content, encoding, mark)
    if b"\0" in content:
        return None
    return _decode_as(content, "utf-8", b"") or _decode_by_guess(content)


def encode(text: str, like: TextFile) -> bytes:
    """Return the text as bytes, in the other's encoding. Raises UsageError that names what the encoding
    lacks."""
    try:
        return like.mark + text.encode(like.encoding)
    except UnicodeEncodeError as error:
        lacking = text[error.start : error.end][:10]
        code = f"U+{ord(lacking[0]):04X}"
        raise UsageError(
            f"The file is {like.encoding}, which cannot hold {lacking!a} ({code}, character "
            f"{error.start + 1} of the new text). Use other characters, or convert the file to UTF-8 first."
        ) from error


def to_newline(text: str, newline: str) -> str:
    """Return the text with LF and CRLF replaced by `newline`; "" leaves it unchanged."""
    if not newline:
        return text
    plain = text.replace("\r\n", "\n")
    return plain if newline == "\n" else plain.replace("\n", newline)


def lines_of(text: str) -> list[str]:
    """Return the lines without their endings (LF or CRLF); a final line ending starts no further line."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _decode_as(content: bytes, encoding: str, mark: bytes) -> TextFile | None:
    body = content[len(mark) :]
    try:
        text = body.decode(encoding)
        same = text.encode(encoding) == body
    except (UnicodeError, LookupError):
        return None
    return TextFile(text, encoding, mark) if same and "\0" not in text else None


def _decode_by_guess(content: bytes) -> TextFile | None:
    # Takes 30 ms to import, and few files need it.
    from charset_normalizer import from_bytes

    if _looks_binary(content[:GUESS_BYTES_MAX]):
        return None
    matches = list(from_bytes(content[:GUESS_BYTES_MAX]))
    guesses = [name for match in matches for name in (match.encoding, *match.could_be_from_charset)]
    # Where western Windows text is among the possible readings of one guess, it is by far the likeliest.
    if "cp1252" in guesses:
        guesses.insert(0, "cp1252")
    # A few words are too little to guess from; without control characters they are text all the same.
    guesses.append("cp1252")
    for encoding in dict.fromkeys(guesses):
        if found := _decode_as(content, encoding, b""):
            return found
    return None


def _looks_binary(sample: bytes) -> bool:
    controls = sum(sample.count(code) for code in range(32) if code not in b"\t\n\r\f\x1b")
    return controls * 50 > len(sample)
