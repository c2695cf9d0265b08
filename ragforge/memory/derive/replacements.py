"""Find the earlier turns that say something that a turn replaces, so that whatever is recalled of them is
marked, even if the newer turn is not found.

Rules find it, and if they know nothing, a small model does, in the turns that are near to the new one.
"""

from collections.abc import Iterator

from ragforge.domain.derivations import Derived, Underived
from ragforge.domain.redact import Redactor
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Turn
from ragforge.memory.derive.records import keep_record
from ragforge.memory.material import Material
from ragforge.memory.part import AnswerPart
from ragforge.memory.recall.replacements import REPLACING_TURN, Link, ReplacingTurn
from ragforge.memory.recall.validity import Validity
from ragforge.store.base import Store


def replaced_turns(turn: Turn, near: tuple[Turn, ...]) -> list[Link]:
    """Return those of the near turns in which the turn makes something outdated, surely or likely."""
    return list(_replaced(turn, near))


def _replaced(turn: Turn, near: tuple[Turn, ...]) -> Iterator[Link]:
    for each in near:
        if not _is_before(each, turn):
            continue
        link = Link(each.id, turn.id, is_sure=Validity([each, turn]).changes_anything())
        if link.is_sure or Validity([each, turn], links=[link]).changes_anything():
            yield link


def _is_before(each: Turn, turn: Turn) -> bool:
    """Return whether it was said before the turn; in its session by index, as a clock may be set back."""
    if each.session_id == turn.session_id:
        return each.index < turn.index
    return each.started_at <= turn.started_at


def _links(material: Material) -> tuple[Derived, ...] | None:
    links = {link.old: link for link in replaced_turns(material.turn, material.near_turns)}
    by = material.turn.id
    records = [
        REPLACING_TURN.record(
            Underived(each.id, material.project_id, each.ended_at or each.started_at),
            ReplacingTurn(by, links[each.id].is_sure),
            name=by,
        )
        for each in material.near_turns
        if each.id in links
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
