"""Text shown character by character: what the eye would miss is spelled out."""

import re
import unicodedata

_BLANK = frozenset((0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0))
"""Letters and marks that leave nothing on the screen."""
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_PLAIN = re.compile(r"[\n\t\x20-\x7e\xa1-\xac\xae-\u02ff]*")


def spelled_out(text: str) -> str:
    """The text with each invisible character as its number, such as `<U+200B>`; line ends are newlines."""
    text = text.replace("\r\n", "\n")
    if _PLAIN.fullmatch(text):
        return text
    return "".join(f"<U+{ord(char):04X}>" if is_invisible(char) else char for char in text)


def is_invisible(char: str) -> bool:
    """Whether the character shows nothing, or changes how others are shown."""
    code = ord(char)
    if char in "\n\t ":
        return False
    is_selector = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F
    is_space = unicodedata.category(char) == "Zs"  # they look like the ordinary one
    return is_selector or is_space or code in _BLANK or unicodedata.category(char) in _HIDDEN
