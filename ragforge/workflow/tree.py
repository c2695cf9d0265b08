"""The versions of programs: a tree for each program, on the common tree implementation.

A tree belongs to a project that stands for the program's own folder, `programs/NAME`; its only file is
`NAME.spu`, which is written beside that folder so that it can be run by its name.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from ragforge.config.paths import config_dir
from ragforge.domain.commands import typed
from ragforge.domain.errors import Conflict, UsageError
from ragforge.domain.ids import new_id, now
from ragforge.domain.programs import PROGRAM_NAME
from ragforge.domain.turns import Project
from ragforge.domain.versions import (
    USER,
    Branch,
    Change,
    CheckoutLog,
    MoveAction,
    Node,
    NodeKind,
    Provenance,
    Version,
)
from ragforge.files.atomic import hash_of, write_atomic
from ragforge.files.open import open_file
from ragforge.session.program_files import SHIPPED, SUFFIX
from ragforge.session.state import Workspace
from ragforge.store.base import keep_project
from ragforge.versions.assembly import with_lines
from ragforge.versions.log import Log, read_log
from ragforge.versions.names import check_branch_name, find_branch, find_version
from ragforge.versions.state import Head

MAIN = "main"
BY_CREATOR = "creator"
MODE = 0o644


def programs_folder(workspace: Workspace) -> Path:
    """The user's programs."""
    return config_dir(workspace.environ) / "programs"


