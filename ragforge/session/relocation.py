"""Renamed or moved folders: recognised by their inode; their project follows after a yes.

Inodes are reused for new folders, so the user is asked.
"""

import asyncio
import os
from pathlib import Path

from ragforge.domain.errors import StoreDamaged, StoreNewer
from ragforge.session.state import Former
from ragforge.store.base import Store
from ragforge.store.local.state import LocalState
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.state import HistoryState


async def former_projects(
    store: Store, local: LocalState, history: HistoryState, *, root: Path, project_id: str
) -> tuple[Former, ...]:
    """Return what to ask about: projects that this folder was at other paths, newest first."""
    found: dict[str, Former] = {}
    for path, other in await _former_places(local, history, root):
        is_new = other != project_id and other not in found
        if is_new and (project := await store.projects.get(other)):
            found[other] = Former(project, path)
    return tuple(found.values())


async def follow_folder(
    local: LocalState, history: HistoryState, *, root: Path, project_id: str, replaces: bool = False
) -> None:
    """Move what this machine kept of the project's folder from its former path to this one.

    replaces: even if versions were kept under this path already.
    """
    for path, other in await _former_places(local, history, root):
        if other != project_id:
            continue
        await local.prompts.move_drafts(path, root)
        if not await _has_history(history, path):
            continue
        if not replaces and await _has_history(history, root):
            return
        turns = [*await history.open_turns(path), *await history.open_turns(root)]
        if not any(turn.pid_alive for turn in turns):  # the process that runs them knows best
            await history.move(path, root)
        return


async def former_paths(
    local: LocalState, history: HistoryState, *, root: Path, project_id: str
) -> list[Path]:
    """Return the former paths of the folder as this project that no longer exist."""
    places = await _former_places(local, history, root)
    return [path for path, project in places if project == project_id and not _folder_at(path)]


async def note_folder(local: LocalState, root: Path) -> None:
    """Remember which folder is at the project's path."""
    if folder := await asyncio.to_thread(_folder_at, root):
        await local.places.set_folder(root, folder)


async def _former_places(local: LocalState, history: HistoryState, root: Path) -> list[tuple[Path, str]]:
    """Return other paths at which this folder was, and the projects there."""
    folder = await asyncio.to_thread(_folder_at, root)
    if not folder:
        return []
    return [
        (path, project)
        for path, project in await local.places.places_of(folder)
        if path != root
        and await asyncio.to_thread(_folder_at, path) != folder
        and await _agrees(history, path, root)
    ]


def _folder_at(path: Path) -> str:
    """Return what identifies the folder on this machine, whatever its name; "" if it does not exist."""
    try:
        found = path.stat()
    except OSError:
        return ""
    born: float | None = getattr(found, "st_birthtime", None)  # not on Linux
    return f"{found.st_dev}:{found.st_ino}" + ("" if born is None else f":{born!r}")


async def _has_history(history: HistoryState, path: Path) -> bool:
    return bool((await history.head(path)).version) or await history.manifest(path) is not None


async def _agrees(history: HistoryState, path: Path, root: Path) -> bool:
    """Whether a file of the former path is here; true if none is known."""
    content = await history.manifest(path)
    if content is None:
        return True

    def look() -> bool:
        try:
            names = Manifest.from_bytes(content).entries
        except (StoreDamaged, StoreNewer):
            return True
        return not names or any(os.path.lexists(root / name) for name in names)

    return await asyncio.to_thread(look)
