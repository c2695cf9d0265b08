"""What a kind of record may not be called in the graph, and which turns are looked at for one."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec import Struct

from ragforge.config.schema import Settings
from ragforge.domain.derivations import LABELS, RELATIONS, Derived, DerivedKind, Underived
from ragforge.domain.ids import now
from ragforge.domain.turns import Turn
from ragforge.memory.derive.base import Home
from ragforge.memory.derive.records import RecordDerivation
from ragforge.store.neo4j.rows import Label
from tests.contract.builders import a_session, a_turn

SCHEMA = Path(__file__).parents[2] / "schema.cypher"


def test_no_label_or_relationship_of_the_program_can_be_a_kinds() -> None:
    assert {*Label} == LABELS
    drawn = re.findall(r"\[:([A-Z_|]+)", SCHEMA.read_text(encoding="utf-8"))
    names = {name for each in drawn for name in each.split("|")}
    assert names - {"DERIVED_FROM"} == RELATIONS


class Note(Struct, frozen=True):
    text: str


def ended(name: str) -> Turn:
    return a_turn(a_session("p"), id=name, ended_at=now())


class Notes(RecordDerivation):
    """Has a record of every turn; while it looks at the first, another one ends."""

    title = "Notes"
    kind = DerivedKind("Note", Note)

    def __init__(self, desk: Any) -> None:
        super().__init__(desk)
        self.looked_at: list[str] = []

    async def make(self, home: Home, source: Underived) -> tuple[Derived, ...]:
        return ()

    async def lacking(self, home: Home, limit: int) -> list[Underived]:
        return []

    async def lacks(self, home: Home, source: Underived) -> bool:
        self.looked_at.append(source.owner)
        if len(self.looked_at) == 1:
            await self.understood(home, ended("second"), (), own=True)
        return False


async def test_a_turn_that_ends_while_others_are_looked_at_is_looked_at_next() -> None:
    home: Any = SimpleNamespace(project_id="p", settings=Settings(store=""))
    notes = Notes(SimpleNamespace(homes={"p": home}))
    await notes.step()  # what there was before
    await notes.understood(home, ended("first"), (), own=True)
    await notes.step()
    assert notes.looked_at == ["first"]
    await notes.step()
    assert notes.looked_at == ["first", "second"]
    await notes.step()
    assert notes.looked_at == ["first", "second"]
