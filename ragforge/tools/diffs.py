"""Unified diffs of whole files, quick for a small change in a long file."""

import difflib
import re
from collections.abc import Iterator

CONTEXT_LINES = 3
COMPARED_MAX = 4_000_000
"""Pairs of lines that are compared; beyond, the change is shown as all out, all in."""


def unified(old: str | None, new: str, name: str) -> str:
    """The change from old to new as a unified diff, "" where there is none. None: a new file.

    Line endings are not part of it: LF and CRLF are shown alike.
    """
    before = _lines(old or "")
    after = _lines(new)
    start = _same_at_start(before, after)
    end = _same_at_start(before[start:][::-1], after[start:][::-1])
    if old is not None and start == len(before) == len(after):
        return ""
    first = max(0, start - CONTEXT_LINES)
    last = max(0, end - CONTEXT_LINES)
    olds = before[first : len(before) - last]
    news = after[first : len(after) - last]
    source = "/dev/null" if old is None else f"a/{name}"
    return "".join([f"--- {source}\n", f"+++ b/{name}\n", *_hunks(olds, news, first)])


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    last = lines.pop()
    whole = [line + "\n" for line in lines]
    return [*whole, last + "\n\\ No newline at end of file\n"] if last else whole


def _same_at_start(before: list[str], after: list[str]) -> int:
    pairs = enumerate(zip(before, after, strict=False))
    return next((index for index, (old, new) in pairs if old != new), min(len(before), len(after)))


def _hunks(olds: list[str], news: list[str], first: int) -> Iterator[str]:
    if len(olds) * len(news) > COMPARED_MAX:
        yield f"@@ -{first + 1},{len(olds)} +{first + 1},{len(news)} @@\n"
        yield from ("-" + line for line in olds)
        yield from ("+" + line for line in news)
        return
    for line in list(difflib.unified_diff(olds, news, n=CONTEXT_LINES))[2:]:
        yield _shifted(line, first) if line.startswith("@@") else line


def _shifted(header: str, lines: int) -> str:
    return re.sub(r"(?<=[-+])\d+", lambda number: str(int(number[0]) + lines), header)
