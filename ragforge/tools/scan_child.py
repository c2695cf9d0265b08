"""The child process that walks folders and matches patterns.

It is a process because `re` never releases the interpreter's lock: a slow pattern in a thread would
stop the whole program, and nothing could end it.
"""

import contextlib
import heapq
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import assert_never

import msgspec

from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.domain.printable import escaped
from ragforge.files.globs import compile_glob
from ragforge.files.ignore import excludes_file
from ragforge.files.open import open_file, size
from ragforge.files.text import decode, lines_of
from ragforge.files.walk import Entry, Walk, start_walk
from ragforge.tools.scan_values import (
    Answer,
    AnyRequest,
    End,
    GlobRequest,
    GrepRequest,
    ListRequest,
    MatchedLine,
    Request,
    SearchRefusal,
)

GREP_BYTES_MAX = 5 * 1024 * 1024
LINE_SHOWN_CHARS = 400
GAP = "--"
COUNTED_MAX = 10_000
"""How many matching lines are counted; a search that finds more is of no use."""

Search = Callable[[str], re.Match[str] | None]


def main() -> None:
    """Answer the request on standard input, one JSON value per line."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=AnyRequest)
    # If the parent dies, nobody else stops a pattern that never ends.
    _, most_s = resource.getrlimit(resource.RLIMIT_CPU)
    cpu_s = int(request.limit_s) + timeouts.SCAN_CPU_GRACE_S
    if most_s == resource.RLIM_INFINITY or cpu_s < most_s:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, most_s))
    encoder = msgspec.json.Encoder()
    for answer in answers(request):
        sys.stdout.buffer.write(encoder.encode(answer) + b"\n")
        sys.stdout.buffer.flush()


def answers(request: AnyRequest) -> Iterator[Answer]:
    """Yield the lines as they are found, then one value that says how it ended."""
    deadline = time.monotonic() + request.limit_s
    folder = Path(os.fsdecode(request.folder))
    walk = start_walk(folder, Path(os.fsdecode(request.root)), excludes_file(os.environ), deadline=deadline)
    try:
        match request:
            case GlobRequest():
                yield from _glob(request, walk)
            case GrepRequest():
                yield from _grep(request, walk)
            case ListRequest():
                yield from _list(request, walk)
            case _:
                assert_never(request)
    except UsageError as error:
        yield SearchRefusal(str(error))


def _glob(request: GlobRequest, walk: Walk) -> Iterator[Answer]:
    matches = compile_glob(request.pattern)
    prefix = _prefix(request)
    found = [
        (entry.modified_at, entry.name)
        for entry in walk.entries()
        if not entry.is_folder and matches(entry.name)
    ]
    for _, name in heapq.nlargest(request.limit, found):
        yield MatchedLine(escaped(prefix + name))
    yield _end(walk, total=len(found))


def _list(request: ListRequest, walk: Walk) -> Iterator[Answer]:
    total = 0
    for entry in walk.entries(depth_max=request.depth):
        total += 1
        if total <= request.limit:
            yield MatchedLine(_listed(entry))
    yield _end(walk, total=total)


def _listed(entry: Entry) -> str:
    name = escaped(entry.name)
    if entry.is_folder:
        return f"{name}/"
    if entry.is_link:
        with contextlib.suppress(OSError):  # removed since the folder was read
            return f"{name} -> {escaped(str(Path(entry.path).readlink()))}"
    return f"{name}  {size(entry.size)}"


def _grep(request: GrepRequest, walk: Walk) -> Iterator[Answer]:
    search = _compile(request)
    is_included = compile_glob(request.include) if request.include else _always
    total = binary = large = 0
    told = False
    for entry in _files(walk):
        if not is_included(entry.name):
            continue
        try:
            with open_file(Path(entry.path)) as file:
                content = file.read(GREP_BYTES_MAX + 1)
        except UsageError:
            continue  # a pipe or device has no lines
        except OSError:
            walk.unreadable += 1
            continue
        if len(content) > GREP_BYTES_MAX:
            large += 1
            continue
        if (text := decode(content)) is None:
            binary += 1
            continue
        lines = lines_of(text.text)
        hits = [index for index, line in enumerate(lines) if search(line)]
        shown = hits[: max(0, request.limit - total)]
        total += len(hits)
        name = escaped(_prefix(request) + entry.name)
        for each in _with_context(name, lines, shown, search, request.context):
            if each != GAP or told:
                yield MatchedLine(each)
            told = True
        if total >= COUNTED_MAX:
            break
    yield _end(walk, total=total, binary=binary, large=large, capped=total >= COUNTED_MAX)


def _compile(request: GrepRequest) -> Search:
    try:
        return re.compile(request.pattern, re.IGNORECASE if request.ignore_case else 0).search
    except re.error as error:
        where = "" if error.pos is None else f" at character {error.pos + 1}"
        raise UsageError(f"Not a regular expression: {error.msg}{where} of {request.pattern!r}.") from error
    except (RecursionError, OverflowError) as error:
        raise UsageError("The regular expression is too large. Use a simpler one.") from error


def _always(_name: str) -> bool:
    return True


def _files(walk: Walk) -> Iterator[Entry]:
    """Yield the files of the walk. Links are left out: they may lead outside the project."""
    if walk.folder.is_dir():
        yield from (entry for entry in walk.entries() if not entry.is_folder and not entry.is_link)
    else:
        yield Entry(str(walk.folder), walk.folder.name, 1, False, False, 0, 0)


def _with_context(name: str, lines: list[str], hits: list[int], search: Search, around: int) -> Iterator[str]:
    """Yield the matching lines and those around them, with a gap before each group of lines."""
    matching = set(hits)
    near = sorted(
        {at for hit in hits for at in range(hit - around, hit + around + 1) if 0 <= at < len(lines)}
    )
    for before, at in zip([None, *near], near, strict=False):
        if around and before != at - 1:
            yield GAP
        if at in matching:
            yield f"{name}:{at + 1}: {_excerpt(lines[at], search)}"
        else:
            yield f"{name}-{at + 1}- {lines[at][:LINE_SHOWN_CHARS]}"


def _excerpt(line: str, search: Search) -> str:
    """Return the line, or the piece with the match if it is long."""
    if len(line) <= LINE_SHOWN_CHARS:
        return line
    found = search(line)
    start = max(0, (found.start() if found else 0) - LINE_SHOWN_CHARS // 4)
    return f"[... from character {start + 1:,} of {len(line):,}] {line[start : start + LINE_SHOWN_CHARS]}"


def _prefix(request: Request) -> str:
    """Return the prefix for the names of the walk."""
    folder, cwd = Path(os.fsdecode(request.folder)), Path(os.fsdecode(request.cwd))
    if not folder.is_dir():
        folder = folder.parent
    if folder == cwd:
        return ""
    shown = folder.relative_to(cwd) if folder.is_relative_to(cwd) else folder
    return f"{str(shown).rstrip('/')}/"


def _end(walk: Walk, *, total: int, binary: int = 0, large: int = 0, capped: bool = False) -> End:
    return End(
        total=total,
        binary=binary,
        large=large,
        ignored=walk.ignored,
        unreadable=walk.unreadable,
        complete=walk.complete,
        capped=capped,
    )
