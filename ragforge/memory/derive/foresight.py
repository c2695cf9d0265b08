"""Foresight: after each turn, the current state, how well it was predicted, and what comes next.

It is a part of the call about the turn. A prediction is stored only for the newest turn, and before the next
one starts: for earlier turns, or if the answer is late, the record describes and rates, and predicts nothing.
"""

import asyncio
import logging
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.derivations import Derived, Underived
from ragforge.domain.errors import StoreError
from ragforge.domain.foresight import (
    FILE_CHARS_MAX,
    FILES_MAX,
    FIRST,
    FIRST_RECORD,
    KIND,
    MESSAGE_CHARS_MAX,
    MESSAGES_MAX,
    TEXT_CHARS_MAX,
    Foresight,
    TurnUnits,
)
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.printable import one_line
from ragforge.domain.redact import Redactor
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import TodoState, Turn
from ragforge.memory.derive.base import Desk, Home, Moment
from ragforge.memory.derive.records import RecordDerivation, keep_record
from ragforge.memory.derive.turn_material import says_nothing
from ragforge.memory.foresight import (
    RATING_MAX,
    rating_by_meaning,
    rating_by_words,
    world_complexity,
)
from ragforge.memory.foresight_records import TurnForesight, read_foresight, with_figures
from ragforge.memory.forgotten import read_forgotten
from ragforge.memory.material import Material, PartInput
from ragforge.memory.part import AnswerPart, PartHome
from ragforge.memory.sentences import cut_words
from ragforge.memory.todos import read_todos
from ragforge.store.base import Store

log = logging.getLogger(__name__)

_PREDICT = "No later turn has begun: predict the next one."
_TOO_LATE = "A later turn has begun: leave both predictions, `next_messages` and `files_foreseen` empty."
_UNRATED = "Nothing was predicted for this turn: both ratings are null."


class Ahead(Struct, frozen=True):
    """What is known about a turn before it is described.

    expected: the prediction for it; None if there was none. todos: open ones, newest first.
    """

    is_newest: bool
    expected: Foresight | None
    todos: tuple[str, ...] = ()
    figures: Foresight = Foresight()
    """The figures of the turn only."""


class Foreseen(Struct, frozen=True):
    """What to store. by_model: whether a model described and rated."""

    source: Underived
    session_id: str
    ahead: Ahead
    made: Foresight
    by_model: bool


async def bring(home: PartHome, turn: Turn) -> PartInput | None:
    """Return what was predicted for the turn and before it; None without foresight. Raises StoreError."""
    settings, store = home.settings.foresight, home.store
    if not home.foresees or says_nothing(turn, await store.calls.of_turns([turn.id])):
        return None
    limit = max(
        settings.predictions_individual,
        settings.predictions_collective,
        settings.depth_individual,
        settings.depth_collective,
    )
    # The turn's author, whoever works on it here.
    writer = replace(home.person, id=turn.person) if turn.person else home.person
    before = await read_foresight(store, home.project_id, turn.parent, person=writer, limit=limit)
    is_newest = await _is_newest(store, turn)
    expected = FIRST_RECORD if turn.parent is None else before[-1].made if before else None
    if expected is not None and not expected.predicts:
        expected = None
    lines = _lines(before, settings.predictions_individual, settings.predictions_collective)
    if turn.parent is None:
        lines = _lines([TurnForesight(turn, FIRST_RECORD)], 1, 1)
    head = [_PREDICT if is_newest else _TOO_LATE, *([] if expected else [_UNRATED])]
    todos = await _open_todos(home, turn) if is_newest else ()
    figures = await _figures(home, [*(each.turn for each in before), turn], [each.made for each in before])
    return PartInput("\n".join(head), tuple(lines), Ahead(is_newest, expected, todos, figures))


