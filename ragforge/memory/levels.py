"""Which summaries of summaries are due. The rules are pure; below them is what asks a store.

Turns form a tree, and a summary stands for turns of one path. A turn is rolled up with others of its own
session, the oldest that nothing covers first: before what is covered lie only covered turns of the session.
What rests on left turns (see `Turns`) is not rolled up: it does not serve, nor would what is built on it.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import groupby
from typing import TypeAlias

from msgspec import Struct

from ragforge.config.schema import MemorySettings
from ragforge.domain.messages import text_of
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Turn
from ragforge.store.base import Store

KEPT_TURNS = 3
"""The newest turns of a path stay without a summary of level 2: they go to the model as they are."""
KEPT_SUMMARIES = 2
CHILDREN_MIN = 2
CHILDREN_MAX = 12
WINDOW = 64
"""So many turns are looked at first: where a session has thousands to roll up, each step takes the oldest."""

Children: TypeAlias = tuple[Summary, ...]
"""What becomes one summary of the next level, oldest first; empty where nothing is due."""

Make = Callable[[Children], Awaitable[Summary]]
"""One summary over these, not stored yet."""


class Uncovered(Struct, frozen=True):
    """A turn of a path that no summary of level 2 stands for."""

    chars: int
    summary: Summary | None
    """Its own of level 1, as soon as there is one."""


def due_over_turns(path: Sequence[Uncovered], limits: MemorySettings) -> Children:
    """What of the path, given oldest first, is to become one summary of level 2.

    Nothing while one of those turns has no summary of its own: it would be passed over.
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
    """What of the summaries of one level on one path, given oldest first, is to become one of the next."""
    older = uncovered[:-KEPT_SUMMARIES]
    if len(older) < CHILDREN_MIN or sum(len(summary.text) for summary in older) <= limits.level_chars_max:
        return ()
    return older[:CHILDREN_MAX]


def turn_chars(turn: Turn) -> int:
    """How much a turn counts: what the person said and what was answered."""
    return len(text_of(turn.user)) + len(turn.assistant)


async def roll_up_session(store: Store, session_id: str, limits: MemorySettings, make: Make) -> int:
    """How many summaries were added until nothing was due in the session.

    What another process adds at the same moment is left as it is. Raises StoreError and whatever `make` does.
    """
    added, refused = 0, ()
    while children := await due(store, session_id, limits):
        if children == refused:
            break  # the store knows of a cover that it does not tell yet; it is looked at again next time
        kept = await store.summaries.roll_up(await make(children))
        added, refused = added + kept, () if kept else children
    return added


async def due(store: Store, session_id: str, limits: MemorySettings) -> Children:
    """What is to become one summary now, of the lowest level where something is. Raises StoreError."""
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


async def standing(store: Store, summaries: Sequence[Summary]) -> list[Summary]:
    """Those that serve: none of their turns is left. Raises StoreError."""
    newest = await newest_turns(store, summaries)
    left = await store.turns.left(list(dict.fromkeys(newest.values())))
    return [summary for summary in summaries if summary.id in newest and newest[summary.id] not in left]


async def newest_turns(store: Store, summaries: Iterable[Summary]) -> dict[str, str]:
    """For each summary, by its id, the newest turn that it stands for; if that is on a path, so are all."""
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
    left = await store.turns.left(list(own))
    stand = [turn_id for turn_id in own if turn_id not in left]
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
    """What is due on the paths to these turns, the longest path first."""
    found = [await store.turns.get(turn_id) for turn_id in turn_ids]
    rest = sorted((turn for turn in found if turn is not None), key=lambda turn: (turn.index, turn.id))
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
    """The session's turns on the path to `tip` that no summary of level 2 stands for, oldest first.

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
    left = await store.turns.left(list(newest.values()))
    places: list[tuple[Turn, Summary]] = []
    for summary in summaries:
        turn_id = newest.get(summary.id)
        turn = await store.turns.get(turn_id) if turn_id and turn_id not in left else None
        if turn is not None:
            places.append((turn, summary))
    places.sort(key=lambda place: (place[0].index, place[0].id))
    rest = places
    while rest:
        tip = rest[-1][0]
        turns = await store.turns.path(tip.id, limit=tip.index - places[0][0].index + 1)
        path = {tip.id, *(turn.id for turn in turns)}
        on_path = tuple(summary for turn, summary in places if turn.id in path)
        if children := due_over_summaries(on_path, limits):
            return children
        rest = [(turn, summary) for turn, summary in rest if turn.id not in path]
    return ()
