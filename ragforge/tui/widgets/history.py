"""The messages sent before, and browsing them without losing what is being written."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from msgspec import Struct, field


class History(Protocol):
    """The earlier messages, stored across sessions by the caller."""

    def entries(self) -> Sequence[str]:
        """Newest first, each whole."""
        ...

    def add(self, text: str) -> None:
        """Store a text as the newest; an existing one moves up."""
        ...


class ListHistory(Struct):
    """A history of this run only."""

    texts: list[str] = field(default_factory=list[str])
    limit: int = 1000

    def entries(self) -> Sequence[str]:
        """Newest first."""
        return self.texts

    def add(self, text: str) -> None:
        """Store a text as the newest."""
        self.texts[:] = [text, *(kept for kept in self.texts if kept != text)][: self.limit]


class StoredHistory:
    """The sent messages; `keep` is called with each new text."""

    def __init__(self, texts: Iterable[str], keep: Callable[[str], None]) -> None:
        self._texts = ListHistory(list(texts))
        self._keep = keep

    def entries(self) -> Sequence[str]:
        """Newest first."""
        return self._texts.entries()

    def add(self, text: str) -> None:
        """Store a text as the newest."""
        self._texts.add(text)
        self._keep(text)


class Walk(Struct):
    """A walk through the history. Position 0 is the unsent draft, 1 the newest entry.

    A changed entry keeps its change when coming back, until something is sent.
    """

    texts: dict[int, str] = field(default_factory=dict[int, str])
    place: int = 0

    def step(self, by: int, *, leaving: str, entries: Sequence[str]) -> str | None:
        """Return the text `by` positions older (or newer, if negative), or None if there is no more."""
        place = self.place + by
        if not 0 <= place <= len(entries):
            return None
        self.texts[self.place] = leaving
        self.place = place
        return self.texts.get(place, entries[place - 1] if place else "")

    @property
    def draft(self) -> str:
        """The unsent draft at the start of a walk; nothing if there is no walk."""
        return self.texts.get(0, "") if self.place else ""

    def changed(self, entries: Sequence[str]) -> list[str]:
        """The entries that were changed and left, as they are now."""
        places = (place for place in self.texts if 0 < place <= len(entries) and place != self.place)
        return [self.texts[place] for place in places if self.texts[place] != entries[place - 1]]

    def jump(self, place: int, *, draft: str) -> None:
        """Go to an entry from a draft that must be found again."""
        if not self.place:
            self.texts[0] = draft
        self.place = place

    def end(self) -> None:
        """Something was sent or cleared: the next walk starts at the draft."""
        self.texts.clear()
        self.place = 0
