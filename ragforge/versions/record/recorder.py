"""The recorder of a folder's changes, one for all sessions of this run, and a session's working tree."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.cancellation import undisturbed
from ragforge.domain.errors import RagforgeError, UsageError
from ragforge.domain.ids import new_id
from ragforge.domain.versions import Version
from ragforge.files.folder_lock import folder_lock
from ragforge.shell.jobs import JobStatus
from ragforge.versions.assembly import TurnFacts
from ragforge.versions.project_files import ProjectFiles
from ragforge.versions.record.backfill import make_left, make_missing, make_up
from ragforge.versions.record.contents import keep_contents, scan_and_keep
from ragforge.versions.record.ledger import Known, Ledger
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.scan.track_rules import TrackRules, track_rules_of
from ragforge.versions.state import Head

if TYPE_CHECKING:  # a start needs none of what moves heads
    from ragforge.versions.head_move import Ground


log = logging.getLogger(__name__)


class Recorders:
    """The recorders of this process.

    end_wait_s: how long the end of a turn that ran no tools waits for its version, to report it.
    """

    def __init__(self) -> None:
        self.end_wait_s = timeouts.VERSION_OF_TALK_WAIT_S
        self._by_root: dict[Path, Recorder] = {}

    def of(self, root: Path) -> "Recorder":
        """Return the recorder of the folder."""
        return self._by_root.setdefault(root, Recorder(root))

    def of_copy(self, track_rules: TrackRules) -> "Recorder":
        """Return the recorder of a copy of a project, which tracks exactly this."""
        return self._by_root.setdefault(track_rules.root, Recorder(track_rules.root, of_copy=track_rules))

    async def close(self) -> None:
        """Return when the versions of ended turns are written, and nothing runs any more."""
        for recorder in self._by_root.values():
            await recorder.close()


class Recorder:
    """Finds and stores the changes in a folder. It never raises into a turn.

    running: turns of this process in progress.
    """

    def __init__(self, root: Path, *, of_copy: TrackRules | None = None) -> None:
        """of_copy: what is tracked if the folder is a copy, in which some turns of a session run."""
        self.root = root
        self._of_copy = of_copy
        self.running: set[str] = set()
        self.told: set[str] = set()
        self._known = Known()
        self._track_rules: TrackRules | None = None
        self._rules_for: object = None
        self._job_ran = False
        self._whole: set[str] = set()
        self._ending: dict[str, asyncio.Task[Version | None]] = {}
        self._said: list[str] = []
        self._left: set[str] = set()
        self._owed: dict[str, TurnFacts] = {}
        self._shelving: dict[str, asyncio.Task[None]] = {}
        self._ahead: asyncio.Task[None] | None = None

    async def track_rules(self, files: ProjectFiles) -> TrackRules | None:
        """What is tracked of the folder; None if nothing is."""
        if self._of_copy:
            return self._of_copy
        settings = files.settings
        if self._rules_for is not settings:
            self._track_rules = await asyncio.to_thread(track_rules_of, self.root, settings, files.environ)
            self._rules_for = settings
        return self._track_rules

    @asynccontextmanager
    async def ledger(self, files: ProjectFiles, *, held: bool = False) -> AsyncGenerator[Ledger]:
        """Open the state of the folder under its lock.

        held: the caller holds the folder's lock, and finished any interrupted restore.
        Raises FolderBusy, RestoreStopped, StoreError.
        """
        if self._ahead:
            await asyncio.wait({self._ahead})
        track_rules = await self.track_rules(files)
        ledger = Ledger(files, track_rules, self._known)
        if held:
            await ledger.open()
            yield ledger
            return
        async with folder_lock(files.data_dir, self.root, timeout_s=timeouts.VERSIONS_LOCK_S_MAX):
            await self._end_restore(files, track_rules)
            await ledger.open()
            yield ledger

    async def _end_restore(self, files: ProjectFiles, track_rules: TrackRules | None) -> None:
        """Finish an interrupted restore, before its files are mistaken for somebody's edits."""
        if track_rules and await files.state.journal(self.root) is not None:
            from ragforge.versions.head_move import Ground, end_restore  # only needed after a crash

            self._said.append(await end_restore(Ground(files, track_rules)))

    def job_ran(self, files: ProjectFiles) -> bool:
        """Whether a background job ran at any time since the last call."""
        runs = any(job.status is JobStatus.RUNNING for job in files.jobs.list())
        ran, self._job_ran = self._job_ran or runs, runs
        return ran

    # Before the first turn and the first command

    def look_ahead(self, files: ProjectFiles) -> None:
        """Start to scan a folder for the first time, in the background, and to store its contents.

        So little is left to do when the first turn starts, and files overwritten right then are stored.
        """
        if self._ahead is None:
            self._ahead = asyncio.create_task(self._look_ahead(files))

    async def _look_ahead(self, files: ProjectFiles) -> None:
        try:
            track_rules = await self.track_rules(files)
            if track_rules and await files.state.manifest(self.root) is None:
                found, trouble = await scan_and_keep(files.blobs, track_rules, Manifest())
                self._known.ahead = None if trouble else found.manifest
        except (RagforgeError, OSError) as error:
            log.info("%s could not be looked at ahead: %s", self.root, error)  # the first turn reports it

    def shelve(self, files: ProjectFiles, session_id: str) -> None:
        """Start to store every tracked file's content in the background; once per session."""
        if session_id not in self._shelving:
            self._shelving[session_id] = asyncio.create_task(self._shelve(files, session_id))

    async def shelved(self, files: ProjectFiles, session_id: str) -> None:
        """Return when every tracked file's content is stored. Raises StoreError, OSError."""
        self.shelve(files, session_id)
        task = self._shelving[session_id]
        try:
            await asyncio.shield(task)
        except (RagforgeError, OSError):
            self._shelving.pop(session_id, None)  # retried with the next command
            raise

    async def _shelve(self, files: ProjectFiles, session_id: str) -> None:
        if await files.state.prepared(self.root, session_id):
            return
        async with self.ledger(files) as ledger:
            manifest = ledger.manifest
        if manifest is None:
            return
        for untracked in await keep_contents(files.blobs, self.root, manifest):
            log.info("Not kept before the first command: %s, %s", untracked.path, untracked.why)
        await files.state.set_prepared(self.root, session_id)

    # The ends of turns

    def end(self, turn_id: str, work: Coroutine[Any, Any, Version | None]) -> asyncio.Task[Version | None]:
        """Make the turn's version in the background."""
        task = asyncio.create_task(work)
        self._ending[turn_id] = task
        task.add_done_callback(lambda _: self._ending.pop(turn_id, None))
        return task

    def tell_later(self, said: Sequence[str]) -> None:
        """Tell this to the user with the next turn."""
        self._said += said

    def take_said(self) -> list[str]:
        """Return what the user has not been told yet; it counts as told."""
        said, self._said = self._said, []
        return said

    def enter(self, turn_id: str) -> None:
        """Record that the turn runs."""
        self.running.add(turn_id)
        self._left.discard(turn_id)

    def leave(self, turn_id: str) -> None:
        """Record that the turn has ended, though its end is not stored yet."""
        self.running.discard(turn_id)
        self._left.add(turn_id)

    def owe(self, facts: TurnFacts) -> None:
        """Remember that the version of a turn could not be made, so that it is made as soon as possible."""
        self._owed[facts.turn.id] = facts

    @property
    def ending(self) -> list[asyncio.Task[Version | None]]:
        """The tasks that make versions of ended turns now."""
        return list(self._ending.values())

    async def settle(self, *, timeout_s: float | None = None) -> None:
        """Return when the versions of all turns that ended in this process are made, or could not be."""
        async with asyncio.timeout(timeout_s):
            while self._ending:
                await asyncio.wait(self.ending)

    async def recover(self, files: ProjectFiles) -> list[str]:
        """Repair what crashes left behind in the folder; return what to tell the user."""
        async with self.ledger(files) as ledger:
            made = await make_up(ledger, but=self.running)
        return self.take_said() + made

    async def make_owed(self, ledger: Ledger, session_id: str) -> list[str]:
        """Make missing versions: of turns whose end was not recorded, and after crashes.

        Returns what to tell the user.
        """
        for turn_id, facts in list(self._owed.items()):
            # It may be stored already, as the child of an earlier head: then this makes another one.
            again = replace(facts, version_id=new_id())
            await ledger.add_turn(again, after_crash=True)
            del self._owed[turn_id]
        for turn_id in list(self._left):
            if await make_left(ledger, turn_id):
                self._left.discard(turn_id)
        said = self.take_said()
        if self._known.trouble:
            said.append(self._known.trouble)
            self._known.trouble = ""
        said += await make_up(ledger, but=self.running)
        # Turns unknown to a copy's recorder ran elsewhere, and may still run.
        if session_id and session_id not in self._whole and self._of_copy is None:
            await make_missing(ledger, session_id, but=self.running)
            self._whole.add(session_id)
        return said

    async def close(self) -> None:
        """Return when ended turns are recorded; background work is abandoned."""
        with suppress(TimeoutError):
            await undisturbed(self.settle(timeout_s=timeouts.VERSION_END_S_MAX))
        shelving = [task for task in self._shelving.values() if not task.done()]
        if shelving:
            await asyncio.wait(shelving, timeout=timeouts.VERSION_SHELVE_S_MAX)
        # What is interrupted here is repaired at the next start.
        left = [*self._shelving.values(), *self.ending, *([self._ahead] if self._ahead else [])]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


