"""What is needed to understand a turn: its calls, what is known about its subject, and what it corrects."""

import asyncio
import logging
from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from ragforge.domain.errors import StoreError
from ragforge.domain.memories import Memory, MemoryFilter, MemoryType
from ragforge.domain.messages import text_of
from ragforge.domain.search import Hit, HitKind, Query
from ragforge.domain.turns import ToolCall, Turn, TurnStatus
from ragforge.domain.usage import NO_MODEL, Purpose
from ragforge.domain.versions import USER
from ragforge.memory.corrections import Correction, CorrectionKind, edited, reasons, undone_before
from ragforge.memory.derive.base import Home
from ragforge.memory.derive.vectors import ANSWER_CHARS_MAX, USER_CHARS_MAX
from ragforge.memory.forgotten import Forgotten, read_forgotten
from ragforge.memory.material import Material, answer_of
from ragforge.memory.part import inputs_of
from ragforge.memory.recall.search import search
from ragforge.memory.recall.validity import changed_words, may_replace
from ragforge.memory.replacement import ended_by
from ragforge.memory.statements import said_by
from ragforge.memory.terms import about
from ragforge.memory.wishes import may_end

T = TypeVar("T")
log = logging.getLogger(__name__)

NEAR_MAX = 8
NEAR_ASKED = 16
"""More than are shown, because replaced and forgotten memories are found too."""
PREFERENCES_MAX = 200
"""How many are compared with a sentence that ends one."""
INSTRUCTIONS_MAX = 12
"""How many of them are compared by their turns if the message may change something."""
MOVES_MAX = 20
"""How many of a session's last moves are searched for an undo just before a turn."""


def says_nothing(turn: Turn, calls: Sequence[ToolCall]) -> bool:
    """Return whether a turn contains nothing to understand: it ended before the model said or did anything
    (its words were returned to the prompt), or it is a tool call of a program."""
    ended_early = turn.status in (TurnStatus.INTERRUPTED, TurnStatus.FAILED)
    is_tool_of_program = turn.purpose is Purpose.PROGRAM and turn.model == NO_MODEL
    return is_tool_of_program or (ended_early and not turn.assistant.strip() and not calls)


async def material_of(
    home: Home, turn: Turn, *, speaker: str, known: Sequence[Memory] | None = None
) -> Material:
    """Return the turn with what is needed to understand it. Raises StoreError.

    speaker: who wrote it. known: the memories to compare it with; None to search for near ones, and for what
    the parts of the structured call need.
    """
    forgotten, found = await asyncio.gather(
        read_forgotten(home.store, home.project_id), home.store.calls.of_turns([turn.id])
    )
    turn = await asyncio.to_thread(forgotten.turn, turn)
    calls = [forgotten.call(call, session=turn.session_id) for call in found]
    shown = await shown_turn(home, turn, forgotten)
    is_alone = known is not None or says_nothing(turn, calls)
    # All in parallel: a remote store takes as long for one as for all.
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
    """Return the turn as a model may see it: without forgotten statements and secrets."""
    turn = await asyncio.to_thread(forgotten.turn, turn)
    # The model's words are stored as they are, and earlier versions knew fewer kinds of secrets.
    clean = home.redactor
    return replace(turn, user=clean.parts(turn.user), assistant=clean.text(turn.assistant))


async def corrections_of(
    home: Home, turn: Turn, calls: Sequence[ToolCall], forgotten: Forgotten
) -> list[Correction]:
    """Return what the user corrected in the turn or by it; what the store cannot provide is left out."""
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
        log.warning("Cannot read what turn %s corrects: %s", turn.id, error)
    return [replace(each, text=forgotten.cut(each.text), of=forgotten.cut(each.of)) for each in found]


async def near_memories(home: Home, turn: Turn, *, speaker: str) -> tuple[Memory, ...]:
    """Return valid memories about the turn's subject, nearest first, and preferences that its words end.

    Personal memories only if they are the speaker's. Empty if the search fails.
    """
    try:
        hits = await _near(home, turn, HitKind.MEMORY, speaker)
        ids = [hit.id for hit in hits if not hit.replaced and not hit.abandoned]
        found = await home.store.memories.get(ids)
        ended = await _ended_preferences(home, text_of(turn.user), speaker)
    except StoreError as error:
        log.warning("Cannot search memories for turn %s: %s", turn.id, error)
        return ()
    # A turn is not compared with its own memories of an earlier attempt.
    others = [each for each in found if each.forgotten_at is None and each.turns != (turn.id,)]
    near = {each.id: each for each in (*others[:NEAR_MAX], *ended)}
    return tuple(near.values())


async def turns_near(home: Home, turn: Turn, *, speaker: str) -> tuple[Turn, ...]:
    """Return earlier turns about the turn's subject, nearest first, and those with instructions about it.

    Empty if the search fails, and if nothing in the turn could replace what they say.
    """
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
        log.warning("Cannot search turns for turn %s: %s", turn.id, error)
        return ()
    return tuple(each for each in found if each.started_at < turn.started_at)


async def _near(home: Home, turn: Turn, kind: HitKind, speaker: str = "") -> list[Hit]:
    """Search the project for what the turn says. Raises StoreError."""
    said = f"{text_of(turn.user)[:USER_CHARS_MAX]}\n{turn.assistant[:ANSWER_CHARS_MAX]}"
    return await _asked(home, said, kind, speaker)


async def _asked(home: Home, text: str, kind: HitKind, speaker: str = "") -> list[Hit]:
    query = Query(text, project_id=home.project_id, person=speaker, kinds=(kind,), limit=NEAR_ASKED)
    return (await search(home.recall, query)).hits


async def _ended_preferences(home: Home, message: str, speaker: str) -> list[Memory]:
    """Return valid preferences that a sentence of the message ends. Raises StoreError.

    All are compared, not only near ones: every model receives them, and few words may end them.
    """
    ending = [words for _, words in said_by(message) if may_end(words)]
    if not ending:
        return []
    known = await _preferences(home, speaker)
    found = (ended_by(words, known) for words in ending)
    return [each for each in found if each is not None]


async def _instructed(home: Home, message: str, speaker: str) -> list[str]:
    """Return the turns of the valid preferences that share most words with the message. Raises StoreError.

    A message may end one in passing, while a search for the whole message finds others.
    """
    said = about(message[:USER_CHARS_MAX])
    shared = [(len(said & about(each.content)), each) for each in await _preferences(home, speaker)]
    nearest = sorted((each for each in shared if each[0]), key=lambda each: each[0], reverse=True)
    return [turn for _, each in nearest[:INSTRUCTIONS_MAX] for turn in each.turns]


async def _preferences(home: Home, speaker: str) -> Sequence[Memory]:
    """Return the preferences that are valid here. Raises StoreError."""
    here = MemoryFilter(
        project_id=home.project_id,
        session_id=home.session_id,
        person=speaker,
        types=(MemoryType.PREFERENCE,),
        limit=PREFERENCES_MAX,
    )
    return await home.store.memories.find(here)
