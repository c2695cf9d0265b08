"""Summarise turns and extract their memories: turns of this run at once, earlier ones in the background.

Without a model, or while it cannot be reached, an extract is used. The model is asked later for a better
one, once a run: a turn that it cannot summarise must not be paid for again and again. A turn that continued
after it was summarised gets a new summary.
"""

import asyncio
import logging
import time
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TypeVar

from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.cancellation import undisturbed
from ragforge.domain.errors import StoreError
from ragforge.domain.ids import now
from ragforge.domain.metrics import (
    EXTRACTION_SECONDS,
    TALLY,
)
from ragforge.domain.schedule import KeptOfTurn
from ragforge.domain.sub_agents import is_task
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import Turn
from ragforge.domain.usage import Usage
from ragforge.memory.derive.base import Derivation, Desk, Home, Moment, Queue, TakenBack
from ragforge.memory.derive.later_statements import with_later
from ragforge.memory.derive.levels import turn_chars
from ragforge.memory.derive.turn_material import material_of, says_nothing, shown_turn
from ragforge.memory.derive.turn_memories import keep
from ragforge.memory.forgotten import read_forgotten
from ragforge.memory.held_answers import drop, held, hold
from ragforge.memory.material import Material, Understanding, Understood
from ragforge.memory.summarise import NoSummary, completed, understand, understand_offline
from ragforge.providers.base import Provider
from ragforge.store.local.values import UNUSABLE_MAX

T = TypeVar("T")
log = logging.getLogger(__name__)

LISTED_MAX = 48
"""How many turns of earlier runs are read at once."""
CALLS_AT_ONCE = 3
"""Calls to a remote service in parallel, for turns of earlier runs; a session's turns are sequential, as a
later one is compared with the result of an earlier one."""
TURNS_A_CALL = 6
"""For a server that answers one request at a time."""
CHARS_A_CALL = 24_000
STAND_INS_MAX = 400
KEPT_TOLD_MAX = 8
"""The number of turns whose stored memories are reported: they are read every second."""
BETTER_MAX = 100
"""How many extracts one run replaces at most: a whole history must not be paid for at once."""
UNREADABLE = "The model's answer could not be read as a summary."


