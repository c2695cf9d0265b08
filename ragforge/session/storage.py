"""The disk space of versions on this machine: whether it is too much, and removing what is not needed."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from ragforge.config.store_address import bare_url
from ragforge.domain.commands import typed
from ragforge.domain.errors import RagforgeError
from ragforge.domain.redact import hide_url_passwords
from ragforge.domain.words import counted
from ragforge.files.open import size as size_words
from ragforge.session.databases import open_database
from ragforge.session.redaction import remove_sealed
from ragforge.session.state import Workspace
from ragforge.store.base import Store
from ragforge.store.files import contents_file
from ragforge.versions.clean_up import Collected, HistorySize, collect, size

GIB = 1024**3


async def history_size(workspace: Workspace) -> HistorySize:
    """Return the size of the contents, and their purpose.

    Raises UsageError or StoreError if a store that needs them cannot be read.
    """
    async with _every_store(workspace) as stores:
        return await size(stores, workspace.blobs, workspace.history, workspace.local)


async def clean_up(workspace: Workspace, *, keep_days: int, dry_run: bool) -> Collected:
    """Remove contents that nothing needs. keep_days: older versions may lose theirs; 0 keeps all of them.

    dry_run: only report. Raises as `history_size`; nothing was removed then.
    """
    async with _every_store(workspace) as stores:
        sealed = await remove_sealed(workspace, dry_run=dry_run)
        collected = await collect(
            stores,
            workspace.blobs,
            workspace.history,
            workspace.local,
            keep_days=keep_days,
            dry_run=dry_run,
        )
        return replace(collected, sealed=sealed)


async def forget_store(workspace: Workspace, url: str) -> bool:
    """Stop keeping contents for a store that is permanently gone; return whether it was known here."""
    wanted = bare_url(url)
    known = wanted in await workspace.blobs.used_by()
    await workspace.blobs.set_used_by(wanted, used=False)
    return known


@asynccontextmanager
async def _every_store(workspace: Workspace) -> AsyncGenerator[list[Store]]:
    """Return the store in use, and all others for which contents are kept here."""
    own = bare_url(workspace.store.url)
    async with AsyncExitStack() as opened:
        stores = [workspace.store]
        for url in await workspace.blobs.used_by():
            if url != own:
                other = await open_database(workspace, url)
                opened.push_async_callback(other.close)
                stores.append(other)
        yield stores


def size_lines(found: HistorySize, *, size_gb_max: float) -> list[str]:
    """Return what is kept, for a user, with the command for a clean-up."""
    gc = typed("history gc")
    lines = [
        f"{found.contents:,} contents take {size_words(found.bytes)}: "
        f"{size_words(found.versions_bytes)} for versions, {size_words(found.conversations_bytes)} for "
        f"conversations, {size_words(found.local_bytes)} for the current files.",
    ]
    if found.free_bytes:
        lines.append(
            f"{size_words(found.free_bytes)} is not needed: `{gc}` removes what is older than a day."
        )
    if found.unknown_bytes:
        lines.append(
            f"{size_words(found.unknown_bytes)} stays, because an older ragforge stored it and its purpose "
            "is unknown."
        )
    if found.bytes > size_gb_max * GIB:
        lines.append(
            f"That is more than history.size_gb_max ({size_gb_max:g} GB). `{gc} DAYS --dry-run` says what "
            "removing the contents of older versions would free."
        )
    return lines


def collected_words(found: Collected, *, dry_run: bool) -> str:
    """Return what was removed, or would be."""
    verb = "Would remove" if dry_run else "Removed"
    sealed = f"{counted(found.sealed, 'statement')} that you had forgotten everywhere"
    if not found.contents:
        return f"{verb} {sealed}." if found.sealed else "There is nothing to remove."
    lost = (
        f" {counted(found.versions, 'old version')} can then no longer be restored, or not completely."
        if found.versions
        else ""
    )
    also = f", and {sealed}" if found.sealed else ""
    return f"{verb} {counted(found.contents, 'content')}, {size_words(found.bytes)}{also}.{lost}"


def shown_url(url: str) -> str:
    """Return a store's address without its password."""
    return hide_url_passwords(url)


async def room_warning(workspace: Workspace) -> str:
    """Return a notice if contents take more than history.size_gb_max; "" if they do not.

    Up to the limit it only reads the sizes of files. Over it every store that needs contents is asked
    what a clean-up would free.
    """
    limit = workspace.settings.history.size_gb_max
    on_disk = await asyncio.to_thread(_bytes_on_disk, workspace.data_dir)
    if on_disk <= limit * GIB:
        return ""
    over = (
        f"What is kept of files and conversations takes {size_words(on_disk)}, more than "
        f"history.size_gb_max ({limit:g} GB)."
    )
    try:
        found = await clean_up(workspace, keep_days=workspace.settings.history.keep_days, dry_run=True)
    except RagforgeError:
        # A store that cannot be read: the command says which.
        return f"{over} `/history gc` says what a clean-up would free."
    older = "`/history gc DAYS` removes the contents of older versions."
    if not found.contents:
        return f"{over} All of it is needed; {older}"
    return f"{over} `/history gc` would free {size_words(found.bytes)}; {older}"


def _bytes_on_disk(folder: Path) -> int:
    """Return the size of the database of contents and its files; 0 if there is none."""
    contents, total = contents_file(folder), 0
    with suppress(OSError):  # there is none yet, or a clean-up in another process is removing some
        total += contents.path.stat().st_size
        for entry in os.scandir(contents.beside or folder):
            if entry.is_dir(follow_symlinks=False):
                total += sum(file.stat().st_size for file in os.scandir(entry))
    return total
