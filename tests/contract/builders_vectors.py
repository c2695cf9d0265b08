"""Questions to the vectors of one model, and what they find."""

from typing import Any

from ragforge.domain.vectors import Near, Nearby, Owner
from tests.contract.builders import (
    a_vector,
)

MODEL = "static:minilm-256-2"
EAST = a_vector(1, 0)


def nearby(*numbers: float, **values: Any) -> Nearby:
    return Nearby(a_vector(*numbers), MODEL, **values)


def owners(found: list[Near]) -> list[Owner]:
    return [near.owner for near in found]
