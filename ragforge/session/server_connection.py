"""Connect from the interface: test a server, save its address, copy conversations to it."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

from ragforge.config.secrets import STORE_PASSWORD_VARIABLE, store_password
from ragforge.config.settings import embedded_store, load_settings
from ragforge.domain.json import JsonValue
from ragforge.session import databases
from ragforge.session.servers import Server, counts_words, is_same
from ragforge.session.state import Workspace
from ragforge.store.base import RecordKind, StoreStatus


async def try_server(workspace: Workspace, server: Server, *, adopt: bool = False) -> StoreStatus:
    """Prepare the server and return what it contains. Raises as `databases.look_at`."""
    return (await databases.look_at(workspace, server, adopt=adopt)).status


async def use_server(workspace: Workspace, server: Server) -> str:
    """Save its address and password for the next start; return where, in sentences. Raises UsageError."""
    return " ".join(await databases.keep_server(workspace, server))


async def use_embedded(workspace: Workspace) -> str:
    """Keep conversations on this machine again, from the next start on. Raises UsageError."""
    return " ".join(await databases.keep_embedded(workspace))


def other_place(cwd: Path, flags: Mapping[str, JsonValue], environ: Mapping[str, str]) -> str:
    """Return the file of the embedded store; empty if that is the one in use. Raises UsageError."""
    embedded = embedded_store(environ)
    used = load_settings(cwd=cwd, flags=flags, environ=environ).settings.store
    return "" if used == embedded else embedded.removeprefix("sqlite://")


def is_embedded(workspace: Workspace) -> bool:
    """Whether the user's file keeps conversations on this machine."""
    return workspace.settings.store == embedded_store(workspace.environ)


async def kept_password(workspace: Workspace, server: Server) -> str:
    """Return the password known for the server; empty if there is none."""
    key = await asyncio.to_thread(store_password, server.url, workspace.environ)
    return key.value if key and key.source != STORE_PASSWORD_VARIABLE else ""


async def to_copy(workspace: Workspace, server: Server) -> str:
    """Return what the store in use has that could be copied to the server; empty for nothing."""
    if is_same(workspace.settings.store, server.url):
        return ""
    counts = await workspace.store.archive.counts()
    return counts_words(counts) if counts.get(RecordKind.SESSION, 0) else ""


async def copy_history(workspace: Workspace, server: Server, *, tell: Callable[[str], None]) -> str:
    """Copy the store in use to the server; return a sentence on the result.

    tell: receives a few words now and then. If interrupted, it continues the next time, without duplicates.
    Raises StoreError or UsageError.
    """
    from ragforge.session.union_copy import follow_unions
    from ragforge.store import transfer  # rarely needed

    def progress(now: transfer.Progress) -> None:
        share = f" {100 * now.done // now.total} %" if now.total else ""
        tell(f"{now.stage.capitalize()}{share} ...")

    target = await databases.open_database(workspace, server.url, password=server.password)
    try:
        await follow_unions(workspace.store.archive.dump(), target)
        moved = await transfer.copy(
            workspace.store, target, workspace.blobs, machine_dir=workspace.data_dir, tell=progress
        )
    finally:
        await target.close()
    return f"Copied and verified: {counts_words(moved.counts)}."
