"""The front matter of a Markdown file: `key: value` lines between two lines of `---`.

A small part of YAML, enough for what is used there: strings, quoted or not, and lists in brackets or one item
per line.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

_KEY = re.compile(r"^([A-Za-z][\w-]*):(?:\s+(.*))?$")
_ITEM = re.compile(r"^\s*-\s+(.*)$")
_COMMA = re.compile(r",(?![^()]*\))")
FENCE = "---"


class FrontMatter(Struct, frozen=True):
    """The fields by their lower-case names, and the text below. problem: why the front matter is invalid."""

    fields: Mapping[str, str]
    body: str
    problem: str = ""

    def items(self, name: str) -> tuple[str, ...]:
        """The field as a list; commas within brackets do not separate."""
        text = self.fields.get(name, "")
        text = text[1:-1] if text.startswith("[") and text.endswith("]") else text
        parts = (_unquoted(part.strip()) for line in text.split("\n") for part in _COMMA.split(line))
        return tuple(part for part in parts if part)


def read_front_matter(text: str) -> FrontMatter:
    """Return the front matter and the body of a Markdown file. A file without front matter is all body."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        return FrontMatter({}, text)
    ends = [at for at, line in enumerate(lines) if at and line.rstrip() == FENCE]
    if not ends:
        return FrontMatter({}, "", "its front matter does not end: a line of --- is missing")
    fields: dict[str, str] = {}
    key = ""
    for number, line in enumerate(lines[1 : ends[0]], start=2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if found := _KEY.match(line):
            key = found[1].lower()
            if key in fields:
                return FrontMatter({}, "", f"line {number} gives {key!r} a second time")
            fields[key] = _unquoted((found[2] or "").strip())
        elif key and (line.startswith((" ", "\t", "-"))):
            item = _ITEM.match(line)
            added = _unquoted((item[1] if item else line).strip())
            fields[key] = f"{fields[key]}{chr(10) if item else ' '}{added}".strip()
        else:
            return FrontMatter({}, "", f"line {number} is not `key: value`: {line.strip()[:60]!r}")
    return FrontMatter(fields, "\n".join(lines[ends[0] + 1 :]).strip("\n"))


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if is_quoted else text.removeprefix(">").removeprefix("|").strip()
