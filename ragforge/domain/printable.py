"""Make untrusted text safe to show: it must neither control the terminal nor hide characters."""

import re

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
_PICTURES[0x7F] = 0x2421
# Bidirectional overrides make code look different from what runs ("Trojan Source", CVE-2021-42574), line
# separators would break the count of lines, and C1 controls are commands to some terminals.
_SPELLED = {
    code: f"<U+{code:04X}>"
    for code in (*range(0x80, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
}
_TABLE: dict[int, int | str] = {**_PICTURES, **_SPELLED}
_UNSAFE_CHARS = "".join(re.escape(chr(code)) for code in _TABLE) + "\ud800-\udfff"
_UNSAFE = re.compile(f"[{_UNSAFE_CHARS}]")
_UNSAFE_IN_NAME = re.compile(f"[\n\t{_UNSAFE_CHARS}]")


def printable(text: str) -> str:
    """Return the text with newlines as line ends, and control characters as pictures (`␛` for escape)."""
    text = text.replace("\r\n", "\n")
    if not _UNSAFE.search(text):
        return text
    # A lone surrogate cannot be written to a terminal in UTF-8.
    return text.encode("utf-8", "replace").decode("utf-8").translate(_TABLE)


def escaped(name: str) -> str:
    """Return a name on one line, with such characters as escapes (`\
    `, `\\x1b`), to tell names apart."""
    if name.isprintable():
        return name
    return _UNSAFE_IN_NAME.sub(
        lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), name
    )


def one_line(text: str) -> str:
    """Return the text on one line, for labels."""
    return " ".join(printable(text).split())


def cut_line(line: str, chars_max: int | None) -> str:
    """Return the line, or its beginning and how much was left out."""
    if chars_max is None or len(line) <= chars_max:
        return line
    return f"{line[:chars_max]} … {len(line) - chars_max:,} more characters"


def inline_code(words: str) -> str:
    """Return one line of Markdown that shows the words as they are: none of them is markup."""
    return f"`{words.replace('`', chr(39))}`"


def fenced(text: str, language: str = "") -> str:
    """Return the text as a code block of Markdown, with a fence that does not occur in it."""
    longest = max((len(found) for found in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
