"""Record what a tool is about to write, so that a crash right after it loses no change."""

import asyncio
import hashlib
import json
from collections.abc import Collection
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from ragforge.domain.errors import StoreError, UsageError
from ragforge.domain.versions import Change, Node, NodeKind, Provenance
from ragforge.files.atomic import remove_temporaries
from ragforge.store.json_text import to_json
from ragforge.versions.record.ledger import Ledger
from ragforge.versions.scan.manifest import with_notes
from ragforge.versions.scan.nodes import node_at

NEW_MODE = 0o644
"""The mode of a new file, until it is known."""


class _WritePlan(msgspec.Struct):
    turn_id: str
    change: Change


async def plan_write(ledger: Ledger, turn_id: str, path: str, content: bytes) -> None:
    """Record that the turn is about to write the content. Raises StoreError."""
    before = ledger.manifest.node(path) if ledger.manifest else None
    digest = hashlib.sha256(content).hexdigest()
    mode = before.mode if before else NEW_MODE
    after = Node(NodeKind.FILE, digest, mode, len(content))
    with suppress(StoreError):  # it is on the disk soon, and is stored from there as well
        await ledger.files.blobs.put_many([content])
    plan = _WritePlan(turn_id, Change(path, before, after, Provenance.TOOL))
    await ledger.files.state.set_planned(ledger.root, to_json(msgspec.to_builtins(plan)).encode())


async def take_in_planned(ledger: Ledger, turn_ids: Collection[str]) -> None:
    """Record as its turn's what a tool wrote right before a crash that prevented recording it.

    turn_ids: interrupted turns. What the user wrote there since is found by the next scan.
    Raises StoreError.
    """
    content, manifest = await ledger.files.state.planned(ledger.root), ledger.manifest
    if content is None or manifest is None:
        return
    plan = msgspec.convert(json.loads(content), _WritePlan)
    change = plan.change
    if plan.turn_id in turn_ids:
        await asyncio.to_thread(remove_temporaries, (ledger.root / change.path).parent)
    if plan.turn_id not in turn_ids or change.after is None or manifest.node(change.path) != change.before:
        return  # another turn's, or recorded already
    try:
        there = await asyncio.to_thread(node_at, ledger.root / change.path)
    except (OSError, UsageError):
        there = None  # somebody put something there that cannot be read
    if there == change.before:
        return  # the write did not happen
    if there is not None and there.digest == change.after.digest:
        change = replace(change, after=there)
    await ledger.note(plan.turn_id, [change], seen=with_notes(manifest, [change]))
    with suppress(StoreError):
        await ledger.keep_before([change.path])
