"""What was noted of a turn while it ran, as the changes of its version and as what lies in the folder."""

import stat
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace
from msgspec.structs import replace as replace_struct

from ragforge.domain.versions import Change, Node, NodeKind, Provenance
from ragforge.versions.scan.manifest import UNTOLD, FolderSeen, Manifest, Seen
from ragforge.versions.tree import is_own


def changes_of(
    differences: Mapping[str, tuple[Node | None, Node | None]],
    provenance: Provenance,
    *,
    shared: bool = False,
) -> list[Change]:
    """What a scan found, by path."""
    return [
        Change(path, then, now, provenance, shared=shared)
        for path, (then, now) in sorted(differences.items())
        if then != now
    ]


def merged(notes: Iterable[Change]) -> list[Change]:
    """The notes of a turn, by path and then by time; those that follow on each other are put together.

    Not over a content that lay there in between and lies there no more: it was overwritten by the turn
    itself, and is to be had from its version. What is certain to be the session's and what may be another's
    stay apart too, so a path may come several times. What comes to nothing is left out.
    """
    found: dict[str, list[Change]] = {}
    for note in notes:
        runs = found.setdefault(note.path, [])
        last = runs[-1] if runs else None
        if (
            last is not None
            and last.after == note.before
            and is_own(last) == is_own(note)
            and not _holds_more(last.after, last.before, note.after)
        ):
            # Of a tool and a command at one file the command says how certain it is.
            provenance = Provenance.SHELL if Provenance.SHELL in (last.provenance, note.provenance) else None
            runs[-1] = replace(last, after=note.after, provenance=provenance or note.provenance)
        else:
            runs.append(note)
    return [change for _, runs in sorted(found.items()) for change in _telling(runs)]


def _holds_more(between: Node | None, *around: Node | None) -> bool:
    """Whether something lay there in between whose content is neither that before nor that after."""
    digests = {node.digest for node in around if node}
    return between is not None and between.digest != "" and between.digest not in digests


def _telling(runs: Iterable[Change]) -> Iterator[Change]:
    """The changes of a path without those that come to nothing, but where somebody else's lies before."""
    last: Change | None = None
    for change in runs:
        if change.before != change.after or (last is not None and last.after != change.after):
            last = change
            yield change


def touches(notes: Iterable[Change], changes: Iterable[Change]) -> bool:
    """Whether both are about a common path."""
    paths = {change.path for change in changes}
    return any(note.path in paths for note in notes)


def with_notes(manifest: Manifest, notes: Iterable[Change]) -> Manifest:
    """What lay in the folder after these changes, in their order, were made to it.

    The next scan reads these paths again, because nothing is known of when they were written.
    """
    folders = dict(manifest.folders)
    for note in notes:
        if Manifest(folders).node(note.path) != note.after:
            _put(folders, note.path, note.after)
    return Manifest(folders, manifest.sources)


def part_of(manifest: Manifest, paths: Iterable[str]) -> Manifest:
    """Only what lies at these very paths."""
    folders: dict[str, dict[str, Seen]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        inside = manifest.folders.get(folder)
        if inside and name in inside.entries:
            folders.setdefault(folder, {})[name] = inside.entries[name]
    return Manifest({folder: FolderSeen(entries, {}) for folder, entries in folders.items()})


def _put(folders: dict[str, FolderSeen], path: str, node: Node | None) -> None:
    folder, _, name = path.rpartition("/")
    own = folders.get(path)
    if node is not None and node.kind is NodeKind.FOLDER:
        mode = stat.S_IFDIR | node.mode
        folders[path] = replace_struct(own, own_mode=mode) if own else FolderSeen({}, {}, own_mode=mode)
    elif own is not None:
        folders[path] = replace_struct(own, own_mode=UNTOLD)
    inside = folders.get(folder) or FolderSeen({}, {})
    entries = {each: seen for each, seen in inside.entries.items() if each != name}
    if node is not None and node.kind is not NodeKind.FOLDER:
        type_bits = stat.S_IFLNK | 0o777 if node.kind is NodeKind.LINK else stat.S_IFREG | node.mode
        entries[name] = Seen(type_bits, node.size, 0, 0, 0, bytes.fromhex(node.digest))
    folders[folder] = replace_struct(inside, entries=entries)
