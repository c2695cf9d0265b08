"""The contract of memory: summaries, vectors, memories, derived records, and search.

As in `store/base.py`: every method raises StoreUnavailable if the database cannot be read or written, writes
are durable when they return, and repeating a call changes nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from ragforge.domain.derivations import Derived, DerivedFilter, Underived, UnderivedFilter
from ragforge.domain.ids import now
from ragforge.domain.memories import (
    Association,
    ConceptFilter,
    ConceptMemories,
    ExtractionCount,
    Memory,
    MemoryFilter,
    MemorySort,
    Period,
    WishCount,
    WishKind,
)
from ragforge.domain.search import Candidate, Hit, Query, Related
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Turn
from ragforge.domain.vectors import Embedding, Near, Nearby, Owner, Vector


class Summaries(Protocol):
    """The summaries of turns, in levels."""

    async def save(self, summary: Summary) -> None:
        """Save it. A summary with the same id is replaced, and its vector must be made again.

        If the text of an existing summary changes, the summary one level up that covers it is `outdated`
        until it is saved again. The turns of a level 1 summary must be embedded again. An extractive summary
        never replaces a model's; a model's replaces an extractive one under the id of that one.
        Raises Conflict if its session, or something it covers, is not stored.
        """
        ...

    async def roll_up(self, summary: Summary) -> bool:
        """Save it if nothing that it covers is covered by another summary of its level. Return whether it was
        saved.

        This is decided once, whoever else tries at the same time: the session is locked, checked and written
        in one transaction of the database. Raises Conflict like `save`.
        """
        ...

    async def get(self, ids: Sequence[str]) -> list[Summary]:
        """Return the existing ones, in the order of the ids."""
        ...

    async def of_session(
        self, session_id: str, *, level: int | None = None, uncovered: bool = False
    ) -> list[Summary]:
        """Return the session's, by level and time; `uncovered` excludes those covered by a summary one level
        up."""
        ...

    async def covering(self, turn_ids: Sequence[str]) -> dict[str, list[Summary]]:
        """Return the summaries that cover each of the turns, lowest level first."""
        ...

    async def lacking(self, *, project_id: str | None = None, limit: int = 100) -> list[Turn]:
        """Return ended turns without a level 1 summary, oldest first."""
        ...

    async def stand_ins(self, *, project_id: str | None = None, limit: int = 100) -> list[Summary]:
        """Return extractive summaries of level 1, newest first, which a model's may replace."""
        ...

    async def upper_stand_ins(self, *, project_id: str | None = None, limit: int = 100) -> list[Summary]:
        """Return extractive summaries above level 1 that cover only a model's, by level, oldest first.

        The others must wait for the level below; then they are `outdated`. Reads all summaries above level 1.
        """
        ...

    async def outdated(self, *, project_id: str | None = None, limit: int = 100) -> list[Summary]:
        """Return summaries that cover one whose text changed after they were written, lowest level first."""
        ...

    async def sessions_to_roll_up(
        self, chars_min: int, *, project_id: str | None = None, limit: int = 100
    ) -> list[str]:
        """Return the ids of sessions where the turns without a level 2 summary (user and assistant text), or
        the summaries of a level without one a level up, have more than about `chars_min` characters. Oldest
        first.

        This is a cheap first check. The caller decides what is on one path and due.
        """
        ...


