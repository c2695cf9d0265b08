"""The figures of the dashboard: wishes, concepts, sessions, and how well memory works.

Each part is read separately, because the screen shows one at a time. However many memories there are, a
limited number of rows is read.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.approvals import Rule
from ragforge.domain.errors import UsageError
from ragforge.domain.file_kinds import PROGRAMS
from ragforge.domain.memories import (
    INTENTS,
    STRENGTHS,
    Memory,
    MemoryFilter,
    MemorySort,
    MemoryType,
    WishCount,
    WishKind,
    WishOrder,
    wish_kind,
)
from ragforge.domain.metrics import CACHE_REQUESTS
from ragforge.domain.products import FIELDS
from ragforge.domain.usage import Purpose, sum_costs
from ragforge.memory.prohibitions import forbids_something, is_path, names_in, used_in
from ragforge.session.machine import Library
from ragforge.session.metrics import all_counts
from ragforge.store.base_conversations import PersonUsage, SessionRow

T = TypeVar("T")

WISHES_MAX = 200
"""How many constraints, and how many other wishes, are read at first: the newest ones."""
WISHES_SORTED_MAX = 20_000
"""How many of either are sorted in the user's order."""
CONCEPT_MEMORIES_MAX = 200
"""Concepts are those of so many memories, the most used first."""
DECISIONS_MAX = 200
"""How many decisions are shown, the newest first."""
EXTRACTED_MAX = 1_000
EDITED_WITHIN = timedelta(days=30)


_PROGRAM_FIELDS = ("package manager", "test framework", "linter")


class Concept(Struct, frozen=True):
    """A topic. uses: how often its memories were given to a model or opened."""

    topic: str
    memories: int
    uses: int


class SessionFigures(Struct, frozen=True):
    """A session. cost_usd: None where a price is unknown, or the server is away. person: who began it."""

    row: SessionRow
    decided: tuple[str, ...]
    cost_usd: float | None
    person: str


class Figure(Struct, frozen=True):
    """A share, how many of how many, and how they are counted."""

    name: str
    part: int
    whole: int
    counted: str

    @property
    def share(self) -> float | None:
        """From 0 to 1; None if there is nothing to count yet."""
        return self.part / self.whole if self.whole else None


class Cost(Struct, frozen=True):
    """What was spent in US dollars, and how that is counted; None where a price is unknown, or
    the server is away."""

    name: str
    usd: float | None
    counted: str


class Numbers(Struct, frozen=True):
    """How well memory works, and what it costs."""

    figures: tuple[Figure, ...]
    memory: Cost
    chat: Cost
    people: tuple[Cost, ...]
    """The cost per user, if there are several."""


class Dashboard(Struct, frozen=True):
    """All figures."""

    wanted: tuple[Memory, ...]
    concepts: tuple[Concept, ...]
    sessions: tuple[SessionFigures, ...]
    numbers: Numbers


async def read_dashboard(library: Library, *, order: WishOrder, limit: int) -> Dashboard:
    """Read the figures of the project, at most `limit` wishes, concepts and sessions. Raises StoreError."""
    return Dashboard(
        wanted=in_order(await read_wishes(library, limit=wishes_max(order)), order)[:limit],
        concepts=await read_concepts(library, limit),
        sessions=await read_sessions(library, limit),
        numbers=await read_numbers(library),
    )


def _fitting(library: Library, limit: int) -> MemoryFilter:
    return MemoryFilter(library.project.id, person=library.person.id, sort=MemorySort.RECENT, limit=limit)


def wishes_max(order: WishOrder) -> int:
    """Return how many wishes are read: all, if another order than the first is requested."""
    return WISHES_MAX if order is WishOrder.KIND else WISHES_SORTED_MAX


async def read_wishes(library: Library, *, limit: int = WISHES_MAX) -> tuple[Memory, ...]:
    """Return the wishes, newest first, at most so many constraints and so many others.

    Raises StoreError.
    """
    here, find = _fitting(library, limit), library.store.memories.find
    found = await find(replace(here, binding=True))
    found += await find(replace(here, types=(MemoryType.PREFERENCE, *sorted(INTENTS))))
    wishes = {each.id: each for each in found if wish_kind(each)}
    return tuple(sorted(wishes.values(), key=lambda wish: wish.updated_at, reverse=True))


def in_order(wishes: Sequence[Memory], order: WishOrder, *, reverse: bool = False) -> tuple[Memory, ...]:
    """Return the wishes sorted, or in reverse."""
    return tuple(sorted(wishes, key=_KEYS[order], reverse=reverse))


_KEYS: Mapping[WishOrder, Callable[[Memory], Any]] = {
    WishOrder.TEXT: lambda wish: wish.content.casefold(),
    WishOrder.KIND: lambda wish: str(wish_kind(wish)),
    WishOrder.STRENGTH: lambda wish: -STRENGTHS.index(wish.strength),
    WishOrder.TOPIC: lambda wish: (not wish.topic, wish.topic.casefold()),
    WishOrder.CONFIDENCE: lambda wish: -wish.confidence,
    WishOrder.SAID: lambda wish: -wish.said,
    WishOrder.HELD: lambda wish: -wish.held,
    WishOrder.BROKEN: lambda wish: -wish.broken,
    WishOrder.USED: lambda wish: -(wish.accessed_at.timestamp() if wish.accessed_at else 0),
}


