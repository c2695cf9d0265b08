"""Create, change and explain memories: used by the background, the model's tool and the user."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.errors import UsageError
from ragforge.domain.memories import (
    IMPORTANCE,
    PERSONAL,
    Association,
    AssociationKind,
    Memory,
    MemoryOrigin,
    MemoryScope,
    MemorySource,
    MemoryType,
    memory_id,
    normalised,
)
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.memory.constraints import WISHES, bound
from ragforge.memory.period_words import stated_period
from ragforge.memory.periods import renew_periods
from ragforge.store.base import Store
from ragforge.store.memory_rules import check_memory

ID_PART_CHARS_MIN = 4
"""As for sessions: a shorter part matches too many."""
STEPS_BACK_MAX = 20
"""How many replacements are followed to find what is valid in place of a memory."""
REPLACING_CONFIDENCE_MIN = 0.5
"""Below it nothing is declared outdated: a wrong replacement hides what is right."""
FOUND_OUT = frozenset({MemoryType.FACT, MemoryType.EVENT, MemoryType.OBSERVATION})
"""Types that need not be said by the user. Only the user sets goals and rules, and says who they are."""
TICK = timedelta(milliseconds=1)
"""The least difference of times that the stores can represent."""


def new_memory(
    content: str,
    type: MemoryType,
    *,
    project_id: str,
    at: datetime,
    source: MemorySource,
    session_id: str = "",
    scope: MemoryScope = MemoryScope.PROJECT,
    importance: float | None = None,
    confidence: float = 1.0,
    topic: str = "",
    turns: Sequence[str] = (),
    person: str = "",
    origin: str = "",
) -> Memory:
    """Return a memory of this text, with the importance of its type unless one is given.

    person: who says it; identity and preferences belong to them, everything else to everybody. The text must
    not contain secrets. Raises UsageError for empty or too long a text, and for numbers outside 0..1.
    """
    text = " ".join(content.split())
    stated = stated_period(text, type, at)
    if scope is MemoryScope.SESSION and not session_id:
        raise UsageError(
            "A memory of one session needs a session to belong to. Choose the scope project or global."
        )
    owner = person if type in PERSONAL else ""
    memory = Memory(
        id=memory_id(text, scope=scope, project_id=project_id, session_id=session_id, owner=owner),
        type=type,
        content=text,
        project_id=project_id,
        session_id=session_id,
        scope=scope,
        importance=IMPORTANCE[type] if importance is None else importance,
        created_at=at,
        updated_at=at,
        confidence=confidence,
        topic=topic,
        source=source,
        turns=tuple(turns),
        owner=owner,
        valid_from=stated.valid_from or at,
        valid_to=stated.valid_to,
        origin=origin,
    )
    memory = bound(memory)
    check_memory(memory)
    return memory


async def remember(
    store: Store, memory: Memory, *, updates: Sequence[str] = (), turn: str | None = None
) -> Memory:
    """Save the memory and return it, merged with one of the same text; it replaces those with the ids in
    `updates`.

    A replaced memory that is stated again is valid again, and replaces what replaced it.
    turn: undoing this turn undoes the replacement; by default the newest that the memory is based on. Empty
    for none.
    Raises StoreError, UsageError like `new_memory`, and Conflict if one of the ids does not exist.
    """
    returns = [other.id for other in await gives_way_to(store, memory)]
    await store.memories.save(await _said_again(store, memory))
    replaced = [old for old in dict.fromkeys([*updates, *returns]) if old != memory.id]
    if replaced:
        is_now = memory.source is not MemorySource.BACKGROUND
        said_in = (memory.turns or ("",))[-1] if turn is None else turn
        await _replace(store, memory.id, replaced, at=memory.updated_at, turn=said_in, is_now=is_now)
    (kept,) = await store.memories.get([memory.id])
    return kept


async def _said_again(store: Store, memory: Memory) -> Memory:
    """Return the memory, with a higher confidence if another session states it again."""
    known = await store.memories.get([memory.id]) if memory.type in WISHES else []
    if not known or set(memory.turns) <= set(known[0].turns):
        return memory
    before, after = [
        {turn.session_id for id in turns if (turn := await store.turns.get(id)) is not None}
        for turns in (known[0].turns, memory.turns)
    ]
    if after <= before | {known[0].session_id}:
        return memory
    doubt = (1 - known[0].confidence) * (1 - memory.confidence)
    return replace(memory, confidence=round(1 - doubt, 4), said=known[0].said + 1)


async def gives_way_to(store: Store, memory: Memory) -> list[Memory]:
    """Return what replaced the memory, is valid now, and will not be once this is stated again.

    A fact may come from old text, so background work does not make it valid again, nor what the user had
    forgotten.
    Raises StoreError.
    """
    known = await store.memories.get([memory.id])
    is_users = memory.source is MemorySource.USER
    if not known or not known[0].replaced or (known[0].forgotten_at and not is_users):
        return []
    if memory.source is MemorySource.BACKGROUND:
        if memory.type in FOUND_OUT or memory.confidence < REPLACING_CONFIDENCE_MIN:
            return []
        links = await _that_count(store, await _updates(store, [memory.id]))
        if any(link.to_id == memory.id and link.at >= memory.updated_at for link in links):
            return []  # it was said before it was replaced, and is only stored now
    found = await store.memories.get(sorted(await _took_place_of(store, memory.id)))
    return [other for other in found if not (other.replaced or other.forgotten_at or other.abandoned)]


async def associate(store: Store, associations: Sequence[Association]) -> None:
    """Save the links found by background work. Raises StoreError, and Conflict for unknown ends."""
    updates = [link for link in associations if link.kind is AssociationKind.UPDATES]
    await store.memories.associate([link for link in associations if link not in updates])
    for link in updates:
        await _replace(store, link.from_id, [link.to_id], at=link.at, turn=link.turn, is_now=False)


async def _replace(
    store: Store, memory_id: str, replaced: Sequence[str], *, at: datetime, turn: str, is_now: bool
) -> None:
    """Let the memory replace these, as long as the turn is not abandoned; a forgotten one stays forgotten
    unless `is_now`.

    is_now: it is stated now, so it is newer than everything else, whatever a clock says. Background work uses
    the time of its turn, which is newer only than older statements.
    """
    at = at.replace(microsecond=at.microsecond // 1000 * 1000)  # the precision of the stores
    links = await _updates(store, [memory_id, *replaced])
    if is_now:
        await store.memories.restore([memory_id])
        before = [link.at for link in links if link.to_id == memory_id or link.from_id in replaced]
        at = max([at, *(each + TICK for each in before)])
    # Changed and changed back in one turn: the last statement is valid.
    back = {link.from_id for link in links if link.to_id == memory_id and link.at == at}
    await store.memories.associate(
        [
            Association(AssociationKind.UPDATES, memory_id, old, at + TICK if old in back else at, turn)
            for old in replaced
        ]
    )
    await renew_periods(store, [memory_id, *replaced])


async def _updates(store: Store, ids: Sequence[str]) -> list[Association]:
    """Return links from or to these by which one replaces the other."""
    links = await store.memories.associations(ids)
    return [link for link in links if link.kind is AssociationKind.UPDATES]


async def _that_count(store: Store, links: Sequence[Association]) -> list[Association]:
    """Return the links without those of abandoned turns."""
    abandoned = await store.turns.abandoned(sorted({link.turn for link in links if link.turn}))
    return [link for link in links if link.turn not in abandoned]


async def edit(store: Store, memory: Memory, *, content: str, at: datetime) -> Memory:
    """Return the memory with another text: a new memory that replaces it, so that the old text can be
    restored.

    Raises UsageError like `new_memory`, and StoreError.
    """
    if normalised(content) == normalised(memory.content):
        return memory
    new = new_memory(
        content,
        memory.type,
        project_id=memory.project_id,
        at=at,
        source=MemorySource.USER,
        session_id=memory.session_id,
        scope=memory.scope,
        importance=memory.importance,
        topic=memory.topic,
        turns=memory.turns,
        person=memory.owner,
        origin=MemoryOrigin.EDIT,
    )
    new = replace(new, created_at=memory.created_at, owner=memory.owner)
    return await remember(store, new, updates=[memory.id], turn="")  # the user's words, but in no turn


async def change(
    store: Store,
    memory: Memory,
    *,
    type: MemoryType | None = None,
    importance: float | None = None,
    topic: str | None = None,
    owner: str | None = None,
    at: datetime,
) -> Memory:
    """Change these properties; None keeps one. Raises UsageError, StoreError.

    If the type changes, a default importance and the strength change with it.
    """
    if type is not None and importance is None and memory.importance == IMPORTANCE[memory.type]:
        importance = IMPORTANCE[type]
    changed = replace(
        memory,
        type=type or memory.type,
        importance=memory.importance if importance is None else importance,
        topic=memory.topic if topic is None else topic,
        owner=memory.owner if owner is None else owner,
        updated_at=at,
    )
    await store.memories.change(bound(changed) if changed.type is not memory.type else changed)
    (kept,) = await store.memories.get([memory.id])
    return kept


async def find_memory(store: Store, id_part: str) -> Memory:
    """Return the memory whose id starts with this. Raises UsageError that says what to do if none or several
    match."""
    part = id_part.strip().lower()
    if len(part) < ID_PART_CHARS_MIN:
        raise UsageError(
            f"{id_part!r} is too short for the id of a memory: give at least its first {ID_PART_CHARS_MIN} "
            "characters. `ragforge memory list` shows them."
        )
    ids = await store.memories.with_id_part(part)
    if len(ids) > 1:
        raise UsageError(f"Several memories match {id_part!r}: {', '.join(ids)}. Give more of the id.")
    found = await store.memories.get(ids)
    if not found:
        raise UsageError(
            f"There is no memory {id_part!r}. `ragforge memory list --forgotten` shows all memories."
        )
    return found[0]


class Evidence(Struct, frozen=True):
    """A turn that a memory is based on. session: None if it was deleted."""

    turn: Turn
    session: ConversationSession | None


class Linked(Struct, frozen=True):
    """Another memory and the link between both. outgoing: this one `kind` the other."""

    kind: AssociationKind
    outgoing: bool
    other: Memory


class Story(Struct, frozen=True):
    """Where a memory comes from, and its links."""

    memory: Memory
    evidence: tuple[Evidence, ...]
    linked: tuple[Linked, ...]


async def why(store: Store, memory: Memory) -> Story:
    """Return the turns that it is based on, oldest first, and the memories it is linked with. Raises
    StoreError."""
    turns = [turn for id in memory.turns if (turn := await store.turns.get(id)) is not None]
    sessions = {id: await store.sessions.get(id) for id in {turn.session_id for turn in turns}}
    links = _that_hold(await _that_count(store, await store.memories.associations([memory.id])))
    others = {link.to_id if link.from_id == memory.id else link.from_id for link in links}
    known = {other.id: other for other in await store.memories.get(sorted(others))}
    linked: list[Linked] = []
    for link in links:
        outgoing = link.from_id == memory.id
        other = known.get(link.to_id if outgoing else link.from_id)
        if other is not None:
            linked.append(Linked(link.kind, outgoing, other))
    evidence = tuple(Evidence(turn, sessions[turn.session_id]) for turn in turns)
    return Story(memory, evidence, tuple(linked))


def _that_hold(links: Sequence[Association]) -> list[Association]:
    """Return the links, oldest first, without those by which one replaced what has replaced it since."""
    newest = {
        frozenset((link.from_id, link.to_id)): link for link in links if link.kind is AssociationKind.UPDATES
    }
    return [
        link
        for link in links
        if link.kind is not AssociationKind.UPDATES or newest[frozenset((link.from_id, link.to_id))] is link
    ]


async def _took_place_of(store: Store, memory_id: str) -> set[str]:
    """Return the ids of what replaced the memory, and of what replaced that."""
    found: set[str] = set()
    newest = [memory_id]
    for _ in range(STEPS_BACK_MAX):
        newest = [
            link.from_id
            for link in await _that_count(store, await _updates(store, newest))
            if link.to_id in newest and link.from_id not in found and link.from_id != memory_id
        ]
        if not newest:
            break
        found.update(newest)
    return found
