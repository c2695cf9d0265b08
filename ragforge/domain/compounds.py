"""Names that are made of several words, as programs have them: `SessionStore`, `maxResults`, `HTTPServer`."""

import re

PART_CHARS_MIN = 2

# Where a capital follows a small letter (and its digits), or begins the word after an abbreviation.
_HUMP = re.compile(r"(?:(?<=[a-z])|(?<=[a-z][0-9])|(?<=[a-z][0-9]{2}))(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Longer ones are keys or blobs.
_NAME = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{4,64}(?![A-Za-z0-9])")


def split_compound(name: str) -> list[str]:
    """The name's words one after the other, which together are the name; what is no such name stays whole."""
    return _HUMP.split(name) if _NAME.fullmatch(name) else [name]


def parts_of(text: str) -> list[str]:
    """The words within the text's compound names, each once: `SessionStore` gives `Session` and `Store`."""
    names = (_HUMP.split(name) for name in _NAME.findall(text) if not name.islower())
    found = (part for parts in names if len(parts) > 1 for part in parts if len(part) >= PART_CHARS_MIN)
    return list(dict.fromkeys(found))


def spaced(text: str) -> str:
    """The text with its compound names as words of their own: `Session Store`."""
    return _HUMP.sub(" ", text)
