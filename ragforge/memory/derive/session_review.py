"""Read a session again as a whole, for preferences and decisions that its turns do not show one by one."""

import asyncio
import logging
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.cancellation import undisturbed
from ragforge.domain.memories import Memory, MemoryType
from ragforge.domain.sub_agents import is_task
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.domain.usage import Usage
from ragforge.memory.derive.base import Desk, Home
from ragforge.memory.derive.later_statements import with_later
from ragforge.memory.derive.levels import turn_chars
from ragforge.memory.derive.turn_material import material_of, says_nothing
from ragforge.memory.derive.turn_memories import keep_memories
from ragforge.memory.excerpts import KNOWN_MAX
from ragforge.memory.extract import memories_in
from ragforge.memory.extractive import summary_of
from ragforge.memory.held_answers import held_review, hold_review
from ragforge.memory.material import Material, Understanding, redacted
from ragforge.memory.summarise import read_again
from ragforge.providers.base import Provider
from ragforge.store.base import Store

log = logging.getLogger(__name__)

TYPES = frozenset({MemoryType.PREFERENCE, MemoryType.DECISION})
TURNS_MIN = 2
"""A single turn shows nothing more when it is read again."""
TURNS_A_CALL = 20
CHARS_A_CALL = 48_000


def batches(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Yield the turns to read in one call each; none for a session that is not read again."""
    if len(turns) < TURNS_MIN:
        return
    batch: list[Turn] = []
    for turn in turns:
        if batch and (len(batch) >= TURNS_A_CALL or sum(map(turn_chars, [*batch, turn])) > CHARS_A_CALL):
            yield batch
            batch = []
        batch.append(turn)
    yield batch


async def own_turns(store: Store, session_id: str, head: str | None) -> list[Turn]:
    """Return the session's own turns on the path to its head. Raises StoreError."""
    return [turn for turn in await store.turns.path(head) if turn.session_id == session_id]


async def read_session_again(desk: Desk, home: Home, session: ConversationSession) -> int:
    """Store the memories of these types from the session; return how many are new.

    Idempotent. Raises StoreError, and what `Desk.ask` does.
    """
    turns = await own_turns(home.store, session.id, session.head)
    added = 0
    for batch in batches(turns):
        known = await _known(home, turns)
        materials = [
            await material_of(home, turn, speaker=turn.person or session.begun_by(home.person), known=known)
            for turn in batch
        ]
        materials = [
            each for each in materials if not (says_nothing(each.turn, each.calls) or is_task(each.turn.user))
        ]
        of_turn = {each.turn.id: each for each in materials}
        for understanding in await _read(desk, home, materials):
            new = await _without_known(home, redacted(_of_types(understanding), home.redactor))
            said_in = of_turn[new.summary.covers[0]]
            new = await with_later(home, said_in.turn, new, speaker=said_in.speaker)
            if new.memories or new.associations:
                added += len((await keep_memories(home.store, new))[1])
    if added:
        log.info("Session %s read again has %d memories more", session.id, added)
    return added


async def _known(home: Home, turns: Sequence[Turn]) -> list[Memory]:
    """Return the stored and valid memories of the session, the newest for which a call has room."""
    found = await home.store.memories.of_turns([turn.id for turn in turns])
    return [each for each in found if each.type in TYPES and each.forgotten_at is None and not each.replaced][
        -KNOWN_MAX:
    ]


async def _read(desk: Desk, home: Home, materials: Sequence[Material]) -> list[Understanding]:
    """Return the model's result for all together, or that of rules for each if no model can be called."""
    if not materials:
        return []
    turns = [each.turn for each in materials]

    async def call(provider: Provider) -> tuple[list[Understanding], Usage]:
        answer = await read_again(provider, materials)
        found = list(answer.of_turns.values())
        # Saved first: whatever fails from here on, it is not paid for again.
        await undisturbed(hold_review(home.local, home.redactor, turns, found), cancel_after=True)
        return found, answer.usage

    if (kept := await held_review(home.local, turns)) is not None:
        return kept
    told = await desk.ask(home, call, tries=timeouts.ROLL_UP_TRIES_MAX)
    return await asyncio.to_thread(_by_rules, materials) if told is None else told


def _by_rules(materials: Sequence[Material]) -> list[Understanding]:
    return [Understanding(summary_of(each), *memories_in(each)) for each in materials]


def _of_types(found: Understanding) -> Understanding:
    memories = tuple(each for each in found.memories if each.type in TYPES)
    ids = {each.id for each in memories}
    links = tuple(link for link in found.associations if link.from_id in ids)
    return replace(found, memories=memories, associations=links)


async def _without_known(home: Home, found: Understanding) -> Understanding:
    """Return it without memories that are already based on this turn, and without stored links."""
    ids = [each.id for each in found.memories]
    rests_on = {each.id: {*each.turns} for each in await home.store.memories.get(ids)}
    kept = await home.store.memories.associations(ids)
    links = {(link.kind, link.from_id, link.to_id) for link in kept}
    return replace(
        found,
        memories=tuple(each for each in found.memories if not {*each.turns} <= rests_on.get(each.id, set())),
        associations=tuple(
            link for link in found.associations if (link.kind, link.from_id, link.to_id) not in links
        ),
    )
