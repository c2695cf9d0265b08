"""Which project a folder belongs to: known by its path, or by what its repository has in common with a known
one.

Paths are stored in this machine's own state, and with each session in the store, so losing the former loses
none.
"""

import hashlib
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from ragforge.config.project import Place
from ragforge.config.settings import FILE_SCHEME
from ragforge.domain.approvals import foreign_allowed
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import id_fits, new_id, now, short_id
from ragforge.domain.printable import one_line
from ragforge.domain.turns import ConversationSession, Project
from ragforge.domain.words import moment_words
from ragforge.store.base import Store
from ragforge.store.local.state import LocalState

if TYPE_CHECKING:
    from ragforge.session.machine import Library

ID_PART_CHARS_MIN = 4
STORED_LOOKED_AT_MAX = 1_000
"""Sessions, the newest first, whose folders are compared with one that this machine does not know."""


async def identify_project(
    store: Store, local: LocalState, place: Place
) -> tuple[Project, tuple[Project, ...]]:
    """Return the project of the folder, and the known projects that it may be a copy of.

    A new project gets its id here and is stored with its first session.

    A repository that moved (same first commit or remote, and no folder where it was known exists any more) is
    the same project. On a server, so is every clone of one remote; if that has several projects, the oldest
    is used, and all are returned with it. Any other copy is a separate project until the user says otherwise.
    """
    known = await local.places.project_at(place.root)
    project = await store.projects.get(known) if known else None
    if project:
        return await merged_into(store, local, project), ()
    if found := await _stored_at(store, place):
        await local.places.set_project(place.root, found.id)
        return await merged_into(store, local, found), ()
    found_alike = await store.projects.find(git_remote=place.git_remote, first_commit=place.first_commit)
    alike = [await merged_into(store, local, each) for each in found_alike]
    alike = list({each.id: each for each in alike}.values())
    for other in alike:
        paths = await local.places.paths_of(other.id)
        if paths and not any(path.is_dir() for path in paths):
            await local.places.set_project(place.root, other.id)
            return other, ()
    clones: list[Project] = []
    if not store.url.startswith(FILE_SCHEME):
        clones = [await merged_into(store, local, each) for each in found_alike if _is_clone(place, each)]
        clones = list({each.id: each for each in clones}.values())
    if clones:
        clones.sort(key=lambda each: (each.created_at, each.id))
        if len(clones) > 1:
            return clones[0], tuple(clones)
        await local.places.set_project(place.root, clones[0].id)
        return clones[0], ()
    shared = "" if store.url.startswith(FILE_SCHEME) else _shared_id(place)
    id = known or await local.places.project_at_or(place.root, shared or new_id())
    return new_project(place, id), tuple(alike)


async def merged_into(store: Store, local: LocalState, project: Project) -> Project:
    """Return the project that this one was merged into, or itself. Permissions given here for it apply
    there."""
    passed = {project.id}
    while project.merged_into and project.merged_into not in passed:
        passed.add(project.merged_into)
        target = await store.projects.get(project.merged_into)
        if target is None:
            break
        await local.merge_project(project.id, target.id)
        project = target
    return project


async def every_project(store: Store) -> list[Project]:
    """Return all projects, newest first, except merged ones and those that keep what others shared: merged
    into another, it would be recalled there."""
    from ragforge.session.marks import projects_apart  # loads the search, which starting needs not

    apart = await projects_apart(store)
    return [each for each in await store.projects.every() if not each.merged_into and each.id not in apart]


def new_project(place: Place, id: str) -> Project:
    """Return a new project for the folder, which is stored with its first session."""
    return Project(
        id=id,
        name=place.root.name or str(place.root),
        created_at=now(),
        git_remote=place.git_remote,
        first_commit=place.first_commit,
    )


async def allowed_repositories(local: LocalState, project_id: str | None) -> frozenset[Path]:
    """Return the repositories that may be read in this project although they do not know the folder."""
    return frozenset() if project_id is None else foreign_allowed(await local.trust.rules(project_id))


async def _stored_at(store: Store, place: Place) -> Project | None:
    """Return the project of the newest session that started in this folder on this machine, according to the
    store."""
    root = os.fspath(place.root)
    for row in await store.sessions.recent(limit=STORED_LOOKED_AT_MAX):
        session = row.session
        if session.host == socket.gethostname() and root == (session.project_path or session.cwd):
            return await store.projects.get(session.project_id)
    return None


