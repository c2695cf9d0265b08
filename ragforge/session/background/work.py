"""The background work of one run, in lanes that do not wait for each other.

- *own*: summaries and memories of this run's turns;
- *backlog*: those that earlier runs left, then better ones for turns that are owed one;
- one for each derivation of `memory/derive/`, such as summaries of summaries and embeddings;
- *backup*: the day's backup.
"""

import asyncio
import logging
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from ragforge.domain import timeouts
from ragforge.domain.cancellation import undisturbed
from ragforge.domain.errors import StoreError
from ragforge.domain.summaries import SummaryMethod
from ragforge.domain.turns import Turn
from ragforge.memory.derive.base import Derivation, Moment, find_derivations
from ragforge.memory.derive.levels import turn_chars
from ragforge.session.background.better import Better, ran_on
from ragforge.session.background.daily_backup import back_up_daily
from ragforge.session.background.desk import WorkDesk, home_of
from ragforge.session.background.lane import Lane
from ragforge.session.background.model import TakenBack, Thinker, answers_one_at_a_time, is_offline
from ragforge.session.background.turns import keep, material_of, understand_turns
from ragforge.session.schedule import Progress, Timing
from ragforge.session.state import Session

log = logging.getLogger(__name__)

LISTED_MAX = 48
"""So many turns of earlier runs are read at once."""
CALLS_AT_ONCE = 3
"""Of a service elsewhere, for turns of earlier runs; each session's turns go one after the other, because a
later one is compared with what an earlier one came to."""
TURNS_A_CALL = 6
"""Of a server that answers one request at a time."""
CHARS_A_CALL = 24_000
BREATHS = 4
"""While a turn runs, what earlier runs left is worked at for one part in five of the time."""


