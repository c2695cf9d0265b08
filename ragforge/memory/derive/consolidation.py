"""Consolidate sessions that are archived, or unchanged for a week: one summary of the whole of each, above
its levels.

Its summaries are rolled up, level by level, until one is left, and the session is read again as a whole. The
record that names the summary is written last, so interrupted work is continued; a session that continues and
is archived again gets another.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic

from msgspec import Struct

from ragforge.domain.derivations import (
    Derived,
    DerivedFilter,
    DerivedKind,
    DerivedOwner,
    Underived,
    UnderivedFilter,
)
from ragforge.domain.errors import Conflict
from ragforge.domain.ids import now
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Turn
from ragforge.domain.vectors import Owner
from ragforge.memory.derive.base import Desk, Home, Moment
from ragforge.memory.derive.levels import CHILDREN_MAX, Children, make_level, newest_turns, turn_chars
from ragforge.memory.derive.records import RecordDerivation
from ragforge.memory.derive.session_review import batches, own_turns, read_session_again
from ragforge.memory.derive.strategies import renew_strategies
from ragforge.memory.held_answers import drop, drop_reviews, level_key
from ragforge.store.base import Store

log = logging.getLogger(__name__)


class SessionDigest(Struct, frozen=True):
    """The result of consolidating a session."""

    summary: str
    """The id of the summary of the whole session; empty if nothing was said."""
    turns: int
    """The number of its own turns."""


KIND = DerivedKind("SessionDigest", SessionDigest, owner=DerivedOwner.SESSION)


UNTOUCHED_FOR = timedelta(days=7)
TENDED_AGAIN_S = 86_400.0


class Consolidation(RecordDerivation):
    """Consolidates such sessions of the open projects, once their turns have summaries."""

    title = "The consolidation of sessions"
    order = 2
    kind = KIND
    wakes_on = frozenset({Moment.OPENED, Moment.UNDERSTOOD, Moment.SETTLED, Moment.WRITTEN})

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.tends = True
        """Whether it also looks for unchanged sessions."""
        self._tended: dict[str, float] = {}
        """By project, when nothing was left to consolidate, by `time.monotonic`."""

    async def lacking(self, home: Home, limit: int) -> list[Underived]:
        """List the archived sessions first; then, once a day, those that are long unchanged."""
        wanted = UnderivedFilter(KIND, project_id=home.project_id, archived=True, limit=limit)
        archived = await home.store.derivations.lacking(wanted)
        if not self.tends or any(source not in self._passed for source in archived):
            return archived
        return [*archived, *await self.tend_the_garden(home, limit)]

    async def tend_the_garden(self, home: Home, limit: int) -> list[Underived]:
        """List the sessions that are unchanged for a week; once a day, because all sessions are checked."""
        moment, last = monotonic(), self._tended.get(home.project_id)
        if last is not None and moment - last < TENDED_AGAIN_S:
            return []
        wanted = UnderivedFilter(
            KIND, project_id=home.project_id, untouched_since=now() - UNTOUCHED_FOR, limit=limit
        )
        found = await home.store.derivations.lacking(wanted)
        if all(source in self._passed for source in found):
            self._tended[home.project_id] = moment
        return found

    async def understood(self, home: Home, turn: Turn, owners: Sequence[Owner], *, own: bool) -> None:
        """Look at the turn's session again, which may have waited for it."""
        self.look_again(turn.session_id)
        if not own:
            self._tended.pop(home.project_id, None)

    async def make(self, home: Home, source: Underived) -> list[Derived]:
        """Return the record; none while a turn lacks its summary. Raises StoreError."""
        session = await home.store.sessions.get(source.owner)
        if session is None:
            return []
        contents = await read_contents(home.store, session.id, session.head)
        if contents.lacking:
            return []
        refused: Children = ()
        while len(contents.tops) > 1 and (due := due_whole(contents.tops)) != refused:
            made = await make_level(self.desk, home, due)
            kept = await _roll_up(home.store, made)
            await drop(home.local, [level_key(made.covers)])
            # If it was not stored, another process may just have done the same.
            refused = () if kept else due
            contents = await read_contents(home.store, session.id, session.head)
            self.desk.wake(Moment.WRITTEN)  # it needs a vector
        if len(contents.tops) > 1:
            return []
        if await read_session_again(self.desk, home, session):
            self.desk.wake(Moment.WRITTEN)
        top = contents.tops[0] if contents.tops else None
        person = home.person.id
        await renew_strategies(home.recall, home.redactor, home.project_id, person=person)
        digest = SessionDigest(top.id if top else "", contents.turns)
        return [KIND.record(source, digest, model=top.model if top else "")]

    async def _keep(self, home: Home, source: Underived) -> None:
        await super()._keep(home, source)
        await drop_reviews(home.local, source.owner)  # without the record it would have been read again


