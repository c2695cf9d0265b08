"""The summary of a turn and its memories: made of this run's turns at once, of earlier ones by and by.

Without a model, or where it cannot be asked, an extract stands in; the model is asked for a better one when
it can be, once a run: a turn of which it makes nothing must not be paid for again and again. One that ran on
after it had been summarised is owed one of its present end.
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
from ragforge.domain.errors import Conflict, StoreError, UsageError
from ragforge.domain.ids import now
from ragforge.domain.memories import AssociationKind, Memory, MemoryFilter, MemoryType, wish_kind
from ragforge.domain.messages import text_of
from ragforge.domain.metrics import (
    EXTRACTION_SECONDS,
    PREFERENCE_CONFIDENCE,
    PREFERENCES_EXTRACTED,
    PREFERENCES_REJECTED,
    TALLY,
)
from ragforge.domain.schedule import KeptMemory, KeptOfTurn
from ragforge.domain.search import Hit, HitKind, Query
from ragforge.domain.sub_agents import is_task
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import ToolCall, Turn, TurnStatus
from ragforge.domain.usage import NO_MODEL, Purpose, Usage
from ragforge.domain.vectors import Owner, OwnerKind
from ragforge.domain.versions import USER
from ragforge.memory.corrections import Correction, CorrectionKind, edited, reasons, undone_before
from ragforge.memory.derive.base import Derivation, Desk, Home, Moment, Queue, TakenBack
from ragforge.memory.derive.levels import turn_chars
from ragforge.memory.derive.vectors import ANSWER_CHARS_MAX, USER_CHARS_MAX
from ragforge.memory.forgotten import Forgotten, read_forgotten
from ragforge.memory.held_answers import drop, held, hold
from ragforge.memory.material import Material, Understanding, Understood, answer_of, redacted
from ragforge.memory.memories import associate, remember
from ragforge.memory.part import find_parts, inputs_of
from ragforge.memory.recall.search import search
from ragforge.memory.recall.validity import changed_words, may_replace
from ragforge.memory.replacement import ended_by
from ragforge.memory.statements import said_by
from ragforge.memory.summarise import NoSummary, completed, understand, understand_offline
from ragforge.memory.terms import about
from ragforge.memory.wishes import may_end
from ragforge.providers.base import Provider
from ragforge.store.base import Store
from ragforge.store.local.values import UNUSABLE_MAX

T = TypeVar("T")
log = logging.getLogger(__name__)

LISTED_MAX = 48
"""How many turns of earlier runs are read at once."""
CALLS_AT_ONCE = 3
"""Of a service elsewhere, for turns of earlier runs; each session's turns go one after the other, because a
later one is compared with what an earlier one came to."""
TURNS_A_CALL = 6
"""Of a server that answers one request at a time."""
CHARS_A_CALL = 24_000
STAND_INS_MAX = 400
KEPT_TOLD_MAX = 8
"""The number of turns whose kept memories are told: they are looked at every second."""
BETTER_MAX = 100
"""How many extracts one run replaces at most: a whole history must not be paid for at once."""
NEAR_MAX = 8
PREFERENCES_MAX = 200
"""How many are compared with a sentence that ends one."""
INSTRUCTIONS_MAX = 12
"""How many of them are compared by their turns where the message may change something."""
MOVES_MAX = 20
"""How many of a session's last moves are looked at for an undo just before a turn."""
NEAR_ASKED = 16
"""More than are shown, because replaced and forgotten memories are found too."""
UNREADABLE = "The model's answer could not be read as a summary."


