"""A project's files as they are worked in: looked at, accounted for, held for a move of the heads."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.files.folder_lock import folder_lock
from ragforge.versions.project_files import ProjectFiles
from ragforge.versions.record.recorder import Recorder
from ragforge.versions.state import Head

if TYPE_CHECKING:  # a start needs none of what moves heads
    from ragforge.versions.head_move import Ground


class Worktree(Struct, frozen=True):
    """A project's files and what records them.

    session_id: of the stored session that they are open for, whose missing versions are made; "" of none.
    """

    files: ProjectFiles
    recorder: Recorder
    session_id: str = ""

    async def is_covered(self) -> bool:
        """Whether versions of the files are kept."""
        return await self.recorder.coverage(self.files) is not None

    @property
    def not_covered(self) -> str:
        """That the folder has no versions, and why."""
        return (
            f"No versions of files are kept in {self.files.root}: a home folder, or one above it, is never "
            "covered. Start ragforge in a project's folder to have them."
        )

    async def head(self) -> Head:
        """The files' head as it was left last, without looking at the disk; empty where there is none."""
        files = self.files
        head = await files.state.head(files.root)
        if not head.version:
            return head
        found = await files.store.versions.get([head.version])
        # Of another store, or of another project that the folder was taken for: here a new line begins.
        return head if found and found[0].project_id == files.project.id else Head()

    async def catch_up(self, *, held: bool = False) -> Head:
        """The files' head, after everything in the folder was accounted for: it says exactly what lies there.

        What was edited since the last scan becomes an outside version, what running turns of other sessions
        did so far becomes versions of theirs, and what crashes left behind is made good.
        held: the folder's lock is held by the caller, who called this before without it.
        Raises FolderBusy, StoreError, and OSError where the folder cannot be looked at.
        """
        recorder, files = self.recorder, self.files
        if not held:
            await recorder.settle()
        async with recorder.ledger(files, held=held) as ledger:
            recorder.tell_later(await recorder.make_owed(ledger, self.session_id))
            await ledger.take_in(by_job=recorder.job_ran(files))
            await ledger.carry_all()
            await ledger.save()
            if held:
                await ledger.prove_kept()
                recorder.tell_later([said] if (said := ledger.kept_again()) else [])
            return ledger.head

    @asynccontextmanager
    async def ground(self) -> "AsyncGenerator[Ground]":
        """The folder, ours alone while it lasts; the files' head says exactly what lies there.

        Raises UsageError where the folder is not covered or stays busy, StoreError, and OSError where it
        cannot be looked at.
        """
        from ragforge.versions.head_move import Ground, end_restore

        files = self.files
        coverage = await self.recorder.coverage(files)
        if coverage is None:
            raise UsageError(self.not_covered)
        await self.recorder.settle()
        async with folder_lock(files.data_dir, files.root, timeout_s=timeouts.VERSIONS_LOCK_S_MAX):
            await end_restore(Ground(files, coverage))
            before = await files.state.head(files.root)
            await self.catch_up(held=True)
            yield Ground(files, coverage, before.version)
