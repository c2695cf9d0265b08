"""The tree of versions as lines of text, as `git log --graph` draws it."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from ragforge.store.base_versions import VersionRow

NODE = "*"


class GraphLine(Struct, frozen=True):
    """A line of the log: the drawing, and the version that stands on it, or None where lines only run.

    graph: without blanks at its end. Column n is drawn at character 2 n.
    column: that of the version's NODE; 0 where there is none.
    """

    graph: str
    row: VersionRow | None = None
    column: int = 0


class Graph(Struct):
    """A drawing that grows downwards, page by page: each page goes on where the last one ended.

    It takes as long for a version as the tree is wide there, however many versions came before.
    """

    _columns: list[str] = field(default_factory=list[str])
    """What each column leads to: a version that has not come yet; none stands in two columns."""
    _shown: set[str] = field(default_factory=set[str])

    def add(self, rows: Iterable[VersionRow]) -> list[GraphLine]:
        """The lines of the next versions, newest first.

        A parent that came before its child, because of a clock that went wrong, gets no line to it. Of more
        than two parents the first two are drawn.
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
        """The lines from the node at the column to what its parents' columns are, which are kept."""
        parents = [parent for parent in dict.fromkeys(row.version.parents) if parent not in self._shown]
        if not parents:
            yield from self._close(column)
        elif len(parents) == 1:
            yield from self._lead(column, parents[0])
        else:
            yield from self._fork(column, parents[0], parents[1])

    def _close(self, column: int) -> Iterator[str]:
        """Nothing comes below: what is on the right moves up."""
        del self._columns[column]
        right = range(column + 1, len(self._columns) + 1)
        if right:
            yield _text({**_verticals(column), **{2 * each - 1: "/" for each in right}})

    def _lead(self, column: int, parent: str) -> Iterator[str]:
        """The column leads to the parent from now on; with another that does, it becomes one, on the left."""
        other = self._columns.index(parent) if parent in self._columns else column
        self._columns[column] = parent
        if other != column:
            yield from self._join(max(column, other), min(column, other))

    def _fork(self, column: int, first: str, second: str) -> Iterator[str]:
        """Two lines leave the node: the second's is drawn before the first's is led on."""
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
        """A second line from the column, on its right; what is there makes room."""
        right = range(column, len(self._columns))
        yield _text({**_verticals(column + 1), **{2 * each + 1: "\\" for each in right}})
        self._columns.insert(column + 1, "")

    def _join(self, start: int, end: int) -> Iterator[str]:
        """The column at `start` runs into the one at `end`, on its left; what is on its right moves up."""
        yield from _leftwards(len(self._columns), start, end, last=True)
        del self._columns[start]


def graph_lines(rows: Sequence[VersionRow]) -> list[GraphLine]:
    """The drawing of these versions, newest first, and no others; for page after page see `Graph`."""
    return Graph().add(rows)


def _leftwards(width: int, start: int, end: int, *, last: bool = False) -> Iterator[str]:
    """A line from the column at `start` to the one at `end`, under those between, among so many columns.

    last: the column at `start` itself ends with it, so that those on its right move one up.
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