class TurnSummaries(Derivation):
    """Two queues: turns of this run, and those that earlier runs left or that are owed a better summary."""

    title = "The summaries of earlier turns"
    order = 0
    wakes_on = frozenset({Moment.OPENED, Moment.TURN_ENDED, Moment.SETTLED, Moment.PUT_OFF})

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.earlier_done.clear()
        self._own: dict[str, str] = {}
        """Turns of this run that wait, oldest first, each with its session."""
        self._in_hand: set[str] = set()
        """Those of them that are being summarised."""
        self._left_until: dict[str, float] = {}
        """Turns that another process summarises, and until when they are left to it."""
        self._backlog: list[str] = []
        """Turns of earlier runs that were listed and still wait."""
        self._last_done: list[str] = []
        self._ran_on: set[str] = set()
        """Turns that ran on and were listed in this run."""
        self._tried: set[str] = set()
        """Turns for which the model was asked once more."""
        self._urgent = False
        """Whether turns are summarised at once, though another process may be at it."""
        self._of_nothing: set[str] = set()
        """Turns of which no better summary can be made."""

    @property
    def queues(self) -> Sequence[Queue]:
        """This run's turns wait for nothing; the others give way by themselves."""
        own = "The summaries of this run's turns"
        return (
            Queue(own, self._own_step, frozenset({Moment.TURN_ENDED}), delayed=False, together=False),
            Queue(self.title, self.step, self.wakes_on, together=False),
        )

    @property
    def unfinished(self) -> Collection[str]:
        """Those of this run."""
        return {*self._own, *self._in_hand}

    @property
    def turns(self) -> int:
        """How many wait."""
        return len(self._own) + len(self._in_hand) + len(self._backlog)

    def turn_ended(self, home: Home, turn_id: str) -> None:
        """It is to be summarised now."""
        self._own[turn_id] = home.session_id
        self.own_done.clear()

    # Turns of this run.

    async def _own_step(self) -> float | None:
        for turn_id, session_id in list(self._own.items()):
            home, mine = self.desk.home(session_id), [turn_id]
            if self.desk.asks_one_at_a_time(home):
                # All that wait, in as few calls as they fit in, once the server has nothing else to do.
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
                self.desk.wake(Moment.WRITTEN)

    # Turns of earlier runs.

    async def step(self) -> float | None:
        """Summarise those that lack a summary, then ask the model for better ones. Raises StoreError."""
        found = False
        try:
            found = await self._summarise_listed()
        finally:
            if not found:
                self.earlier_done.set()
        return 0 if found else await self._make_better()

    async def _summarise_listed(self) -> bool:
        """Summarise some of those that lack a summary; whether there were any. Raises StoreError."""
        for home in list(self.desk.homes.values()):
            if not home.settings.memory.enabled:
                continue
            if turns := await self._listed(home):
                if self.desk.asks_one_at_a_time(home):
                    await self._together(home, turns)
                else:
                    await self._side_by_side(home, turns)
                # Only what was done is not to be listed again: a store may have failed before.
                self._last_done = [turn.id for turn in turns]
                return True
        return False

    async def _listed(self, home: Home) -> list[Turn]:
        """Turns that lack a summary and nobody is at, oldest first. Raises StoreError."""
        moment = time.monotonic()
        self._left_until = {turn: until for turn, until in self._left_until.items() if until > moment}
        passed_over = {*self.desk.unfinished, *self._left_until}
        limit = LISTED_MAX + len(passed_over)
        lacking = await home.store.summaries.lacking(project_id=home.project_id, limit=limit)
        owed = {turn.id: turn for turn in [*lacking, *await self._that_ran_on(home)]}
        # One may have begun and ended while the store was asked.
        passed_over |= set(self.desk.unfinished)
        turns = [turn for turn in owed.values() if turn.id not in passed_over]
        self._backlog = [turn.id for turn in turns]
        if turns and self._backlog == self._last_done:
            log.warning("%d turns lack a summary right after they were given one", len(turns))
            self._left_until |= dict.fromkeys(self._backlog, moment + timeouts.WORK_AGAIN_S)
            turns = []
        self._last_done = []
        return turns

    async def _that_ran_on(self, home: Home) -> list[Turn]:
        """Turns that ran on since their summary was made, and ended; each once a run. Raises StoreError."""
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
        """Give these turns their summaries and memories now, whoever else is at it. Raises StoreError."""
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
        """Summarise them, some sessions at once. Raises StoreError."""
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
        """Ask the model for a turn of which there is a summary, but a better one is owed; see `step`."""
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
        """A turn for which the model was not asked again in this run; None too when it was for many.

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
            self.desk.wake(Moment.SETTLED)  # what stands on them is made anew once, now that all are there

    # Both.

    async def _summarise_or_pass(self, home: Home, turns: Sequence[Turn], *, patient: bool) -> None:
        """Let the turns have their summaries and memories. Raises StoreError, and TakenBack.

        What fails in a way that nobody thought of is passed over for a while, so that it blocks nothing.
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
            # No lease: what is worked out here comes to the same whoever does it.
            await self._understand(home, ended, patient=patient)
            return
        mine: list[Turn] = []
        try:
            leased = await asyncio.gather(*(self._lease(home, turn) for turn in ended))
            mine += [turn for turn, is_mine in zip(ended, leased, strict=True) if is_mine]
            to_do = await self._still_to_do(home, mine)
            await self._understand(home, to_do, patient=patient)
        finally:
            # However it ended, quitting included: the next start shall not have to wait for it.
            await undisturbed(_give_back(home, mine), cancel_after=True)
        self.desk.wake(Moment.PUT_OFF)  # what stands in now is replaced later

    async def _understand(self, home: Home, turns: Sequence[Turn], *, patient: bool) -> None:
        # First what was paid for: the rest may take longer than this run.
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
        """Store what the turns came to. Raises StoreError."""
        for turn in turns:
            came_to = understood[turn.id]
            if is_task(turn.user):  # a model gave it its words: what it learns goes into its answer
                came_to = replace(came_to, memories=(), associations=())
            owners, new = await keep(home, came_to)
            if new and turn.id in self._in_hand:
                number = self.kept[-1].number + 1 if self.kept else 1
                self.kept = (*self.kept, KeptOfTurn(number, turn.session_id, new))[-KEPT_TOLD_MAX:]
            await _kept(home, turn, understood[turn.id].summary)
            await self.desk.understood(home, turn, owners, own=turn.id in self._in_hand)
        if turns:
            await drop(home.local, [turn.id for turn in turns])
            self.desk.wake(Moment.UNDERSTOOD)

    async def _held(self, home: Home, turns: Sequence[Turn]) -> dict[str, Understanding]:
        """What a model made of the turns before, and the store did not get. Raises StoreError."""
        if not await home.local.answers.held([turn.id for turn in turns]):
            return {}
        forgotten = await read_forgotten(home.store, home.project_id)
        return await held(home.local, [await shown_turn(home, turn, forgotten) for turn in turns])

    async def _speaker(self, home: Home, turn: Turn) -> str:
        """Who said it: of this run's turns the user, of others whoever wrote them, or began their session."""
        if turn.id in self._in_hand:
            return home.person.id
        if turn.person:
            return turn.person
        session = await home.store.sessions.get(turn.session_id)
        return session.begun_by(home.person) if session else ""

    async def _lease(self, home: Home, turn: Turn) -> bool:
        """Whether the model is asked here for this turn. It saves money, no more: the result is kept once."""
        lease_s = self.desk.timing.lease_s
        is_mine = await home.store.leases.take(_lease_of(turn), seconds=lease_s)
        if is_mine or self._urgent:  # a process that was killed has its leases for a while
            return True
        self._left_until[turn.id] = time.monotonic() + lease_s
        self.desk.wake(Moment.PUT_OFF)
        return False

    async def _still_to_do(self, home: Home, turns: Sequence[Turn]) -> list[Turn]:
        """Without those that another process was done with between our listing and our lease.

        Turns of this run and those that ran on are done in any case: they have a summary of their first end.
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


async def _kept(home: Home, turn: Turn, made: Summary) -> None:
    """A summary of the turn as it was read was given to the store. Raises StoreError."""
    if turn.ended_at is None or turn.id not in await _ran_on(home):
        return
    stored = await home.store.summaries.get([made.id])
    # A model's words about the earlier end stay until there are a model's about this one.
    if not stored or stored[0].method is made.method:
        await _is_done(home, turn.id, turn.ended_at)


async def _ran_on(home: Home) -> list[str]:
    """Ids of turns of the project that ran on since their summary was made, as far as can be told."""
    try:
        return await home.local.marks.ran_on(home.project_id)
    except StoreError as error:
        # This machine's own file: what the store holds is worked off without it.
        log.warning("Which turns ran on cannot be told: %s", error)
        return []


async def _is_done(home: Home, turn_id: str, until: datetime) -> None:
    with suppress(StoreError):  # then it is done once more
        await home.local.marks.clear_ran_on(turn_id, until=until)


async def _give_back(home: Home, turns: Sequence[Turn]) -> None:
    with suppress(StoreError):  # they end by themselves
        await asyncio.gather(*(home.store.leases.give_back(_lease_of(turn)) for turn in turns))


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


def says_nothing(turn: Turn, calls: Sequence[ToolCall]) -> bool:
    """Whether there is nothing in it for a model to understand: it ended before the model said or did
    anything, so that its words went back to the prompt, or a program called a tool in it."""
    ended_early = turn.status in (TurnStatus.INTERRUPTED, TurnStatus.FAILED)
    is_tool_of_program = turn.purpose is Purpose.PROGRAM and turn.model == NO_MODEL
    return is_tool_of_program or (ended_early and not turn.assistant.strip() and not calls)


async def material_of(
    home: Home, turn: Turn, *, speaker: str, known: Sequence[Memory] | None = None
) -> Material:
    """The turn with what is needed to understand it. Raises StoreError.

    speaker: who said it. known: the memories that it is compared with; None to look for those near to it,
    and for what the parts of the call need.
    """
    forgotten, found = await asyncio.gather(
        read_forgotten(home.store, home.project_id), home.store.calls.of_turns([turn.id])
    )
    turn = await asyncio.to_thread(forgotten.turn, turn)
    calls = [forgotten.call(call, session=turn.session_id) for call in found]
    shown = await shown_turn(home, turn, forgotten)
    is_alone = known is not None or says_nothing(turn, calls)
    # All at once: a store that is far away needs as long for each as for all.
    near, near_turns, parent, corrections, inputs = await asyncio.gather(
        _given(tuple(known or ())) if is_alone else near_memories(home, turn, speaker=speaker),
        _given(()) if is_alone else turns_near(home, turn, speaker=speaker),
        home.store.turns.get(turn.parent) if turn.parent else _given(None),
        corrections_of(home, shown, calls, forgotten),
        inputs_of(home, shown) if known is None else _given({}),
    )
    before = ""
    if parent is not None:
        before = home.redactor.text(answer_of(await asyncio.to_thread(forgotten.turn, parent)))
        near_turns = (*near_turns, parent)
    return Material(
        shown,
        home.project_id,
        tuple(calls),
        near,
        near_turns,
        before,
        speaker,
        tuple(corrections),
        inputs,
    )


async def _given(value: T) -> T:
    return value


async def shown_turn(home: Home, turn: Turn, forgotten: Forgotten) -> Turn:
    """The turn as a model is shown it: without what is forgotten, and without secrets."""
    turn = await asyncio.to_thread(forgotten.turn, turn)
    # What the model wrote is kept as it is, and an earlier version knew fewer kinds of secrets.
    clean = home.redactor
    return replace(turn, user=clean.parts(turn.user), assistant=clean.text(turn.assistant))


async def corrections_of(
    home: Home, turn: Turn, calls: Sequence[ToolCall], forgotten: Forgotten
) -> list[Correction]:
    """What the user corrected in the turn, or by it, as far as the store tells."""
    found = list(reasons(calls))
    versions = home.store.versions
    try:
        moves = await versions.moves(home.project_id, session_id=turn.session_id, limit=MOVES_MAX)
        undone_id = undone_before(moves, parent=turn.parent, at=turn.started_at)
        if undone_id and (undone := await home.store.turns.get(undone_id)):
            words = text_of(home.redactor.parts(undone.user))
            found.append(Correction(CorrectionKind.UNDONE, "", words))
        for own in await versions.of_turns([turn.id]):
            for by_hand in await versions.get(own.parents):
                before = await versions.get(by_hand.parents) if by_hand.by == USER else ()
                found += filter(None, (edited(by_hand, each) for each in before))
    except StoreError as error:
        log.warning("What turn %s corrects cannot be told: %s", turn.id, error)
    return [replace(each, text=forgotten.cut(each.text), of=forgotten.cut(each.of)) for each in found]


async def near_memories(home: Home, turn: Turn, *, speaker: str) -> tuple[Memory, ...]:
    """Memories that speak of what the turn does and still hold, nearest first, and preferences that the
    user's words end; none where search fails.

    Of what belongs to somebody, only the speaker's.
    """
    try:
        hits = await _near(home, turn, HitKind.MEMORY, speaker)
        ids = [hit.id for hit in hits if not hit.replaced and not hit.abandoned]
        found = await home.store.memories.get(ids)
        ended = await _ended_preferences(home, text_of(turn.user), speaker)
    except StoreError as error:
        log.warning("What is near to turn %s cannot be told: %s", turn.id, error)
        return ()
    # What this turn said itself, in an earlier try, is nothing to compare it with.
    others = [each for each in found if each.forgotten_at is None and each.turns != (turn.id,)]
    near = {each.id: each for each in (*others[:NEAR_MAX], *ended)}
    return tuple(near.values())


async def turns_near(home: Home, turn: Turn, *, speaker: str) -> tuple[Turn, ...]:
    """Earlier turns that speak of what the turn does, nearest first, and those that gave a standing
    instruction about it; none where search fails, and where nothing in it could replace what they say."""
    if not await asyncio.to_thread(may_replace, turn):
        return ()
    try:
        hits = await _near(home, turn, HitKind.TURN)
        if changed := " ".join(sorted(changed_words(turn))):
            hits += await _asked(home, changed, HitKind.TURN)
        ids = dict.fromkeys(hit.id for hit in hits if not hit.abandoned)
        ids |= dict.fromkeys(await _instructed(home, text_of(turn.user), speaker))
        found = await home.store.turns.read(list(ids))
    except StoreError as error:
        log.warning("What was said before turn %s of the same cannot be told: %s", turn.id, error)
        return ()
    return tuple(each for each in found if each.started_at < turn.started_at)


async def _near(home: Home, turn: Turn, kind: HitKind, speaker: str = "") -> list[Hit]:
    """What of the project is near to what the turn says. Raises StoreError."""
    said = f"{text_of(turn.user)[:USER_CHARS_MAX]}\n{turn.assistant[:ANSWER_CHARS_MAX]}"
    return await _asked(home, said, kind, speaker)


async def _asked(home: Home, text: str, kind: HitKind, speaker: str = "") -> list[Hit]:
    query = Query(text, project_id=home.project_id, person=speaker, kinds=(kind,), limit=NEAR_ASKED)
    return (await search(home.recall, query)).hits


async def _ended_preferences(home: Home, message: str, speaker: str) -> list[Memory]:
    """Preferences that hold here and that a sentence of the message ends: however long ago they were said,
    they are told to every model, and the words that end them may be few. Raises StoreError."""
    ending = [words for _, words in said_by(message) if may_end(words)]
    if not ending:
        return []
    known = await _preferences(home, speaker)
    found = (ended_by(words, known) for words in ending)
    return [each for each in found if each is not None]


async def _instructed(home: Home, message: str, speaker: str) -> list[str]:
    """The turns of the preferences that hold here and share most words with the message: it may end one of
    them in passing, where a search for all of it finds others. Raises StoreError."""
    said = about(message[:USER_CHARS_MAX])
    shared = [(len(said & about(each.content)), each) for each in await _preferences(home, speaker)]
    nearest = sorted((each for each in shared if each[0]), key=lambda each: each[0], reverse=True)
    return [turn for _, each in nearest[:INSTRUCTIONS_MAX] for turn in each.turns]


async def _preferences(home: Home, speaker: str) -> Sequence[Memory]:
    """The preferences that hold here. Raises StoreError."""
    here = MemoryFilter(
        project_id=home.project_id,
        session_id=home.session_id,
        person=speaker,
        types=(MemoryType.PREFERENCE,),
        limit=PREFERENCES_MAX,
    )
    return await home.store.memories.find(here)


async def understand_turns(
    desk: Desk, home: Home, materials: Sequence[Material], *, patient: bool
) -> dict[str, Understanding]:
    """What each of the turns comes to: by one call of the model for all, else by what stands in for it.

    Those that are missing in the answer are asked for once more. Raises StoreError, and TakenBack.
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
            # Before anything else: whatever goes wrong from here on, it is not paid for again.
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
    """The answer; plainly asked where the model did not cope lately. Raises as `understand`."""
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
        log.warning("How well %s answers cannot be told: %s", model, error)
        return 0


