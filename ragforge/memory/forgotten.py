"""What the user has forgotten, and how it is removed from texts.

A forgotten memory stays stored, and so does the turn that stated it. Everything that is sent to a model
passes through here first: a sentence that says the same, in whatever words, is replaced by a mark if it was
said before. What is said again afterwards stays, and so does what others said, if the memory belongs to one
user.
"""

import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, lru_cache, partial
from operator import mul
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.context import Recalled
from ragforge.domain.errors import StoreError, UsageError
from ragforge.domain.file_kinds import PROGRAMS
from ragforge.domain.ids import now
from ragforge.domain.json import each_text
from ragforge.domain.language.base import common_words
from ragforge.domain.memories import FORGOTTEN_MAX, AssociationKind, Memory, MemoryFilter, normalised
from ragforge.domain.messages import (
    CommandPart,
    Message,
    ModelMessage,
    Parts,
    TextPart,
    ToolMessage,
    UserMessage,
)
from ragforge.domain.search import Hit, HitKind
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Step, ToolCall, Turn
from ragforge.domain.vectors import Vector
from ragforge.memory.likeness import STEM_CHARS, content_words, names_in, stands_among
from ragforge.memory.periods import renew_periods
from ragforge.memory.prohibitions import prohibitions_in, used_in
from ragforge.store.base import Store

if TYPE_CHECKING:
    from ragforge.embedders.static import StaticEmbedder
    from ragforge.memory.window import Window

log = logging.getLogger(__name__)

MARK = "[forgotten]"
"""The replacement for what was cut out."""

SHARE_MIN = 0.6
"""The weighted share of a statement's words from which a text says the statement."""
NEARNESS_MIN = 0.62
"""The cosine to the statement from which a sentence that shares a word with it says the same."""
SHARE_MIN_IN_SOURCE = 0.4
NEARNESS_MIN_IN_SOURCE = 0.55
"""A lower threshold for the turn in which it was said."""
PIECE_CHARS_MAX = 300
"""A longer sentence is compared in parts."""
VALUE_WEIGHT = 2.0
"""The weight of names and numbers; a plain word has 1."""
YEARS = range(1900, 2100)
TICK = timedelta(milliseconds=1)
"""Memories that are forgotten one after the other have times that differ by at least this."""

_SENTENCE = re.compile(r"[^\n]*?(?:[.!?…](?=\s)|\n|$)\s*", re.DOTALL)
_PART = re.compile(rf"(?s).{{1,{PIECE_CHARS_MAX}}}(?:\s+|$)|.{{1,{PIECE_CHARS_MAX}}}")
_LONG_VALUE = re.compile(
    r"\S+@\S+\.\w+|\w+://\S+|\d+\.\d+\.\d+\.\d+(?::\d+)?|\d{4,}|(?=\w*\d)(?=\w*[^\W\d])\w{6,}"
)


class _Statement(Struct, frozen=True):
    """A forgotten statement, prepared for comparison."""

    weights: Mapping[str, float]
    """Its content words in lower case."""
    names: frozenset[str]
    """Those of them that name something."""
    values: tuple[str, ...]
    """Values each of which alone says it."""
    vector: Vector | None
    at: datetime
    turns: frozenset[str]
    owner: str = ""


