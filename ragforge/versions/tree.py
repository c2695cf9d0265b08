"""What follows from changes and versions alone: states, and the changes from one state to another.

Pure functions; nothing here reads the disk or a store. The changes of a version are in the order in which
they happened, and a path can occur more than once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.versions import FOLDER_MODE, Change, Node, NodeKind, Provenance, Version

Step: TypeAlias = tuple[Node | None, Node | None]
"""What is expected at a path, and what should be there instead."""


class WantedFile(Struct, frozen=True):
    """The wanted content of a path, and the expected current content if nobody changed it.

    Any other current content is a conflict.
    earlier: steps that come before, in this order. There are some only if somebody else changed the path
    between two changes of the session: undoing both of the session's at once would undo theirs too. Then
    `expected` is the content before theirs, so a path of theirs is a conflict if `earlier` is ignored; a
    merge applies all steps, each to the result of the one before.
    """

    path: str
    expected: Node | None
    wanted: Node | None
    earlier: tuple[Step, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, in the order in which they are applied."""
        return (*self.earlier, (self.expected, self.wanted))


class Way(Struct, frozen=True):
    """How to get from one version to another through first parents.

    up: versions to leave, newest first. down: versions to enter, oldest first.
    common: the newest version that both lines have; None if they have none.
    """

    up: tuple[Version, ...]
    common: Version | None
    down: tuple[Version, ...]


def state_of(line: Sequence[Version]) -> dict[str, Node | None]:
    """Return the content of each path that the line ever changed; None if nothing is there (any more).

    line: a version and its first parents, newest first. A path that is not in the result is on disk as it was
    before the first version.
    """
    state: dict[str, Node | None] = {}
    for version in line:
        for change in reversed(version.changes):
            state.setdefault(change.path, change.after)
    return state


def summed(changes: Iterable[Change]) -> list[Change]:
    """Return the net changes of a version, one per path, in the order in which the paths were first changed.

    Changes that cancel each other out are left out. If a path has several changes, its provenance is the
    least certain.
    """
    whole: dict[str, Change] = {}
    for change in changes:
        earlier = whole.get(change.path)
        if earlier is None:
            whole[change.path] = change
            continue
        origin = earlier.renamed_from if earlier.before is None and change.after else ""
        whole[change.path] = replace(
            change,
            before=earlier.before,
            provenance=change.provenance if earlier.provenance is Provenance.TOOL else earlier.provenance,
            renamed_from=origin,
            shared=earlier.shared or change.shared,
        )
    return [change for change in whole.values() if change.before != change.after]


def changes_of(
    differences: Mapping[str, tuple[Node | None, Node | None]],
    provenance: Provenance,
    *,
    shared: bool = False,
) -> list[Change]:
    """Return what a scan found, by path."""
    return [
        Change(path, then, now, provenance, shared=shared)
        for path, (then, now) in sorted(differences.items())
        if then != now
    ]


def merged(notes: Iterable[Change]) -> list[Change]:
    """Return the recorded changes of a turn, by path and then by time, with successive ones combined.

    Not across a content that existed only in between: the turn itself overwrote it, and its version must have
    it. Changes that certainly belong to the session and those that may be another's are not combined either,
    so a path can occur several times. Changes that cancel each other out are left out.
    """
    found: dict[str, list[Change]] = {}
    for note in notes:
        runs = found.setdefault(note.path, [])
        last = runs[-1] if runs else None
        if (
            last is not None
            and last.after == note.before
            and last.is_own == note.is_own
            and not _holds_more(last.after, last.before, note.after)
        ):
            # Of a tool and a command at one file the command says how certain it is.
            provenance = Provenance.SHELL if Provenance.SHELL in (last.provenance, note.provenance) else None
            runs[-1] = replace(last, after=note.after, provenance=provenance or note.provenance)
        else:
            runs.append(note)
    return [change for _, runs in sorted(found.items()) for change in _telling(runs)]


def touches(notes: Iterable[Change], changes: Iterable[Change]) -> bool:
    """Whether both have a path in common."""
    paths = {change.path for change in changes}
    return any(note.path in paths for note in notes)


def own_changes(versions: Iterable[Version]) -> list[Change]:
    """Return the changes that certainly belong to the versions' sessions, in the order of the versions."""
    return [change for version in versions for change in version.changes if change.is_own]


def backward(versions: Sequence[Version]) -> list[WantedFile]:
    """Return, by path, what undoes the own changes of these versions, newest first.

    A path that these changes leave as it was is not in the result.
    """
    wanted: list[WantedFile] = []
    for path, runs in sorted(_runs(own_changes(reversed(versions))).items()):
        steps = [(after, before) for before, after in reversed(runs)]
        wanted.append(WantedFile(path, *steps[-1], earlier=tuple(steps[:-1])))
    return wanted


