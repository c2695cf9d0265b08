"""Record a running turn: its start, the tools that change something, its end."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from ragforge.agent.parts import GuardedCall
from ragforge.domain import timeouts
from ragforge.domain.cancellation import undisturbed
from ragforge.domain.errors import NotKept, StoreError
from ragforge.domain.ids import now
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.domain.usage import Usage
from ragforge.domain.versions import Provenance, Untracked, Version
from ragforge.files.folder_lock import FolderBusy
from ragforge.shell.process_idle import Idle, watch
from ragforge.tools.base import Effect
from ragforge.versions.assembly import TurnFacts
from ragforge.versions.record.ledger import Ledger, Owner
from ragforge.versions.record.omissions import not_kept
from ragforge.versions.record.recorder import Worktree
from ragforge.versions.record.write_ahead import plan_write
from ragforge.versions.scan.track_rules import is_own_name
from ragforge.versions.scan.walk import VERSION_CONTROL
from ragforge.versions.state import HistoryState

log = logging.getLogger(__name__)

OUTSIDE = "outside the project"
LOOKED_AT = "Scanning the project's files before the first change. The tool waits for this."
SHELVED = (
    "Saving the contents of all files before the first command, so that its changes can be undone. This "
    "happens once; the command waits for it."
)
NOT_WHOLE = "The changes of this turn may not be recorded completely"
NOT_RUN = "Not run, because the affected files could not be saved first, so the change could not be undone"

Tell = Callable[[str], Awaitable[None]]


class Recording:
    """Records one turn. Its methods never raise, unless a tool must not run."""

    def __init__(self, worktree: Worktree, turn: Turn, tell: Tell, *, has_model: bool = True) -> None:
        """tell: shows the user a notice. has_model: a model may run commands."""
        self._files = worktree.files
        self._recorder = worktree.recorder
        self._session_id = worktree.session_id
        self._has_model = has_model
        self._turn = turn
        self._tell = tell
        self._untracked: dict[str, Untracked] = {}
        self._wrote = False
        self._is_open = False
        self._unseen: datetime | None = None
        self._idle = Idle()
        """Since `_unseen`."""
        self._unnoted: dict[str, None] = {}
        """Paths that tools wrote, until they are recorded as this turn's."""
        self._opening: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Find what changed since the last turn, in parallel to the model's first answer."""
        self._recorder.enter(self._turn.id)
        # Existing ones only: a later one waits for this turn's start.
        self._opening = asyncio.create_task(self._open(after=self._recorder.ending))

    async def end(
        self,
        turn: Turn,
        *,
        usage: Usage,
        cost_usd: float | None,
        wait_s: float | None = None,
    ) -> Version | None:
        """Make the turn's version, however it ended; return None if that takes longer, or failed.

        wait_s: how long a turn that ran no tools waits for its version, to report it; None for a moment.
        """
        wait_s = timeouts.VERSION_OF_TALK_WAIT_S if wait_s is None else wait_s
        facts = TurnFacts(turn, usage, cost_usd)
        ending = self._recorder.end(turn.id, self._end(facts))
        await asyncio.wait({ending}, timeout=None if self._wrote else wait_s)
        if told := [each for each in self._untracked.values() if each.path != "."]:
            await self._tell(not_kept(told))
        return ending.result() if ending.done() else None

    def leave(self) -> None:
        """The turn's end could not be stored; its version is made once it is."""
        self._recorder.leave(self._turn.id)

    @asynccontextmanager
    async def guard(self, call: GuardedCall) -> AsyncGenerator[None]:
        """Record what the tool changes. Raises what prevents it from running, as `Guard` says:

        FolderBusy if another session's restore takes long, and NotKept.
        """
        if not call.may_write:
            yield
            return
        self._wrote = True
        around = self._write(call) if call.tool.effect is Effect.WRITE else self._command(unkept=call.unkept)
        async with around:
            yield

    async def _open(self, after: Sequence[asyncio.Task[Version | None]] = ()) -> None:
        if after:
            await asyncio.wait(after)
        await self._state.begin_turn(self._recorder.root, self._session_id, self._turn.id)
        if await self._recorder.track_rules(self._files) is None:
            await self._tell_untracked_folder()
            return
        async with self._recorder.ledger(self._files) as ledger:
            for words in await self._recorder.make_owed(ledger, self._session_id):
                await self._tell(words)
            await ledger.take_in(by_job=self._recorder.job_ran(self._files))
        if self._has_model:
            self._recorder.shelve(self._files, self._session_id)

    async def _opened(self) -> None:
        """Return when the folder's state before the turn is known. Raises what prevents that."""
        if self._is_open:
            return
        self._opening = self._opening or asyncio.create_task(self._open())
        try:
            await self._with_notice(asyncio.shield(self._opening), LOOKED_AT)
        except Exception:
            self._opening = None  # the next tool tries again
            raise
        self._is_open = True

    @asynccontextmanager
    async def _write(self, call: GuardedCall) -> AsyncGenerator[None]:
        inside, unkept = self._inside(call.paths), call.unkept
        if not inside:
            yield
            return
        await self._must(self._opened(), unkept=unkept)
        self._is_open = True
        async with AsyncExitStack() as stack:
            ledger: Ledger | None = None
            try:
                ledger = await stack.enter_async_context(self._recorder.ledger(self._files))
                await self._before_write(ledger, inside, unkept=unkept)
                if call.after is not None and len(inside) == 1:
                    await plan_write(ledger, self._turn.id, inside[0], call.after)
            except Exception as error:
                await self._refuse(error, unkept=unkept)
            try:
                yield
            finally:
                if ledger:
                    # What the tool did is done, even if it was cancelled.
                    await undisturbed(self._tried(self._after_write(ledger, inside)), cancel_after=True)

    async def _before_write(self, ledger: Ledger, paths: Sequence[str], *, unkept: bool) -> None:
        await self._take_in_unseen(ledger)
        untracked = await ledger.take_in(paths=paths)
        try:
            untracked += await ledger.keep_before(paths)
            if said := ledger.kept_again():
                await self._tell(said)
        except StoreError as error:
            if not unkept:
                raise
            untracked += ledger.unkept(paths, error)
        self._miss(untracked, of=paths)

    async def _after_write(self, ledger: Ledger, paths: Sequence[str]) -> None:
        self._unnoted |= dict.fromkeys(paths)
        await self._take_in_unnoted(ledger)

    @asynccontextmanager
    async def _command(self, *, unkept: bool) -> AsyncGenerator[None]:
        await self._must(self._opened(), unkept=unkept)
        self._is_open = True
        await self._must(self._shelved(), unkept=unkept)
        await self._must(self._before_command(unkept=unkept), unkept=unkept)
        self._unseen = self._unseen or now()
        watching = asyncio.create_task(watch(self._idle))
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.wait({watching})
            await undisturbed(self._tried(self._after_command()), cancel_after=True)

    async def _before_command(self, *, unkept: bool) -> None:
        async with self._recorder.ledger(self._files) as ledger:
            if not unkept:
                await ledger.keep_again()
            await self._take_in_unseen(ledger)
            own = self._recorder.job_ran(self._files)
            if own:
                self._miss(await ledger.take_in(self._owner(Provenance.SHELL, self._turn.started_at)))
            else:
                await ledger.take_in()
            if not unkept:
                ledger.check_kept()
                await self._prove(ledger)
            await self._state.begin_command(self._recorder.root, self._turn.id)

    async def _prove(self, ledger: Ledger) -> None:
        """Prevent anything from running that would destroy the only copy of a file's content."""
        await ledger.prove_kept()
        if said := ledger.kept_again():
            await self._tell(said)

    async def _after_command(self) -> None:
        async with self._recorder.ledger(self._files) as ledger:
            await self._take_in_unseen(ledger)
        # While a background job of the command runs, differences may be its work.
        if not self._recorder.job_ran(self._files):
            await self._state.end_command(self._recorder.root, self._turn.id)

    async def _take_in_unseen(self, ledger: Ledger) -> None:
        """Find what tools and commands changed, if it could not be recorded yet."""
        await self._take_in_unnoted(ledger)
        if self._unseen:
            owner = replace(self._owner(Provenance.SHELL, self._unseen), idle=self._idle)
            self._miss(await ledger.take_in(owner))
            self._unseen, self._idle = None, Idle()

    async def _take_in_unnoted(self, ledger: Ledger) -> None:
        if paths := list(self._unnoted):
            self._miss(await ledger.take_in(self._owner(Provenance.TOOL, now()), paths=paths), of=paths)
            self._unnoted.clear()

    async def _shelved(self) -> None:
        """Return when what a command may destroy is stored; the user is told if that takes long."""
        if await self._recorder.track_rules(self._files) is None:
            return
        await self._with_notice(self._recorder.shelved(self._files, self._session_id), SHELVED)

    async def _with_notice(self, work: Awaitable[None], words: str) -> None:
        """Wait for it; tell the user what for if it takes long."""
        waiting = asyncio.ensure_future(work)
        try:
            done, _ = await asyncio.wait({waiting}, timeout=timeouts.VERSION_TOLD_AFTER_S)
            if not done and words not in self._recorder.told:
                self._recorder.told.add(words)
                await self._tell(words)
            await waiting
        finally:
            waiting.cancel()

    async def _end(self, facts: TurnFacts) -> Version | None:
        recorder, turn = self._recorder, facts.turn
        try:
            await self._tried(self._opened(), refuse=True)
            async with recorder.ledger(self._files) as ledger:
                await recorder.make_owed(ledger, self._session_id)
                await self._take_in_unseen(ledger)
                if recorder.job_ran(self._files):
                    await ledger.take_in(self._owner(Provenance.SHELL, turn.started_at))
                with suppress(StoreError):  # already reported, and tried again before the next command
                    await ledger.keep_again()
                if turn.status is TurnStatus.WAITING:
                    await ledger.carry(turn.id, end=True)
                    return None
                facts = replace(facts, untracked=tuple(self._untracked.values()))
                return await ledger.add_turn(facts)
        except Exception as error:
            recorder.owe(facts)
            await self._fail("The version of this turn could not be made yet", error)
            return None
        finally:
            recorder.running.discard(turn.id)

    def _owner(self, provenance: Provenance, since: datetime) -> Owner:
        return Owner(self._session_id, self._turn.id, provenance, since)

    def _inside(self, paths: Sequence[Path]) -> list[str]:
        """Return the paths inside the project, relative to it; others are untracked."""
        root = self._recorder.root
        found: list[str] = []
        for path in paths:
            if not path.is_relative_to(root):
                self._miss((Untracked(str(path), OUTSIDE),))
                continue
            relative = path.relative_to(root)
            if any(is_own_name(part) for part in relative.parts):
                self._miss((Untracked(str(relative), VERSION_CONTROL),))
            else:
                found.append(str(relative))
        return found

    def _miss(self, untracked: Iterable[Untracked], *, of: Sequence[str] | None = None) -> None:
        """Remember what is not tracked; with `of` only these exact paths, not the folder they are in."""
        self._untracked |= {each.path: each for each in untracked if of is None or each.path in of}

    async def _must(self, work: Awaitable[None], *, unkept: bool) -> None:
        """Do what comes before a tool; if it fails, the tool does not run, unless `unkept`."""
        try:
            await work
        except Exception as error:
            await self._refuse(error, unkept=unkept)

    async def _refuse(self, error: Exception, *, unkept: bool) -> None:
        """Raise what prevents a tool from running; return if it runs all the same, which is reported."""
        if isinstance(error, FolderBusy):
            raise error
        with suppress(Exception):  # then it counts as tracked
            unkept = unkept or await self._recorder.track_rules(self._files) is None
        if unkept:
            await self._fail(NOT_WHOLE, error)
            return
        await self._fail(NOT_RUN, error)
        raise NotKept(f"{NOT_RUN}: {error}") from error

    async def _tried(self, work: Awaitable[None], *, refuse: bool = False) -> None:
        """Do it; if it fails, the turn continues and the user is told.

        refuse: raise FolderBusy, so that the tool does not run.
        """
        try:
            await work
        except Exception as error:
            if refuse and isinstance(error, FolderBusy):
                raise
            await self._fail(NOT_WHOLE, error)

    async def _fail(self, what: str, error: Exception) -> None:
        log.warning("%s: %s", what, error, exc_info=error)  # no error here may end a turn
        words = f"{what}: {error}"
        if words not in self._recorder.told:
            self._recorder.told.add(words)
            await self._tell(words)

    async def _tell_untracked_folder(self) -> None:
        root = self._recorder.root
        words = (
            f"No versions of files are kept in {root}: home folders and the folders above them are never "
            "tracked. Changes made here cannot be undone. Start ragforge in a project's folder to have "
            "versions."
        )
        self._untracked["."] = Untracked(".", "a home folder, or one above it")
        if words not in self._recorder.told:
            self._recorder.told.add(words)
            await self._tell(words)

    @property
    def _state(self) -> HistoryState:
        return self._files.state
