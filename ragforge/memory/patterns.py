"""Many patterns as one, for rules that are written as lists of them."""

import re
from collections.abc import Iterator
from functools import cached_property


class AnyOf:
    """What one of the patterns fits, in small or capital letters.

    They are made ready at first use, which is in a thread: some hundred of them take tenths of a second, and
    a start that summarises nothing shall not pay for them.
    """

    def __init__(self, *patterns: str) -> None:
        self._patterns = patterns

    @cached_property
    def _ready(self) -> re.Pattern[str]:
        return re.compile("|".join(self._patterns), re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        """Where it is first found."""
        return self._ready.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """What it is at the beginning."""
        return self._ready.match(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """All places."""
        return self._ready.finditer(text)
