"""The changes between two lists of lines: the shortest edit after Myers, grouped as people expect.

Source: E. W. Myers, Algorithmica 1 (1986), pages 251 to 266, section 4b.
Of several shortest edits, the one that git chooses, as far as its manual and its output tell.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from msgspec import Struct

COST_MAX = 256
"""With more lines added and removed, a good edit is searched instead of a shortest one: time would grow
with the square of the change."""

MANY_MAX = 1024
"""A line that the other side has this often, or about as often as the root of the line count, says little."""
AROUND_LINES_MAX = 100
SWAMPED = 4
"""Such a line is left out if less than one in so many of the lines around it are on the other side."""

STEPS_MAX = 2_000_000
"""The budget of a search, about a second. After that, COST_HURRIED replaces COST_MAX."""
COST_HURRIED = 16

Box = tuple[int, int, int, int]
"""Lines [0, 1) of one side against lines [2, 3) of the other."""


class LineChange(Struct, frozen=True):
    """Lines [old_start, old_end) became lines [new_start, new_end)."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def split_lines(content: bytes) -> list[bytes]:
    """Return the lines with their endings; only LF ends a line, as in git."""
    lines = [line + b"\n" for line in content.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def line_changes(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[LineChange]:
    """Return the changes of the old lines, in order; at least one unchanged line is between two changes.

    Lines are equal if they are identical, including endings.
    """
    numbers: dict[Hashable, int] = {}
    olds = [numbers.setdefault(line, len(numbers)) for line in old]
    news = [numbers.setdefault(line, len(numbers)) for line in new]
    pairs = _matched(olds, news)
    kept_old = [pair[0] for pair in pairs]
    kept_new = [pair[1] for pair in pairs]
    _settle(olds, kept_old, kept_new, len(news))
    _settle(news, kept_new, kept_old, len(olds))
    return list(_gaps(kept_old, kept_new, len(olds), len(news)))


def _matched(olds: list[int], news: list[int]) -> list[tuple[int, int]]:
    """Return pairs of equal lines that stay, in order."""
    shorter = min(len(olds), len(news))
    start = next((at for at in range(shorter) if olds[at] != news[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if olds[-1 - at] != news[-1 - at]), rest)
    left = _telling(olds, range(start, len(olds) - end), Counter(news))
    right = _telling(news, range(start, len(news) - end), Counter(olds))
    found = _search([olds[at] for at in left], [news[at] for at in right])
    return [
        *((at, at) for at in range(start)),
        *((left[one], right[other]) for one, other in found),
        *((len(olds) - end + at, len(news) - end + at) for at in range(end)),
    ]


def _telling(lines: list[int], middle: range, there: Counter[int]) -> list[int]:
    """Return the lines that are worth a search; `there` counts the lines of the other side.

    Lines that the other side lacks cannot match. Very frequent lines, such as blank ones, would only split a
    new passage, so they are left out if the other side lacks nearly all lines around them.
    """
    many = min(MANY_MAX, 1 << (len(lines).bit_length() + 1) // 2)

    def is_swamped(at: int) -> bool:
        lacking = frequent = 0
        for around in (range(at - 1, middle.start - 1, -1), range(at + 1, middle.stop)):
            before = lacking
            frequent += 1
            for other in around[:AROUND_LINES_MAX]:
                if 0 < there[lines[other]] < many:
                    break
                lacking += not there[lines[other]]
                frequent += there[lines[other]] >= many
            if lacking == before:
                return False
        return frequent * (SWAMPED - 1) < lacking

    return [at for at in middle if (seen := there[lines[at]]) and not (seen >= many and is_swamped(at))]


def _search(a: list[int], b: list[int]) -> list[tuple[int, int]]:
    """Return pairs of a longest common subsequence, in order, or just of a long one if that would take too
    long."""
    pairs: list[tuple[int, int]] = []
    boxes: list[Box] = [(0, len(a), 0, len(b))]
    steps = 0
    while boxes:
        a_from, a_to, b_from, b_to = boxes.pop()
        while a_from < a_to and b_from < b_to and a[a_from] == b[b_from]:
            pairs.append((a_from, b_from))
            a_from, b_from = a_from + 1, b_from + 1
        while a_from < a_to and b_from < b_to and a[a_to - 1] == b[b_to - 1]:
            a_to, b_to = a_to - 1, b_to - 1
            pairs.append((a_to, b_to))
        if a_from < a_to and b_from < b_to:
            cost_max = COST_MAX if steps < STEPS_MAX else COST_HURRIED
            x, y, cost = _middle(a[a_from:a_to], b[b_from:b_to], cost_max)
            steps += 2 * cost * cost
            boxes += [(a_from, a_from + x, b_from, b_from + y), (a_from + x, a_to, b_from + y, b_to)]
    return sorted(pairs)


def _middle(a: list[int], b: list[int], cost_max: int) -> tuple[int, int, int]:
    """Return a point on a shortest path, found from both corners, and the cost of finding it.

    The first lines of a and b differ, and the last ones. Diagonal k contains the points (x, x - k). Lists are
    indexed by k, negative ones from their end.
    """
    n, m = len(a), len(b)
    delta = n - m
    forth, back = [-1] * (n + m + 3), [n + 1] * (n + m + 3)
    forth[0], back[delta] = 0, n
    forth_low = forth_high = 0
    back_low = back_high = delta
    cost = 0
    while True:
        cost += 1
        forth_low, forth_high = _widened(forth, forth_low, forth_high, -m, n, -1)
        for k in range(forth_high, forth_low - 1, -2):
            x = max(forth[k - 1] + 1, forth[k + 1])
            y = x - k
            while x < n and y < m and a[x] == b[y]:
                x, y = x + 1, y + 1
            forth[k] = x
            if delta % 2 and back_low <= k <= back_high and back[k] <= x:
                return x, y, cost
        back_low, back_high = _widened(back, back_low, back_high, -m, n, n + 1)
        for k in range(back_high, back_low - 1, -2):
            x = min(back[k - 1], back[k + 1] - 1)
            y = x - k
            while x > 0 and y > 0 and a[x - 1] == b[y - 1]:
                x, y = x - 1, y - 1
            back[k] = x
            if not delta % 2 and forth_low <= k <= forth_high and x <= forth[k]:
                return x, y, cost
        if cost >= cost_max:
            ahead = [(forth[k], forth[k] - k) for k in range(forth_low, forth_high + 1, 2)]
            behind = [(back[k], back[k] - k) for k in range(back_low, back_high + 1, 2)]
            return *_furthest(ahead, behind, n, m), cost


def _widened(
    reached: list[int], low: int, high: int, lowest: int, highest: int, unset: int
) -> tuple[int, int]:
    """Return the diagonals of the next step: one more on either side, one less outside the box."""
    if low > lowest:
        low -= 1
        reached[low - 1] = unset
    else:
        low += 1
    if high < highest:
        high += 1
        reached[high + 1] = unset
    else:
        high -= 1
    return low, high


def _furthest(ahead: list[tuple[int, int]], behind: list[tuple[int, int]], n: int, m: int) -> tuple[int, int]:
    """Return the furthest point of either search, within the box."""
    inside = [point for point in ahead if point[0] <= n and 0 <= point[1] <= m]
    outside = [point for point in behind if point[0] >= 0 and 0 <= point[1] <= m]
    first = max(inside, key=sum, default=(n // 2, m // 2))
    last = min(outside, key=sum, default=(n // 2, m // 2))
    return first if sum(first) >= n + m - sum(last) else last


def _settle(lines: list[int], kept: list[int], others: list[int], others_count: int) -> None:
    """Slide each group of changed lines that can be in several places; changes `kept`.

    To the end, or to the last place where the other side changed too, so that both are one change. Group g is
    before the kept line g. It moves by one line if the line at one edge equals the line beyond the other:
    then the kept line at this edge is paired with its duplicate.
    """

    def start_of(group: int) -> int:
        return kept[group - 1] + 1 if group else 0

    def end_of(group: int) -> int:
        return kept[group] if group < len(kept) else len(lines)

    def faces_a_change(group: int) -> bool:
        start = others[group - 1] + 1 if group else 0
        return start < (others[group] if group < len(others) else others_count)

    def up(group: int) -> int:
        """Return the group after sliding up by a line."""
        kept[group - 1] = end_of(group) - 1
        return group - 1

    def down(group: int) -> int:
        kept[group] = start_of(group)
        return group + 1

    group = 0
    while group <= len(kept):
        size = 0
        met: int | None = None
        # Once more if it met another group, which it is now part of.
        while size != end_of(group) - start_of(group):
            size = end_of(group) - start_of(group)
            while group and lines[kept[group - 1]] == lines[end_of(group) - 1]:
                group = up(group)
            met = group if faces_a_change(group) else None
            while group < len(kept) and lines[start_of(group)] == lines[kept[group]]:
                group = down(group)
                met = group if faces_a_change(group) else met
        while met is not None and group > met:
            group = up(group)
        group += 1


def _gaps(kept_old: list[int], kept_new: list[int], old_count: int, new_count: int) -> Iterator[LineChange]:
    old_start = new_start = 0
    for old_end, new_end in zip([*kept_old, old_count], [*kept_new, new_count], strict=True):
        if old_start < old_end or new_start < new_end:
            yield LineChange(old_start, old_end, new_start, new_end)
        old_start, new_start = old_end + 1, new_end + 1
