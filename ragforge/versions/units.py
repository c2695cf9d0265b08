"""How many lines a turn changed, and how many bits a line of the project takes.

Based on versions: what this conversation did itself, and everything that differs since the turn before it.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Sequence
from pathlib import Path

from ragforge.domain.cancellation import in_thread
from ragforge.domain.errors import StoreError
from ragforge.domain.foresight import TurnUnits
from ragforge.domain.turns import Turn
from ragforge.domain.versions import Change, NodeKind, Provenance, Version
from ragforge.files.open import NotAFile, open_file
from ragforge.memory.foresight import SAMPLE_BYTES_MAX, line_alpha
from ragforge.versions.difference import differences
from ragforge.versions.head_move import lines_of
from ragforge.versions.project_files import ProjectFiles
from ragforge.versions.record.recorder import Worktree
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.scan.renames import renames
from ragforge.versions.tree import between, own_changes

log = logging.getLogger(__name__)

VERSION_WAIT_S = 2.0
"""How long to wait for a version that is being made."""
BACK_MAX = 20
"""How many turns are searched for one with a version."""
ALPHA_KEPT_S = 600.0
PART_BYTES_MAX = 64 * 1024
"""The bytes of one file in the sample."""


class UnitMeter:
    """Measures the turns of a run. The bits per line are estimated from time to time, in a thread."""

    def __init__(self) -> None:
        self._alphas: dict[Path, tuple[float, int | None]] = {}

    async def measure(self, worktree: Worktree, turn: Turn) -> TurnUnits | None:
        """Return how much the turn changed; None if no versions or no contents are kept here.

        Raises StoreError.
        """
        if ending := worktree.recorder.ending:
            await asyncio.wait(ending, timeout=VERSION_WAIT_S)
        files = worktree.files
        own = await files.store.versions.of_turns([turn.id])
        if not own or not await worktree.is_tracked():
            return None
        each = [await _count(own_changes([version]), files) for version in own]
        collective = await _count(await _since_the_turn_before(files, turn, own), files)
        if collective is None or None in each:
            return None
        individual = sum(units for units in each if units is not None)
        return TurnUnits(individual, collective, await self._alpha(files))

    async def _alpha(self, files: ProjectFiles) -> int | None:
        estimated_at, alpha = self._alphas.get(files.root, (0.0, None))
        if alpha is None or time.monotonic() - estimated_at > ALPHA_KEPT_S:
            alpha = await estimate_alpha(files)
            self._alphas[files.root] = (time.monotonic(), alpha)
        return alpha


async def _count(changes: Sequence[Change], files: ProjectFiles) -> int | None:
    """Return the number of lines added and removed by the changes; None if a content is not here."""
    each = [one.units for one in await differences(renames(changes), files.blobs)]
    return None if None in each else sum(units for units in each if units is not None)


async def _since_the_turn_before(files: ProjectFiles, turn: Turn, own: Sequence[Version]) -> list[Change]:
    """Return all differences between the turn's version and that of the turn before it on its path."""
    before = await _version_before(files, turn) or (own[0].parents[0] if own[0].parents else "")
    lines = await lines_of(files.store.versions, before, own[-1].id)
    return [Change(each.path, each.expected, each.wanted, Provenance.OUTSIDE) for each in between(*lines)]


async def _version_before(files: ProjectFiles, turn: Turn) -> str:
    """Return the id of the newest version of an earlier turn on the path; empty if none has one."""
    path = await files.store.turns.path(turn.parent, limit=BACK_MAX) if turn.parent else []
    for each in reversed(path):
        if versions := await files.store.versions.of_turns([each.id]):
            return versions[-1].id
    return ""


async def estimate_alpha(files: ProjectFiles) -> int | None:
    """Return the bits per line of the project; None if there is no line, or if there was no scan."""
    content = await files.state.manifest(files.root)
    if content is None:
        return None
    try:
        sizes = await in_thread(lambda _: _sizes(Manifest.from_bytes(content)))
    except StoreError as error:
        log.info("The lines of %s cannot be counted: %s", files.root, error)
        return None
    return await asyncio.to_thread(_estimate, files.root, sizes)


def _sizes(manifest: Manifest) -> dict[str, int]:
    return {
        path: seen.size
        for path, seen in manifest.entries.items()
        if seen.size and seen.node.kind is NodeKind.FILE
    }


def _estimate(root: Path, sizes: dict[str, int]) -> int | None:
    """Use files chosen by the hash of their path, so that the same project has the same sample."""
    sample = bytearray()
    read = text = 0
    for path in sorted(sizes, key=lambda path: hashlib.sha256(path.encode("utf-8", "replace")).digest()):
        part = _part(root / path)
        read += min(sizes[path], PART_BYTES_MAX)
        if part and b"\0" not in part:
            text += min(sizes[path], PART_BYTES_MAX)
            sample += part if part.endswith(b"\n") else part + b"\n"
        if len(sample) >= SAMPLE_BYTES_MAX:
            break
    if not text:
        return None
    of_text = sum(sizes.values()) * text / read
    return line_alpha(max(1, round(sample.count(b"\n") * of_text / text)), bytes(sample))


def _part(path: Path) -> bytes:
    """Return the beginning of the file, in whole characters if it is UTF-8; empty if it cannot be read."""
    try:
        with open_file(path) as file:
            content = file.read(PART_BYTES_MAX)
    except (OSError, NotAFile):
        return b""
    return content.decode("utf-8", "ignore").encode() if len(content) == PART_BYTES_MAX else content
