"""Where the files' head is after a move: on the version that was wanted, or on a new one beside it."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from ragforge.domain.versions import Change, Node, Provenance, Version
from ragforge.versions.restore.reach import same
from ragforge.versions.tree import between, way_between


class Landing(Struct, frozen=True):
    """Where the head is now.

    parent: the version that it is, where `changes` is empty; else the parent of a new one with these
    changes. "" stands for the beginning, before the first version.
    """

    parent: str
    changes: tuple[Change, ...] = ()


def differing(head_line: Sequence[Version], target_line: Sequence[Version]) -> list[str]:
    """The paths of which the disk has to be known before `landing` can tell."""
    return [wanted.path for wanted in between(head_line, target_line)]


def landing(
    head_line: Sequence[Version],
    target_line: Sequence[Version],
    *,
    disk: Mapping[str, Node | None],
    before: Mapping[str, Node | None],
    ours: Callable[[Version], bool],
    provenance: Provenance = Provenance.RESTORE,
) -> Landing:
    """Where the head is after a move from the head towards the target.

    The lines are newest first and reach down to their common version or the root; an empty one is the
    beginning. disk: what lies there now, of all paths that differ between the two and all that were touched.
    before: what lay at the touched paths before the move, when disk and head still agreed.
    ours: whether a version on the way may be left behind: those of the turns that are undone or redone, the
    person's own, restores of this session. Where others' lie on the way their work stays in the line.
    """
    head, target = _id(head_line), _id(target_line)
    at_head, at_target = dict(before), dict(before)
    for wanted in between(head_line, target_line):
        at_head[wanted.path], at_target[wanted.path] = wanted.expected, wanted.wanted
    from_target = _changes(at_target, disk, provenance)
    way = way_between(head_line, target_line)
    if not from_target or all(ours(version) for version in (*way.up, *way.down)):
        return Landing(target, from_target)
    return Landing(head, _changes(at_head, disk, provenance))


def _id(line: Sequence[Version]) -> str:
    return line[0].id if line else ""


def _changes(
    before: Mapping[str, Node | None], disk: Mapping[str, Node | None], provenance: Provenance
) -> tuple[Change, ...]:
    """What turns the one state into the other."""
    return tuple(
        Change(path, before[path], disk[path], provenance)
        for path in sorted(before)
        if not same(before[path], disk[path])
    )
