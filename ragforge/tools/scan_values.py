"""The requests to the child process that walks and searches folders, and its answers, line by line."""

import msgspec


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Where to walk.

    folder, root and cwd: absolute, links resolved, as the bytes that the system knows them by; names are
    relative to cwd if they are inside it.
    limit_s: when to stop with the results so far. limit: how many to report at most; others are counted.
    """

    folder: bytes
    root: bytes
    cwd: bytes
    limit_s: float
    limit: int


class GlobRequest(Request, frozen=True, tag="glob"):
    """Files whose path, relative to the folder, matches the pattern; newest first."""

    pattern: str


class GrepRequest(Request, frozen=True, tag="grep"):
    """Lines that match the regular expression, in files that match the `include` pattern, if any."""

    pattern: str
    include: str
    ignore_case: bool
    context: int


class ListRequest(Request, frozen=True, tag="list"):
    """The contents of the folder, down to a depth."""

    depth: int


AnyRequest = GlobRequest | GrepRequest | ListRequest


class MatchedLine(msgspec.Struct, frozen=True, tag="found"):
    """A complete line to show."""

    text: str


class End(msgspec.Struct, frozen=True, tag="end", kw_only=True):
    """The summary after the last line; what was left out is counted.

    total: matches, whether reported or not. complete: False if the time was up;
    capped: True if so many were found that counting ended.
    """

    total: int
    ignored: int = 0
    unreadable: int = 0
    binary: int = 0
    large: int = 0
    complete: bool = True
    capped: bool = False


class SearchRefusal(msgspec.Struct, frozen=True, tag="refusal"):
    """Why nothing can be searched."""

    reason: str


Answer = MatchedLine | End | SearchRefusal