async def _figures(home: PartHome, turns: Sequence[Turn], made: Sequence[Foresight | None]) -> Foresight:
    """Return the figures of the last of these turns. made: after each of the others. Raises StoreError."""
    settings = home.settings.foresight
    own = await _measured(home, turns[-1])
    found = Foresight(depth_individual=settings.depth_individual, depth_collective=settings.depth_collective)
    if own is None:
        return found
    found = replace(found, units_individual=own.individual, units_collective=own.collective, alpha=own.alpha)
    if own.alpha is None:
        return found
    earlier = max(settings.depth_individual, settings.depth_collective) - 1
    pairs = [(0, 0)] * len(made)
    for at in range(max(0, len(made) - earlier), len(made)):
        pairs[at] = await _units_of(home, turns[at], made[at])
    individual = [*(pair[0] for pair in pairs), own.individual]
    collective = [*(pair[1] for pair in pairs), own.collective]
    at, alpha = len(made), own.alpha
    return replace(
        found,
        cw_individual=world_complexity(individual, at, depth=settings.depth_individual, alpha=alpha),
        cw_collective=world_complexity(collective, at, depth=settings.depth_collective, alpha=alpha),
    )


async def _units_of(home: PartHome, turn: Turn, made: Foresight | None) -> tuple[int, int]:
    """Return the units of a turn before; 0 if they are unknown. Its record may not exist yet."""
    if made is not None and made.units_individual is not None:
        return made.units_individual, made.units_collective or 0
    units = await _measured(home, turn)
    return (units.individual, units.collective) if units else (0, 0)


async def _measured(home: PartHome, turn: Turn) -> TurnUnits | None:
    try:
        return await home.measure(turn)
    except StoreError as error:  # nothing derived from the turn waits for a figure
        log.warning("How much turn %s changed cannot be told: %s", turn.id, error)
        return None


async def _is_newest(store: Store, turn: Turn) -> bool:
    """Return whether its session has not continued."""
    session = await store.sessions.get(turn.session_id)
    return session is not None and session.head == turn.id


def _lines(before: Sequence[TurnForesight], individual: int, collective: int) -> list[str]:
    """Return the predictions, oldest first: this many of each kind, the newest ones."""
    lines: list[str] = []
    for back, each in enumerate(reversed(before)):
        of = "this turn" if back == 0 else "the turn before" if back == 1 else f"{back} turns before"
        if each.made and each.made.individual_after_prediction and back < individual:
            lines.append(f"individual, for {of}: {each.made.individual_after_prediction}")
        if each.made and each.made.collective_after_prediction and back < collective:
            lines.append(f"collective, for {of}: {each.made.collective_after_prediction}")
    return lines[::-1]


async def _open_todos(home: PartHome, turn: Turn) -> tuple[str, ...]:
    kept = await read_todos(home.store, home.project_id, turn.id)
    items = kept.todos.items if kept else ()
    forgotten = await read_forgotten(home.store, home.project_id)
    texts = (one_line(item.text) for item in reversed(items) if item.state is not TodoState.DONE)
    return tuple(text for text in texts if not forgotten.holds(text))


def _read(material: Material, value: JsonValue) -> Foreseen | None:
    """Return the answer within its limits; None if it describes nothing."""
    if not isinstance(value, dict):
        return None
    ahead = _ahead(material)
    made = Foresight(
        individual_before_description=_text(value, "individual_before_description"),
        collective_before_description=_text(value, "collective_before_description"),
        model_worked=material.turn.model,
    )
    if not (made.individual_before_description or made.collective_before_description):
        return None
    if ahead.expected is not None and ahead.expected != FIRST_RECORD:
        individual = bool(made.individual_before_description and ahead.expected.individual_after_prediction)
        collective = bool(made.collective_before_description and ahead.expected.collective_after_prediction)
        made = replace(
            made,
            predictability_individual=rating(value.get("predictability_individual")) if individual else None,
            predictability_collective=rating(value.get("predictability_collective")) if collective else None,
        )
    if ahead.is_newest:
        made = replace(
            made,
            collective_after_prediction=_text(value, "collective_after_prediction"),
            individual_after_prediction=_text(value, "individual_after_prediction"),
            next_messages=_texts(value.get("next_messages"), MESSAGE_CHARS_MAX, MESSAGES_MAX),
            files_foreseen=_texts(value.get("files_foreseen"), FILE_CHARS_MAX, FILES_MAX),
        )
    return _foreseen(material, made, by_model=True)