class Vectors(Protocol):
    """The embeddings of turns, summaries and memories, one for each. Only vectors of the same model are
    compared."""

    async def use(self, model: str, dimensions: int) -> None:
        """Prepare for this embedder. Vectors of another one are not found until their owners are embedded
        again.

        Indexes with other dimensions are rebuilt. Raises UsageError for dimensions outside 1..4096.
        """
        ...

    async def in_use(self) -> str:
        """Return the name of the embedder passed to `use` last; empty if there was none."""
        ...

    async def save(self, embeddings: Sequence[Embedding]) -> None:
        """Save many at once, except those whose owner is not stored (any more).

        Raises UsageError for a vector that is empty, zero, not finite, or longer than 4096.
        """
        ...

    async def get(self, owners: Sequence[Owner]) -> list[Embedding]:
        """Return the existing ones, in the order of the owners."""
        ...

    async def lacking(self, model: str, *, project_id: str | None = None, limit: int = 100) -> list[Owner]:
        """Return ended turns, summaries and memories without a vector of the model, or whose text changed
        since; newest first. Forgotten memories are excluded."""
        ...

    async def same_text(self, model: str, hashes: Sequence[str]) -> dict[str, Vector]:
        """Return vectors of the model for texts with these hashes, if any record has one."""
        ...

    async def nearest(self, nearby: Nearby) -> list[Near]:
        """Return the nearest, best first, ties by id. Vectors of other dimensions are not compared.

        Exact for up to some thousands in the scope; beyond that, at least 95 of 100 are among the exact ones.
        Forgotten memories are excluded.
        """
        ...


class Memories(Protocol):
    """The typed memories. If turns that they are based on are deleted, they are based on the remaining
    ones."""

    async def save(self, memory: Memory) -> None:
        """Save it. It is merged with an existing one of the same id: both sets of turns, both `applies_to`,
        the higher importance, confidence, strength and `said`, the newer `updated_at`, the older
        `created_at`, and the existing type, topic, owner and wording. It is the user's if either is.

        A forgotten memory stays forgotten unless the new one is the user's; then it is restored.
        Raises UsageError for an id that does not match the text, for empty text or text over
        MEMORY_CHARS_MAX, and for values outside 0..1; Conflict if its project is not stored.
        """
        ...

    async def change(self, memory: Memory) -> None:
        """Replace type, importance, confidence, topic, owner, strength, `applies_to` and `updated_at` of the
        memory with this id.

        Raises Conflict if there is none, UsageError like `save`.
        """
        ...

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        """Return the existing ones, in the order of the ids, including forgotten ones."""
        ...

    async def find(self, wanted: MemoryFilter) -> list[Memory]:
        """Return those that match, in the requested order."""
        ...

    async def state(self) -> object | None:
        """A value that differs once anything that `find` depends on has changed; None if that is not known.

        Use (`touch`) and counted calls (`count_answers`) do not change it.
        """
        ...

    async def concepts(self, wanted: ConceptFilter) -> list[ConceptMemories]:
        """Return the most important topics with their memories and vectors, in one query.

        Only of the project, without memories that are forgotten, replaced, abandoned or somebody else's.
        """
        ...

    async def count_wishes(
        self, *, project_id: str, person: str, binding: bool = False
    ) -> dict[WishKind, WishCount]:
        """Return the number of valid wishes of each kind in the project: everybody's and this user's.

        Reads only wishes; at most WISHES_COUNTED_MAX are counted. binding: read only constraints.
        """
        ...

    async def count_extracted(
        self, *, project_id: str, person: str, within: timedelta, limit: int
    ) -> ExtractionCount:
        """Return how many of the newest `limit` memories that the background found in the project are
        unchanged: neither forgotten nor edited `within` this time after their creation."""
        ...

    async def of_turns(self, turn_ids: Sequence[str]) -> list[Memory]:
        """Return memories based on one of these turns, including forgotten and replaced ones, by creation and
        id."""
        ...

    async def with_id_part(self, part: str, *, limit: int = 5) -> list[str]:
        """Return the ids that start with this."""
        ...

    async def forgotten(self, *, project_id: str) -> list[Memory]:
        """Return forgotten memories of the project and global ones, newest first, at most FORGOTTEN_MAX."""
        ...

    async def forget(self, ids: Sequence[str], at: datetime) -> None:
        """Forget them; they can be restored."""
        ...

    async def restore(self, ids: Sequence[str]) -> None:
        """Restore forgotten ones."""
        ...

    async def set_periods(self, periods: Mapping[str, Period]) -> None:
        """Set `valid_from` and `valid_to` of the stored ones among these."""
        ...

    async def touch(self, ids: Sequence[str], at: datetime) -> None:
        """Count a use at this time, except for memories already used at this time or later.

        May be lost while a server is away; nothing depends on it.
        """
        ...

    async def count_answers(self, ids: Sequence[str], *, held: bool) -> None:
        """Count one more call that these stopped (`held`), or that ran against them (`broken`).

        May be lost while a server is away; nothing depends on it.
        """
        ...

    async def associate(self, associations: Sequence[Association]) -> None:
        """Save the links; a link with the same kind, ends and turn gets the newer time.

        Raises Conflict for unknown ends.
        """
        ...

    async def associations(self, ids: Sequence[str]) -> list[Association]:
        """Return the links from or to these, oldest first, each once."""
        ...


