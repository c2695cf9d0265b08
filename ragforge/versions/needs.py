"""Which contents the versions of a project need, if some of the old ones may be given up."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from ragforge.domain.versions import Node, Version


def all_contents(versions: Iterable[Version]) -> set[str]:
    """Return the hashes of all contents that the versions name."""
    return {
        node.digest
        for version in versions
        for change in version.changes
        for node in (change.before, change.after)
        if node and node.digest
    }


def needed_contents(versions: Sequence[Version], kept: Collection[str]) -> set[str]:
    """Return the hashes needed to restore each of the kept versions, from each other.

    For a kept version these are its own changes, before and after, and all files there; merging two kept
    versions also needs the files where they parted. versions: all of the project, in any order.
    """
    tree = _Tree(versions)
    kept = {version.id for version in versions if version.id in kept}
    needed = all_contents(version for version in versions if version.id in kept)
    # The files at a version are those at its parent with its own changes. So it is enough to look at versions
    # whose parent is not looked at.
    parted = tree.parted(kept)
    for version_id in kept | parted:
        if version_id in parted or tree.parent(version_id) not in kept:
            needed |= _contents(tree.state(version_id).values())
    first = tree.first_contents()
    for version_id in kept | parted:
        if tree.parent(version_id) not in kept:
            known = tree.state(version_id)
            needed.update(*(found for path, found in first.items() if path not in known))
    return needed


class _Tree:
    """Return the versions by their first parents."""

    def __init__(self, versions: Sequence[Version]) -> None:
        self._versions: Mapping[str, Version] = {version.id: version for version in versions}
        self._children: dict[str, list[str]] = {}
        for version in versions:
            self._children.setdefault(self.parent(version.id), []).append(version.id)

    def parent(self, version_id: str) -> str:
        """The first parent, "" for a version that has none here."""
        parents = self._versions[version_id].parents
        return parents[0] if parents and parents[0] in self._versions else ""

    def state(self, version_id: str) -> dict[str, Node | None]:
        """Return the content of each path that the version's line ever changed."""
        state: dict[str, Node | None] = {}
        while version_id:
            for change in reversed(self._versions[version_id].changes):
                state.setdefault(change.path, change.after)
            version_id = self.parent(version_id)
        return state

    def parted(self, kept: Collection[str]) -> set[str]:
        """Return the versions at which the lines of kept ones part, if not kept themselves."""
        leads: Counter[str] = Counter()
        reached: set[str] = set()
        for version_id in kept:
            current = version_id
            while current and current not in reached:
                reached.add(current)
                current = self.parent(current)
                leads[current] += 1
        return {version_id for version_id, ways in leads.items() if version_id and ways > 1} - set(kept)

    def first_contents(self) -> dict[str, set[str]]:
        """Return, by path, the content before its first change on any line: versions on lines that never
        mention the path have it."""
        found: dict[str, set[str]] = {}
        mentioned: Counter[str] = Counter()
        waiting = [(root, False) for root in self._children.get("", [])]
        while waiting:
            version_id, is_left = waiting.pop()
            changes = self._versions[version_id].changes
            if is_left:
                mentioned.subtract(change.path for change in changes)
                continue
            for change in changes:
                if not mentioned[change.path] and change.before and change.before.digest:
                    found.setdefault(change.path, set()).add(change.before.digest)
                mentioned[change.path] += 1
            waiting.append((version_id, True))
            waiting += [(child, False) for child in self._children.get(version_id, [])]
        return found


def _contents(nodes: Iterable[Node | None]) -> set[str]:
    return {node.digest for node in nodes if node and node.digest}
