"""Sessions in copies of the project: the same conversation, other files."""

from pathlib import Path

from msgspec.structs import replace

from ragforge.config.project import Place
from ragforge.domain.approvals import Mode
from ragforge.session.background import Background
from ragforge.session.history import session_window
from ragforge.session.state import Live, ModelView, Session, Workspace
from ragforge.shell.jobs import Jobs
from ragforge.tools.base import ReadFiles
from ragforge.versions.attempts.confinement import confined
from ragforge.versions.copies.file_copies import Copied
from ragforge.versions.copies.project_copies import About, env_in
from ragforge.versions.record.recorder import Recorders

SAVES = "memory_save"
"""Left out: what is learnt in an attempt that is not taken must not be remembered."""

UNATTENDED = (
    "Alternatives run without questions, so only what was allowed beforehand can run. Continue without it."
)


async def session_in(
    session: Session, about: About, copy: Copied, *, model: str, turn: str | None
) -> Session:
    """Open the session in the copy, at that turn and with that model; the original is not touched."""
    workspace, live = session.workspace, session.live
    is_here = turn == live.record.head
    root, place = workspace.place.root, place_in(session, copy)
    seen = {
        copy.root / path.relative_to(root): digest
        for path, digest in live.view.read_files.hashes.items()
        if path.is_relative_to(root)
    }
    return Session(
        await workspace_in(workspace, about, copy.root, place=place),
        Live(
            replace(live.record, cwd=str(place.cwd), model=model, head=turn),
            stored=True,
            consent=replace(
                live.consent,
                mode=live.consent.mode if live.consent.mode is Mode.ALL else Mode.ACCEPT_EDITS,
                unattended=UNATTENDED,
            ),
            view=ModelView(
                live.view.window.copy() if is_here else await session_window(session, turn),
                read_files=ReadFiles(seen),
            ),
        ),
    )


def place_in(session: Session, copy: Copied) -> Place:
    """Return the copy's root, and the folder in it that corresponds to the session's."""
    place = session.workspace.place
    inside = copy.root / session.cwd.resolve().relative_to(place.root)
    cwd = inside if inside.is_dir() else copy.root  # the session's folder may be untracked
    return replace(place, cwd=cwd, root=copy.root, is_git=False, branch="")


async def workspace_in(
    workspace: Workspace, about: About, root: Path, *, place: Place | None = None
) -> Workspace:
    """Return the workspace with a copy in place of the project's folder."""
    recorders = Recorders()
    recorders.of_copy(about.track_rules(str(root)))
    idle = Background()
    await idle.close()  # what is to be made of these turns is made by the session that they belong to
    return replace(
        workspace,
        place=place or replace(workspace.place, cwd=root, root=root, is_git=False, branch=""),
        recorders=recorders,
        tools=confined({name: tool for name, tool in workspace.tools.items() if name != SAVES}, root),
        jobs=Jobs(),
        background=idle,
        trust=workspace.trust.unattended(),
        child_env=env_in(workspace.child_env, root),
    )
