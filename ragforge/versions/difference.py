"""Changes of files as unified diffs, as line counts, and as search words."""

import asyncio
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from ragforge.domain.file_kinds import is_generated
from ragforge.domain.printable import escaped
from ragforge.domain.versions import WORDS_CHARS_MAX, Change, Node, NodeKind
from ragforge.files.diffs import unified
from ragforge.files.open import size
from ragforge.files.text import decode
from ragforge.store.base import Blobs
from ragforge.versions.tree import summed

TEXT_BYTES_MAX = 1024 * 1024
"""Larger files are only named: nobody reads such a diff."""
FILES_MAX = 1000
"""Of more files, as after checking out another branch, the rest is only named."""
WORD_LINE_CHARS_MAX = 400
"""A longer line is generated, and its beginning is enough to find it by."""


class Difference(Struct, frozen=True):
    """The change of one path.

    diff: unified, "" if no lines are shown. note: what the diff does not say, in a few words.
    units: how much changed, in lines. A file that is not read line by line counts 1, a renamed one
    0; None if the content is not here.
    """

    change: Change
    diff: str = ""
    note: str = ""
    lines_added: int = 0
    lines_removed: int = 0
    units: int | None = 0


async def differences(changes: Sequence[Change], blobs: Blobs) -> list[Difference]:
    """Return the changes, one per path, in the order in which the paths were first changed.

    A content that is not on this machine is named. Raises StoreError if the blob store cannot be read.
    """
    pairs = _pairs(changes)
    read = [pair for pair in pairs[:FILES_MAX] if not pair.too_large]
    lacking = frozenset(await blobs.missing(sorted({digest for pair in read for digest in pair.digests})))
    renamed = {pair.change.renamed_from: pair.change.path for pair in pairs if pair.change.renamed_from}
    found: list[Difference] = []
    for number, pair in enumerate(pairs):
        why, units = "", int(not pair.is_same_content)
        if pair.after is None and pair.change.path in renamed:
            why, units = f"renamed to {renamed[pair.change.path]}", 0
        elif number >= FILES_MAX:
            why = "not compared: too many files changed"
        elif pair.too_large:
            why = f"too large to compare ({pair.sizes})"
        elif lacking.intersection(pair.digests):
            why, units = "the content is not on this machine", None
        if why:
            found.append(Difference(pair.change, note=_joined(why, *pair.notes()), units=units))
        else:
            before, after = await _content(pair.before, blobs), await _content(pair.after, blobs)
            found.append(await asyncio.to_thread(_compared, pair, before, after))
    return found


def lines_changed(found: Iterable[Difference]) -> tuple[int, int]:
    """Return the lines added and removed, of all together; what was not compared counts 0."""
    each = list(found)
    return sum(one.lines_added for one in each), sum(one.lines_removed for one in each)


def as_text(found: Iterable[Difference]) -> str:
    """Return everything as a user reads it: diffs, and a line for what the diff does not say."""
    parts: list[str] = []
    for one in found:
        if one.note or not one.diff:
            parts.append(f"{escaped(one.change.path)}: {escaped(one.note) or one.change.kind}\n")
        parts.append(one.diff)
    return "".join(parts)


def words_of(
    found: Sequence[Difference], redact: Callable[[str], str], *, chars_max: int = WORDS_CHARS_MAX
) -> str:
    """Return paths and changed lines, without secrets: the words that a search finds a version by.

    If not everything fits, each file has its share, and no line is cut in the middle of a secret.
    """
    words = redact("\n".join(escaped(one.change.path) for one in found))[:chars_max]
    left = chars_max - len(words)
    # The small ones first, so that their unused share is available for the others.
    by_size = sorted(found, key=lambda one: len(one.diff))
    kept: dict[str, str] = {}
    for number, one in enumerate(by_size):
        share = left // (len(by_size) - number)
        lines = _cut(redact("\n".join(_changed_lines(one.diff, share))).split("\n"), share)
        kept[one.change.path] = "\n".join(lines)
        left -= len(kept[one.change.path]) + 1
    texts = (kept[one.change.path] for one in found)
    return "\n".join(filter(None, (words, *texts)))[:chars_max]


