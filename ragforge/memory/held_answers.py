"""What a model made of turns, kept on this machine until the store has it.

It was paid for: a store that is slow or away, a run that ends or a crash must not make it be paid for again.
"""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from ragforge.domain.errors import StoreError
from ragforge.domain.messages import parts_to_json
from ragforge.domain.redact import Redactor
from ragforge.domain.turns import Turn
from ragforge.memory.material import Understanding, redacted
from ragforge.memory.part import find_parts
from ragforge.store.local import HeldAnswer, LocalState

log = logging.getLogger(__name__)


async def hold(
    local: LocalState, redactor: Redactor, turns: Sequence[Turn], made: Mapping[str, Understanding]
) -> None:
    """Keep what was made of the turns, without secrets, until `drop`.

    turns: as the model was shown them. made: by the turn's id.
    """
    held = [
        HeldAnswer(turn.id, turn.session_id, _hash(turn), _to_json(made[turn.id], redactor))
        for turn in turns
        if turn.id in made
    ]
    with suppress(StoreError):  # this machine's own file: at worst it is paid for again
        await local.hold_answers(held)


async def held(local: LocalState, turns: Sequence[Turn]) -> dict[str, Understanding]:
    """Return what is kept of the turns, by their ids; not of one that says something else now.

    turns: as a model would be shown them.
    """
    try:
        kept = {each.turn_id: each for each in await local.held_answers([turn.id for turn in turns])}
    except StoreError as error:
        log.warning("What was made of turns before cannot be read: %s", error)
        return {}
    read = {
        turn.id: _from_json(kept[turn.id].answer)
        for turn in turns
        if turn.id in kept and kept[turn.id].hash == _hash(turn)
    }
    return {turn_id: each for turn_id, each in read.items() if each is not None}


async def drop(local: LocalState, turn_ids: Sequence[str]) -> None:
    """Forget what is kept of the turns: the store has it, or cannot take it."""
    with suppress(StoreError):  # then it is stored once more, which changes nothing
        await local.drop_answers(turn_ids)


def _hash(turn: Turn) -> str:
    shown = [parts_to_json(turn.user), turn.assistant, turn.status, str(turn.ended_at)]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:32]


def _to_json(understanding: Understanding, redactor: Redactor) -> str:
    safe = msgspec.to_builtins(redacted(understanding, redactor))
    return json.dumps({**safe, "more": redactor.json(safe["more"])})


def _from_json(text: str) -> Understanding | None:
    """Return what was kept; None for what another version kept."""
    kinds = {part.name: part.kind for part in find_parts()}
    try:
        made = msgspec.json.decode(text, type=Understanding)
        more = {
            name: msgspec.convert(value, kinds[name]) for name, value in made.more.items() if name in kinds
        }
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        log.info("What was made of a turn before cannot be read: %s", error)
        return None
    return msgspec.structs.replace(made, more=more)
