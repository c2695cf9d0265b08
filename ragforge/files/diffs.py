"""Unified diffs of whole files: minimal, in git's form, and fast for long files too."""

from collections.abc import Iterator, Sequence

from ragforge.files.line_changes import LineChange, line_changes

CONTEXT_LINES = 3


def unified(old: str | None, new: str, name: str, *, endings: bool = False) -> str:
    """Return the change from old to new as a unified diff, "" if there is none. None: a new file.

    LF and CRLF look the same. endings: only if all line endings are the same, in both texts.
    """
    alike = not endings or len(_endings(old or "") | _endings(new)) <= 1
    before = _lines(old or "", alike=alike)
    after = _lines(new, alike=alike)
    if old is not None and before == after:
        return ""
    source = "/dev/null" if old is None else f"a/{name}"
    hunks = (_hunk(before, after, group) for group in _groups(line_changes(before, after)))
    return "".join([f"--- {source}\n", f"+++ b/{name}\n", *hunks])


def _endings(text: str) -> set[str]:
    windows = text.count("\r\n")
    found = {"\r\n"} if windows else set[str]()
    return found | {"\n"} if text.count("\n") > windows else found


def _lines(text: str, *, alike: bool) -> list[str]:
    lines = (text.replace("\r\n", "\n") if alike else text).split("\n")
    last = lines.pop()
    whole = [line + "\n" for line in lines]
    return [*whole, last + "\n\\ No newline at end of file\n"] if last else whole


def _groups(changes: Sequence[LineChange]) -> Iterator[list[LineChange]]:
    """Group changes whose context overlaps."""
    group: list[LineChange] = []
    for change in changes:
        if group and change.old_start - group[-1].old_end > 2 * CONTEXT_LINES:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(before: Sequence[str], after: Sequence[str], group: Sequence[LineChange]) -> str:
    first, last = group[0], group[-1]
    above = min(CONTEXT_LINES, first.old_start)
    below = min(CONTEXT_LINES, len(before) - last.old_end)
    old_place = _place(first.old_start - above, last.old_end + below)
    new_place = _place(first.new_start - above, last.new_end + below)
    shown = [f"@@ -{old_place} +{new_place} @@\n"]
    at = first.old_start - above
    for change in group:
        shown += (" " + line for line in before[at : change.old_start])
        shown += ("-" + line for line in before[change.old_start : change.old_end])
        shown += ("+" + line for line in after[change.new_start : change.new_end])
        at = change.old_end
    shown += (" " + line for line in before[at : at + below])
    return "".join(shown)


def _place(start: int, end: int) -> str:
    """Return lines [start, end) as in a hunk header: counted from 1; for an empty range, the line before
    it."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"
