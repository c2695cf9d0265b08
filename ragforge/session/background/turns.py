"""What a turn that ended comes to, and keeping it."""

import asyncio
import logging
from collections.abc import Sequence

from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import AnswerUnusable, Conflict, ModelError, StoreError, UsageError
from ragforge.domain.memories import Memory
from ragforge.domain.messages import text_of
from ragforge.domain.search import HitKind, Query
from ragforge.domain.turns import ToolCall, Turn, TurnStatus
from ragforge.domain.vectors import Owner, OwnerKind
from ragforge.memory.derive.vectors import ANSWER_CHARS_MAX, USER_CHARS_MAX
from ragforge.memory.forgotten import read_forgotten
from ragforge.memory.material import redacted
from ragforge.memory.memories import associate, remember
from ragforge.memory.part import find_parts
from ragforge.memory.recall.search import search
from ragforge.memory.summarise import Material, Understanding, completed, understand, understand_offline
from ragforge.providers.base import Provider
from ragforge.session.background.model import Ready, Thinker
from ragforge.session.state import Session

log = logging.getLogger(__name__)

NEAR_MAX = 8
NEAR_ASKED = 16
"""More than are told of, because what is replaced or forgotten is found too."""
UNREADABLE = AnswerUnusable("What the model answered could not be read as the summary of a turn.")


def came_to_nothing(turn: Turn, calls: Sequence[ToolCall]) -> bool:
    """Whether it ended before the model said or did anything: its words went back to the prompt, and there is
    nothing in it for a model to understand."""
    ended_early = turn.status in (TurnStatus.INTERRUPTED, TurnStatus.FAILED)
    return ended_early and not turn.assistant.strip() and not calls


async def material_of(session: Session, turn: Turn) -> Material:
    """The turn with what is needed to understand it. Raises StoreError."""
    store, project_id = session.workspace.store, session.workspace.project.id
    forgotten = await read_forgotten(store, project_id)
    turn = await asyncio.to_thread(forgotten.turn, turn)
    calls = [forgotten.call(call) for call in await store.calls.of_turns([turn.id])]
    near = () if came_to_nothing(turn, calls) else await near_memories(session, turn)
    # What the model wrote is kept as it is, and an earlier version knew fewer kinds of secrets.
    clean = session.workspace.redactor
    shown = replace(turn, user=clean.parts(turn.user), assistant=clean.text(turn.assistant))
    return Material(shown, project_id, tuple(calls), near)


async def near_memories(session: Session, turn: Turn) -> tuple[Memory, ...]:
    """Memories that speak of what the turn does and still hold, nearest first; none where search fails."""
    said = f"{text_of(turn.user)[:USER_CHARS_MAX]}\n{turn.assistant[:ANSWER_CHARS_MAX]}"
    workspace = session.workspace
    query = Query(said, project_id=workspace.project.id, kinds=(HitKind.MEMORY,), limit=NEAR_ASKED)
    try:
        hits = (await search(workspace.recall, query)).hits
        ids = [hit.id for hit in hits if not hit.replaced and not hit.left]
        found = await workspace.store.memories.get(ids)
    except StoreError as error:
        log.warning("What is near to turn %s cannot be told: %s", turn.id, error)
        return ()
    # What this turn said itself, in an earlier try, is nothing to compare it with.
    others = [each for each in found if each.forgotten_at is None and each.turns != (turn.id,)]
    return tuple(others[:NEAR_MAX])


async def understand_turns(
    thinker: Thinker, session: Session, materials: Sequence[Material], *, patient: bool
) -> dict[str, Understanding]:
    """What each of the turns comes to: by one call of the model for all, else by what stands in for it.

    Those that are missing in the answer are asked for once more. Raises StoreError, and TakenBack.
    """
    found: dict[str, Understanding] = {}
    for _ in range(timeouts.SUMMARY_TRIES_MAX):
        missing = [
            each
            for each in materials
            if each.turn.id not in found and not came_to_nothing(each.turn, each.calls)
        ]
        ready = await thinker.ready(session, patient=patient) if missing else None
        if ready is None:
            break

        async def call(
            provider: Provider, ready: Ready = ready, wanted: Sequence[Material] = missing
        ) -> None:
            answer = await understand(provider, wanted)
            # First of all, so that it is known however this goes on.
            await thinker.pay(ready, answer.usage)
            turns = {each.turn.id: each for each in wanted}
            for turn_id, one in answer.of_turns.items():
                found[turn_id] = await asyncio.to_thread(completed, one, turns[turn_id])

        try:
            await thinker.ask(ready, call)
        except ModelError as error:
            thinker.failed(ready.name, error)
            continue
        if any(each.turn.id in found for each in missing):
            thinker.worked()
        else:
            thinker.failed(ready.name, UNREADABLE)
    for each in materials:
        if each.turn.id not in found:
            found[each.turn.id] = await asyncio.to_thread(_offline, each)
    return found


async def keep(session: Session, understanding: Understanding) -> list[Owner]:
    """Store what a turn came to; what needs a vector now. Doing it again changes nothing. Raises StoreError.

    The summary goes last: it takes the turn off the list of what is to do, so a crash before it repeats all.
    """
    safe = redacted(understanding, session.workspace.redactor)
    store = session.workspace.store
    kept: list[Owner] = []
    for memory in safe.memories:
        try:
            kept.append(Owner(OwnerKind.MEMORY, (await remember(store, memory)).id))
        except (UsageError, Conflict) as error:
            log.warning("A memory of turn %s is not kept: %s", safe.summary.covers[0], error)
    try:
        if safe.associations:
            await associate(store, safe.associations)
    except Conflict as error:
        log.warning("How memories of turn %s stand is not kept: %s", safe.summary.covers[0], error)
    for part in find_parts():
        if (value := safe.more.get(part.name)) is not None:
            await part.keep(store, session.workspace.redactor, safe.summary, value)
    try:
        await store.summaries.save(safe.summary)
    except Conflict as error:
        log.info("Turn %s was deleted while it was summarised: %s", safe.summary.covers[0], error)
        return kept
    turns = [Owner(OwnerKind.TURN, turn_id) for turn_id in safe.summary.covers]
    return [*turns, Owner(OwnerKind.SUMMARY, safe.summary.id), *kept]


def _offline(material: Material) -> Understanding:
    found = understand_offline(material)
    if came_to_nothing(material.turn, material.calls):
        # The user took the words back, most often to say it otherwise: they are found, and hold nothing.
        return Understanding(found.summary)
    return found
