"""A folder that tests scan again and again."""

import hashlib
import time
from dataclasses import dataclass, field
from pathlib import Path

from ragforge.domain.versions import Node, NodeKind
from ragforge.versions.scan.changes import Scan, scan
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.scan.track_rules import TrackRules

LIMIT = 1000
SETTLED_S = 0.06
"""After this the times of a file tell whether it changes again; less on disks with fine times."""


@dataclass
class Project:
    """A folder that is scanned again and again; between two scans the manifest goes through its bytes."""

    root: Path
    last: Manifest = field(default_factory=Manifest)
    excludes: Path | None = None

    @property
    def track_rules(self) -> TrackRules:
        return TrackRules(self.root, self.excludes, LIMIT)

    def put(self, path: str, content: str | bytes = "x") -> Path:
        where = self.root / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(content.encode() if isinstance(content, str) else content)
        return where

    def scan(self, *paths: str) -> Scan:
        found = scan(self.track_rules, self.last, paths=paths or None)
        self.last = Manifest.from_bytes(found.manifest.to_bytes())
        assert self.last == found.manifest
        return found

    def kinds(self, *paths: str) -> dict[str, str]:
        """The differences in short: `+` new, `-` gone, `~` another."""
        return {path: sign(*nodes) for path, nodes in self.scan(*paths).differences.items()}

    def settle(self) -> None:
        """Wait until files that were written have other times than those written from now on, and scan."""
        time.sleep(SETTLED_S)
        self.scan()


def sign(before: Node | None, after: Node | None) -> str:
    assert before != after
    return "+" if before is None else "-" if after is None else "~"


def file_node(content: bytes, mode: int = 0o644) -> Node:
    return Node(NodeKind.FILE, hashlib.sha256(content).hexdigest(), mode, len(content))