def proposed_rule(wish: Memory) -> str:
    """Return the consent rule that allows what the wish is about; `shell()`, to be completed, if it
    names no path or command. Raises UsageError if it forbids something."""
    if forbids_something(wish.content):
        raise UsageError(
            "This forbids something, but an approval rule can only allow. ragforge asks about calls "
            "against it."
        )
    quoted = {name for name in names_in(wish.content) if f"`{name}`" in wish.content}
    for name in dict.fromkeys((*wish.applies_to, *used_in(wish.content), *names_in(wish.content))):
        if is_path(name):
            return str(Rule("edit", name))
        if name in quoted or _is_program(name.split()[0].casefold()):
            return str(Rule("shell", name))
    return "shell()"


def _is_program(word: str) -> bool:
    return word in PROGRAMS or FIELDS.get(word) in _PROGRAM_FIELDS


async def read_concepts(library: Library, limit: int) -> tuple[Concept, ...]:
    """Return the topics of memories, the most used first. Raises StoreError."""
    used = replace(_fitting(library, CONCEPT_MEMORIES_MAX), sort=MemorySort.USED)
    memories, uses = Counter[str](), Counter[str]()
    for each in await library.store.memories.find(used):
        if each.topic:
            memories[each.topic] += 1
            uses[each.topic] += each.access_count
    ranked = sorted(memories, key=lambda topic: (-uses[topic], -memories[topic], topic))
    return tuple(Concept(topic, memories[topic], uses[topic]) for topic in ranked[:limit])


async def read_sessions(library: Library, limit: int) -> tuple[SessionFigures, ...]:
    """Return the sessions, including archived ones, the last active first. Raises StoreError."""
    rows = await library.store.sessions.recent(project_id=library.project.id, limit=limit)
    here = replace(_fitting(library, DECISIONS_MAX), types=(MemoryType.DECISION,))
    decisions = await library.store.memories.find(here)
    ids = [row.session.id for row in rows]
    costs, is_whole = await _read_whole(library, library.store.usage.by_session(ids))
    return tuple(
        SessionFigures(
            row,
            tuple(each.content for each in decisions if each.session_id == row.session.id),
            costs[row.session.id] if is_whole else None,
            row.session.begun_by(library.person),
        )
        for row in rows
    )


async def read_numbers(library: Library) -> Numbers:
    """Return how well memory works. Raises StoreError."""
    usage, project_id = library.store.usage, library.project.id
    spent, is_whole = await _read_whole(library, usage.by_model(project_id=project_id))
    people: list[PersonUsage] = []
    if not library.person.alone:
        people, is_whole_of_people = await _read_whole(library, usage.by_person(project_id=project_id))
        is_whole = is_whole and is_whole_of_people

    def cost(name: str, costs: Iterable[float | None], counted: str) -> Cost:
        return Cost(name, sum_costs(costs) if is_whole else None, counted)

    return Numbers(
        figures=(
            await _recall_rate(library),
            await _precision(library),
            await _hints_taken(library),
            await _cache_hits(library),
            await _constraints_held(library),
        ),
        memory=cost(
            "memory cost",
            (row.cost_usd for row in spent if row.purpose.is_memory),
            "summaries, extraction, embeddings and look-ups, of all users of the project",
        ),
        chat=cost(
            "chat cost",
            (row.cost_usd for row in spent if row.purpose is Purpose.CHAT),
            "the turns themselves, of all users of the project",
        ),
        people=tuple(
            cost(f"cost of {each.person or 'unknown users'}", [each.cost_usd], "chat and memory of one user")
            for each in (people if len(people) > 1 else ())
        ),
    )


async def _read_whole(library: Library, answer: Awaitable[T]) -> tuple[T, bool]:
    """Return the answer, and whether it is of all that there is: not only of this machine."""
    before = library.store.link.partial
    found = await answer
    return found, library.store.link.partial == before


async def _recall_rate(library: Library) -> Figure:
    used, turns = await library.local.recalls.uses(library.project.id)
    return Figure(
        "recall rate",
        used,
        turns,
        "turns of the project on this machine, the newest 1,000, for which something was recalled: those in "
        "which it was quoted (the answer says most of a recalled line's words that the message does not), "
        "cited (it names its day or id), or opened by you, of all",
    )


async def _precision(library: Library) -> Figure:
    found = await library.store.memories.count_extracted(
        project_id=library.project.id, person=library.person.id, within=EDITED_WITHIN, limit=EXTRACTED_MAX
    )
    return Figure(
        "extraction precision",
        found.right,
        found.kept,
        "memories of the project that were found in what was said, the newest 1,000, on all machines: those "
        "that nobody forgot or edited within 30 days, of all",
    )


async def _hints_taken(library: Library) -> Figure:
    taken, offered = await library.local.hints.taken(library.project.id)
    return Figure(
        "hints taken",
        taken,
        offered,
        "hints in the project on this machine that you applied, of those offered",
    )


async def _cache_hits(library: Library) -> Figure:
    counts = await all_counts(library.local)
    results = {labels: value for (name, labels, _), value in counts.items() if name == CACHE_REQUESTS.name}
    return Figure(
        "cache hits",
        round(results.get(("hit",), 0)),
        round(sum(results.values())),
        "look-ups of preferences, rules and important memories that were cached, of all, on this machine in "
        "every project",
    )


async def _constraints_held(library: Library) -> Figure:
    found = await library.store.memories.count_wishes(
        project_id=library.project.id, person=library.person.id, binding=True
    )
    rules = found.get(WishKind.CONSTRAINT, WishCount())
    return Figure(
        "constraints held",
        rules.held,
        rules.held + rules.broken,
        "calls against the rules that hold in the project that were declined or refused, of all such calls, "
        "once for each rule, on all machines",
    )