class TurnSummaries(Derivation):
    """Two queues: turns of this run, and those of earlier runs without a summary or with an extract."""

    title = "The summaries of earlier turns"
    order = 0
    wakes_on = frozenset({Moment.OPENED, Moment.TURN_ENDED, Moment.SETTLED, Moment.PUT_OFF})

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.earlier_done.clear()
        self._own: dict[str, str] = {}
        """Waiting turns of this run, oldest first, each with its session."""
        self._in_hand: set[str] = set()
        """The turns that are being summarised."""
        self._left_until: dict[str, float] = {}
        """Turns to skip, and until when: another process summarises them, or they failed."""
        self._backlog: list[str] = []
        """Listed turns of earlier runs that still wait."""
        self._last_done: list[str] = []
        self._ran_on: set[str] = set()
        """Turns that continued after their summary and were listed in this run."""
        self._tried: set[str] = set()
        """Turns for which the model was asked again."""
        self._urgent = False
        """Whether turns are summarised at once, even if another process may be summarising them."""
        self._of_nothing: set[str] = set()
        """Turns with nothing to summarise."""

    @property
    def queues(self) -> Sequence[Queue]:
        """The queues; this run's turns start at once, the others yield to other work."""
        own = "The summaries of this run's turns"
        return (
            Queue(own, self._own_step, frozenset({Moment.TURN_ENDED}), delayed=False, together=False),
            Queue(self.title, self.step, self.wakes_on, together=False),
        )

    @property
    def unfinished(self) -> Collection[str]:
        """Turns of this run that are not summarised yet."""
        return {*self._own, *self._in_hand}

    @property
    def turns(self) -> int:
        """How many turns wait."""
        return len(self._own) + len(self._in_hand) + len(self._backlog)

    def turn_ended(self, home: Home, turn_id: str) -> None:
        """Queue the turn."""
        self._own[turn_id] = home.session_id
        self.own_done.clear()

    # Turns of this run.

    async def _own_step(self) -> float | None:
        for turn_id, session_id in list(self._own.items()):
            home, mine = self.desk.home(session_id), [turn_id]
            if self.desk.asks_one_at_a_time(home):
                # All waiting turns in as few calls as possible, once the server is idle.
                await self.desk.idle.wait()
                homes = {each: self.desk.home(its_session) for each, its_session in self._own.items()}
                mine = [each for each, its in homes.items() if its.project_id == home.project_id]
            with self._taken(mine):
                found = [await home.store.turns.get(each) for each in mine]
                for batch in _batches([turn for turn in found if turn is not None]):
                    await self._summarise_or_pass(home, batch, patient=False)
        return None

    @contextmanager
    def _taken(self, turn_ids: Sequence[str]) -> Generator[None, None, None]:
        """Remove the turns from the queue for the duration; put them back if the body fails.

        A turn that is resumed and ends meanwhile is queued again, so its new end is not lost.
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
                self.desk.wake(Moment.WRITTEN)

    # Turns of earlier runs.

    async def step(self) -> float | None:
        """Summarise turns that lack a summary, then replace extracts by the model's. Raises StoreError."""
        found = False
        try:
            found = await self._summarise_listed()
        finally:
            if not found:
                self.earlier_done.set()
        return 0 if found else await self._make_better()

    async def _summarise_listed(self) -> bool:
        """Summarise some turns that lack a summary; return whether there were any. Raises StoreError."""
        for home in list(self.desk.homes.values()):
            if not home.settings.memory.enabled:
                continue
            if turns := await self._listed(home):
                if self.desk.asks_one_at_a_time(home):
                    await self._together(home, turns)
                else:
                    await self._side_by_side(home, turns)
                # Set only after success: turns of a store that failed must be listed again.
                self._last_done = [turn.id for turn in turns]
                return True
        return False

    async def _listed(self, home: Home) -> list[Turn]:
        """Return the turns that lack a summary and that no process works on, oldest first.

        Raises StoreError.
        """
        moment = time.monotonic()
        self._left_until = {turn: until for turn, until in self._left_until.items() if until > moment}
        passed_over = {*self.desk.unfinished, *self._left_until}
        limit = LISTED_MAX + len(passed_over)
        lacking = await home.store.summaries.lacking(project_id=home.project_id, limit=limit)
        owed = {turn.id: turn for turn in [*lacking, *await self._that_ran_on(home)]}
        # A turn may have started and ended during the query.
        passed_over |= set(self.desk.unfinished)
        turns = [turn for turn in owed.values() if turn.id not in passed_over]
        self._backlog = [turn.id for turn in turns]
        if turns and self._backlog == self._last_done:
            log.warning("%d turns still lack a summary after one was stored", len(turns))
            self._left_until |= dict.fromkeys(self._backlog, moment + timeouts.WORK_AGAIN_S)
            turns = []
        self._last_done = []
        return turns

    async def _that_ran_on(self, home: Home) -> list[Turn]:
        """Return ended turns that continued after their summary; each once a run. Raises StoreError."""
        turns = list[Turn]()
        for turn_id in await _ran_on(home):
            turn = await home.store.turns.get(turn_id)
            if turn is None:
                await _is_done(home, turn_id, now())
            elif turn.ended_at is not None and turn_id not in self._ran_on:
                turns.append(turn)
        self._ran_on |= {turn.id for turn in turns}
        return turns

    async def make_of(self, home: Home, turns: Sequence[Turn]) -> None:
        """Summarise these turns now, even if another process works on them. Raises StoreError."""
        self._urgent = True
        try:
            for batch in _batches(turns):
                await self._summarise_or_pass(home, batch, patient=True)
        finally:
            self._urgent = False

    async def _together(self, home: Home, turns: Sequence[Turn]) -> None:
        for batch in _batches(turns):
            await self._summarise_or_pass(home, batch, patient=True)
            done = {turn.id for turn in batch}
            self._backlog = [turn_id for turn_id in self._backlog if turn_id not in done]

    async def _side_by_side(self, home: Home, turns: Sequence[Turn]) -> None:
        """Summarise the turns, several sessions at once. Raises StoreError."""
        of_session: dict[str, list[Turn]] = {}
        for turn in turns:
            of_session.setdefault(turn.session_id, []).append(turn)
        slots = asyncio.Semaphore(CALLS_AT_ONCE)

        async def one_after_the_other(mine: Sequence[Turn]) -> None:
            async with slots:
                for turn in mine:
                    began = time.monotonic()
                    await self._summarise_or_pass(home, [turn], patient=True)
                    await self.desk.breathe(time.monotonic() - began)
                    self._backlog = [turn_id for turn_id in self._backlog if turn_id != turn.id]

        ended = await asyncio.gather(*map(one_after_the_other, of_session.values()), return_exceptions=True)
        for error in ended:
            if isinstance(error, BaseException):
                raise error

    async def _make_better(self) -> float | None:
        """Ask the model to summarise one turn that has only an extract; return as `step`."""
        for home in list(self.desk.homes.values()):
            if not home.settings.memory.enabled or self.desk.is_offline(home):
                continue
            turn = await self._owed_better(home)
            if turn is None:
                continue
            if not await self.desk.can_ask(home):
                self._end_bettering()
                return self.desk.resumes_in_s or self.desk.timing.final_s
            self.desk.improving = True
            self._tried.add(turn.id)
            await self._summarise_or_pass(home, [turn], patient=False)
            return 0
        self._end_bettering()
        waits_s = [until - time.monotonic() for until in self._left_until.values()]
        return max(1.0, min(waits_s)) if waits_s else None

    async def _owed_better(self, home: Home) -> Turn | None:
        """Return a turn whose extract the model should replace; None at the limit of a run.

        Raises StoreError.
        """
        if len(self._tried) >= BETTER_MAX:
            return None
        without = {*self.desk.unfinished, *self._tried, *self._of_nothing}
        stand_ins = await home.store.summaries.stand_ins(project_id=home.project_id, limit=STAND_INS_MAX)
        owed = [*await _ran_on(home), *(summary.covers[0] for summary in stand_ins)]
        for turn_id in dict.fromkeys(owed):
            turn = None if turn_id in without else await home.store.turns.get(turn_id)
            if turn is None or turn.ended_at is None:
                continue
            if not says_nothing(turn, await home.store.calls.of_turns([turn_id])):
                return turn
            self._of_nothing.add(turn_id)
        return None

    def _end_bettering(self) -> None:
        if self.desk.improving:
            self.desk.improving = False
            self.desk.wake(
                Moment.SETTLED
            )  # what is derived from them is rebuilt once, now that all are there

    # Both queues.

    async def _summarise_or_pass(self, home: Home, turns: Sequence[Turn], *, patient: bool) -> None:
        """Summarise the turns, or skip them for a while after an unexpected error: they block nothing.

        Raises StoreError and TakenBack.
        """
        try:
            await self._summarise(home, turns, patient=patient)
        except (StoreError, TakenBack):
            raise
        except Exception:
            log.exception("No summary of %s", ", ".join(turn.id for turn in turns))
            until = time.monotonic() + self.desk.timing.final_s
            self._left_until |= {turn.id: until for turn in turns}
            await drop(home.local, [turn.id for turn in turns])

    async def _summarise(self, home: Home, turns: Sequence[Turn], *, patient: bool) -> None:
        ended = [turn for turn in turns if turn.ended_at is not None]
        if self.desk.is_offline(home):
            # No lease: without a model every process computes the same.
            await self._understand(home, ended, patient=patient)
            return
        mine: list[Turn] = []
        try:
            leased = await asyncio.gather(*(self._lease(home, turn) for turn in ended))
            mine += [turn for turn, is_mine in zip(ended, leased, strict=True) if is_mine]
            to_do = await self._still_to_do(home, mine)
            await self._understand(home, to_do, patient=patient)
        finally:
            # However it ended, quitting included: the next start must not wait for the lease.
            await undisturbed(_give_back(home, mine), cancel_after=True)
        self.desk.wake(Moment.PUT_OFF)  # extracts are replaced later

    async def _understand(self, home: Home, turns: Sequence[Turn], *, patient: bool) -> None:
        # First the answers that were paid for: the rest may take longer than this run.
        held_of = await self._held(home, turns)
        await self._keep(home, [turn for turn in turns if turn.id in held_of], held_of)
        if missing := [turn for turn in turns if turn.id not in held_of]:
            speakers = await asyncio.gather(*(self._speaker(home, turn) for turn in missing))
            materials = [
                await material_of(home, turn, speaker=speaker)
                for turn, speaker in zip(missing, speakers, strict=True)
            ]
            began = time.perf_counter()
            understood = await understand_turns(self.desk, home, materials, patient=patient)
            TALLY.observe(EXTRACTION_SECONDS, time.perf_counter() - began)
            await self._keep(home, missing, understood)

    async def _keep(self, home: Home, turns: Sequence[Turn], understood: Mapping[str, Understanding]) -> None:
        """Store what was understood of the turns. Raises StoreError."""
        for turn in turns:
            found = understood[turn.id]
            if is_task(turn.user):  # a model wrote its words: what it learns is part of its answer
                found = replace(found, memories=(), associations=())
            found = await with_later(home, turn, found, speaker=await self._speaker(home, turn))
            owners, new = await keep(home, found)
            if new and turn.id in self._in_hand:
                number = self.kept[-1].number + 1 if self.kept else 1
                self.kept = (*self.kept, KeptOfTurn(number, turn.session_id, new))[-KEPT_TOLD_MAX:]
            await _clear_ran_on(home, turn, understood[turn.id].summary)
            await self.desk.understood(home, turn, owners, own=turn.id in self._in_hand)
        if turns:
            await drop(home.local, [turn.id for turn in turns])
            self.desk.wake(Moment.UNDERSTOOD)

    async def _held(self, home: Home, turns: Sequence[Turn]) -> dict[str, Understanding]:
        """Return the model's answers that were saved on this machine, not stored yet. Raises StoreError."""
        if not await home.local.answers.held([turn.id for turn in turns]):
            return {}
        forgotten = await read_forgotten(home.store, home.project_id)
        return await held(home.local, [await shown_turn(home, turn, forgotten) for turn in turns])

    async def _speaker(self, home: Home, turn: Turn) -> str:
        """Return who wrote the turn: the user in this run; else its author, or who started its session."""
        if turn.id in self._in_hand:
            return home.person.id
        if turn.person:
            return turn.person
        session = await home.store.sessions.get(turn.session_id)
        return session.begun_by(home.person) if session else ""

    async def _lease(self, home: Home, turn: Turn) -> bool:
        """Return whether this process asks the model for the turn. Saves money only: one result is kept."""
        lease_s = self.desk.timing.lease_s
        is_mine = await home.store.leases.take(_lease_of(turn), seconds=lease_s)
        if is_mine or self._urgent:  # the leases of a killed process last for a while
            return True
        self._left_until[turn.id] = time.monotonic() + lease_s
        self.desk.wake(Moment.PUT_OFF)
        return False

    async def _still_to_do(self, home: Home, turns: Sequence[Turn]) -> list[Turn]:
        """Leave out turns that another process finished between our listing and our lease.

        Turns of this run and those that continued stay: their summary describes an earlier end.
        """
        again = {*self._in_hand, *await _ran_on(home)}
        covering = await home.store.summaries.covering([turn.id for turn in turns])
        own = {
            summary.covers[0]: summary for over in covering.values() for summary in over if summary.level == 1
        }
        return [
            turn
            for turn in turns
            if turn.id in again or turn.id not in own or own[turn.id].method is SummaryMethod.EXTRACTIVE
        ]


