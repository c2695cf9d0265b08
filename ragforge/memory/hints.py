"""Choose hints that are relevant to the current work, by a score, without a model."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from msgspec import Struct

from ragforge.domain.blas import load_numpy
from ragforge.domain.hints import (
    CONFIDENCE_ABOVE,
    HINTS_MAX,
    IGNORED_MAX,
    RELEVANCE_MIN,
    SILENCE,
    HintAction,
    HintContext,
    HintPayload,
    HintType,
    ProactiveHint,
)
from ragforge.domain.ids import new_id
from ragforge.domain.intents import command_of
from ragforge.domain.language.lexicon import in_english
from ragforge.domain.language.words import stem
from ragforge.domain.memories import (
    INTENTS,
    Memory,
    MemoryFilter,
    MemoryScope,
    MemorySort,
    MemoryType,
    Strength,
)
from ragforge.domain.vectors import Vector
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.constraints import WISHES, constraint_of
from ragforge.memory.sentences import sentences
from ragforge.memory.terms import about, common_terms, terms
from ragforge.memory.todo_list import without_label
from ragforge.store.local.values import HintHistory

CONSIDERED_MAX = 1_000
"""The newest preferences, intents and rules are considered."""
SENTENCES_MAX = 40
"""Sentences of the newest turn that are compared: an answer can be a book."""
FRESH_DAYS = 180
FRESHNESS_MIN = 0.5
MEANING_SHARE, WORDS_SHARE = 0.6, 0.4
CONFIRMED = 0.9
"""A preference below this confidence is offered for confirmation."""
TITLES = {
    HintType.PREFERENCE_REMINDER: "Preference",
    HintType.INTENT_FOLLOWUP: "To do",
    HintType.CONSTRAINT_WARNING: "Rule",
}

FindMemories = Callable[[MemoryFilter], Awaitable[list[Memory]]]
ReadHistories = Callable[[], Awaitable[Mapping[str, HintHistory]]]
"""Returns how preferences were hinted at before, by their ids."""


class LeftOpen(Struct, frozen=True):
    """due: what was postponed until now. intents: other intents of the user, newest first."""

    due: tuple[ProactiveHint, ...] = ()
    intents: tuple[Memory, ...] = ()


class ProactiveHintEngine(Struct, frozen=True):
    """Chooses hints from what a user prefers, intends and demands."""

    find: FindMemories
    histories: ReadHistories
    shown_max: int = HINTS_MAX

    async def generate_hints(self, person: str, context: HintContext) -> list[ProactiveHint]:
        """Return the most relevant hints, best first, after those that are due again. Raises StoreError.

        person: the id of the user; other users' preferences are not considered.
        """
        known = await considered(self.find, person, context)
        if not known or not self.shown_max:
            return []
        histories = await self.histories()
        session, at = context.session_id, context.at
        allowed = [
            memory
            for memory in known
            if not context.turns.intersection(memory.turns)
            and may_return(histories.get(memory.id), session_id=session, at=at)
        ]
        due = frozenset(id for id, history in histories.items() if history.postponed)
        # In a thread, so that keys are drawn meanwhile.
        return await asyncio.to_thread(_best, allowed, context, due, min(self.shown_max, HINTS_MAX))

    async def left_open(self, person: str, context: HintContext) -> LeftOpen:
        """Return what is open at the start of a session. Raises StoreError."""
        known = await considered(self.find, person, context)
        histories = await self.histories()
        due: list[ProactiveHint] = []
        intents: list[Memory] = []
        for memory in known:
            history, type = histories.get(memory.id), type_of(memory)
            if is_silenced(history, context.at):
                continue
            may = may_return(history, session_id=context.session_id, at=context.at)
            if history and history.postponed and type and may:
                due.append(hint_of(memory, type, memory.confidence))
            elif memory.type in INTENTS and memory.scope is not MemoryScope.GLOBAL:
                intents.append(memory)
        return LeftOpen(tuple(due[: self.shown_max]), tuple(intents))


def is_silenced(history: HintHistory | None, at: datetime) -> bool:
    """Whether it was ignored too often. A clock set back by years silences nothing."""
    if history is None or history.ignored_at is None or history.ignored % IGNORED_MAX:
        return False
    return abs(at - history.ignored_at) < SILENCE


def may_return(history: HintHistory | None, *, session_id: str, at: datetime) -> bool:
    """Whether it may be offered: once per session, and again in the same session on another day by the user's
    clock."""
    if history is None:
        return True
    same_day = history.offered_at.astimezone().date() == at.astimezone().date()
    return not is_silenced(history, at) and not (session_id == history.session_id and same_day)


async def considered(find: FindMemories, person: str, context: HintContext) -> list[Memory]:
    """Return what hints can be about, newest first: valid and certain enough, and not forgotten, replaced
    or undone. Raises StoreError."""
    found = await find(
        MemoryFilter(
            project_id=context.project_id,
            session_id=context.session_id,
            person=person,
            types=tuple(sorted(WISHES | INTENTS)),
            sort=MemorySort.RECENT,
            limit=CONSIDERED_MAX,
        )
    )
    return [
        memory
        for memory in found
        if memory.confidence > CONFIDENCE_ABOVE and (memory.valid_to is None or context.at < memory.valid_to)
    ]


def type_of(memory: Memory) -> HintType | None:
    """Return the type of hint for the memory; None if there is none.

    If calls can be checked against it, the user is asked before the call instead.
    """
    if memory.type in INTENTS:
        return HintType.INTENT_FOLLOWUP
    if memory.strength is Strength.MUST:
        return None if constraint_of(memory).prohibitions else HintType.CONSTRAINT_WARNING
    return HintType.PREFERENCE_REMINDER if memory.type is MemoryType.PREFERENCE else None


def relevance(*, confidence: float, meaning: float, words: float, freshness: float) -> float:
    """Return the relevance, from 0 to 1."""
    return confidence * (MEANING_SHARE * meaning + WORDS_SHARE * words) * freshness


def freshness(said_at: datetime, at: datetime) -> float:
    """Return 1 for what was just stated, falling to a half over 180 days. Times in the future count as
    now."""
    days = max(0.0, (at - said_at).total_seconds() / 86_400)
    return max(FRESHNESS_MIN, 1 - (1 - FRESHNESS_MIN) * days / FRESH_DAYS)


def words_share(memory: Memory, present: frozenset[str]) -> float:
    """Return the share of its content words, plus its topic as one more, among the given terms."""
    topic = terms(memory.topic)
    parts = [frozenset({term}) for term in about(memory.content)] + ([topic] if topic else [])
    return sum(bool(part & present) for part in parts) / len(parts) if parts else 0.0


def _best(
    memories: Sequence[Memory], context: HintContext, due: frozenset[str], most: int
) -> list[ProactiveHint]:
    """Return hints for those of the memories that are relevant enough, or due."""
    typed = [(memory, type) for memory in memories if (type := type_of(memory))]
    said = [sentence for message in context.newest for sentence in sentences(message)][:SENTENCES_MAX]
    if not typed or not said:
        return []
    present = frozenset[str]().union(*map(terms, (context.topic, context.model, *context.messages)))
    now = frozenset[str]().union(*map(about, (context.topic, *context.newest)))
    meanings = _meanings([memory.content for memory, _ in typed], said)
    hints: list[ProactiveHint] = []
    for (memory, type), meaning in zip(typed, meanings, strict=True):
        score = relevance(
            confidence=memory.confidence,
            meaning=meaning,
            words=words_share(memory, present),
            freshness=freshness(memory.updated_at, context.at),
        )
        if memory.id in due or (score >= RELEVANCE_MIN and matches_topic(memory, now)):
            hints.append(hint_of(memory, type, score))

    def order(hint: ProactiveHint) -> tuple[bool, float, str]:
        return hint.source_preference_id not in due, -hint.relevance_score, hint.source_preference_id

    return sorted(hints, key=order)[:most]


def matches_topic(memory: Memory, now: frozenset[str]) -> bool:
    """Whether it shares a word with the topic of the newest turn."""
    return bool((about(memory.content) | about(memory.topic)) & now)


def hint_of(memory: Memory, type: HintType, score: float) -> ProactiveHint:
    """Return the hint of a memory, with the effect of applying it."""
    label, payload = _action(memory, type)
    return ProactiveHint(
        new_id(), type, TITLES[type], without_label(memory), label, payload, round(score, 4), memory.id
    )


def _action(memory: Memory, type: HintType) -> tuple[str, HintPayload]:
    content = memory.content
    if type is HintType.INTENT_FOLLOWUP:
        if intent := command_of(content):
            return f"run {intent.command}", HintPayload(HintAction.COMMAND, intent.command.removeprefix("/"))
        if memory.type is MemoryType.GOAL and memory.turns:
            return "open the turn where you said this", HintPayload(HintAction.OPEN_TURN, memory.id)
        return "put it in the prompt", HintPayload(HintAction.WRITE, without_label(memory))
    if type is HintType.CONSTRAINT_WARNING:
        check = f'Does your last answer keep to this? "{content}"'
        return "ask whether the answer keeps to it", HintPayload(HintAction.WRITE, check)
    if memory.confidence < CONFIRMED and memory.scope is MemoryScope.PROJECT:
        return "confirm and keep it", HintPayload(HintAction.COMMAND, f"remember {memory.type}: {content}")
    return "put it in the prompt", HintPayload(HintAction.WRITE, f'Please keep to this: "{content}"')


def _meanings(statements: Sequence[str], said: Sequence[str]) -> list[float]:
    """Return the highest cosine of each statement with any sentence, at least 0."""
    load_numpy()
    import numpy as np

    def rows(texts: Sequence[str]) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
        joined = b"".join(map(_vector, texts))
        return np.frombuffer(joined, dtype=np.float32).reshape(len(texts), -1)

    nearest: list[float] = (rows(statements) @ rows(said).T).max(axis=1).tolist()
    return [max(0.0, each) for each in nearest]


@lru_cache(2 * CONSIDERED_MAX)
def _vector(text: str) -> Vector:
    """Return the vector of its English words, without very common ones such as `always`."""
    words = in_english(text)
    rare = [word for word in words if stem(word) not in common_terms()]
    [vector] = StaticEmbedder().vectors([" ".join(rare or words) or text])
    return vector