class ProgramTree:
    """The versions of one program. Every method may raise StoreError."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        """Raises UsageError for an invalid name of a program."""
        if not PROGRAM_NAME.fullmatch(name):
            raise UsageError(f"{name!r} is not a valid program name. Use lowercase letters, digits, - and _.")
        self.name = name
        self._workspace = workspace
        self._folder = programs_folder(workspace) / name
        self._project_id = ""

    @property
    def file(self) -> Path:
        """Where the current version is written."""
        return self._folder.with_name(f"{self.name}{SUFFIX}")

    async def project_id(self) -> str:
        """Return the project of the tree, created if there is none yet."""
        if not self._project_id:
            workspace = self._workspace
            wanted = str(uuid5(NAMESPACE_URL, f"ragforge-program:{workspace.person.id}/{self.name}"))
            self._project_id = await workspace.local.places.project_at_or(self._folder, wanted)
        return self._project_id

    async def head(self) -> Head:
        """Return the version of the file, and its branch."""
        return await self._workspace.history.head(self._folder)

    async def first(self) -> Version | None:
        """Return the version that the current one's line starts with; None if there is none."""
        head = await self.head()
        line = await self._workspace.store.versions.line(head.version) if head.version else []
        return line[-1] if line else None

    async def take_in(self, found: bytes | None = None) -> str:
        """Make a version of a file that was edited by hand since; return the current version's id.

        found: the project's text of a program without a user's file. For a program that only ships,
        and has no versions yet, its shipped text is the first one.
        """
        head = await self.head()
        content = await asyncio.to_thread(content_of, self.file)
        if content is None:
            content = found
        if content is None and not head.version:
            content = await asyncio.to_thread(content_of, SHIPPED / self.file.name)
        if content is None:
            return head.version
        there = await self._node(head.version)
        if there and there.digest == hash_of(content):
            return head.version
        title = "as it was found" if found or not head.version else "edited by hand"
        made = await self.add(
            content.decode("utf-8", "replace"), head.version, by=USER, title=title, write=False
        )
        return made.id

    async def add(
        self,
        code: str,
        parent: str,
        *,
        version_id: str = "",
        by: str = BY_CREATOR,
        title: str = "",
        merged: str = "",
        write: bool = True,
    ) -> Version:
        """Store a version after its parent; it is the current one then, and the file if `write`."""
        workspace = self._workspace
        project = await self._keep_project()
        content = code.encode("utf-8", "surrogatepass")
        digest = await workspace.blobs.put(content)
        change = Change(
            self.file.name,
            await self._node(parent),
            Node(NodeKind.FILE, digest, MODE, len(content)),
            Provenance.OUTSIDE if by == USER else Provenance.TOOL,
        )
        made = Version(
            id=version_id or new_id(),
            project_id=project,
            parents=tuple(each for each in (parent, merged) if each),
            at=now(),
            by=by,
            changes=(change,),
            title=workspace.redactor.text(title),
        )
        await workspace.store.versions.add(await with_lines(made, workspace.blobs, workspace.redactor))
        branch = (await self.head()).branch or MAIN
        await workspace.store.versions.set_branch(Branch(project, branch, made.id, now()))
        await self._set_head(Head(made.id, branch), content if write else None)
        return made

    async def move(self, version: Version, *, branch: str = "") -> None:
        """Change the file to this version, and log it."""
        await self.take_in()
        head = await self.head()
        if head.version != version.id:
            left = await self._version(head.version)
            action = MoveAction.CHECKOUT
            if left and version.id in left.parents:
                action = MoveAction.UNDO
            elif left and left.id in version.parents:
                action = MoveAction.REDO
            move = CheckoutLog(
                id=new_id(),
                project_id=version.project_id,
                session_id="",
                action=action,
                at=now(),
                from_version=head.version,
                to_version=version.id,
            )
            await self._workspace.store.versions.add_move(move)
        await self._set_head(Head(version.id, branch or head.branch), await self.content(version))

    async def content(self, version: Version) -> bytes:
        """Return the text of the program at the version."""
        for change in version.changes:
            if change.after and change.path == self.file.name:
                return await self._workspace.blobs.get(change.after.digest)
        raise Conflict(f"The version {version.id} is not one of {self.name}.")

    async def named(self, text: str) -> Version:
        """Return the version that the words name: a branch, HEAD, a part of an id. Raises UsageError."""
        head = await self.take_in()
        versions, project = self._workspace.store.versions, await self.project_id()
        see = f"`{typed('program log')} {self.name}` lists the versions."
        return await find_version(versions, project, text, head=head, see=see)

    async def set_branch(self, name: str, version: Version) -> None:
        """Give the version a new branch's name. Raises UsageError."""
        project = await self.project_id()
        versions = self._workspace.store.versions
        if await find_branch(versions, project, check_branch_name(name)):
            raise UsageError(f"{self.name} already has a branch {name}.")
        await versions.set_branch(Branch(project, name, version.id, now()))

    async def is_branch(self, name: str) -> bool:
        """Whether it names a branch."""
        return await find_branch(self._workspace.store.versions, await self.project_id(), name) is not None

    async def log(self, limit: int) -> Log:
        """Return the versions, newest first."""
        await self.take_in()
        return await read_log(
            self._workspace.store.versions, await self.project_id(), await self.head(), limit=limit
        )

    async def moves(self) -> Sequence[CheckoutLog]:
        """Return the checkouts, newest first."""
        return await self._workspace.store.versions.moves(await self.project_id())

    async def _keep_project(self) -> str:
        project = await self.project_id()
        await keep_project(self._workspace.store, Project(project, self.file.name, now()))
        return project

    async def _node(self, version_id: str) -> Node | None:
        version = await self._version(version_id)
        return next((change.after for change in version.changes if change.after), None) if version else None

    async def _version(self, version_id: str) -> Version | None:
        found = await self._workspace.store.versions.get([version_id]) if version_id else []
        return found[0] if found else None

    async def _set_head(self, head: Head, content: bytes | None) -> None:
        if content is not None:
            await asyncio.to_thread(write_file, self.file, content)
        await self._workspace.history.set_head(self._folder, head)


def content_of(path: Path) -> bytes | None:
    """Return the file's content; None if there is no file; blocks. Raises UsageError."""
    try:
        with open_file(path.resolve()) as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from error


def write_file(path: Path, content: bytes) -> None:
    """Write the file if it differs; blocks. Raises UsageError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        there = content_of(path)
        if there != content:
            write_atomic(path, content, expected=None if there is None else hash_of(there))
    except OSError as error:
        raise UsageError(f"Cannot write {os.fspath(path)}: {error.strerror or error}.") from error


def tree_of(workspace: Workspace, version: Version) -> ProgramTree | None:
    """Return the tree that a version is in; None if it is no program's."""
    names = [change.path for change in version.changes if change.path.endswith(SUFFIX)]
    return ProgramTree(workspace, names[0].removesuffix(SUFFIX)) if names and "/" not in names[0] else None
