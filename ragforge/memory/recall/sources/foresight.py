"""Facts about the previous turn that did not go as foreseen, if the message continues it.

Only what no message of the conversation says: that foreseen files did not change, or that tests are older
than a change. The output of a check is in the window already.
"""

import asyncio
from functools import partial

from msgspec import Struct

from ragforge.domain.context import Recalled
from ragforge.domain.foresight import Foresight
from ragforge.domain.go_ahead import goes_ahead
from ragforge.domain.search import HitKind
from ragforge.domain.turns import Person, Turn
from ragforge.memory.foresight_mark import Mark, MarkReason, facts_of, failing_after, marks_of
from ragforge.memory.foresight_records import is_theirs, read_foresight
from ragforge.memory.recall.source import Above, ContextSource, Finding, Lookup, Section, nothing
from ragforge.store.base import Store

SECTION = Section("Foresight", share=0.1, place=2, tokens_max=100)
UNSAID = frozenset({MarkReason.FILES, MarkReason.TESTS_OLD})


class _Before(Struct, frozen=True):
    """The turn before the message. about: texts that describe its task."""

    turn: Turn
    marks: tuple[Mark, ...]
    about: tuple[str, ...]


async def _look(lookup: Lookup) -> Finding:
    around = lookup.request.around
    read = partial(_read, lookup.recall.store, around.project_id, around.person, around.before)
    before = await lookup.attempt(read, None) if around.before else None
    if before is None or not UNSAID.intersection(mark.reason for mark in before.marks):
        return Finding(nothing)

    async def items(above: Above) -> list[Recalled]:
        return [_item(before)] if await _goes_on(lookup, before) else []

    return Finding(items)


async def _read(store: Store, project_id: str, person: str, turn_id: str) -> _Before | None:
    """Return the turn with its marks; None if it is somebody else's. Raises StoreError."""
    rows = await read_foresight(store, project_id, turn_id, person=Person(person), limit=2)
    if len(rows) < 2 or not is_theirs(rows[-1].turn, Person(person)):
        return None
    earlier, last = rows
    calls, versions = await asyncio.gather(
        store.calls.of_turns([earlier.turn.id, last.turn.id]), store.versions.of_turns([last.turn.id])
    )
    facts = facts_of(
        last.turn,
        earlier.made,
        [call for call in calls if call.turn_id == last.turn.id],
        versions,
        failing_after(call for call in calls if call.turn_id == earlier.turn.id),
    )
    made = last.made or Foresight()
    about = (facts.said, made.individual_before_description, made.individual_after_prediction)
    return _Before(last.turn, tuple(marks_of(facts)), about)


async def _goes_on(lookup: Lookup, before: _Before) -> bool:
    """Whether the message is about the task of that turn."""
    if goes_ahead(lookup.request.text):
        return True
    fit = await lookup.fit()
    return any(each.fits for each in await fit.measure([each for each in before.about if each]))


def _item(before: _Before) -> Recalled:
    turn = before.turn
    return Recalled(
        SECTION.heading,
        HitKind.TURN,
        turn.id,
        f"Of the turn before: {'; '.join(mark.words for mark in before.marks)}.",
        0,
        "it did not go as foreseen",
        turn.started_at,
        turn.session_id,
        turn.id,
    )


SOURCE = ContextSource((SECTION,), order=3, look=_look)
