"""The folder that heads move in, taken for a move: its lock held, everything in it accounted for."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.files.folder_lock import folder_lock
from ragforge.session.state import Session, Workspace
from ragforge.versions.head_move import Ground, Move, finish
from ragforge.versions.record.recorder import catch_up, recorder_of
from ragforge.versions.restore.operation import recover
from ragforge.versions.state import Head


@asynccontextmanager
async def on_ground(session: Session) -> AsyncGenerator[Ground]:
    """The session's folder, ours alone while it lasts; the files' head says exactly what lies there.

    Raises UsageError where the folder is not covered or stays busy, StoreError, and OSError where it cannot
    be looked at.
    """
    workspace = session.workspace
    ground = await ground_of(workspace)
    if ground is None:
        raise UsageError(not_covered(workspace))
    await recorder_of(session).settle()
    async with folder_lock(workspace.data_dir, ground.root, timeout_s=timeouts.VERSIONS_LOCK_S_MAX):
        await end_restore(ground)
        before = await ground.state.head(ground.root)
        await catch_up(session, held=True)
        yield replace(ground, head_before=before.version)


async def ground_of(workspace: Workspace) -> Ground | None:
    """The workspace's folder; None where no versions of its files are kept."""
    coverage = await workspace.recorders.of(workspace).coverage(workspace)
    if coverage is None:
        return None
    return Ground(
        workspace.project,
        coverage,
        workspace.store,
        workspace.blobs,
        workspace.history,
        workspace.data_dir,
        workspace.redactor,
    )


async def end_restore(ground: Ground) -> str:
    """End a restore that a crash cut off in the folder, whose lock is held; what the person should hear.

    Empty where none was. Raises RestoreStopped where it can go neither on nor back, StoreError.
    """
    recovered = await recover(ground.root, ground.state, ground.blobs)
    if recovered is None:
        return ""
    if recovered.then is not None:
        await finish(ground, Move.from_json(recovered.then))
    return recovered.text


def not_covered(workspace: Workspace) -> str:
    """That the folder has no versions, and why."""
    return (
        f"No versions of files are kept in {workspace.place.root}: a home folder, or one above it, is never "
        "covered. Start ragforge in a project's folder to have them."
    )


async def head_of(session: Session) -> Head:
    """The files' head as it was left last, without looking at the disk; empty where there is none here."""
    workspace = session.workspace
    head = await workspace.history.head(workspace.place.root)
    if not head.version:
        return head
    found = await workspace.store.versions.get([head.version])
    # Of another store, or of another project that the folder was taken for: here a new line begins.
    return head if found and found[0].project_id == workspace.project.id else Head()