def _by_rules(material: Material) -> Foreseen | None:
    """Predict what is open, without a model. The summary is the description; see `_record`."""
    ahead = _ahead(material)
    messages = tuple(cut_words(todo, MESSAGE_CHARS_MAX) for todo in ahead.todos[:MESSAGES_MAX])
    made = Foresight(
        individual_after_prediction=cut_words("; ".join(ahead.todos), TEXT_CHARS_MAX),
        next_messages=messages,
        model_worked=material.turn.model,
    )
    return _foreseen(material, made, by_model=False)


def _ahead(material: Material) -> Ahead:
    ahead = material.inputs[PART.name].data
    assert isinstance(ahead, Ahead)
    return ahead


def _foreseen(material: Material, made: Foresight, *, by_model: bool) -> Foreseen | None:
    turn = material.turn
    if turn.ended_at is None:
        return None
    source = Underived(turn.id, material.project_id, turn.ended_at)
    return Foreseen(source, turn.session_id, _ahead(material), made, by_model)


def rating(value: JsonValue) -> int | None:
    """Return a number from 0 to 10 rounded, halves up; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= RATING_MAX:
        return None
    return int(value + 0.5)


def _text(value: JsonObject, name: str) -> str:
    text = value.get(name)
    return cut_words(one_line(text), TEXT_CHARS_MAX) if isinstance(text, str) else ""


def _texts(value: JsonValue, chars_max: int, count_max: int) -> tuple[str, ...]:
    """Return the texts, each on one line and once; a path that is too long is left out, a message is cut."""
    texts = [one_line(each) for each in value if isinstance(each, str)] if isinstance(value, list) else []
    return tuple(dict.fromkeys(cut_words(text, chars_max) for text in texts if text))[:count_max]


async def _keep(store: Store, redactor: Redactor, summary: Summary, value: Foreseen) -> None:
    """Store the record, and record 0 with the first turn. Raises StoreError."""
    turn = await store.turns.get(value.source.owner)
    if turn is None:
        return
    if turn.parent is None and (session := await store.sessions.get(turn.session_id)):
        source = Underived(session.id, value.source.project_id, session.started_at)
        await keep_record(store, redactor, FIRST.record(source, FIRST_RECORD))
    await keep_record(store, redactor, await _record(store, redactor, turn, summary, value))


async def _record(store: Store, redactor: Redactor, turn: Turn, summary: Summary, value: Foreseen) -> Derived:
    """Return the record as it is stored. Raises StoreError."""
    model = summary.model if value.by_model else ""
    made = replace(value.made, model_predicted=model if value.made.predicts else "")
    if not value.by_model:
        words = cut_words(one_line(summary.text), TEXT_CHARS_MAX)
        made = replace(made, individual_before_description=words, collective_before_description=words)
    earlier = await _stored(store, value.source)
    if not (made.predicts and await _is_newest(store, turn)):
        made = _with_prediction_of(made, earlier)
    # Without secrets, so that the figures describe what is stored.
    rated = await _rated(KIND.clean(made, redactor), value.ahead.expected, by_model=value.by_model)
    return KIND.record(value.source, with_figures(rated, _newer(value.ahead.figures, earlier)), model=model)


def _newer(figures: Foresight, earlier: Foresight | None) -> Foresight:
    """Return the figures; those of an earlier attempt if the contents are no longer available."""
    return earlier if figures.units_individual is None and earlier else figures


async def _stored(store: Store, source: Underived) -> Foresight | None:
    found = await store.derivations.get([KIND.record(source, Foresight()).id])
    return KIND.read(found[0]) if found else None


def _with_prediction_of(made: Foresight, earlier: Foresight | None) -> Foresight:
    """Return the record with what an earlier attempt predicted in time."""
    earlier = earlier or Foresight()
    return replace(
        made,
        collective_after_prediction=earlier.collective_after_prediction,
        individual_after_prediction=earlier.individual_after_prediction,
        next_messages=earlier.next_messages,
        files_foreseen=earlier.files_foreseen,
        model_predicted=earlier.model_predicted,
    )


async def _rated(made: Foresight, expected: Foresight | None, *, by_model: bool) -> Foresight:
    """Return the record with the comparison to what was predicted; rules rate by meaning."""
    if expected is None or expected == FIRST_RECORD:
        return made
    pairs = (
        (made.individual_before_description, expected.individual_after_prediction),
        (made.collective_before_description, expected.collective_after_prediction),
    )
    words = [rating_by_words(*pair) if all(pair) else None for pair in pairs]
    meaning = [await asyncio.to_thread(rating_by_meaning, *pair) if all(pair) else None for pair in pairs]
    made = replace(
        made,
        words_individual=words[0],
        words_collective=words[1],
        meaning_individual=meaning[0],
        meaning_collective=meaning[1],
    )
    if by_model:
        return made
    return replace(made, predictability_individual=meaning[0], predictability_collective=meaning[1])


class Foresights(RecordDerivation):
    """Describes earlier turns that have a summary and no record yet."""

    title = "The foresight of earlier turns"
    order = 11
    kind = KIND
    wakes_on = frozenset({Moment.OPENED, Moment.UNDERSTOOD})

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._measured: set[str] = set()
        """Turns without figures that were measured again."""

    async def lacking(self, home: Home, limit: int) -> list[Underived]:
        """List the newest, oldest of them first: figures depend on those before."""
        return (await super().lacking(home, limit))[::-1] if home.foresees else []

    async def lacks(self, home: Home, source: Underived) -> bool:
        """Return also whether it has no figures, because the turn's version did not exist yet."""
        if await super().lacks(home, source):
            return True
        made = await _stored(home.store, source)
        turn = await home.store.turns.get(source.owner)
        if not (home.foresees and turn and made) or made.units_individual is not None:
            return False
        if source.owner in self._measured:
            return False
        self._measured.add(source.owner)
        await home.recorded()
        return await _measured(home, turn) is not None

    async def make(self, home: Home, source: Underived) -> list[Derived]:
        """Describe the turn by rules, from the summary; None until there is one. Raises StoreError."""
        turn, store = await self.turn(home, source), home.store
        covering = (await store.summaries.covering([source.owner])).get(source.owner, ())
        summary = next((each for each in covering if each.level == 1), None)
        if turn is None or summary is None or (brought := await bring(home, turn)) is None:
            return []
        stored = await store.derivations.get([KIND.record(source, Foresight()).id])
        if stored and (made := KIND.read(stored[0])):
            # Without figures, or made differently by an earlier release: what was predicted then cannot be
            # predicted again.
            figures = _newer(brought.data.figures, made) if isinstance(brought.data, Ahead) else made
            return [KIND.record(source, with_figures(made, figures), model=stored[0].model)]
        material = Material(turn, home.project_id, inputs={PART.name: brought})
        value = _by_rules(material)
        return [await _record(store, home.redactor, turn, summary, value)] if value else []