async def keep(home: Home, understanding: Understanding) -> tuple[list[Owner], tuple[KeptMemory, ...]]:
    """Store what a turn came to; what needs a vector now, and the memories that are new.

    Doing it again changes nothing. The summary goes last: it takes the turn off the list of what is to do, so
    a crash before it repeats all. Raises StoreError.
    """
    safe = redacted(understanding, home.redactor)
    store = home.store
    kept, new = await keep_memories(store, safe)
    for part in find_parts():
        if (value := safe.more.get(part.name)) is not None:
            await part.keep(store, home.redactor, safe.summary, value)
    try:
        await store.summaries.save(safe.summary)
    except Conflict as error:
        log.info("Turn %s was deleted while it was summarised: %s", safe.summary.covers[0], error)
        return kept, ()
    turns = [Owner(OwnerKind.TURN, turn_id) for turn_id in safe.summary.covers]
    return [*turns, Owner(OwnerKind.SUMMARY, safe.summary.id), *kept], await _told(store, new)


async def keep_memories(store: Store, found: Understanding) -> tuple[list[Owner], list[Memory]]:
    """Store the memories of a turn with their links; those that need a vector now, and those that are new.

    found: without secrets. Raises StoreError.
    """
    kept: list[Owner] = []
    known = {memory.id: memory for memory in await store.memories.get([each.id for each in found.memories])}
    new: list[Memory] = []
    for memory in found.memories:
        try:
            stored = await remember(store, memory)
            kept.append(Owner(OwnerKind.MEMORY, stored.id))
            before = known.get(stored.id)
            # A turn that is understood anew, by a model that was away, says nothing again.
            is_said = before is None or not set(memory.turns) <= set(before.turns)
            if is_said and (kind := wish_kind(stored)):
                TALLY.count(PREFERENCES_EXTRACTED, kind)
                TALLY.observe(PREFERENCE_CONFIDENCE, stored.confidence)
            new += [stored] if before is None else []
        except (UsageError, Conflict) as error:
            log.warning("A memory of turn %s is not kept: %s", found.summary.covers[0], error)
            if wish_kind(memory):
                TALLY.count(PREFERENCES_REJECTED, "not_stored")
    try:
        if found.associations:
            await associate(store, found.associations)
    except Conflict as error:
        log.warning("How memories of turn %s stand is not kept: %s", found.summary.covers[0], error)
    return kept, new


async def _told(store: Store, new: Sequence[Memory]) -> tuple[KeptMemory, ...]:
    """The memories with what they replace."""
    links = await store.memories.associations([memory.id for memory in new]) if new else []
    gone = [link for link in links if link.kind is AssociationKind.UPDATES]
    old = {each.id: each.content for each in await store.memories.get([link.to_id for link in gone])}
    return tuple(
        KeptMemory(
            memory.id,
            memory.content,
            tuple(old[link.to_id] for link in gone if link.from_id == memory.id and link.to_id in old),
        )
        for memory in new
    )


def _offline(material: Material) -> Understanding:
    found = understand_offline(material)
    if says_nothing(material.turn, material.calls):
        # Most often the user took the words back to say it otherwise: they are found, and hold nothing.
        return Understanding(found.summary)
    return found
