"""In which order files of tests come, and how several processes share the work of reading them."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T")
FileT = TypeVar("FileT", bound=Hashable)

WITHOUT_FIRST = 0.3
"""So much of what needs no server comes before the first file that does: servers take a minute to start."""
WITHOUT_LAST = 0.25
"""So much of it comes last: short files, which keep all processes busy to the end, also beside tests that
have a server for themselves and wait for its indexes."""


def mixed(files: Iterable[FileT], needs_server: Callable[[FileT], bool]) -> list[FileT]:
    """The files with those that need a server spread evenly among the others, each kind in its own order.

    Side by side they would wait for each other: some empty the server that they share.
    """
    with_server: list[FileT] = []
    without: list[FileT] = []
    for file in files:
        (with_server if needs_server(file) else without).append(file)
    among = 1 - WITHOUT_FIRST - WITHOUT_LAST
    places = [(number / len(without), file) for number, file in enumerate(without)]
    places += [
        (WITHOUT_FIRST + among * number / len(with_server), file) for number, file in enumerate(with_server)
    ]
    return [file for _, file in sorted(places, key=lambda place: place[0])]


def rotated(entries: list[T], *, worker: int, workers: int) -> list[T]:
    """The entries from where this worker of so many begins, round to where it began.

    Each compiles what it reads first, and finds the rest compiled by the others.
    """
    first = len(entries) * worker // workers
    return entries[first:] + entries[:first]