class Worktree(Struct, frozen=True):
    """A project's files and their recorder.

    session_id: the stored session whose missing versions are made; "" for none.
    """

    files: ProjectFiles
    recorder: Recorder
    session_id: str = ""

    async def is_tracked(self) -> bool:
        """Whether versions of the files are kept."""
        return await self.recorder.track_rules(self.files) is not None

    @property
    def not_tracked(self) -> str:
        """Return the error that the folder has no versions, and why."""
        return (
            f"No versions of files are kept in {self.files.root}: home folders and the folders above them "
            "are never tracked. Start ragforge in a project's folder to have versions."
        )

    async def head(self) -> Head:
        """Return the files' last head, without reading the disk; empty if there is none."""
        files = self.files
        head = await files.state.head(files.root)
        if not head.version:
            return head
        found = await files.store.versions.get([head.version])
        # Of another store, or of another project at this path: a new line starts here.
        return head if found and found[0].project_id == files.project.id else Head()

    async def catch_up(self, *, held: bool = False) -> Head:
        """Return the files' head after recording everything, so that it describes the folder exactly.

        Edits since the last scan become an outside version, the changes so far of other sessions' running
        turns become versions of theirs, and what crashes left behind is repaired.
        held: the caller holds the folder's lock, and called this before without it.
        Raises FolderBusy, StoreError, and OSError if the folder cannot be scanned.
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
        """Lock the folder for the duration; the files' head describes it exactly.

        Raises UsageError if the folder is not tracked or stays busy, StoreError, and OSError if it
        cannot be scanned.
        """
        from ragforge.versions.head_move import Ground, end_restore

        files = self.files
        track_rules = await self.recorder.track_rules(files)
        if track_rules is None:
            raise UsageError(self.not_tracked)
        await self.recorder.settle()
        async with folder_lock(files.data_dir, files.root, timeout_s=timeouts.VERSIONS_LOCK_S_MAX):
            await end_restore(Ground(files, track_rules))
            before = await files.state.head(files.root)
            await self.catch_up(held=True)
            yield Ground(files, track_rules, before.version)
