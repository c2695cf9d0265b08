"""What a kind of record may not be called in the graph."""

import re
from pathlib import Path

from ragforge.domain.derivations import LABELS, RELATIONS
from ragforge.store.neo4j.rows import Label

SCHEMA = Path(__file__).parents[2] / "schema.cypher"


def test_no_label_or_relationship_of_the_program_can_be_a_kinds() -> None:
    assert {*Label} == LABELS
    drawn = re.findall(r"\[:([A-Z_|]+)", SCHEMA.read_text(encoding="utf-8"))
    names = {name for each in drawn for name in each.split("|")}
    assert names - {"DERIVED_FROM"} == RELATIONS