DERIVATION = TurnSummaries


async def _clear_ran_on(home: Home, turn: Turn, made: Summary) -> None:
    """Unmark a turn that continued, if the stored summary describes its present end. Raises StoreError."""
    if turn.ended_at is None or turn.id not in await _ran_on(home):
        return
    stored = await home.store.summaries.get([made.id])
    # A model's summary of the earlier end stays until a model has summarised this one.
    if not stored or stored[0].method is made.method:
        await _is_done(home, turn.id, turn.ended_at)


async def _ran_on(home: Home) -> list[str]:
    """Return ids of the project's turns that continued after they were summarised; none if unreadable."""
    try:
        return await home.local.marks.ran_on(home.project_id)
    except StoreError as error:
        # This machine's own file: the store's turns are summarised without it.
        log.warning("Cannot read which turns continued after their summary: %s", error)
        return []


async def _is_done(home: Home, turn_id: str, until: datetime) -> None:
    with suppress(StoreError):  # then the turn is summarised once more
        await home.local.marks.clear_ran_on(turn_id, until=until)


async def _give_back(home: Home, turns: Sequence[Turn]) -> None:
    with suppress(StoreError):  # leases expire
        await asyncio.gather(*(home.store.leases.give_back(_lease_of(turn)) for turn in turns))


