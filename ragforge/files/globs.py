"""Path patterns as people write them: `*.py`, `src/**/test_*.{ts,tsx}`."""

import fnmatch
import re
from collections.abc import Callable, Iterator

from ragforge.domain.errors import UsageError

CHOICES_MAX = 100
NOTHING = re.compile(r"(?!)")


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """Tells of a relative path whether it matches. Raises UsageError where the pattern cannot match.

    `*`, `?` and `[...]` stay within a name, `**` is any number of folders, `{a,b}` is a choice.
    A pattern without a slash is looked for at any depth.
    """
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        raise UsageError(
            f"The pattern {pattern!r} leaves the folder. Give the folder as path and a pattern inside it."
        )
    choices = [_compile_choice(choice) for choice in _choices(pattern.removeprefix("./"))]
    return lambda path: any(_matches(choice, path.split("/")) for choice in choices)


def _choices(pattern: str) -> list[str]:
    """The pattern with its innermost braces written out, again and again until there are none."""
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
    """One regular expression for each name; None for any number of folders."""
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
    """Follows all ways to match at once: the set of places in the pattern that may come next."""
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
    """The places, and those behind each `**` that may stand for nothing."""
    reached: set[int] = set()
    for start in places:
        place = start
        reached.add(place)
        while place < len(parts) and parts[place] is None:
            place += 1
            reached.add(place)
    return reached
