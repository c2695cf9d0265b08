"""Which earlier turns say something that a turn replaces, so that what is recalled of them says so, whatever
else is found.

Rules find it, in the turns that are near to the new one.
"""

from ragforge.domain.derivations import Derived, Underived
from ragforge.domain.redact import Redactor
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Turn
from ragforge.memory.derive.records import keep_record
from ragforge.memory.material import Material
from ragforge.memory.part import AnswerPart
from ragforge.memory.recall.replacements import REPLACING_TURN, ReplacingTurn
from ragforge.memory.recall.validity import Validity
from ragforge.store.base import Store


def replaced_turns(turn: Turn, near: tuple[Turn, ...]) -> list[Turn]:
    """Those of the near turns in which something holds no longer since the turn."""
    return [each for each in near if _is_before(each, turn) and Validity([each, turn]).changes_anything()]


def _is_before(each: Turn, turn: Turn) -> bool:
    """Whether it was said before the turn: in its session by its place, for a clock may be set back."""
    if each.session_id == turn.session_id:
        return each.index < turn.index
    return each.started_at <= turn.started_at


def _links(material: Material) -> tuple[Derived, ...] | None:
    found = replaced_turns(material.turn, material.near_turns)
    by = material.turn.id
    records = [
        REPLACING_TURN.record(
            Underived(each.id, material.project_id, each.ended_at or each.started_at),
            ReplacingTurn(by),
            name=by,
        )
        for each in found
    ]
    return tuple(records) or None


async def _keep(store: Store, redactor: Redactor, _: Summary, records: tuple[Derived, ...]) -> None:
    for record in records:
        await keep_record(store, redactor, record)


PART: AnswerPart[tuple[Derived, ...]] = AnswerPart(
    "replaced_turns",
    schema=None,
    asks="",
    tokens_max=0,
    read=lambda material, value: None,
    without=_links,
    keep=_keep,
    kind=tuple[Derived, ...],
)