def forward(versions: Sequence[Version]) -> list[WantedFile]:
    """Return, by path, what redoes the own changes of these versions, oldest first; like `backward`."""
    wanted: list[WantedFile] = []
    for path, runs in sorted(_runs(own_changes(versions)).items()):
        wanted.append(WantedFile(path, *runs[-1], earlier=tuple(runs[:-1])))
    return wanted


def between(head_line: Sequence[Version], target_line: Sequence[Version]) -> list[WantedFile]:
    """Return, by path, what leads from the state at the head to that at the target, for a checkout.

    Both lines are newest first and reach down to their common version, or to the root; versions below are not
    needed. Paths that are the same in both are not in the result.
    """
    head, target = states_between(head_line, target_line)
    return [WantedFile(path, head[path], target[path]) for path in sorted(head) if head[path] != target[path]]


def states_between(
    head_line: Sequence[Version], target_line: Sequence[Version]
) -> tuple[dict[str, Node | None], dict[str, Node | None]]:
    """Return the states at the head and at the target, for each path that any version between them
    changed."""
    way = way_between(head_line, target_line)
    # The common version has what the oldest change after it found.
    common = _befores(reversed(way.up)) | _befores(way.down)
    return common | state_of(way.up), common | state_of(tuple(reversed(way.down)))


def is_folder_let_go(wanted: WantedFile) -> bool:
    """Whether a folder should no longer be a separate path: removed, or of the usual mode with files in
    it."""
    expected = wanted.expected
    return wanted.wanted is None and expected is not None and expected.kind is NodeKind.FOLDER


def with_usual_modes(wanted: Sequence[WantedFile], staying: Iterable[str]) -> list[WantedFile]:
    """Return the same, but with the usual mode for those folders let go in which something stays.

    staying: paths that are on disk now, and also in the wanted state. A folder that only contains what came
    since keeps its mode, because whoever put it there may depend on it.
    """
    holding = {folder for path in staying for folder in folders_above(path)}
    usual = Node(NodeKind.FOLDER, "", FOLDER_MODE)
    return [
        replace(each, wanted=usual) if is_folder_let_go(each) and each.path in holding else each
        for each in wanted
    ]


def foreign(
    head_line: Sequence[Version], target_line: Sequence[Version], session_id: str, *, asked: str = ""
) -> set[str]:
    """Return the paths that another session changed, or may have, on the way from head to target.

    The lines are those of `between`. The user's own changes belong to no session, whichever session recorded
    them; so do those of the version `asked`, if the user asked for it.
    """
    way = way_between(head_line, target_line)
    return {
        change.path
        for version in (*way.up, *(each for each in way.down if each.id != asked))
        for change in version.changes
        if change.provenance is not Provenance.OUTSIDE
        if change.shared or version.session_id not in ("", session_id)
    }


def way_between(head_line: Sequence[Version], target_line: Sequence[Version]) -> Way:
    """Return the way from the head, the first of its line, to the target; the lines are those of
    `between`."""
    places = {version.id: place for place, version in enumerate(target_line)}
    for place, version in enumerate(head_line):
        if version.id in places:
            down = target_line[: places[version.id]]
            return Way(tuple(head_line[:place]), version, tuple(reversed(down)))
    return Way(tuple(head_line), None, tuple(reversed(target_line)))


def folders_above(path: str) -> Iterable[str]:
    """Yield the folders above the path, the innermost first."""
    while path := path.rpartition("/")[0]:
        yield path


def _befores(versions: Iterable[Version]) -> dict[str, Node | None]:
    """Return the content of each path before these versions, oldest first, changed it."""
    state: dict[str, Node | None] = {}
    for version in versions:
        for change in version.changes:
            state.setdefault(change.path, change.before)
    return state


def _runs(changes: Iterable[Change]) -> dict[str, list[Step]]:
    """Return each path's changes, oldest first, combined where one starts with what the last one left.

    Changes that cancel each other out are left out, and so is a path that has no others.
    """
    found: dict[str, list[Step]] = {}
    for change in changes:
        runs = found.setdefault(change.path, [])
        before, after = change.before, change.after
        if runs and runs[-1][1] == before:
            before, _ = runs.pop()
        if before != after:
            runs.append((before, after))
    return {path: runs for path, runs in found.items() if runs}


def _holds_more(between: Node | None, *around: Node | None) -> bool:
    """Whether an intermediate content differs from those before and after."""
    digests = {node.digest for node in around if node}
    return between is not None and between.digest != "" and between.digest not in digests


def _telling(runs: Iterable[Change]) -> Iterator[Change]:
    """Return the changes of a path without those that cancel each other out, unless somebody else's comes
    before."""
    last: Change | None = None
    for change in runs:
        if change.before != change.after or (last is not None and last.after != change.after):
            last = change
            yield change