class Forgotten:
    """What is forgotten, as of the last read. Equal ones remove the same text."""

    def __init__(
        self,
        memories: Sequence[Memory] = (),
        summaries: Iterable[str] = (),
        others: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> None:
        """summaries: ids of level 1 summaries that cover turns in which it was stated.

        others: for each owner, the ids of sessions that somebody else started.
        """
        self._others = others
        self.key = frozenset((each.id, each.forgotten_at, each.turns) for each in memories)
        self.ids = frozenset(each.id for each in memories)
        self.sources = frozenset(turn for each in memories for turn in each.turns)
        self.summaries = frozenset(summaries)
        self._statements = [
            _statement(m.content, m.forgotten_at, m.turns, m.owner) for m in memories if m.forgotten_at
        ]
        self._by_stem: dict[str, list[int]] = {}
        for at, statement in enumerate(self._statements):
            for word in statement.weights:
                self._by_stem.setdefault(word[:STEM_CHARS], []).append(at)
        self._wordless = {at for at, each in enumerate(self._statements) if not each.weights}
        hints = [*self._by_stem, *(value for at in self._wordless for value in self._statements[at].values)]
        self._hint = re.compile("|".join(map(re.escape, hints)) or r"(?!)", re.IGNORECASE)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Forgotten) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __bool__(self) -> bool:
        return bool(self._statements)

    def cut(self, text: str, *, at: datetime | None = None, turn: str = "", session: str = "") -> str:
        """Return the text with a mark instead of each sentence that says something forgotten.

        at: when it was said; None means before everything was forgotten. turn, session: where, if known.
        """
        if not self._statements or not (turn in self.sources or self._hint.search(text)):
            return text
        pieces = [part[0] for each in _SENTENCE.finditer(text) for part in _PART.finditer(each[0])]
        said = self._said(pieces, at, turn, session)
        if not any(said):
            return text
        kept: list[str] = []
        for piece, gone in zip(pieces, said, strict=True):
            if not gone:
                kept.append(piece)
            elif not kept or not kept[-1].startswith(MARK):
                kept.append(MARK + piece[len(piece.rstrip()) :])
        return "".join(kept)

    def holds(self, text: str, *, at: datetime | None = None, turn: str = "") -> bool:
        """Whether the text says something forgotten."""
        return self.cut(text, at=at, turn=turn) != text

    def parts(self, parts: Parts, *, at: datetime | None = None, turn: str = "", session: str = "") -> Parts:
        """Return the parts of a message without what is forgotten."""
        clean = partial(self.cut, at=at, turn=turn, session=session)
        return tuple(
            replace(part, text=clean(part.text))
            if isinstance(part, TextPart)
            else replace(part, command=clean(part.command), output=clean(part.output))
            if isinstance(part, CommandPart)
            else part
            for part in parts
        )

    def turn(self, turn: Turn) -> Turn:
        """Return the turn without what is forgotten."""
        if not self:
            return turn
        at, id, session = turn.started_at, turn.id, turn.session_id
        return replace(
            turn,
            user=self.parts(turn.user, at=at, turn=id, session=session),
            assistant=self.cut(turn.assistant, at=at, turn=id, session=session),
            error=self.cut(turn.error, at=at, session=session),
        )

    def step(self, step: Step, *, at: datetime, session: str = "") -> Step:
        """Return the step without what is forgotten. at: the start of its turn, session: its session."""
        message = self.message(step.message, at=at, turn=step.turn_id, session=session)
        return step if message is step.message else replace(step, message=message)

    def call(self, call: ToolCall, *, session: str = "") -> ToolCall:
        """Return the call and its result without what is forgotten."""
        if not self:
            return call
        clean = partial(self.cut, at=call.started_at, session=session)
        return replace(
            call, args=each_text(call.args, clean), result=clean(call.result), diff=clean(call.diff)
        )

    def message(
        self, message: Message, *, at: datetime | None = None, turn: str = "", session: str = ""
    ) -> Message:
        """Return the message without what is forgotten, or the same object if it does not say it.

        If the provider's native form says it too, that is dropped and the message is rebuilt.
        """
        if not self:
            return message

        clean = partial(self.cut, at=at, turn=turn, session=session)
        # What tools show is no conversation, and long as files: only plain statements are removed there.
        shown = partial(self.cut, at=at, session=session)
        match message:
            case UserMessage(parts):
                cleaned = UserMessage(self.parts(parts, at=at, turn=turn, session=session))
            case ToolMessage(results):
                cleaned = ToolMessage(tuple(replace(r, text=shown(r.text)) for r in results))
            case ModelMessage():
                native = message.native
                cleaned = replace(
                    message,
                    text=clean(message.text),
                    thoughts=clean(message.thoughts),
                    calls=tuple(replace(call, args=each_text(call.args, shown)) for call in message.calls),
                )
                if native is not None and (cleaned != message or each_text(native, clean) != native):
                    cleaned = replace(cleaned, native=None)
        return message if cleaned == message else cleaned

    def summary(self, summary: Summary) -> Summary:
        """Return the summary without what is forgotten; that of a turn in which it was stated becomes empty.

        A model may have said it in words that no comparison finds.
        """
        if not self:
            return summary
        if summary.id in self.summaries:
            return replace(summary, text="", findings=(), topics=(), constraints=())

        clean = partial(self.cut, session=summary.session_id)

        def each(texts: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(text for text in texts if clean(text) == text)

        # Above level 1 it covers many turns, any of which may be one of these.
        return replace(
            summary,
            text=clean(summary.text),
            findings=each(summary.findings),
            topics=each(summary.topics),
            constraints=each(summary.constraints),
        )

    def recalled(self, item: Recalled) -> Recalled | None:
        """Return the item without what is forgotten; None if nothing is left."""
        if not self:
            return item
        match item.kind:
            case HitKind.MEMORY:
                # What says the same was forgotten with it, and what was said again is valid.
                return None if item.id in self.ids else item
            case HitKind.SUMMARY:
                left = "" if item.id in self.summaries else self.cut(item.text, session=item.session_id)
            case _:
                left = self.cut(item.text, at=item.at, turn=item.turn_id, session=item.session_id)
        return replace(item, text=left) if any(map(str.isalnum, left.replace(MARK, ""))) else None

    def hit(self, hit: Hit) -> Hit:
        """Return the hit as a model may see it."""
        if not self:
            return hit
        if hit.kind is HitKind.MEMORY:
            return hit
        if hit.kind is HitKind.SUMMARY:
            text = MARK if hit.id in self.summaries else self.cut(hit.text, session=hit.session_id)
        else:
            text = self.cut(hit.text, at=hit.at, turn=hit.turn_id, session=hit.session_id)
        return replace(
            hit,
            text=text,
            marks=hit.marks if text == hit.text else (),
            session_title=self.cut(hit.session_title, session=hit.session_id),
        )

    def _holds_in(self, statement: _Statement, turn: str, session: str) -> bool:
        """Whether it may be stated there: a user's own statement in their sessions, or where it was
        stated."""
        return turn in statement.turns or session not in self._others.get(statement.owner, ())

    def is_others(self, session: str) -> bool:
        """Whether the session belongs to somebody other than all owners."""
        return all(session in self._others.get(each.owner, ()) for each in self._statements)

    def _said(self, pieces: Sequence[str], at: datetime | None, turn: str, session: str) -> list[bool]:
        """Return for each piece whether it says something forgotten."""
        said: list[bool] = []
        for piece in pieces:
            words = content_words(piece)
            places = {place for word in words for place in self._by_stem.get(word[:STEM_CHARS], ())}
            places |= self._wordless
            if turn in self.sources:
                places |= {n for n, each in enumerate(self._statements) if turn in each.turns}
            said.append(
                any(
                    _says(piece, words, statement, is_source=turn in statement.turns)
                    for statement in (self._statements[place] for place in sorted(places))
                    if (at is None or at <= statement.at) and self._holds_in(statement, turn, session)
                )
            )
        return said


NOTHING = Forgotten()


async def read_forgotten(store: Store, project_id: str) -> Forgotten:
    """Return what is currently forgotten in the project and globally. Raises StoreError."""
    memories = await store.memories.forgotten(project_id=project_id)
    if not memories:
        return NOTHING
    others = await others_sessions(store, project_id, memories)
    return Forgotten(memories, await forgotten_summaries(store, memories), others)


async def others_sessions(
    store: Store, project_id: str | None, memories: Sequence[Memory]
) -> dict[str, set[str]]:
    """Return the sessions that somebody else started, for each owner of one of the memories. Raises
    StoreError.

    project_id: None for all projects.
    """
    owners = {memory.owner for memory in memories} - {""}
    return {owner: await store.sessions.of_others(owner, project_id=project_id) for owner in owners}


async def forgotten_summaries(store: Store, memories: Sequence[Memory]) -> set[str]:
    """Return the ids of level 1 summaries of turns in which the memories were stated. Raises StoreError."""
    turns = list({turn for memory in memories for turn in memory.turns})
    covering = await store.summaries.covering(turns) if turns else {}
    return {each.id for over in covering.values() for each in over if each.level == 1}


async def still_forgotten(store: Store, project_id: str, window: "Window") -> Forgotten | None:
    """Return what must be removed from the window, or None if it has been already.

    While the store cannot be reached, the last known state applies.
    """
    try:
        forgotten = await read_forgotten(store, project_id)
    except StoreError as error:
        log.warning("Cannot read what is forgotten: %s", error)
        return None
    return forgotten if (forgotten or None) != window.forgotten else None


async def forget(store: Store, memory: Memory) -> list[Memory]:
    """Forget the memory, and return what was forgotten with it because it says the same.

    What it had replaced is valid again. Everything said until now is affected, whatever the machine's clock
    showed then. Raises StoreError.
    """
    at, alike = await _time_and_alike(store, memory)
    # One that was forgotten before and was said again since is forgotten again.
    await store.memories.restore([memory.id])
    await store.memories.forget([memory.id, *(each.id for each in alike)], at)
    await renew_periods(store, [memory.id, *(each.id for each in alike)])
    return alike


async def forgotten_with(store: Store, memory: Memory) -> list[Memory]:
    """Return the memory and what is forgotten with it, as they will be. Raises StoreError."""
    if memory.forgotten_at is None:
        at, alike = await _time_and_alike(store, memory)
        return [replace(each, forgotten_at=at) for each in (memory, *alike)]
    return [memory, *await _forgotten_along(store, memory)]


async def restore(store: Store, memory: Memory) -> list[Memory]:
    """Restore the memory, and return what was forgotten with it and is restored too. Raises StoreError."""
    alike = await _forgotten_along(store, memory)
    await store.memories.restore([memory.id, *(each.id for each in alike)])
    await renew_periods(store, [memory.id, *(each.id for each in alike)])
    return alike


async def _forgotten_along(store: Store, memory: Memory) -> list[Memory]:
    gone = await store.memories.forgotten(project_id=memory.project_id)
    return [each for each in gone if each.forgotten_at == memory.forgotten_at and each.id != memory.id]


async def _time_and_alike(store: Store, memory: Memory) -> tuple[datetime, list[Memory]]:
    """Return the time at which the memory would be forgotten now, and what says the same."""
    project = memory.project_id
    forgotten = await store.memories.forgotten(project_id=project)
    before = [each.forgotten_at + TICK for each in forgotten[:1] if each.forgotten_at]
    recent = await store.sessions.recent(project_id=project, limit=1)
    at = max([now(), memory.updated_at, *before, *(row.session.last_activity_at for row in recent)])
    links = await store.memories.associations([memory.id])
    kept = {memory.id, *(each.to_id for each in links if each.kind is AssociationKind.UPDATES)}
    gone = Forgotten(
        [replace(memory, forgotten_at=at)], others=await others_sessions(store, project, [memory])
    )
    others = await store.memories.find(
        MemoryFilter(project, person=memory.owner, replaced=True, abandoned=True, limit=FORGOTTEN_MAX)
    )
    alike = [
        each
        for each in others
        if each.id not in kept
        and gone.cut(each.content, session=each.session_id) != each.content
        and not _differ(each.content, memory.content)
    ]
    return at, alike


def _differ(one: str, other: str) -> bool:
    """Whether one forbids what the other wants, or each forbids something else."""
    banned, banned_too = _objects(one), _objects(other)
    if banned and banned_too and not banned & banned_too:
        return True
    wanted, wanted_too = {*used_in(one)} - banned, {*used_in(other)} - banned_too
    return bool(banned & wanted_too or banned_too & wanted)


def _objects(rule: str) -> set[str]:
    return {name for each in prohibitions_in(rule) for name in each.objects}


def _says(piece: str, words: Sequence[str], statement: _Statement, *, is_source: bool) -> bool:
    """Whether the piece says the statement: by a value, by most of its words, or by its meaning."""
    low = piece.casefold()
    if any(_stands_in(value, low) for value in statement.values):
        return True
    shared = {word for word in statement.weights if stands_among(word, words)}
    if not (shared or is_source) or not statement.weights:
        return False
    if statement.names and not shared & statement.names and _names(piece):
        return False  # the same about something else: MySQL, if PostgreSQL is forgotten
    share = sum(statement.weights[word] for word in shared) / sum(statement.weights.values())
    if share >= (SHARE_MIN_IN_SOURCE if is_source else SHARE_MIN):
        return True
    vector = _vector(piece.strip()) if words else None
    if vector is None or statement.vector is None:
        return False
    near = sum(map(mul, vector, statement.vector))
    return near >= (NEARNESS_MIN_IN_SOURCE if is_source else NEARNESS_MIN)


@lru_cache(4096)
def _statement(content: str, at: datetime, turns: tuple[str, ...], owner: str) -> _Statement:
    names = _names(content)
    weights = {word: VALUE_WEIGHT if word in names else 1.0 for word in content_words(content)}
    values = {found[0].casefold().strip(".,;:") for found in _LONG_VALUE.finditer(content)}
    if not weights:
        values.add(normalised(content))  # only common words
    strong = tuple(value for value in values if not (value.isdecimal() and int(value) in YEARS))
    vector = _vector(content) if weights else None
    return _Statement(weights, names & weights.keys(), strong, vector, at, frozenset(turns), owner)


def _names(text: str) -> frozenset[str]:
    """Return what it names, including programs whose names are not common words."""
    return names_in(text) | (PROGRAMS.intersection(content_words(text)) - common_words())


@cache
def _embedder() -> "StaticEmbedder":
    # Imported here: most sessions have forgotten nothing and do not need it.
    from ragforge.embedders.static import StaticEmbedder

    return StaticEmbedder()


@lru_cache(4096)
def _vector(text: str) -> Vector | None:
    """Return the vector; None if the embedder's file is damaged, and then only words decide."""
    try:
        return _embedder().vectors([text])[0]
    except UsageError:
        return None


def _stands_in(value: str, low: str) -> bool:
    """Whether the value occurs in the text, and not within a longer one."""
    start = low.find(value)
    while start >= 0:
        before, after = low[start - 1 : start], low[start + len(value) : start + len(value) + 1]
        if not (before.isalnum() and value[0].isalnum()) and not (after.isalnum() and value[-1].isalnum()):
            return True
        start = low.find(value, start + 1)
    return False
