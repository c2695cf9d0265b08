"""The background work of one run, in lanes that do not wait for each other.

One for each queue of a derivation in `memory/derive/`, such as summaries of turns and embeddings, one for the
daily backup, one that publishes metrics, one that releases freed memory, and one that loads what the first
message will need.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from ragforge.domain.allocator import trim_heap
from ragforge.domain.errors import ModelError, StoreError, UsageError
from ragforge.domain.schedule import Progress, Timing
from ragforge.domain.turns import Turn
from ragforge.domain.usage import Purpose, Usage
from ragforge.domain.vectors import Owner
from ragforge.memory.derive.base import Derivation, Home, Limit, Moment, Queue, TakenBack, find_derivations
from ragforge.memory.derive.consolidation import Consolidation, lacking_digests
from ragforge.memory.derive.turn_summary import TurnSummaries
from ragforge.memory.derive.vectors import Vectors
from ragforge.memory.recall.request import Around, Injecting
from ragforge.memory.recall.search import Recall
from ragforge.providers.base import Provider
from ragforge.providers.registry import ModelName
from ragforge.session.background.daily_backup import back_up_daily
from ragforge.session.background.lane import Lane
from ragforge.session.background.model import (
    Ready,
    Thinker,
    answers_one_at_a_time,
    is_offline,
    spent_on,
)
from ragforge.session.metrics import MetricsPublication
from ragforge.session.state import Session, Workspace
from ragforge.versions.units import UnitMeter

T = TypeVar("T")

BREATHS = 4
"""While a turn runs, postponable work gets one fifth of the time."""


class Work:
    """What the lanes share. Only `Background` holds it."""

    def __init__(self, timing: Timing) -> None:
        self.backed_up = asyncio.Event()
        """Set while no backup is in progress or about to start."""
        self._turn_ended = asyncio.Event()
        self._timing = timing
        self._thinker = Thinker(timing)
        self._thinker.idle.set()
        self._desk = _RunDesk(self._thinker, timing)
        for derivation in self._desk.derivations:
            self._desk.lanes |= {queue: self._lane(queue) for queue in derivation.queues}
        self._backup = Lane("The daily backup", self._backup_step, timing)
        self._metrics = MetricsPublication()
        self._counts = Lane("Publishing metrics", self._metrics_step, timing, gather_s=timing.gather_s)
        self._heap = Lane("Giving memory back", self._heap_step, timing, gather_s=timing.gather_s)
        recall = Lane("Loading what recall needs", self._recall_step, timing, delay_s=timing.start_s)
        late = Lane("Moving what belongs to the project", self._late_step, timing, delay_s=timing.start_s)
        self.lanes = (*self._desk.lanes.values(), self._backup, self._counts, self._heap, recall, late)

    def _lane(self, queue: Queue) -> Lane:
        return Lane(
            queue.title,
            partial(self._derive, queue),
            self._timing,
            delay_s=self._timing.start_s if queue.delayed else 0.0,
            gather_s=self._timing.gather_s if queue.together else 0.0,
        )

    @property
    def progress(self) -> Progress:
        """Its current state."""
        derivations = self._desk.derivations
        notes = [
            self._thinker.note,
            *(each.note for each in derivations),
            *(lane.note for lane in self.lanes),
        ]
        note = " ".join(dict.fromkeys(note for note in notes if note))
        turns = sum(derivation.turns for derivation in derivations)
        vectors = sum(derivation.waiting for derivation in derivations)
        kept = tuple(each for derivation in derivations for each in derivation.kept)
        return Progress(turns, vectors, note, self._thinker.purse.payments, kept)

    async def own_done(self) -> None:
        """Wait until no turn of this run has pending work that quitting should wait for."""
        for derivation in self._desk.derivations:
            await derivation.own_done.wait()

    async def own_done_first(self) -> None:
        """The same, while no postponable work starts: a busy store then serves what is waited for."""
        held = [lane for queue, lane in self._desk.lanes.items() if queue.delayed]
        for lane in held:
            lane.hold()
        for queue, lane in self._desk.lanes.items():
            if not queue.delayed:
                lane.wake()  # what failed is not waited for: it is tried again now
        try:
            await self.own_done()
        finally:
            for lane in held:
                lane.release()

    async def earlier_done(self) -> None:
        """Start at once with pending work of earlier runs, and wait until it is done, or impossible now."""
        for derivation in self._desk.derivations:
            if not derivation.earlier_done.is_set():
                for queue in derivation.queues:
                    self._desk.lanes[queue].hurry()
                await derivation.earlier_done.wait()

    def opened(self, session: Session) -> None:
        """This session is in front now."""
        is_new = session.workspace.project.id not in self._desk.in_front
        self._desk.opened(session)
        if is_new:
            self._desk.wake(Moment.OPENED)

    def turn_begins(self, session: Session, task: "asyncio.Task[object] | None") -> None:
        """A turn runs in this task from now on."""
        self.opened(session)
        if task is not None:
            self._desk.running[task] = session
            task.add_done_callback(self._turn_left)
            self._thinker.idle.clear()
        self._thinker.take_back()

    def turn_ended(self, session: Session, turn_id: str) -> None:
        """Its end is stored."""
        if session.workspace.settings.memory.enabled:
            self._desk.sessions[session.id] = session
            for derivation in self._desk.derivations:
                derivation.turn_ended(self._desk.home(session.id), turn_id)
        self.backed_up.clear()
        self._turn_ended.set()
        self._backup.wake()
        self._counts.wake()
        self._heap.wake()
        self._desk.wake(Moment.TURN_ENDED)

    async def consolidate(self, session: Session) -> None:
        """Consolidate the archived sessions of the session's project now, while no lane runs.

        Raises StoreError.
        """
        self._desk.opened(session)
        home = self._desk.home(session.id)
        turns = next(each for each in self._desk.derivations if isinstance(each, TurnSummaries))
        for contents in await lacking_digests(home.store, home.project_id):
            await turns.make_of(home, contents.lacking)
        [consolidation] = [each for each in self._desk.derivations if isinstance(each, Consolidation)]
        [vectors] = [each for each in self._desk.derivations if isinstance(each, Vectors)]
        consolidation.tends = False  # only archived sessions were asked for
        for derivation in (consolidation, vectors):
            while await derivation.step() == 0:
                pass

    async def end_calls(self, *, timeout_s: float) -> None:
        """Start no more model calls, and wait for those being paid for, for at most this long."""
        await self._thinker.end_calls(timeout_s=timeout_s)

    async def close(self) -> None:
        """Store the last counts and release the model's connections; the lanes have ended."""
        try:
            if session := self._desk.newest:
                await self._metrics.close(session.workspace)
        finally:
            await self._thinker.close()

    def _turn_left(self, task: "asyncio.Task[object]") -> None:
        self._desk.running.pop(task, None)
        if not self._desk.running:
            self._thinker.idle.set()
            self._desk.wake(Moment.SETTLED)

    def ask_again(self) -> None:
        """Ask a model again that was left alone after failures."""
        if self._thinker.ask_again():
            self._desk.wake(Moment.OPENED)

    def written(self) -> None:
        """Something was written beside the turns, by the user or a tool."""
        self._desk.wake(Moment.WRITTEN)

    async def _derive(self, queue: Queue) -> float | None:
        began = time.monotonic()
        try:
            again_s = await queue.step()
        except TakenBack:
            return 0  # checked again after the turn, with what came meanwhile
        if queue.together:
            if Moment.WRITTEN not in queue.wakes_on:
                self._desk.wake(Moment.WRITTEN)
            await self._desk.breathe(time.monotonic() - began)
        return again_s

    async def _backup_step(self) -> float | None:
        try:
            # Not while the first screen is drawn, and never in the middle of a turn: restored, it would look
            # as if interrupted by a crash.
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timing.start_s):
                    await self._turn_ended.wait()
            await self._desk.idle.wait()
            session = self._desk.newest
            return await back_up_daily(session.workspace) if session else None
        finally:
            self.backed_up.set()

    async def _recall_step(self) -> float | None:
        """Once, unless a turn runs already, whose own block loads the same."""
        session = self._desk.newest
        if session is None or not self._thinker.idle.is_set():
            return None
        workspace = session.workspace
        if ready := await asyncio.to_thread(_readiness, workspace):
            # The message itself will report what is wrong with the store or the embedder.
            with suppress(StoreError, UsageError, ModelError):
                around = Around(workspace.project.id, session.id, workspace.person.id)
                await ready(workspace.recall, around, session.live.view.injecting)
        return None

    async def _heap_step(self) -> float | None:
        await asyncio.to_thread(trim_heap)
        return None

    async def _late_step(self) -> float | None:
        """Once: move what a process unaware of a merge wrote to projects merged into this one."""
        session = self._desk.newest
        if session is not None and not session.workspace.incognito:
            from ragforge.session.project_union import bring_late  # mostly there is no such project

            await bring_late(session.workspace.store, session.workspace.project)
        return None

    async def _metrics_step(self) -> float | None:
        if session := self._desk.newest:
            await self._metrics.publish(session.workspace)
        return None


