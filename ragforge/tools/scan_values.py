"""What is asked of the child process that walks and searches folders, and what it answers, line by line."""

import msgspec


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Where to walk.

    folder, root and cwd: absolute, links resolved, as the bytes that the system knows them by; names are
    told relative to cwd where they lie in it.
    limit_s: when to stop with what there is. limit: how much to tell at most; what is more is counted.
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
    """What lies in the folder, down to a depth."""

    depth: int


AnyRequest = GlobRequest | GrepRequest | ListRequest


class MatchedLine(msgspec.Struct, frozen=True, tag="found"):
    """A line to show, whole."""

    text: str


class End(msgspec.Struct, frozen=True, tag="end", kw_only=True):
    """All there is to say after the last line; what was left out is counted.

    total: matches, whether told or not. complete: False where the time was up;
    capped: True where so many were found that counting ended.
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
