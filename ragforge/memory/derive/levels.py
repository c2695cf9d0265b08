"""Summaries of summaries: created if due, rebuilt if what they are based on has changed.

Turns form a tree, and a summary covers turns of one path. A turn is rolled up with others of its own
session, the oldest uncovered ones first: before a covered turn there are only covered turns of the session.
What is based on abandoned turns (see `Turns`) is not rolled up: neither it nor the result would be used.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import groupby
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ragforge.config.schema import MemorySettings
from ragforge.domain import timeouts
from ragforge.domain.cancellation import undisturbed
from ragforge.domain.errors import Conflict
from ragforge.domain.messages import text_of
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import Turn
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Owner
from ragforge.memory.derive.base import Derivation, Desk, Home, Moment
from ragforge.memory.extractive import summary_of
from ragforge.memory.forgotten import read_forgotten
from ragforge.memory.held_answers import drop, held_level, hold_level, level_key
from ragforge.memory.material import Material, redacted_summary
from ragforge.memory.summarise import carried_up, roll_up, roll_up_offline
from ragforge.providers.base import Provider
from ragforge.store.base import Store

log = logging.getLogger(__name__)

KEPT_TURNS = 3
"""The newest turns of a path stay without a summary of level 2: they are sent to the model as they are."""
KEPT_SUMMARIES = 2
CHILDREN_MIN = 2
CHILDREN_MAX = 12
WINDOW = 64
"""How many turns are read at first: of a session with thousands to roll up, each step takes the oldest."""

Children: TypeAlias = tuple[Summary, ...]
"""The summaries to combine into one of the next level, oldest first; empty if nothing is due."""

Make = Callable[[Children], Awaitable[Summary]]
"""Creates one summary of these, not stored yet."""

OUTDATED_AT_ONCE = 20
SESSIONS_LISTED_MAX = 100_000
"""Only ids; a lower limit would hide the newest forever behind those with nothing due."""


class Levels(Derivation):
    """Rolls up the sessions in which something changed, and once after opening those of earlier runs."""

    title = "The summaries of summaries"
    order = 1
    wakes_on = frozenset({Moment.OPENED, Moment.UNDERSTOOD, Moment.SETTLED})

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._listed: set[str] = set()
        self._retried: set[str] = set()
        """Extracts for which the model was asked again in this run: that must not be paid for forever."""
        self._failed: Counter[str] = Counter()
        """How often the model failed to rebuild an outdated one in this run."""
        self._changed: dict[str, dict[str, None]] = {}
        """By project, the sessions in which something may be due, oldest change first."""

    async def understood(self, home: Home, turn: Turn, owners: Sequence[Owner], *, own: bool) -> None:
        """Mark its session: something may be due."""
        self._changed_in(home.project_id, turn.session_id)

    def _changed_in(self, project_id: str, session_id: str) -> None:
        self._changed.setdefault(project_id, {})[session_id] = None

    async def step(self) -> float | None:
        """Do all that is due; again later if a model failed. Raises StoreError."""
        again = False
        for home in list(self.desk.homes.values()):
            if home.settings.memory.enabled:
                await self._list_left_behind(home)
                if not self.desk.improving and await self._redo_outdated(home):
                    again = True
                await self._roll_up(home)
        return self.desk.timing.final_s if again else None

    async def _list_left_behind(self, home: Home) -> None:
        if home.project_id in self._listed:
            return
        limits = home.settings.memory
        found = await home.store.summaries.sessions_to_roll_up(
            min(limits.raw_chars_max, limits.level_chars_max),
            project_id=home.project_id,
            limit=SESSIONS_LISTED_MAX,
        )
        for session_id in found:
            self._changed_in(home.project_id, session_id)
        self._listed.add(home.project_id)

    async def _roll_up(self, home: Home) -> None:
        store, limits = home.store, home.settings.memory

        async def make(children: Children) -> Summary:
            made = await make_level(self.desk, home, children)
            keys.append(level_key(made.covers))
            return made

        waiting = self._changed.setdefault(home.project_id, {})
        for session_id in list(waiting):
            # Removed first: what changes meanwhile is checked again.
            del waiting[session_id]
            keys: list[str] = []
            try:
                await roll_up_session(store, session_id, limits, make)
                await drop(home.local, keys)
            except Conflict as error:
                log.info("Session %s changed while it was rolled up: %s", session_id, error)
            except BaseException:
                waiting[session_id] = None
                raise

    async def _redo_outdated(self, home: Home) -> bool:
        """Rebuild each once, from the lowest level up, so that a change below is rebuilt once per level.

        Return whether the model failed for one that should be retried.
        """
        store, again = home.store, False
        tried: set[str] = set()
        while old := await self._next_to_redo(home, tried):
            tried.add(old.id)
            children = await store.summaries.get(old.covers)
            new = await make_level(self.desk, home, tuple(children)) if children else old
            if new.method is SummaryMethod.EXTRACTIVE and (
                old.method is SummaryMethod.MODEL or old.id in self._retried
            ):
                # It stays as it is until there is a model again.
                self._failed[old.id] += 1
                again = again or (
                    not self.desk.is_offline(home) and self._failed[old.id] < timeouts.ROLL_UP_REDO_TRIES_MAX
                )
                continue
            try:
                await store.summaries.save(replace(new, id=old.id, covers=old.covers))
                await drop(home.local, [level_key(new.covers)])
                self._changed_in(home.project_id, old.session_id)
            except Conflict as error:
                log.info("Summary %s was removed while it was being made again: %s", old.id, error)
        return again

    async def _next_to_redo(self, home: Home, tried: set[str]) -> Summary | None:
        """Return a summary based on something that changed, else an extract that the model should replace."""
        summaries = home.store.summaries
        found = await summaries.outdated(project_id=home.project_id, limit=len(tried) + OUTDATED_AT_ONCE)
        if old := next((summary for summary in found if summary.id not in tried), None):
            return old
        if self.desk.is_offline(home):
            return None
        found = await summaries.upper_stand_ins(project_id=home.project_id, limit=len(self._retried) + 1)
        old = next((summary for summary in found if summary.id not in self._retried), None)
        if old and await self.desk.can_ask(home):
            self._retried.add(old.id)
            return old
        return None


DERIVATION = Levels


async def make_level(desk: Desk, home: Home, children: Children) -> Summary:
    """Return one summary of these, by the model or an extract. Raises StoreError."""
    children = await _without_forgotten(home, children)
    if len(children) == 1:
        return redacted_summary(carried_up(children[0]), home.redactor)

    async def call(provider: Provider) -> tuple[Summary, Usage]:
        made, usage = await roll_up(provider, children)
        # Saved first: whatever fails from here on, it is not paid for again.
        await undisturbed(hold_level(home.local, home.redactor, children, made), cancel_after=True)
        return made, usage

    if kept := await held_level(home.local, children):
        return kept
    # Nothing waits for it, so it can wait for the end of an outage.
    made = await desk.ask(home, call, tries=timeouts.ROLL_UP_TRIES_MAX)
    summary = made or await asyncio.to_thread(roll_up_offline, children)
    return redacted_summary(summary, home.redactor)


async def _without_forgotten(home: Home, children: Children) -> Children:
    """Return them without what is forgotten; the summary of a turn that said it is rebuilt."""
    forgotten = await read_forgotten(home.store, home.project_id)
    cleaned: list[Summary] = []
    for child in children:
        turn = await home.store.turns.get(child.covers[0]) if child.id in forgotten.summaries else None
        if turn is None:
            cleaned.append(forgotten.summary(child))
            continue
        called = await home.store.calls.of_turns([turn.id])
        calls = tuple(forgotten.call(call, session=turn.session_id) for call in called)
        cleaned.append(summary_of(Material(forgotten.turn(turn), home.project_id, calls)))
    return tuple(cleaned)


class Uncovered(Struct, frozen=True):
    """A turn of a path that no summary of level 2 covers."""

    chars: int
    summary: Summary | None
    """Its own of level 1, once it exists."""


def due_over_turns(path: Sequence[Uncovered], limits: MemorySettings) -> Children:
    """Return what of the path, given oldest first, to combine into one summary of level 2.

    Nothing if one of those turns has no summary of its own: it would be skipped.
    """
    older = path[:-KEPT_TURNS]
    if len(older) < max(limits.rollup_min, CHILDREN_MIN):
        return ()
    if sum(turn.chars for turn in older) <= limits.raw_chars_max:
        return ()
    chosen = [turn.summary for turn in older[:CHILDREN_MAX]]
    children = tuple(summary for summary in chosen if summary is not None)
    return children if len(children) == len(chosen) else ()


def due_over_summaries(uncovered: Children, limits: MemorySettings) -> Children:
    """Return which summaries of one level on one path, oldest first, to combine into one of the next."""
    older = uncovered[:-KEPT_SUMMARIES]
    if len(older) < CHILDREN_MIN or sum(len(summary.text) for summary in older) <= limits.level_chars_max:
        return ()
    return older[:CHILDREN_MAX]


def turn_chars(turn: Turn) -> int:
    """Return the length of a turn: what the user said and what was answered."""
    return len(text_of(turn.user)) + len(turn.assistant)


async def roll_up_session(store: Store, session_id: str, limits: MemorySettings, make: Make) -> int:
    """Add summaries until nothing is due in the session, and return how many.

    What another process adds at the same time is not changed. Raises StoreError and what `make` raises.
    """
    added, refused = 0, ()
    while children := await due(store, session_id, limits):
        if children == refused:
            break  # the store knows of a cover that it does not return yet; it is checked again next time
        kept = await store.summaries.roll_up(await make(children))
        added, refused = added + kept, () if kept else children
    return added


async def due(store: Store, session_id: str, limits: MemorySettings) -> Children:
    """Return what to summarise now, of the lowest level with something due. Raises StoreError."""
    uncovered = await store.summaries.of_session(session_id, uncovered=True)
    for level, found in groupby(uncovered, key=lambda summary: summary.level):
        summaries = list(found)
        children = (
            await _due_of_turns(store, session_id, summaries, limits)
            if level == 1
            else await _due_of_summaries(store, summaries, limits)
        )
        if children:
            return children
    return ()


async def newest_turns(store: Store, summaries: Iterable[Summary]) -> dict[str, str]:
    """Return by the id of each summary the newest turn that it covers; if that is on a path, so are all."""
    newest: dict[str, str] = {}
    below = {summary.id: summary for summary in summaries}
    while below:
        newest |= {top: summary.covers[-1] for top, summary in below.items() if summary.level == 1}
        higher = {top: summary for top, summary in below.items() if summary.level > 1}
        covered = await store.summaries.get([summary.covers[-1] for summary in higher.values()])
        by_id = {summary.id: summary for summary in covered}
        below = {top: by_id[each.covers[-1]] for top, each in higher.items() if each.covers[-1] in by_id}
    return newest


async def _due_of_turns(
    store: Store, session_id: str, summaries: Sequence[Summary], limits: MemorySettings
) -> Children:
    own = {summary.covers[-1]: summary for summary in summaries}
    abandoned = await store.turns.abandoned(list(own))
    stand = [turn_id for turn_id in own if turn_id not in abandoned]
    size = WINDOW
    while stand:
        children = await _due_below(store, session_id, stand[:size], own, limits)
        if children or size >= len(stand):
            return children
        size *= 4
    return ()


async def _due_below(
    store: Store, session_id: str, turn_ids: Sequence[str], own: dict[str, Summary], limits: MemorySettings
) -> Children:
    """Return what is due on the paths to these turns, the longest path first."""
    rest = sorted(await store.turns.read(turn_ids), key=lambda turn: (turn.index, turn.id))
    while rest:
        tip = rest[-1]
        turns = await _uncovered_turns(store, session_id, tip, rest[0].index, own)
        path = [Uncovered(turn_chars(turn), own.get(turn.id)) for turn in turns]
        if children := due_over_turns(path, limits):
            return children
        seen = {tip.id, *(turn.id for turn in turns)}
        rest = [turn for turn in rest if turn.id not in seen]
    return ()


async def _uncovered_turns(
    store: Store, session_id: str, tip: Turn, oldest: int, own: dict[str, Summary]
) -> list[Turn]:
    """Return the session's turns on the path to `tip` that no summary of level 2 covers, oldest first.

    oldest: the index of the oldest with a summary of its own; those before it that have none belong to it.
    """
    count = tip.index - oldest + 2
    while True:
        path = await store.turns.path(tip.id, limit=count)
        mine = [turn for turn in path if turn.session_id == session_id]
        covering = await store.summaries.covering([turn.id for turn in mine if turn.id not in own])
        covered = {turn_id for turn_id, over in covering.items() if any(each.level > 1 for each in over)}
        uncovered = [turn for turn in mine if turn.id not in covered]
        reached_start = len(path) < count or path[0] not in uncovered
        if reached_start:
            return uncovered
        count *= 2


async def _due_of_summaries(store: Store, summaries: Sequence[Summary], limits: MemorySettings) -> Children:
    newest = await newest_turns(store, summaries)
    abandoned = await store.turns.abandoned(list(newest.values()))
    stand = {top: turn_id for top, turn_id in newest.items() if turn_id not in abandoned}
    turns = {turn.id: turn for turn in await store.turns.read(list(dict.fromkeys(stand.values())))}
    places = [(turns[stand[each.id]], each) for each in summaries if stand.get(each.id) in turns]
    places.sort(key=lambda place: (place[0].index, place[0].id))
    rest = places
    while rest:
        tip = rest[-1][0]
        above = await store.turns.path(tip.id, limit=tip.index - places[0][0].index + 1)
        path = {tip.id, *(turn.id for turn in above)}
        on_path = tuple(summary for turn, summary in places if turn.id in path)
        if children := due_over_summaries(on_path, limits):
            return children
        rest = [(turn, summary) for turn, summary in rest if turn.id not in path]
    return ()
