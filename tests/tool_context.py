"""What tools are given in tests: real folders, a blob store of a dictionary's size, no search hits."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.search import Hit
from ragforge.tools.base import ReadFiles, ToolContext


@dataclass
class Kept:
    """What tools handed over."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    hits: list[Hit] = field(default_factory=list)
    asked: list[tuple[str, int]] = field(default_factory=list)

    async def put_blob(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        self.blobs[digest] = content
        return digest

    async def get_blob(self, digest: str) -> bytes:
        if digest not in self.blobs:
            raise StoreUnavailable(f"no blob {digest[:8]}")
        return self.blobs[digest]

    async def search(self, query: str, limit: int) -> list[Hit]:
        self.asked.append((query, limit))
        return self.hits[:limit]


def make_context(folder: Path, kept: Kept | None = None, *, cwd: Path | None = None) -> ToolContext:
    kept = kept or Kept()
    return ToolContext(
        cwd=(cwd or folder).resolve(),
        root=folder.resolve(),
        env=dict(os.environ),
        read_files=ReadFiles(),
        jobs=cast(Any, None),  # file tools start nothing
        search=kept.search,
        put_blob=kept.put_blob,
        get_blob=kept.get_blob,
        emit=lambda text: None,
    )


@contextmanager
def folder_of_nobody() -> Iterator[Path]:
    """A folder, with this process bound by its modes even where it runs as root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.geteuid() != 0:
            yield folder
            return
        folder.chmod(0o755)
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(0)