def _readiness(workspace: Workspace) -> Callable[[Recall, Around, Injecting], Awaitable[None]] | None:
    """Return the function that makes recall ready; None if nothing is recalled."""
    # Imported in a thread: it takes tenths of a second, in which no key would be drawn.
    from ragforge.memory.recall.readiness import make_ready
    from ragforge.session.context import recalls

    return make_ready if recalls(workspace) else None


class _RunDesk:
    """The desk of one run; `Desk` describes what it does for derivations."""

    def __init__(self, thinker: Thinker, timing: Timing) -> None:
        self.in_front: dict[str, Session] = {}
        """The session that was last in front, by project; the newest at the end."""
        self.running: dict[asyncio.Task[object], Session] = {}
        """Tasks in which a turn runs, and the session whose head it is."""
        self.improving = False
        self.sessions: dict[str, Session] = {}
        """Those of this run, by id."""
        self.timing = timing
        self.idle = thinker.idle
        self._thinker = thinker
        self.derivations: list[Derivation] = [kind(self) for kind in find_derivations()]
        self.lanes: dict[Queue, Lane] = {}
        self._units = UnitMeter()

    def opened(self, session: Session) -> None:
        """This session is in front now."""
        self.sessions[session.id] = session
        self.in_front.pop(session.workspace.project.id, None)
        self.in_front[session.workspace.project.id] = session

    @property
    def newest(self) -> Session | None:
        """Return the session that came to the front last."""
        return next(reversed(self.in_front.values()), None)

    def home(self, session_id: str) -> Home:
        workspace = self.sessions[session_id].workspace
        worktree = workspace.worktree(session_id)
        return Home(
            workspace.project.id,
            session_id,
            workspace.person,
            workspace.local,
            workspace.store,
            workspace.settings,
            workspace.redactor,
            workspace.recall,
            workspace.foresees,
            partial(self._units.measure, worktree),
            worktree.recorder.settle,
        )

    @property
    def homes(self) -> Mapping[str, Home]:
        return {project_id: self.home(session.id) for project_id, session in self.in_front.items()}

    @property
    def unfinished(self) -> Collection[str]:
        """Turns that wait, are being processed or run: nobody else takes them up.

        The end of a running one is stored some time before it is reported here, because its file changes are
        determined in between. Mistaken for an earlier run's, it would be paid for twice.
        """
        heads = {session.live.record.head for session in self.running.values()}
        known = {turn_id for derivation in self.derivations for turn_id in derivation.unfinished}
        return known | {head for head in heads if head}

    @property
    def resumes_in_s(self) -> float:
        return self._thinker.resumes_in_s

    async def ask(
        self,
        home: Home,
        call: Callable[[Provider], Awaitable[tuple[T, Usage]]],
        *,
        tries: int,
        patient: bool = True,
    ) -> T | None:
        thinker = self._thinker
        for _ in range(tries):
            async with thinker.purse.call(home.settings.memory.cost_usd_per_day_max):
                ready = await thinker.ready(self.sessions[home.session_id], patient=patient)
                if ready is None:
                    break

                async def paid(provider: Provider, ready: Ready = ready) -> T:
                    result, usage = await call(provider)
                    # First of all, so that it is known however this continues.
                    await thinker.pay(ready, usage)
                    return result

                try:
                    result = await thinker.ask(ready, paid)
                except ModelError as error:
                    thinker.failed(ready.name, error)
                    continue
                thinker.worked(ready.name)
                return result
        return None

    async def can_ask(self, home: Home) -> bool:
        return await self._thinker.ready(self.sessions[home.session_id]) is not None

    def asks_one_at_a_time(self, home: Home) -> bool:
        return answers_one_at_a_time(self.sessions[home.session_id])

    def is_offline(self, home: Home) -> bool:
        return is_offline(self.sessions[home.session_id])

    async def limit(self, home: Home, name: ModelName, usage: Usage) -> Limit | None:
        return await self._thinker.limit(self.sessions[home.session_id].workspace, name, usage)

    async def pay(self, home: Home, name: ModelName, usage: Usage, purpose: Purpose) -> None:
        workspace = self.sessions[home.session_id].workspace
        await self._thinker.purse.pay(workspace, spent_on(workspace, name, usage, purpose))

    async def breathe(self, took_s: float) -> None:
        if not self.idle.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(took_s * BREATHS):
                    await self.idle.wait()

    def wake(self, moment: Moment) -> None:
        for queue, lane in self.lanes.items():
            if moment in queue.wakes_on:
                lane.wake()

    async def understood(self, home: Home, turn: Turn, owners: Sequence[Owner], *, own: bool) -> None:
        for derivation in self.derivations:
            await derivation.understood(home, turn, owners, own=own)
