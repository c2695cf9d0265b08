"""Path patterns as people write them: `*.py`, `src/**/test_*.{ts,tsx}`."""

import fnmatch
import re
from collections.abc import Callable, Iterator

from ragforge.domain.errors import UsageError

CHOICES_MAX = 100
NOTHING = re.compile(r"(?!)")


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Return a function that says whether a relative path matches. Raises UsageError if the pattern can match
    nothing.

    `*`, `?` and `[...]` match within a name, `**` any number of folders, `{a,b}` alternatives. A pattern
    without a slash matches at any depth.
    """
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        raise UsageError(
            f"The pattern {pattern!r} leaves the folder. Give the folder as path and a pattern inside it."
        )
    choices = [_compile_choice(choice) for choice in _choices(pattern.removeprefix("./"))]
    return lambda path: any(_matches(choice, path.split("/")) for choice in choices)


def _choices(pattern: str) -> list[str]:
    """Return the pattern with all braces expanded."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        if len(done) + len(waiting) > CHOICES_MAX:
            raise UsageError(f"The pattern has more than {CHOICES_MAX} choices in braces. Use a simpler one.")
        text = waiting.pop()
        if (braces := re.search(r"\{([^{}]*,[^{}]*)\}", text)) is None:
            done.append(text)
        else:
            before, after = text[: braces.start()], text[braces.end() :]
            waiting += [before + choice + after for choice in braces[1].split(",")]
    return done


def _compile_choice(pattern: str) -> list[re.Pattern[str] | None]:
    """Return one regular expression per name; None for any number of folders."""
    names = [name for name in pattern.split("/") if name]
    if len(names) == 1:
        names.insert(0, "**")
    if pattern.endswith("/"):
        names.append("**")
    if names and names[-1] == "**":
        names.append("*")
    # fnmatch's expressions never go back over a star, so none of them is slow.
    return [None if name == "**" else re.compile(fnmatch.translate(name)) for name in names]


def _matches(parts: list[re.Pattern[str] | None], names: list[str]) -> bool:
    """Follow all possible matches at once: the set of positions in the pattern that may come next."""
    places = _passing({0}, parts)
    for name in names:
        places = _passing(set(_next_places(places, parts, name)), parts)
    return len(parts) in places


def _next_places(places: set[int], parts: list[re.Pattern[str] | None], name: str) -> Iterator[int]:
    for place in places:
        part = parts[place] if place < len(parts) else NOTHING
        if part is None:
            yield place
        elif part.match(name):
            yield place + 1


def _passing(places: set[int], parts: list[re.Pattern[str] | None]) -> set[int]:
    """Return the positions, and those after each `**` that may match nothing."""
    reached: set[int] = set()
    for start in places:
        place = start
        reached.add(place)
        while place < len(parts) and parts[place] is None:
            place += 1
            reached.add(place)
    return reached
