"""The contract of what is remembered: summaries, vectors, memories, and finding among them.

As with `store/base.py`: every method raises StoreUnavailable when the database cannot be read or written,
writes are durable when they return, and the same call repeated changes nothing.
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
        """Keep it; one of the same id is replaced, and what was embedded of it must be embedded again.

        Where the text of an old one changes, the summary one level up that covers it is `outdated` until it
        is saved anew. The turns of a level 1 summary must be embedded again. An extractive one never takes
        the place of a model's, and a model's takes that of an extractive one, under its id.
        Raises Conflict where its session, or something it covers, is not stored.
        """
        ...

    async def roll_up(self, summary: Summary) -> bool:
        """Keep it if nothing that it covers is covered by another of its level; whether it was kept.

        Decided once, whoever else tries at that moment: the session is locked, checked and written in one
        transaction of the database itself. Raises Conflict as `save`.
        """
        ...

    async def get(self, ids: Sequence[str]) -> list[Summary]:
        """Those that there are, in the order of the ids."""
        ...

    async def of_session(
        self, session_id: str, *, level: int | None = None, uncovered: bool = False
    ) -> list[Summary]:
        """The session's, by level and time; `uncovered` leaves out what a summary one level up covers."""
        ...

    async def covering(self, turn_ids: Sequence[str]) -> dict[str, list[Summary]]:
        """For each of the turns, the summaries that stand for it, lowest level first."""
        ...

    async def lacking(self, *, project_id: str | None = None, limit: int = 100) -> list[Turn]:
        """Turns that ended and have no level 1 summary, oldest first."""
        ...

    async def stand_ins(self, *, project_id: str | None = None, limit: int = 100) -> list[Summary]:
        """Extractive summaries of level 1, newest first: a model's may take their place."""
        ...

    async def upper_stand_ins(self, *, project_id: str | None = None, limit: int = 100) -> list[Summary]:
        """Extractive summaries above level 1 over none but a model's, by level, oldest first.

        Of the others the level below comes first; then they are `outdated`. Reads all above level 1.
        """
        ...

    async def outdated(self, *, project_id: str | None = None, limit: int = 100) -> list[Summary]:
        """Summaries over one whose text changed after they were written, lowest level first."""
        ...

    async def sessions_to_roll_up(
        self, chars_min: int, *, project_id: str | None = None, limit: int = 100
    ) -> list[str]:
        """Ids of sessions where, oldest first, the turns without a level 2 summary (user and assistant text),
        or the summaries of a level without one a level up, hold more than about `chars_min` characters.

        A cheap first look: which of it lies on one path, and what is due, is for the caller to decide.
        """
        ...


class Vectors(Protocol):
    """The embeddings of turns and summaries, one an owner. Vectors of different models are never compared."""

    async def use(self, model: str, dimensions: int) -> None:
        """Make ready for this embedder. What another one made is not found until it is embedded again.

        Indexes of other dimensions are rebuilt. Raises UsageError for dimensions outside 1..4096.
        """
        ...

    async def in_use(self) -> str:
        """The name of the embedder that `use` named last; empty before any."""
        ...

    async def save(self, embeddings: Sequence[Embedding]) -> None:
        """Keep them, many at once. Those whose owner is not stored (any more) are left out.

        Raises UsageError for a vector that is empty, zero, not finite, or longer than 4096.
        """
        ...

    async def get(self, owners: Sequence[Owner]) -> list[Embedding]:
        """Those that there are, in the order of the owners."""
        ...

    async def lacking(self, model: str, *, project_id: str | None = None, limit: int = 100) -> list[Owner]:
        """Ended turns, summaries and memories without a vector of it, or whose text changed since; newest
        first. Forgotten memories lack none."""
        ...

    async def same_text(self, model: str, hashes: Sequence[str]) -> dict[str, Vector]:
        """Vectors of the model for texts of these hashes, where some owner has one."""
        ...

    async def nearest(self, nearby: Nearby) -> list[Near]:
        """The nearest, best first, ties by id. Vectors of other dimensions are not compared.

        Exact up to some thousands in the scope; beyond that at least 95 of 100 are the exact ones.
        Forgotten memories are not compared.
        """
        ...