class _Pair(Struct, frozen=True):
    """The contents compared for a path; of a renamed one, before is that of its old path."""

    change: Change
    before: Node | None
    after: Node | None

    @property
    def nodes(self) -> list[Node]:
        return [node for node in (self.before, self.after) if node]

    @property
    def digests(self) -> list[str]:
        return [node.digest for node in self.nodes if node.digest]

    @property
    def is_same_content(self) -> bool:
        return bool(self.before and self.after and self.before.digest == self.after.digest)

    @property
    def too_large(self) -> bool:
        return any(node.size > TEXT_BYTES_MAX for node in self.nodes)

    @property
    def sizes(self) -> str:
        return " → ".join(size(node.size) for node in self.nodes)

    def notes(self) -> list[str]:
        """Return what happened to the node itself."""
        notes = [f"renamed from {self.change.renamed_from}"] if self.change.renamed_from else []
        before, after = self.before, self.after
        if before and after and before.kind is not after.kind:
            notes.append(f"{_named(before)} became {_named(after)}")
        elif before and after and before.mode != after.mode:
            notes.append(f"mode {before.mode:o} → {after.mode:o}")
        alone = self.nodes[0]
        if len(self.nodes) == 1 and alone.kind is not NodeKind.FILE:
            notes.append(f"{_named(alone)} {'removed' if after is None else 'added'}")
        return notes


def _pairs(changes: Sequence[Change]) -> list[_Pair]:
    """Combine changes to one per path, from the first content to the last; unchanged paths are left out."""
    pairs: list[_Pair] = []
    origins = {change.path: change for change in reversed(changes)}  # the first one of each path
    for change in summed(changes):
        origin = origins.get(change.renamed_from)
        before = origin.before if origin and change.before is None else change.before
        pairs.append(_Pair(change, before, change.after))
    return pairs


def _named(node: Node) -> str:
    return {NodeKind.FILE: "file", NodeKind.LINK: "link", NodeKind.FOLDER: "folder"}[node.kind]


def _joined(*notes: str) -> str:
    return ", ".join(filter(None, notes))


async def _content(node: Node | None, blobs: Blobs) -> bytes | None:
    """Return the bytes; None if there are none: nothing there, or a folder."""
    return await blobs.get(node.digest) if node and node.digest else None


def _compared(pair: _Pair, before: bytes | None, after: bytes | None) -> Difference:
    notes = pair.notes()
    if before is None and after is None:
        return Difference(pair.change, note=_joined(*notes))
    old, new = decode(before or b""), decode(after or b"")
    if old is None or new is None:
        return Difference(
            pair.change, note=_joined(f"binary ({pair.sizes})", *notes), units=int(not pair.is_same_content)
        )
    name = escaped(pair.change.path)
    diff = unified(None if before is None else old.text, new.text, name)
    if pair.change.renamed_from:
        diff = diff.replace(f"--- a/{name}\n", f"--- a/{escaped(pair.change.renamed_from)}\n", 1)
    if after is None:
        diff = diff.replace(f"+++ b/{name}\n", "+++ /dev/null\n", 1)
    lines = diff.split("\n")[2:]
    if not any(lines):
        # A header alone says nothing.
        diff = ""
        if before is None or after is None:
            notes.append("empty file")
        elif before != after:
            notes.append("only line endings or the encoding differ")
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    generated = bool(added or removed) and is_generated(pair.change.path, (new if after else old).text)
    return Difference(
        pair.change,
        diff,
        _joined(*notes),
        lines_added=added,
        lines_removed=removed,
        units=1 if generated else added + removed,
    )


def _changed_lines(diff: str, chars_max: int) -> list[str]:
    """Return added and removed lines, without their sign; complete ones, slightly over so many characters."""
    changed: list[str] = []
    seen = 0
    for line in diff.split("\n")[2:]:
        if line.startswith(("+", "-")) and line[1:].strip():
            changed.append(line[1:])
            seen += len(line)
            if seen > 2 * chars_max:
                break
    return changed


def _cut(lines: Iterable[str], chars_max: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        short = line[:WORD_LINE_CHARS_MAX]
        chars_max -= len(short) + 1
        if chars_max < 0:
            break
        kept.append(short)
    return kept