DERIVATION = Consolidation


class Contents(Struct, frozen=True):
    """What a session contains that is to be consolidated."""

    turns: int
    """The number of its own turns on the path to its head."""
    again_chars: tuple[int, ...]
    """The length of the text for each of the calls that read it again."""
    lacking: tuple[Turn, ...]
    """Its turns without a summary."""
    tops: tuple[Summary, ...]
    """The summaries of the other turns that no other summary covers, by level, oldest first."""


SESSIONS_MAX = 100_000


async def lacking_digests(store: Store, project_id: str | None) -> list[Contents]:
    """Return the contents of the archived sessions to consolidate; None for every project's.

    Raises StoreError.
    """
    wanted = UnderivedFilter(KIND, project_id=project_id, archived=True, limit=SESSIONS_MAX)
    found = [await store.sessions.get(each.owner) for each in await store.derivations.lacking(wanted)]
    return [await read_contents(store, each.id, each.head) for each in found if each]


async def count_archived(store: Store) -> tuple[int, int]:
    """Return how many sessions are archived, and how many of them are not consolidated. Raises StoreError."""
    wanted = UnderivedFilter(KIND, archived=True, limit=SESSIONS_MAX)
    archived = await store.sessions.recent(archived=True, limit=SESSIONS_MAX)
    return len(archived), len(await store.derivations.lacking(wanted))


async def read_contents(store: Store, session_id: str, head: str | None) -> Contents:
    """Return the session's contents. Raises StoreError."""
    own = await own_turns(store, session_id, head)
    ids = {turn.id for turn in own}
    covering = await store.summaries.covering([turn.id for turn in own])
    lacking = [turn for turn in own if turn.ended_at is not None and not covering.get(turn.id)]
    uncovered = await store.summaries.of_session(session_id, uncovered=True)
    newest = await newest_turns(store, uncovered)
    tops = [summary for summary in uncovered if newest.get(summary.id) in ids]
    again = tuple(sum(map(turn_chars, batch)) for batch in batches(own))
    return Contents(len(own), again, tuple(lacking), tuple(tops))


def due_whole(tops: Sequence[Summary]) -> Children:
    """Return what to summarise next: some summaries of the lowest level, so that in the end one is left."""
    lowest = [summary for summary in tops if summary.level == tops[0].level]
    return tuple(lowest[:CHILDREN_MAX])


async def _roll_up(store: Store, summary: Summary) -> bool:
    """Store the summary; return whether that succeeded."""
    try:
        return await store.summaries.roll_up(summary)
    except Conflict as error:
        log.info("Session %s changed while it was consolidated: %s", summary.session_id, error)
        return False


class Estimate(Struct, frozen=True):
    """What consolidating sessions costs in model calls."""

    calls: int = 0
    chars: int = 0
    """The length of the text in the requests."""


PROMPT_CHARS = 6_000
"""The approximate length of the instructions and of what is shown with a turn."""
SUMMARY_CHARS = 800
"""The approximate length of a summary that does not exist yet."""


def estimate(contents: Contents) -> Estimate:
    """Return what consolidating the session costs: a call for each turn without a summary, those for the
    levels above, and those that read it again."""
    calls = len(contents.lacking) + len(contents.again_chars)
    chars = sum(contents.again_chars) + len(contents.again_chars) * PROMPT_CHARS
    chars += sum(turn_chars(turn) + PROMPT_CHARS for turn in contents.lacking)
    counts: dict[int, int] = {1: len(contents.lacking)}
    for summary in contents.tops:
        counts[summary.level] = counts.get(summary.level, 0) + 1
    while sum(counts.values()) > 1:
        level = min(level for level, count in counts.items() if count)
        taken = min(counts[level], CHILDREN_MAX)
        counts[level] -= taken
        counts[level + 1] = counts.get(level + 1, 0) + 1
        if taken > 1:
            calls += 1
            chars += taken * SUMMARY_CHARS + PROMPT_CHARS
    return Estimate(calls, chars)


async def read_summaries(store: Store, session_ids: Sequence[str]) -> dict[str, Summary]:
    """Return the summaries of whole consolidated sessions, by session. Raises StoreError."""
    if not session_ids:
        return {}
    wanted = DerivedFilter(KIND.label, owners=tuple(session_ids), limit=len(session_ids))
    summary_of: dict[str, str] = {}
    for record in await store.derivations.find(wanted):
        if record.hash == KIND.hash and (digest := KIND.read(record)) is not None:
            summary_of[record.owner] = digest.summary
    found = {each.id: each for each in await store.summaries.get([*filter(None, summary_of.values())])}
    return {session: found[each] for session, each in summary_of.items() if each in found}