async def get_recent_since(
    memories: Memories,
    duration: timedelta,
    limit: int,
    session_id: str | None = None,
    *,
    project_id: str | None = None,
    person: str | None = None,
) -> list[Memory]:
    """Return those created within the last `duration` that may be put in front of a model, newest first."""
    since = now() - duration
    return await memories.find(
        MemoryFilter(project_id, session_id, person, since=since, sort=MemorySort.CREATED, limit=limit)
    )


class DerivedRecords(Protocol):
    """Records of any kind made from turns, sessions and projects, and deleted with them."""

    async def save(self, record: Derived) -> None:
        """Save it. One with the same id is replaced, unless it is based on a later change of the owner, or
        unless both have the same state and recipe and the existing one was made by a model and the new one by
        rules.

        A forgotten record stays forgotten. Raises UsageError for a record that no store can keep, Conflict if
        its owner is not stored.
        """
        ...

    async def get(self, ids: Sequence[str]) -> list[Derived]:
        """Return the existing ones, in the order of the ids, including forgotten ones."""
        ...

    async def find(self, wanted: DerivedFilter) -> list[Derived]:
        """Return those that match, newest first, then by id."""
        ...

    async def lacking(self, wanted: UnderivedFilter) -> list[Underived]:
        """Return owners without a record of the kind, or which changed since it was made; newest first.

        A record counts if it was made with the kind's current recipe and, if a model is given, by that model.
        Owners with a forgotten record, turns that have not ended and projects without a session are excluded.
        """
        ...

    async def forget(self, ids: Sequence[str], at: datetime) -> None:
        """Forget them; they can be restored."""
        ...

    async def restore(self, ids: Sequence[str]) -> None:
        """Restore forgotten ones."""
        ...


class Leases(Protocol):
    """The right to do some work once, for a limited time. It only saves money: results are saved, whoever
    made them."""

    async def take(self, what: str, *, seconds: float) -> bool:
        """Take the lease or extend your own, by the database's clock; False while somebody else has it.

        Also True while a server is away: doing work twice is better than not doing it.
        """
        ...

    async def give_back(self, what: str) -> None:
        """Release it; no effect if somebody else has it."""
        ...


class Search(Protocol):
    """Search by words and by meaning. `memory.recall` ranks across sources."""

    async def words(self, query: Query) -> list[Hit]:
        """Return turns, tool calls, summaries and memories that contain the words, best first; accepts any
        text."""
        ...

    async def candidates(self, query: Query, nearby: Nearby | None = None) -> list[Candidate]:
        """Return the best `query.limit` by words and the nearest `nearby.limit`, each once.

        `meaning` is also set for those found by words, if they have a vector of the model.
        """
        ...

    async def related(self, candidates: Sequence[Candidate], *, limit: int = 200) -> list[Related]:
        """Return what is one step away in the graph: the turns before and after a turn, the turns covered by
        a level 1 summary, those that a memory is based on, the turn of a call."""
        ...

    async def hits(self, candidates: Sequence[Candidate], text: str) -> list[Hit]:
        """Return the candidates as hits, in order, each with the excerpt that matches the text best."""
        ...