async def own_folder(library: "Library", session: ConversationSession) -> Path | None:
    """Return the user's own folder for a session that somebody else started, or that started on another
    machine.

    It is at the same place within the project's folder. None for the user's own session, for one in that
    folder already, and if the project has no folder here.
    """
    is_here = session.host in ("", socket.gethostname())
    if is_here and session.begun_by(library.person) == library.person.id:
        return None
    if session.project_id == library.project.id:
        root = library.place.root
    else:
        root = next(filter(is_folder, await library.local.places.paths_of(session.project_id)), None)
    cwd = Path(session.cwd)
    if root is None or (is_folder(cwd) and cwd.resolve().is_relative_to(root)):
        return None
    inside = cwd.is_relative_to(session.project_path) if session.project_path else False
    folder = root / cwd.relative_to(session.project_path) if inside else root
    return folder if is_folder(folder) else root


def is_folder(path: Path) -> bool:
    """Whether it is a folder that the user can read."""
    try:
        return path.is_dir()
    except OSError:
        return False


async def merged_project(store: Store, named: str) -> Project | None:
    """Return the merged project with this id or name; None for none or several."""
    merged = [each for each in await store.projects.every() if each.merged_into]
    found = [each for each in merged if named == each.id]
    found = found or [each for each in merged if len(named) >= ID_PART_CHARS_MIN and id_fits(each.id, named)]
    found = found or [each for each in merged if named == each.name]
    return found[0] if len(found) == 1 else None


async def find_named(store: Store, named: str) -> Project:
    """Return the project with this name, or whose id starts or ends with it.

    Raises UsageError for none or several.
    """
    every = await every_project(store)
    found = [each for each in every if named in (each.id, each.name)]
    found = found or [each for each in every if id_fits(each.id, named) and len(named) >= ID_PART_CHARS_MIN]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"There is no project {named!r}. `ragforge project list` lists them.")
    lines = [f"  {each.id}  {await describe_project(store, each)}" for each in found]
    raise UsageError("\n".join([f"Several projects match {named!r}. Give the id of one:", *lines]))


async def describe_project(store: Store, project: Project) -> str:
    """Return its name and id, and who used it last, where and when."""
    return f"{one_line(project.name)} ({short_id(project.id)}), {await last_use(store, project)}"


async def last_use(store: Store, project: Project) -> str:
    """Return who used the project last, where and when."""
    rows = await store.sessions.recent(project_id=project.id, limit=1)
    if not rows:
        return "with no sessions"
    session = rows[0].session
    when = moment_words(session.last_activity_at)
    writer = (await store.turns.writers([session.head])).get(session.head, "") if session.head else ""
    if writer and session.person and writer != session.person:  # in a folder of their own
        return f"last used by {one_line(writer)}, {when}"
    who = one_line(session.person or session.machine) or "somebody"
    where = one_line(session.project_path or session.cwd) + (f" on {session.host}" if session.host else "")
    return f"last used by {who} in {where}, {when}"


async def unasked_words(library: "Library") -> str:
    """Return what to tell the user about projects that this folder may belong to, if nobody can be asked."""
    alike = library.alike
    if not alike:
        return ""
    told = "; ".join([await describe_project(library.store, each) for each in alike])
    join = "`ragforge project join ID` makes this folder part of one"
    if library.project in alike:
        return f"Several projects have the remote of this folder, and the oldest is used: {told}. {join}."
    return (
        f"Another project has the same remote or first commit; this folder is kept separate: {told}. {join}."
    )


def _is_clone(place: Place, project: Project) -> bool:
    """Whether both have the remote. A path may name another repository on another machine."""
    if not place.git_remote or place.git_remote != project.git_remote:
        return False
    return _is_on_host(place.git_remote) or place.first_commit == project.first_commit != ""


def _shared_id(place: Place) -> str:
    """Return the id that all clones of one remote compute, so that two that start at once are one project.

    Empty if only the user can tell which project the folder belongs to.
    """
    if not _is_on_host(place.git_remote):
        return ""
    return hashlib.sha256(f"project\n{place.git_remote}".encode()).hexdigest()[:32]


def _is_on_host(remote: str) -> bool:
    """Whether the remote is an address, and not a path on some machine; see `normal_remote`."""
    return bool(remote) and not remote.startswith((".", "/", "~"))