class Work:
    """What the lanes share. Only `Background` holds it."""

    def __init__(self, timing: Timing) -> None:
        self.own_done = asyncio.Event()
        """Set while no turn of this run waits for its summary."""
        self.own_done.set()
        self.backed_up = asyncio.Event()
        """Set while no backup is under way or about to begin."""
        self._turn_ended = asyncio.Event()
        self._timing = timing
        self._own: dict[str, Session] = {}
        """Turns of this run that wait, oldest first."""
        self._in_hand: set[str] = set()
        """Those of them that are being summarised."""
        self._running: dict[asyncio.Task[object], Session] = {}
        """Tasks in which a turn runs, and of which session it is the head."""
        self._left_until: dict[str, float] = {}
        """Turns that another process summarises, and until when they are left to it."""
        self._backlog: list[str] = []
        """Turns of earlier runs that were listed and still wait."""
        self._last_listed: list[str] = []
        self._better = Better()
        self._thinker = Thinker(timing)
        self._thinker.idle.set()
        self._desk = WorkDesk(self._thinker, timing, lambda: self._of_this_run)
        self._homes = self._desk.sessions
        start_s = timing.start_s
        self.own = Lane("The summaries of this run's turns", self._own_step, timing)
        self.backlog = Lane("The summaries of earlier turns", self._backlog_step, timing, delay_s=start_s)
        together = {"delay_s": start_s, "gather_s": timing.gather_s}
        self._derivations = {
            derivation: Lane(derivation.title, partial(self._derive, derivation), timing, **together)
            for derivation in (kind(self._desk) for kind in find_derivations())
        }
        self.backup = Lane("The daily backup", self._backup_step, timing)
        self.lanes = (self.own, self.backlog, *self._derivations.values(), self.backup)

    @property
    def progress(self) -> Progress:
        """How it stands now."""
        derived = [derivation.note for derivation in self._derivations]
        notes = [self._thinker.note, *derived, *(lane.note for lane in self.lanes)]
        note = " ".join(dict.fromkeys(note for note in notes if note))
        turns = len(self._own) + len(self._in_hand) + len(self._backlog)
        vectors = sum(derivation.waiting for derivation in self._derivations)
        return Progress(turns, vectors, note, self._thinker.purse.payments)

    def opened(self, session: Session) -> None:
        """This session is in front now."""
        project_id = session.workspace.project.id
        is_new = project_id not in self._homes
        self._homes.pop(project_id, None)
        self._homes[project_id] = session
        if is_new:
            self.backlog.wake()
            self.wake(Moment.OPENED)

    def turn_begins(self, session: Session, task: "asyncio.Task[object] | None") -> None:
        """A turn runs in this task from now on."""
        self.opened(session)
        if task is not None:
            self._running[task] = session
            task.add_done_callback(self._turn_left)
            self._thinker.idle.clear()
        self._thinker.take_back()

    def turn_ended(self, session: Session, turn_id: str) -> None:
        """Its end is stored."""
        if session.workspace.settings.memory.enabled:
            self._own[turn_id] = session
            self.own_done.clear()
        self.backed_up.clear()
        self._turn_ended.set()
        for lane in (self.own, self.backlog, self.backup):
            lane.wake()
        self.wake(Moment.TURN_ENDED)

    async def close(self) -> None:
        """Release the model's connections; the lanes have ended."""
        await self._thinker.close()

    def _turn_left(self, task: "asyncio.Task[object]") -> None:
        self._running.pop(task, None)
        if not self._running:
            self._thinker.idle.set()
            self.backlog.wake()
            self.wake(Moment.SETTLED)

    def written(self) -> None:
        """Something was written beside the turns, by the user or a tool."""
        self.wake(Moment.WRITTEN)

    def wake(self, moment: Moment) -> None:
        """Let the derivations begin that this concerns."""
        for derivation, lane in self._derivations.items():
            if moment in derivation.wakes_on:
                lane.wake()

    # Turns of this run.

    @property
    def _of_this_run(self) -> set[str]:
        """Those that wait, are in hand or run: nobody else takes them up.

        The end of one that runs is stored a while before it is told here: what became of the files is found
        out in between. Taken for an earlier run's, it would be paid for twice.
        """
        heads = (session.live.record.head for session in self._running.values())
        return {*self._own, *self._in_hand, *(head for head in heads if head)}

    async def _own_step(self) -> float | None:
        try:
            for turn_id, session in list(self._own.items()):
                if answers_one_at_a_time(session):
                    await self._own_together(session)
                else:
                    await self._own_one(session, turn_id)
        except TakenBack:
            return 0  # asked anew once the turn has ended, with what came meanwhile
        return None

    async def _own_one(self, session: Session, turn_id: str) -> None:
        with self._taken([turn_id]):
            turn = await session.workspace.store.turns.get(turn_id)
            if turn is not None:
                await self._summarise_or_pass(session, [turn], patient=False)

    async def _own_together(self, session: Session) -> None:
        """Summarise all that wait in as few calls as they fit in, once the server has nothing else to do."""
        await self._thinker.idle.wait()
        project_id, store = session.workspace.project.id, session.workspace.store
        mine = [turn_id for turn_id, home in self._own.items() if home.workspace.project.id == project_id]
        with self._taken(mine):
            found = [await store.turns.get(turn_id) for turn_id in mine]
            for batch in _batches([turn for turn in found if turn is not None]):
                await self._summarise_or_pass(session, batch, patient=False)

    @contextmanager
    def _taken(self, turn_ids: Sequence[str]) -> Generator[None, None, None]:
        """Off the list while they are summarised; on it again if that fails.

        One that is taken up again and ends meanwhile is listed anew, so its new end is not lost.
        """
        taken = {turn_id: self._own.pop(turn_id) for turn_id in turn_ids if turn_id in self._own}
        self._in_hand |= taken.keys()
        try:
            yield
        except BaseException:
            self._own = {**taken, **self._own}
            raise
        finally:
            self._in_hand -= taken.keys()
            if not self._own and not self._in_hand:
                self.own_done.set()
                self.wake(Moment.WRITTEN)

    # Turns of earlier runs.

    async def _backlog_step(self) -> float | None:
        try:
            for project_id, session in list(self._homes.items()):
                if not session.workspace.settings.memory.enabled:
                    continue
                if turns := await self._listed(project_id, session):
                    if answers_one_at_a_time(session):
                        await self._backlog_together(session, turns)
                    else:
                        await self._side_by_side(session, turns)
                    return 0
            return await self._make_better()
        except TakenBack:
            return 0

    async def _backlog_together(self, session: Session, turns: Sequence[Turn]) -> None:
        for batch in _batches(turns):
            await self._summarise_or_pass(session, batch, patient=True)
            done = {turn.id for turn in batch}
            self._backlog = [turn_id for turn_id in self._backlog if turn_id not in done]

    async def _listed(self, project_id: str, session: Session) -> list[Turn]:
        """Turns that lack a summary and nobody is at, oldest first. Raises StoreError."""
        moment = time.monotonic()
        self._left_until = {turn: until for turn, until in self._left_until.items() if until > moment}
        passed_over = {*self._of_this_run, *self._left_until}
        limit = LISTED_MAX + len(passed_over)
        lacking = await session.workspace.store.summaries.lacking(project_id=project_id, limit=limit)
        owed = {turn.id: turn for turn in [*lacking, *await self._better.ran_on(session)]}
        turns = [turn for turn in owed.values() if turn.id not in passed_over]
        self._backlog = [turn.id for turn in turns]
        if turns and self._backlog == self._last_listed:
            log.warning("%d turns lack a summary right after they were given one", len(turns))
            self._left_until |= dict.fromkeys(self._backlog, moment + timeouts.WORK_AGAIN_S)
            turns = []
        self._last_listed = self._backlog
        return turns

    async def _side_by_side(self, session: Session, turns: Sequence[Turn]) -> None:
        """Summarise them, some sessions at once. Raises StoreError."""
        of_session: dict[str, list[Turn]] = {}
        for turn in turns:
            of_session.setdefault(turn.session_id, []).append(turn)
        slots = asyncio.Semaphore(CALLS_AT_ONCE)

        async def one_after_the_other(mine: Sequence[Turn]) -> None:
            async with slots:
                for turn in mine:
                    began = time.monotonic()
                    await self._summarise_or_pass(session, [turn], patient=True)
                    await self._breathe(time.monotonic() - began)
                    self._backlog = [turn_id for turn_id in self._backlog if turn_id != turn.id]

        ended = await asyncio.gather(*map(one_after_the_other, of_session.values()), return_exceptions=True)
        for error in ended:
            if isinstance(error, BaseException):
                raise error

    async def _make_better(self) -> float | None:
        """Ask the model for a turn of which there is a summary, but a better one is owed; see `Step`."""
        for project_id, session in list(self._homes.items()):
            if not session.workspace.settings.memory.enabled or is_offline(session):
                continue
            turn = await self._better.next(project_id, session, without=self._of_this_run)
            if turn is None:
                continue
            if await self._thinker.ready(session) is None:
                self._end_bettering()
                return self._thinker.resumes_in_s or self._timing.final_s
            self._desk.improving = True
            self._better.tries(turn)
            await self._summarise_or_pass(session, [turn], patient=False)
            return 0
        self._end_bettering()
        waits_s = [until - time.monotonic() for until in self._left_until.values()]
        return max(1.0, min(waits_s)) if waits_s else None

    def _end_bettering(self) -> None:
        if self._desk.improving:
            self._desk.improving = False
            self.wake(Moment.SETTLED)  # what stands on them is made anew once, now that all are there

    async def _summarise_or_pass(self, session: Session, turns: Sequence[Turn], *, patient: bool) -> None:
        """Let the turns have their summaries and memories. Raises StoreError, and TakenBack.

        What fails in a way that nobody thought of is passed over for a while, so that it blocks nothing.
        """
        try:
            await self._summarise(session, turns, patient=patient)
        except (StoreError, TakenBack):
            raise
        except Exception:
            log.exception("No summary of %s", ", ".join(turn.id for turn in turns))
            until = time.monotonic() + self._timing.final_s
            self._left_until |= {turn.id: until for turn in turns}

    async def _summarise(self, session: Session, turns: Sequence[Turn], *, patient: bool) -> None:
        ended = [turn for turn in turns if turn.ended_at is not None]
        if is_offline(session):
            # No lease: what is worked out here comes to the same whoever does it.
            await self._understand(session, ended, patient=patient)
            return
        mine: list[Turn] = []
        try:
            for turn in ended:
                if await self._lease(session, turn):
                    mine.append(turn)
            to_do = await self._still_to_do(session, mine)
            await self._understand(session, to_do, patient=patient)
        finally:
            # However it ended, quitting included: the next start shall not have to wait for it.
            await undisturbed(self._give_back(session, mine), cancel_after=True)
        self.backlog.wake()  # what stands in now is replaced later

    async def _understand(self, session: Session, turns: Sequence[Turn], *, patient: bool) -> None:
        materials = [await material_of(session, turn) for turn in turns]
        understood = await understand_turns(self._thinker, session, materials, patient=patient)
        for turn in turns:
            owners = await keep(session, understood[turn.id])
            await self._better.kept(session, turn, understood[turn.id].summary)
            own, home = turn.id in self._in_hand, home_of(session)
            for derivation in self._derivations:
                await derivation.understood(home, turn, owners, own=own)
        self.wake(Moment.UNDERSTOOD)

    async def _lease(self, session: Session, turn: Turn) -> bool:
        """Whether the model is asked here for this turn. It saves money, no more: the result is kept once."""
        lease_s = self._timing.lease_s
        if await session.workspace.store.leases.take(_lease_of(turn), seconds=lease_s):
            return True
        self._left_until[turn.id] = time.monotonic() + lease_s
        self.backlog.wake()
        return False

    async def _still_to_do(self, session: Session, turns: Sequence[Turn]) -> list[Turn]:
        """Without those that another process was done with between our listing and our lease.

        Turns of this run and those that ran on are done in any case: they have a summary of their first end.
        """
        again = {*self._in_hand, *await ran_on(session)}
        covering = await session.workspace.store.summaries.covering([turn.id for turn in turns])
        own = {
            summary.covers[0]: summary for over in covering.values() for summary in over if summary.level == 1
        }
        return [
            turn
            for turn in turns
            if turn.id in again or turn.id not in own or own[turn.id].method is SummaryMethod.EXTRACTIVE
        ]

    async def _give_back(self, session: Session, turns: Sequence[Turn]) -> None:
        with suppress(StoreError):  # they end by themselves
            for turn in turns:
                await session.workspace.store.leases.give_back(_lease_of(turn))

    async def _breathe(self, took_s: float) -> None:
        """Leave the machine and the store to a turn that runs, most of the time; a long one stops nothing."""
        if not self._thinker.idle.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(took_s * BREATHS):
                    await self._thinker.idle.wait()

    # The other lanes.

    async def _derive(self, derivation: Derivation) -> float | None:
        began = time.monotonic()
        try:
            again_s = await derivation.step()
        except TakenBack:
            return 0
        if Moment.WRITTEN not in derivation.wakes_on:
            self.wake(Moment.WRITTEN)
        await self._breathe(time.monotonic() - began)
        return again_s

    async def _backup_step(self) -> float | None:
        try:
            # Not while the first screen is drawn, and never of a turn halfway: once restored, it would seem
            # to have been cut off by a crash.
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timing.start_s):
                    await self._turn_ended.wait()
            await self._thinker.idle.wait()
            session = next(reversed(self._homes.values()), None)
            return await back_up_daily(session.workspace) if session else None
        finally:
            self.backed_up.set()


def _lease_of(turn: Turn) -> str:
    return f"summary:{turn.id}"


def _batches(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """The turns in their order, as many together as fit in one call."""
    batch: list[Turn] = []
    chars = 0
    for turn in turns:
        if batch and (len(batch) >= TURNS_A_CALL or chars + turn_chars(turn) > CHARS_A_CALL):
            yield batch
            batch, chars = [], 0
        batch.append(turn)
        chars += turn_chars(turn)
    if batch:
        yield batch