class Memories(Protocol):
    """The typed memories. Turns that they rest on may be gone; then they rest on what is left."""

    async def save(self, memory: Memory) -> None:
        """Keep it; with one of the same id it is merged: the turns that either rests on, what either applies
        to, the higher importance, confidence, strength and `said`, the newer `updated_at`, the older
        `created_at`, the type, topic, owner and wording that were there first. It is the user's if either is.

        One that was forgotten stays so, unless the new one is the user's: then it is restored.
        Raises UsageError for an id that is not that of its text, for empty text or text over
        MEMORY_CHARS_MAX, and for values outside 0..1; Conflict where its project is not stored.
        """
        ...

    async def change(self, memory: Memory) -> None:
        """Replace type, importance, confidence, topic, owner, strength, what it applies to and `updated_at`
        of the one with this id.

        Raises Conflict where there is none, UsageError as `save`.
        """
        ...

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        """Those that there are, in the order of the ids, forgotten or not."""
        ...

    async def find(self, wanted: MemoryFilter) -> list[Memory]:
        """Those that fit, in the order asked for."""
        ...

    async def state(self) -> object | None:
        """Differs once anything changed, by whoever, that `find` answers by; None where that is not known.

        Not where memories were only used (`touch`) or their calls counted (`count_answers`).
        """
        ...

    async def concepts(self, wanted: ConceptFilter) -> list[ConceptMemories]:
        """The weightiest topics with their memories and vectors, in one query.

        Of the project alone, without what is forgotten, replaced or abandoned, or somebody else's.
        """
        ...

    async def count_wishes(
        self, *, project_id: str, person: str, binding: bool = False
    ) -> dict[WishKind, WishCount]:
        """Of each kind that there is, how many wishes hold in the project: everybody's and this person's.

        Reads wishes alone, whatever else is remembered; more than WISHES_COUNTED_MAX are not counted.
        binding: only constraints are read.
        """
        ...

    async def count_extracted(
        self, *, project_id: str, person: str, within: timedelta, limit: int
    ) -> ExtractionCount:
        """How many of the newest `limit` memories that the background found in the project are still as they
        were found: neither forgotten nor edited `within` this time of their creation."""
        ...

    async def of_turns(self, turn_ids: Sequence[str]) -> list[Memory]:
        """Those that rest on one of these turns, forgotten and replaced ones too, by creation and id."""
        ...

    async def with_id_part(self, part: str, *, limit: int = 5) -> list[str]:
        """Ids that begin so."""
        ...

    async def forgotten(self, *, project_id: str) -> list[Memory]:
        """The project's and the global ones that are forgotten, the newest first: at most FORGOTTEN_MAX."""
        ...

    async def forget(self, ids: Sequence[str], at: datetime) -> None:
        """Forget them; they can be restored."""
        ...

    async def restore(self, ids: Sequence[str]) -> None:
        """Take back that they were forgotten."""
        ...

    async def set_periods(self, periods: Mapping[str, Period]) -> None:
        """Set `valid_from` and `valid_to` of those with these ids that are stored."""
        ...

    async def touch(self, ids: Sequence[str], at: datetime) -> None:
        """Count that they were used at this moment: those used at it or after it already are left alone.

        May be lost where a server is away: nothing depends on it.
        """
        ...

    async def count_answers(self, ids: Sequence[str], *, held: bool) -> None:
        """Count one more call that these have stopped (`held`), or that ran against them (`broken`).

        May be lost where a server is away: nothing depends on it.
        """
        ...

    async def associate(self, associations: Sequence[Association]) -> None:
        """Keep the links; one of the same kind, ends and turn has the newer time then.

        Raises Conflict for unknown ends.
        """
        ...

    async def associations(self, ids: Sequence[str]) -> list[Association]:
        """Links from or to these, oldest first, each once."""
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
    """Records of any kind that are made of turns, sessions and projects, and are deleted with them."""

    async def save(self, record: Derived) -> None:
        """Keep it; one of the same id is replaced, unless it knows of a later change of the owner, or a model
        made it and rules the new one, of the same state in the same way.

        One that was forgotten stays so. Raises UsageError for a record that no store keeps, Conflict where
        its owner is not stored.
        """
        ...

    async def get(self, ids: Sequence[str]) -> list[Derived]:
        """Those that there are, in the order of the ids, forgotten or not."""
        ...

    async def find(self, wanted: DerivedFilter) -> list[Derived]:
        """Those that fit, the newest first, then by id."""
        ...

    async def lacking(self, wanted: UnderivedFilter) -> list[Underived]:
        """Owners without a record of the kind, or which changed since it was made; the newest first.

        A record counts if it was made as the kind says now and, where one is named, by this model. Turns that
        have not ended and projects without a session lack none, nor does what has a forgotten one.
        """
        ...

    async def forget(self, ids: Sequence[str], at: datetime) -> None:
        """Forget them; they can be restored."""
        ...

    async def restore(self, ids: Sequence[str]) -> None:
        """Take back that they were forgotten."""
        ...


class Leases(Protocol):
    """The right to do some work that is done once, for a while. It only saves money: results are kept once
    whoever brings them."""

    async def take(self, what: str, *, seconds: float) -> bool:
        """Take it or prolong one's own, by the database's clock; False while somebody else has it.

        True as well where a server is away: work that is done twice is better than none.
        """
        ...

    async def give_back(self, what: str) -> None:
        """Give it up; harmless where it is not ours."""
        ...


class Search(Protocol):
    """Finding by words and by meaning. Ranking across sources is `memory.recall`'s."""

    async def words(self, query: Query) -> list[Hit]:
        """Turns, tool calls, summaries and memories that hold the words, best first; any input is fine."""
        ...

    async def candidates(self, query: Query, nearby: Nearby | None = None) -> list[Candidate]:
        """What may answer: the best `query.limit` by words and the nearest `nearby.limit`, each once.

        `meaning` is given for those found by words too, where they have a vector of the model.
        """
        ...

    async def related(self, candidates: Sequence[Candidate], *, limit: int = 200) -> list[Related]:
        """One step through the graph from each candidate: the turns before and after a turn, those that a
        summary of level 1 stands for or a memory rests on, the turn of a call."""
        ...

    async def hits(self, candidates: Sequence[Candidate], text: str) -> list[Hit]:
        """The candidates as hits, in their order, with the excerpt that fits the text best."""
        ...
