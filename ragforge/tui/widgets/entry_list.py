"""A list for look-ups: a name and its description, filtered while typing."""

from collections.abc import Sequence

from msgspec import Struct
from rich.cells import cell_len
from textual.content import Content

from ragforge.domain.printable import one_line
from ragforge.tui.cells import cut
from ragforge.tui.widgets.row_list import MUTED, NO_POINTER, POINTER, RowList

NAME_SHARE_MAX = 0.5
NAME_CELLS_MIN = 12


class LookupEntry(Struct, frozen=True):
    """One entry.

    key: its identifier. name: as it is shown. about: its description, in a line.
    more: everything else, shown below the list. also: other words by which it is found.
    """

    key: str
    name: str
    about: str
    more: str = ""
    also: str = ""


class EntryList(RowList[LookupEntry]):
    """A line per entry: the names in a column, the descriptions after them."""

    TELLS_HIDDEN = True

    def __init__(self, entries: Sequence[LookupEntry], *, nothing: str) -> None:
        """nothing: what is shown while none fits."""
        super().__init__()
        self._all = entries
        self._none = nothing

    def narrow(self, words: str) -> None:
        """Keep those with every word; those whose name starts with the first word come first."""
        wanted = words.casefold().split()
        found = [each for each in self._all if all(word in _haystack(each) for word in wanted)]
        if wanted:
            found.sort(
                key=lambda each: not each.name.casefold().lstrip("/").startswith(wanted[0].lstrip("/"))
            )
        self.set_rows(found, first=True)

    def _key_of(self, row: LookupEntry) -> str:
        return row.key

    def _nothing(self) -> str:
        return self._none

    def _draw_rows(
        self, rows: Sequence[LookupEntry], width: int, chosen: LookupEntry | None
    ) -> list[Content]:
        longest = max(cell_len(one_line(each.name)) for each in rows)
        names = max(NAME_CELLS_MIN, min(longest, int(width * NAME_SHARE_MAX)))
        return [self._line(row, width, names, is_chosen=row is chosen) for row in rows]

    def _line(self, row: LookupEntry, width: int, names: int, *, is_chosen: bool) -> Content:
        about = cut(one_line(row.about), max(1, width - 4 - names)).rstrip() if width > names + 8 else ""
        return Content.assemble(
            (POINTER if is_chosen else NO_POINTER, "bold"),
            (cut(one_line(row.name), names), "bold" if is_chosen else ""),
            ("  " + about, "" if is_chosen else MUTED),
        )


def _haystack(entry: LookupEntry) -> str:
    return f"{entry.name} {entry.about} {entry.more} {entry.also}".casefold()
