"""Records that are derived from turns, sessions or projects: what a file in this folder needs for a kind.

`RecordDerivation` creates the missing ones. `record_part` also asks for it in the one call about a turn,
which costs no call of its own.
"""

import logging
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.derivations import (
    Derived,
    DerivedFilter,
    DerivedKind,
    DerivedOwner,
    Underived,
    UnderivedFilter,
    as_kept,
)
from ragforge.domain.errors import Conflict
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.redact import Redactor
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Turn
from ragforge.domain.vectors import Owner
from ragforge.memory.derive.base import Derivation, Desk, Home, Moment
from ragforge.memory.forgotten import read_forgotten
from ragforge.memory.material import Material
from ragforge.memory.part import AnswerPart
from ragforge.store.base import Store

T = TypeVar("T", bound=Struct)

log = logging.getLogger(__name__)

AT_ONCE = 20
"""How many owners one step processes."""


class RecordDerivation(Derivation):
    """Maintains the records of one kind."""

    kind: ClassVar[DerivedKind[Any]]
    wakes_on = frozenset({Moment.OPENED, Moment.TURN_ENDED, Moment.UNDERSTOOD})

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._looked: set[str] = set()
        """Projects whose turns were all checked in this run: of new turns it is notified."""
        self._told: dict[str, dict[str, Underived]] = {}
        """By project, turns that may lack a record."""
        self._passed: set[Underived] = set()
        """Owners for which nothing was created or stored, in the state of that time."""
        self._again: set[str] = set()
        """Owners to be checked again, whatever the result was before."""
        self._last: set[Underived] = set()
        """The owners of the last step."""

    @abstractmethod
    async def make(self, home: Home, source: Underived) -> Sequence[Derived]:
        """Return the records of the owner, by `kind.record`; none if none can be created in this run.

        An owner without records is listed again in the next run. Raises StoreError, and what `Desk.ask` does.
        """

    async def turn(self, home: Home, source: Underived) -> Turn | None:
        """Return the owner, which is a turn, without secrets and what is forgotten. Raises StoreError."""
        found = await home.store.turns.get(source.owner)
        if found is None:
            return None
        turn = (await read_forgotten(home.store, home.project_id)).turn(found)
        clean = home.redactor
        return replace(turn, user=clean.parts(turn.user), assistant=clean.text(turn.assistant))

    async def understood(self, home: Home, turn: Turn, owners: Sequence[Owner], *, own: bool) -> None:
        """Queue the turn, which may lack a record, or have one of its earlier end."""
        if self.kind.owner is DerivedOwner.TURN and turn.ended_at is not None:
            source = Underived(turn.id, home.project_id, turn.ended_at)
            self._told.setdefault(home.project_id, {})[turn.id] = source

    async def step(self) -> float | None:
        """Create some of the missing records. Raises StoreError."""
        for home in list(self.desk.homes.values()):
            if home.settings.memory.enabled and (due := await self._due(home)):
                self._last = set(due[:AT_ONCE])
                for source in due[:AT_ONCE]:
                    await self._keep(home, source)
                return 0
        return None

    async def _due(self, home: Home) -> list[Underived]:
        if self.kind.owner is DerivedOwner.TURN and home.project_id in self._looked:
            told = self._told.setdefault(home.project_id, {})
            looked_at = dict(told)  # more turns may end meanwhile
            due = [source for source in looked_at.values() if await self.lacks(home, source)]
            # A turn that has its record is not checked again at each turn that follows.
            kept = {source.owner for source in (*due, *self._passed)}
            for owner, source in looked_at.items():
                if owner not in kept and told.get(owner) is source:
                    del told[owner]
            return due
        found = await self.lacking(home, len(self._passed) + AT_ONCE)
        # What is listed again right after it was stored would be created forever.
        self._passed |= self._last.intersection(found)
        due = [source for source in found if source not in self._passed]
        if not due:
            self._looked.add(home.project_id)
        return due

    async def lacking(self, home: Home, limit: int) -> list[Underived]:
        """List owners that lack a record. Raises StoreError."""
        return await home.store.derivations.lacking(
            UnderivedFilter(self.kind, project_id=home.project_id, limit=limit)
        )

    def look_again(self, owner: str) -> None:
        """Check an owner again, for which nothing could be created until now."""
        self._again.add(owner)  # it may be in progress
        self._passed = {source for source in self._passed if source.owner != owner}
        self._last = {source for source in self._last if source.owner != owner}

    async def lacks(self, home: Home, source: Underived) -> bool:
        """Return whether a queued turn lacks a record: the one call may have created it."""
        if source in self._passed:
            return False
        wanted = DerivedFilter(self.kind.label, owners=(source.owner,), forgotten=True, abandoned=True)
        return not any(
            record.forgotten_at or (record.hash == self.kind.hash and record.at >= source.at)
            for record in await home.store.derivations.find(wanted)
        )

    async def _keep(self, home: Home, source: Underived) -> None:
        self._again.discard(source.owner)
        made = await self.make(home, source)
        if not made and source.owner not in self._again:
            self._passed.add(source)
        for record in made:
            await keep_record(home.store, home.redactor, record)
        self._told.get(home.project_id, {}).pop(source.owner, None)


class AnsweredRecord(Struct, frozen=True):
    """The result of a part, until it is known which model gave it. model: whether one did."""

    record: Derived
    model: bool


def record_part(
    kind: DerivedKind[T],
    name: str,
    schema: JsonObject,
    asks: str,
    *,
    tokens_max: int,
    read: Callable[[Material, JsonValue], T | None],
    rules: Callable[[Material], T | None] = lambda material: None,
) -> AnswerPart[AnsweredRecord]:
    """Return the part of the one call that creates a turn's record; arguments as those of `AnswerPart`."""

    def answered(material: Material, data: T | None, *, model: bool) -> AnsweredRecord | None:
        ended_at = material.turn.ended_at
        if data is None or ended_at is None:
            return None
        source = Underived(material.turn.id, material.project_id, ended_at)
        return AnsweredRecord(kind.record(source, data), model)

    async def keep(store: Store, redactor: Redactor, summary: Summary, value: AnsweredRecord) -> None:
        model = summary.model if value.model else ""
        await keep_record(store, redactor, replace(value.record, model=model))

    return AnswerPart(
        name,
        schema,
        asks,
        tokens_max,
        read=lambda material, value: answered(material, read(material, value), model=True),
        without=lambda material: answered(material, rules(material), model=False),
        keep=keep,
        kind=AnsweredRecord,
    )


async def keep_record(store: Store, redactor: Redactor, record: Derived) -> None:
    """Store the record without secrets, unless its owner was deleted. Raises StoreError."""
    try:
        await store.derivations.save(replace(record, data=redactor.fields(as_kept(record).data)))
    except Conflict as error:
        log.info("A %s is not kept: %s", record.kind, error)
