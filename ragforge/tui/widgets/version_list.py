"""The tree of versions as lines: graph, names, age, files, words."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from rich.cells import cell_len
from textual.content import Content

from ragforge.domain.ids import short_id
from ragforge.domain.printable import one_line
from ragforge.domain.words import age_words
from ragforge.store.base_versions import VersionRow
from ragforge.tui.cells import cut
from ragforge.tui.widgets.row_list import MUTED, NO_POINTER, POINTER, RowList
from ragforge.versions.graph import GraphLine
from ragforge.versions.log import files_words, names_words
from ragforge.versions.state import Head

WIDE = 70
"""Below this width a version's id and age are left out."""
GRAPH_CELLS_MAX = 24
AGE_CELLS = 10
FILES_CELLS_MAX = 20
"""Anything longer pushes the words to the right, only in its own line."""


class VersionList(RowList[GraphLine]):
    """One line a version, newest first, beside the graph, and between them lines with only the graph."""

    def __init__(self) -> None:
        super().__init__()
        self._branches: Mapping[str, Sequence[str]] = {}
        self._head_of_files = Head("", "")
        self._now: datetime | None = None
        self._marked = ""

    def show(
        self,
        lines: Sequence[GraphLine],
        branches: Mapping[str, Sequence[str]],
        head: Head,
        *,
        now: datetime,
    ) -> None:
        """Draw these; the choice stays if it is still among them."""
        self._branches, self._head_of_files, self._now = branches, head, now
        self.set_rows(lines)

    def mark(self, version_id: str) -> None:
        """Mark one to compare others with; "" marks none."""
        self._marked = version_id
        self._draw()

    @property
    def row(self) -> VersionRow | None:
        """The row of the chosen line."""
        return self.chosen.row if self.chosen else None

    def _key_of(self, row: GraphLine) -> str:
        return row.row.version.id if row.row else ""

    def _nothing(self) -> str:
        return "There are no versions yet. Every turn makes one."

    def _draw_rows(self, rows: Sequence[GraphLine], width: int, chosen: GraphLine | None) -> list[Content]:
        graph_cells = min(GRAPH_CELLS_MAX, max(cell_len(line.graph) for line in rows))
        files = [_files_words(line.row) for line in rows if line.row]
        files_cells = max((len(words) for words in files if len(words) <= FILES_CELLS_MAX), default=0)
        cells = (graph_cells, files_cells if width >= WIDE else 0)
        return [self._line(line, width, cells, is_chosen=line is chosen) for line in rows]

    def _line(self, line: GraphLine, width: int, cells: tuple[int, int], *, is_chosen: bool) -> Content:
        """cells: the width of the graph and of the number of files."""
        graph = cut(line.graph, cells[0]) + " "
        pointer = (POINTER if is_chosen else NO_POINTER, "bold")
        row = line.row
        if row is None:
            return Content.assemble(pointer, (graph, MUTED))
        version = row.version
        names = names_words(version, self._branches.get(version.id, ()), self._head_of_files)
        label = f"[{one_line(version.label)}] " if version.label else ""
        facts = f"{_files_words(row):<{cells[1]}}  "
        if width >= WIDE:
            facts = f"{short_id(version.id)}  {age_words(version.at, self._now):<{AGE_CELLS}}  {facts}"
        mark = "◆ " if version.id == self._marked else ""
        names = f"{names} " if names else ""
        taken = 2 + cell_len(graph) + cell_len(facts + mark + names + label)
        words = cut(one_line(version.title) or version.by, max(8, width - taken)).rstrip()
        return Content.assemble(
            pointer,
            (graph, MUTED),
            (facts, MUTED),
            (mark, "$text-accent"),
            (names, "$text-success bold"),
            (label, "$text-warning"),
            (words, "bold" if is_chosen else ""),
        )


def _files_words(row: VersionRow) -> str:
    return files_words(row.version, row.files)
