"""The list of memories: filtered while typing, with keys from wherever the focus is."""

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len
from textual.content import Content

from ragforge.domain.memories import Memory, MemoryType, marks_of
from ragforge.domain.printable import one_line
from ragforge.domain.words import age_words
from ragforge.tui.cells import cut
from ragforge.tui.widgets.row_list import MUTED, NO_POINTER, POINTER, RowList

TYPE_WIDTH = max(len(type) for type in MemoryType)
WIDE = 60
"""In fewer columns only type and words are shown."""


class MemoryList(RowList[Memory]):
    """A line per memory: type, importance, scope, age, words."""

    TELLS_HIDDEN = True

    def __init__(self) -> None:
        super().__init__()
        self._all: Sequence[Memory] = ()
        self.words = ""
        self._type: MemoryType | None = None
        self._now: datetime | None = None

    def show(self, memories: Sequence[Memory], *, now: datetime) -> None:
        """List these; the chosen one stays chosen if it is among them."""
        self._all, self._now = memories, now
        self.set_rows(self._narrowed())

    def narrow(self, words: str, type: MemoryType | None) -> None:
        """Keep those of the type that contain every word, in content, type, scope, topic or id."""
        self.words, self._type = words, type
        self.set_rows(self._narrowed(), first=True)

    @property
    def known(self) -> int:
        """How many there are, listed or not."""
        return len(self._all)

    def _narrowed(self) -> list[Memory]:
        words = self.words.casefold().split()
        return [
            memory
            for memory in self._all
            if self._type in (None, memory.type) and all(word in _haystack(memory) for word in words)
        ]

    def _key_of(self, row: Memory) -> str:
        return row.id

    def _nothing(self) -> str:
        return "No memory fits." if self._all else "No memories yet. /remember adds one."

    def _draw_rows(self, rows: Sequence[Memory], width: int, chosen: Memory | None) -> list[Content]:
        return [self._line(memory, width, is_chosen=memory is chosen) for memory in rows]

    def _line(self, memory: Memory, width: int, *, is_chosen: bool) -> Content:
        facts = f"{memory.type:<{TYPE_WIDTH}} "
        if width >= WIDE:
            age = age_words(memory.updated_at, self._now)
            facts += f"{memory.importance:.2f} {memory.scope:<7} {age:<10} "
        marks = "".join(f" ({mark})" for mark in marks_of(memory))
        room = width - 2 - len(facts) - cell_len(marks)
        words = cut(one_line(memory.content), max(8, room)).rstrip()
        return Content.assemble(
            (POINTER if is_chosen else NO_POINTER, "bold"),
            (facts, MUTED),
            (words, "bold" if is_chosen else MUTED if marks else ""),
            (marks, "$text-warning"),
        )


def _haystack(memory: Memory) -> str:
    return f"{memory.content} {memory.type} {memory.scope} {memory.topic} {memory.id}".casefold()
