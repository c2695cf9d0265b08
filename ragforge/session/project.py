"""Which project a folder is: known by its path, or by what its repository has in common with a known one.

Paths are kept in this machine's own state, and with each session in the store: losing the former loses none.
"""

import os
import socket
from pathlib import Path

from ragforge.config.project import Place
from ragforge.domain.approvals import foreign_allowed
from ragforge.domain.ids import new_id, now
from ragforge.domain.turns import Project
from ragforge.store.base import Store
from ragforge.store.local import LocalState

STORED_LOOKED_AT_MAX = 1_000
"""Sessions, the newest first, whose folders are compared with one that this machine does not know."""


async def identify_project(
    store: Store, local: LocalState, place: Place
) -> tuple[Project, tuple[Project, ...]]:
    """The project of the folder, and the known ones that it may be a copy of.

    A new one gets its id here and is kept with its first session.

    A repository that moved (same first commit or remote, and none of the folders where it was known is
    there any more) is the same project. Any other copy is a project of its own until the user says
    otherwise.
    """
    known = await local.project_at(place.root)
    project = await store.projects.get(known) if known else None
    if project:
        return project, ()
    if known is None and (found := await _stored_at(store, place)):
        await local.set_project(place.root, found.id)
        return found, ()
    alike = await store.projects.find(git_remote=place.git_remote, first_commit=place.first_commit)
    for other in alike:
        paths = await local.paths_of(other.id)
        if paths and not any(path.is_dir() for path in paths):
            await local.set_project(place.root, other.id)
            return other, ()
    fresh = Project(
        id=known or await local.project_at_or(place.root, new_id()),
        name=place.root.name or str(place.root),
        created_at=now(),
        git_remote=place.git_remote,
        first_commit=place.first_commit,
    )
    return fresh, tuple(alike)


async def allowed_repositories(local: LocalState, project_id: str | None) -> frozenset[Path]:
    """Return the repositories that may be read in this project though they do not know the folder."""
    return frozenset() if project_id is None else foreign_allowed(await local.rules(project_id))


async def _stored_at(store: Store, place: Place) -> Project | None:
    """The project of the newest session that began in this folder on this machine, as the store knows it."""
    root = os.fspath(place.root)
    for row in await store.sessions.recent(limit=STORED_LOOKED_AT_MAX):
        session = row.session
        if session.host == socket.gethostname() and root == (session.project_path or session.cwd):
            return await store.projects.get(session.project_id)
    return None
