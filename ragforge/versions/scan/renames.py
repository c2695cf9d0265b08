"""Find which added paths are removed ones under another name."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ragforge.domain.versions import Change, Node, NodeKind
from ragforge.versions.tree import summed


def renames(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the same changes, with added ones marked that have the content and mode of a removed one.

    Net changes count. Each removed path is the origin of at most one added path, preferably one with the
    same name. Empty files are ignored: too many are alike.
    """
    whole = summed(changes)
    removed: dict[Node, list[str]] = {}
    for change in whole:
        if change.before and change.after is None and _tells(change.before):
            removed.setdefault(change.before, []).append(change.path)
    origins = _origins(whole, removed) if removed else {}
    marked: list[Change] = []
    for change in changes:
        # For an added path that was written several times, the first of its changes is marked.
        origin = origins.pop(change.path, "")
        marked.append(replace(change, renamed_from=origin) if origin else change)
    return tuple(marked)


def _origins(changes: Iterable[Change], removed: dict[Node, list[str]]) -> dict[str, str]:
    added = [change for change in changes if change.before is None and change.after in removed]
    found: dict[str, str] = {}
    for by_name in (True, False):
        for change in added:
            if change.after is None or change.path in found:
                continue
            waiting = removed[change.after]
            name = _name(change.path)
            origin = next((path for path in waiting if not by_name or _name(path) == name), None)
            if origin is not None:
                waiting.remove(origin)
                found[change.path] = origin
    return found


def _tells(node: Node) -> bool:
    return node.kind is not NodeKind.FOLDER and node.size > 0


def _name(path: str) -> str:
    return path.rpartition("/")[2]
