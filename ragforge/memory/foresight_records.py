"""Read the foresight records of a path, as far as the reader may see them.

`read_foresight` is what a screen, the block and the next call read: the turns of a path, the oldest first,
each with the record that was made after it. So `rows[k].made` describes the state after turn k, rates
what `rows[k - 1].made` expected of turn k, contains the figures of turn k, and expects something of turn
k + 1; `rows[-1].made` expects something of the turn that comes next. `made` is None if there is no record
(yet). Record 0, before the first turn of a session, expects nothing (`FIRST_RECORD`) and is not read.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.derivations import Derived, DerivedFilter
from ragforge.domain.foresight import KIND, Foresight
from ragforge.domain.json import each_text
from ragforge.domain.turns import Person, Turn
from ragforge.memory.foresight import description_complexity
from ragforge.memory.forgotten import Forgotten, read_forgotten
from ragforge.store.base import Store


class TurnForesight(Struct, frozen=True):
    """A turn, and the record that was made after it. model: what described and rated; empty for rules."""

    turn: Turn
    made: Foresight | None = None
    model: str = ""


async def read_foresight(
    store: Store, project_id: str, head: str | None, *, person: Person, limit: int | None = None
) -> list[TurnForesight]:
    """Return the newest `limit` turns of the path to the head with their records, the oldest first.

    person: who reads it. Of turns that others wrote they see what is about the project. What was forgotten is
    cut out. Raises StoreError.
    """
    path = await store.turns.path(head, limit=limit)
    if not path:
        return []
    owners = tuple(turn.id for turn in path)
    wanted = DerivedFilter(KIND.label, project_id, owners=owners, abandoned=True, limit=len(owners))
    found = {record.owner: record for record in await store.derivations.find(wanted)}
    forgotten = await read_forgotten(store, project_id)
    return [_of_turn(turn, found.get(turn.id), forgotten, person) for turn in path]


def is_theirs(turn: Turn, person: Person) -> bool:
    """Whether the turn, and what was foreseen with it, is this user's."""
    return person.alone or turn.person == person.id


def _of_turn(turn: Turn, record: Derived | None, forgotten: Forgotten, person: Person) -> TurnForesight:
    made = KIND.read(record) if record else None
    if record is None or made is None:
        return TurnForesight(turn)
    made = made if is_theirs(turn, person) else _of_project(made)
    return TurnForesight(turn, _without(made, turn, forgotten), record.model)


def _of_project(made: Foresight) -> Foresight:
    """Return what everybody in the project may see: of the task only its figures."""
    return replace(
        made,
        individual_before_description="",
        individual_after_prediction="",
        predictability_individual=None,
        words_individual=None,
        meaning_individual=None,
        next_messages=(),
        files_foreseen=(),
    )


def _without(made: Foresight, turn: Turn, forgotten: Forgotten) -> Foresight:
    """Return the record without what is forgotten; for a turn in which that was said, an empty one.

    A model may have said it in words that no comparison finds.
    """
    if not forgotten:
        return made
    is_source = turn.id in forgotten.sources

    def clean(text: str) -> str:
        return "" if is_source else forgotten.cut(text, session=turn.session_id)

    return with_texts(made, clean)


def with_texts(made: Foresight, change: Callable[[str], str]) -> Foresight:
    """Return the record with its texts changed; messages and paths that change are left out."""

    def same(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(text for text in texts if change(text) == text)

    return replace(
        made,
        individual_before_description=change(made.individual_before_description),
        collective_before_description=change(made.collective_before_description),
        individual_after_prediction=change(made.individual_after_prediction),
        collective_after_prediction=change(made.collective_after_prediction),
        next_messages=same(made.next_messages),
        files_foreseen=same(made.files_foreseen),
    )


def record_without(record: Derived, cut: Callable[[str], str]) -> Derived:
    """Return the record with its texts cut, and the figures of the rest."""
    made = KIND.read(record)
    if made is None:
        return replace(record, data=each_text(record.data, cut))
    left = with_texts(made, cut)
    return record if left == made else replace(record, data=KIND.data_of(with_figures(left, left)))


def record_of_nobody(record: Derived) -> Derived:
    """Return the record without what its user and the models said and rated.

    How much the turn changed stays, as versions of the files do: sums of later turns depend on it.
    """
    made = KIND.read(record)
    if made is None:
        return replace(record, data={})
    return replace(record, data=KIND.data_of(with_figures(Foresight(), made)))


def with_figures(made: Foresight, of: Foresight) -> Foresight:
    """Return the record with the figures of another one of the same turn, and of its own descriptions."""
    cd_individual = _description_complexity(made.individual_before_description)
    cd_collective = _description_complexity(made.collective_before_description)
    return replace(
        made,
        units_individual=of.units_individual,
        units_collective=of.units_collective,
        alpha=of.alpha,
        depth_individual=of.depth_individual,
        depth_collective=of.depth_collective,
        cw_individual=of.cw_individual,
        cw_collective=of.cw_collective,
        cd_individual=cd_individual,
        cd_collective=cd_collective,
        u_individual=_difference(of.cw_individual, cd_individual),
        u_collective=_difference(of.cw_collective, cd_collective),
    )


def _description_complexity(description: str) -> int | None:
    return description_complexity(description) if description else None


def _difference(cw: int | None, cd: int | None) -> int | None:
    """Return U: how much more it took to produce than to describe."""
    return cw - cd if cw is not None and cd is not None else None