DERIVATION = Foresights

_TEXT: JsonObject = {"type": "string"}
_TEXTS: JsonObject = {"type": "array", "items": _TEXT}
_RATING: JsonObject = {"type": ["integer", "null"]}
FIELDS: JsonObject = {
    "individual_before_description": _TEXT,
    "collective_before_description": _TEXT,
    "predictability_individual": _RATING,
    "predictability_collective": _RATING,
    "collective_after_prediction": _TEXT,
    "individual_after_prediction": _TEXT,
    "next_messages": _TEXTS,
    "files_foreseen": _TEXTS,
}

PART: AnswerPart[Foreseen] = AnswerPart(
    "foresight",
    {
        "type": "object",
        "properties": FIELDS,
        "required": list(FIELDS),
        "additionalProperties": False,
    },
    "where things stand, in this order. `individual_before_description`: the state of this conversation's "
    "task as the turn left it; `collective_before_description`: that of the project. "
    "`predictability_individual` and `predictability_collective`: 0 to 10, how well the predictions `for "
    "this turn` in `<brought>` fit these descriptions: 0 no resemblance, 10 exact, null where there is none. "
    "`collective_after_prediction`, then `individual_after_prediction`: the state after the next turn. "
    "`next_messages`: up to 3 that the user may send next, in their words, 80 characters each. "
    "`files_foreseen`: up to 10 paths that the next turn will change. Descriptions and predictions: at most "
    "240 characters each, with names and numbers.",
    tokens_max=800,
    read=_read,
    without=_by_rules,
    keep=_keep,
    bring=bring,
    input_tokens_max=800,
    kind=Foreseen,
)