def _lease_of(turn: Turn) -> str:
    return f"summary:{turn.id}"


def _batches(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Yield the turns in order, as many together as fit in one call."""
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


async def understand_turns(
    desk: Desk, home: Home, materials: Sequence[Material], *, patient: bool
) -> dict[str, Understanding]:
    """Understand the turns with one model call for all, or without a model if it cannot be called.

    Turns that are missing in the answer are asked for once more. Raises StoreError and TakenBack.
    """
    found: dict[str, Understanding] = {}
    for _ in range(timeouts.SUMMARY_TRIES_MAX):
        missing = [
            each
            for each in materials
            if each.turn.id not in found and not says_nothing(each.turn, each.calls)
        ]

        async def call(
            provider: Provider, wanted: Sequence[Material] = missing
        ) -> tuple[dict[str, Understanding], Usage]:
            answer = await _understand(home, provider, wanted)
            if not answer.of_turns:
                raise NoSummary(UNREADABLE, usage=answer.usage)
            told = {
                each.turn.id: await asyncio.to_thread(completed, answer.of_turns[each.turn.id], each)
                for each in wanted
                if each.turn.id in answer.of_turns
            }
            # Saved first: whatever fails from here on, the answer is not paid for again.
            await undisturbed(
                hold(home.local, home.redactor, [each.turn for each in wanted], told), cancel_after=True
            )
            return told, answer.usage

        if missing and (told := await desk.ask(home, call, tries=1, patient=patient)):
            found |= told
    for each in materials:
        if each.turn.id not in found:
            found[each.turn.id] = await asyncio.to_thread(_offline, each)
    return found


async def _understand(home: Home, provider: Provider, wanted: Sequence[Material]) -> Understood:
    """Ask the model, with the plain prompt if its last answers were unusable. Raises as `understand`."""
    model = f"{provider.name}:{provider.model}"
    plainly = await _unusable(home, model) > UNUSABLE_MAX
    answer = await understand(provider, wanted, plainly=plainly)
    with suppress(StoreError):  # this machine's own file: the answer does not depend on it
        await home.local.chosen.add_answer(model, usable=answer.is_whole)
    return answer


async def _unusable(home: Home, model: str) -> int:
    try:
        return (await home.local.chosen.unusable_answers()).get(model, 0)
    except StoreError as error:
        log.warning("Cannot read how many answers of %s were unusable: %s", model, error)
        return 0


def _offline(material: Material) -> Understanding:
    found = understand_offline(material)
    if says_nothing(material.turn, material.calls):
        # Most often the user withdrew the words to rephrase them: they can be found, but contain no memory.
        return Understanding(found.summary)
    return found
