"""The messages sent before, and walking through them without losing what is being written."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from msgspec import Struct, field


class History(Protocol):
    """The messages of before, kept across sessions by whoever hands this in."""

    def entries(self) -> Sequence[str]:
        """Newest first, each whole."""
        ...

    def add(self, text: str) -> None:
        """Keep a text as the newest; one that is there already moves up."""
        ...


class ListHistory(Struct):
    """A history of this run only."""

    texts: list[str] = field(default_factory=list[str])
    limit: int = 1000

    def entries(self) -> Sequence[str]:
        """Newest first."""
        return self.texts

    def add(self, text: str) -> None:
        """Keep a text as the newest."""
        self.texts[:] = [text, *(kept for kept in self.texts if kept != text)][: self.limit]


class StoredHistory:
    """What was sent before; `keep` is told of each new text."""

    def __init__(self, texts: Iterable[str], keep: Callable[[str], None]) -> None:
        self._texts = ListHistory(list(texts))
        self._keep = keep

    def entries(self) -> Sequence[str]:
        """Newest first."""
        return self._texts.entries()

    def add(self, text: str) -> None:
        """Keep a text as the newest."""
        self._texts.add(text)
        self._keep(text)


class Walk(Struct):
    """A walk through the history. Place 0 is the unsent draft, 1 the newest entry.

    What was changed at a place is found there again when coming back, until something is sent.
    """

    texts: dict[int, str] = field(default_factory=dict[int, str])
    place: int = 0

    def step(self, by: int, *, leaving: str, entries: Sequence[str]) -> str | None:
        """The text `by` places older (or newer, when negative), or None where there is no more."""
        place = self.place + by
        if not 0 <= place <= len(entries):
            return None
        self.texts[self.place] = leaving
        self.place = place
        return self.texts.get(place, entries[place - 1] if place else "")

    @property
    def draft(self) -> str:
        """The unsent draft that waits at the start of a walk; nothing where there is no walk."""
        return self.texts.get(0, "") if self.place else ""

    def changed(self, entries: Sequence[str]) -> list[str]:
        """The entries that were changed and left, as they are now."""
        places = (place for place in self.texts if 0 < place <= len(entries) and place != self.place)
        return [self.texts[place] for place in places if self.texts[place] != entries[place - 1]]

    def jump(self, place: int, *, draft: str) -> None:
        """Go to an entry from a draft that is to be found again."""
        if not self.place:
            self.texts[0] = draft
        self.place = place

    def end(self) -> None:
        """Something was sent or cleared: the next walk begins at the draft."""
        self.texts.clear()
        self.place = 0
