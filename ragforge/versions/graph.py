"""The tree of versions as lines of text, like `git log --graph`."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from ragforge.store.base_versions import VersionRow

NODE = "*"


class GraphLine(Struct, frozen=True):
    """A line of the log: the drawing, and its version, or None for a line that only connects.

    graph: without trailing blanks. Column n is drawn at character 2 n.
    column: that of the version's NODE; 0 if there is none.
    """

    graph: str
    row: VersionRow | None = None
    column: int = 0


class Graph(Struct):
    """A drawing that grows downwards, page by page; each page continues where the last one ended.

    The time for a version depends on the width of the tree there, not on how many versions came before.
    """

    _columns: list[str] = field(default_factory=list[str])
    """What each column leads to: a version that has not come yet; none stands in two columns."""
    _shown: set[str] = field(default_factory=set[str])

    def add(self, rows: Iterable[VersionRow]) -> list[GraphLine]:
        """Return the lines of the next versions, newest first.

        A parent that comes before its child, because of a wrong clock, gets no line to it. Of more than two
        parents, the first two are drawn.
        """
        found: list[GraphLine] = []
        for row in rows:
            found.append(self._node(row))
            found.extend(GraphLine(graph) for graph in self._edges(row, found[-1].column))
        return found

    def _node(self, row: VersionRow) -> GraphLine:
        if row.version.id not in self._columns:
            self._columns.append(row.version.id)
        column = self._columns.index(row.version.id)
        self._shown.add(row.version.id)
        marks = ["|"] * len(self._columns)
        marks[column] = NODE
        return GraphLine(" ".join(marks), row, column)

    def _edges(self, row: VersionRow, column: int) -> Iterator[str]:
        """Return the lines from the node at the column to the columns of its parents."""
        parents = [parent for parent in dict.fromkeys(row.version.parents) if parent not in self._shown]
        if not parents:
            yield from self._close(column)
        elif len(parents) == 1:
            yield from self._lead(column, parents[0])
        else:
            yield from self._fork(column, parents[0], parents[1])

    def _close(self, column: int) -> Iterator[str]:
        """End a column; the columns to its right move left."""
        del self._columns[column]
        right = range(column + 1, len(self._columns) + 1)
        if right:
            yield _text({**_verticals(column), **{2 * each - 1: "/" for each in right}})

    def _lead(self, column: int, parent: str) -> Iterator[str]:
        """Let the column lead to the parent; if another does already, both join on the left."""
        other = self._columns.index(parent) if parent in self._columns else column
        self._columns[column] = parent
        if other != column:
            yield from self._join(max(column, other), min(column, other))

    def _fork(self, column: int, first: str, second: str) -> Iterator[str]:
        """Draw two lines from the node: the second before the first continues."""
        left = self._columns[:column]
        if second in left:
            yield from _leftwards(len(self._columns), column, left.index(second))
            yield from self._lead(column, first)
        elif first in left:
            yield from _leftwards(len(self._columns), column, left.index(first))
            yield from self._lead(column, second)
        elif self._columns[column + 1 : column + 2] == [second]:
            yield _text({**_verticals(len(self._columns)), 2 * column + 1: "\\"})
            yield from self._lead(column, first)
        else:
            yield from self._widen(column)
            yield from self._lead(column + 1, second)
            yield from self._lead(column, first)

    def _widen(self, column: int) -> Iterator[str]:
        """Add a second line from the column, on its right."""
        right = range(column, len(self._columns))
        yield _text({**_verticals(column + 1), **{2 * each + 1: "\\" for each in right}})
        self._columns.insert(column + 1, "")

    def _join(self, start: int, end: int) -> Iterator[str]:
        """Join the column at `start` with the one at `end` to its left; those on its right move left."""
        yield from _leftwards(len(self._columns), start, end, last=True)
        del self._columns[start]


def graph_lines(rows: Sequence[VersionRow]) -> list[GraphLine]:
    """Return the drawing of only these versions, newest first; for paging see `Graph`."""
    return Graph().add(rows)


def _leftwards(width: int, start: int, end: int, *, last: bool = False) -> Iterator[str]:
    """Return a line from the column at `start` to the one at `end`, below those between.

    last: the column at `start` ends with it, so those on its right move left by one.
    """
    under = {2 * each - 1: "_" for each in range(end + 2, start)}
    if last:
        right = {2 * each - 1: "/" for each in range(start + 1, width)}
        yield _text({**_verticals(start), **under, **right, 2 * start - 1: "/"})
        width -= 1
    else:
        yield _text({**_verticals(width), **under, 2 * start - 1: "/"})
    if start - end > 1:
        yield _text({**_verticals(width), 2 * end + 1: "/"})


def _verticals(width: int) -> dict[int, str]:
    return {2 * each: "|" for each in range(width)}


def _text(marks: dict[int, str]) -> str:
    return "".join(marks.get(place, " ") for place in range(max(marks) + 1))
