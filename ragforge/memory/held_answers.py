"""What a model made of turns and of summaries, kept on this machine until the store has it.

It was paid for: a slow or unreachable store, an ended run or a crash must not make it be paid for again.
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
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Turn
from ragforge.memory.material import Understanding, redacted, redacted_summary
from ragforge.memory.part import find_parts
from ragforge.store.local.state import LocalState
from ragforge.store.local.turns import HeldAnswer

log = logging.getLogger(__name__)

_LEVEL, _REVIEW = "level ", "review "
"""The prefix of keys for what was not made of a single turn; that of a single turn is the turn's id."""


async def hold(
    local: LocalState, redactor: Redactor, turns: Sequence[Turn], made: Mapping[str, Understanding]
) -> None:
    """Store what was made of the turns, without secrets, until `drop`.

    turns: as the model was shown them. made: by the turn's id.
    """
    held = [
        HeldAnswer(turn.id, turn.session_id, _hash(turn), _to_json(made[turn.id], redactor))
        for turn in turns
        if turn.id in made
    ]
    with suppress(StoreError):  # a local file: at worst it is paid for again
        await local.answers.hold(held)


async def held(local: LocalState, turns: Sequence[Turn]) -> dict[str, Understanding]:
    """Return what is stored of the turns, by their ids, without turns that have changed since.

    turns: as a model would be shown them.
    """
    try:
        kept = {each.turn_id: each for each in await local.answers.held([turn.id for turn in turns])}
    except StoreError as error:
        log.warning("Cannot read the stored results for turns: %s", error)
        return {}
    read = {
        turn.id: _from_json(kept[turn.id].answer)
        for turn in turns
        if turn.id in kept and kept[turn.id].hash == _hash(turn)
    }
    return {turn_id: each for turn_id, each in read.items() if each is not None}


async def drop(local: LocalState, turn_ids: Sequence[str]) -> None:
    """Remove what is stored of the turns, or under these keys: the store has it, or cannot take it."""
    with suppress(StoreError):  # then it is stored once more, which changes nothing
        await local.answers.drop(turn_ids)


async def hold_level(
    local: LocalState, redactor: Redactor, children: Sequence[Summary], made: Summary
) -> None:
    """Store the summary over these, without secrets, until it is dropped.

    children: as the model was shown them.
    """
    answer = msgspec.json.encode(redacted_summary(made, redactor)).decode()
    key = level_key([child.id for child in children])
    with suppress(StoreError):
        await local.answers.hold([HeldAnswer(key, made.session_id, _hash_of(children), answer)])


async def held_level(local: LocalState, children: Sequence[Summary]) -> Summary | None:
    """Return the summary that is stored over these, if they are unchanged."""
    kept = await _kept(local, level_key([child.id for child in children]), _hash_of(children))
    try:
        return msgspec.json.decode(kept, type=Summary) if kept else None
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        log.info("Cannot read a stored summary: %s", error)
        return None


async def hold_review(
    local: LocalState, redactor: Redactor, turns: Sequence[Turn], made: Sequence[Understanding]
) -> None:
    """Store the result of reading these turns together, without secrets, until it is dropped."""
    answer = json.dumps([_to_json(each, redactor) for each in made])
    with suppress(StoreError):
        await local.answers.hold(
            [HeldAnswer(_review_key(turns), turns[0].session_id, _hash_of(list(map(_hash, turns))), answer)]
        )


async def held_review(local: LocalState, turns: Sequence[Turn]) -> list[Understanding] | None:
    """Return the result of reading these turns together, if they are unchanged."""
    kept = await _kept(local, _review_key(turns), _hash_of(list(map(_hash, turns))))
    if not kept:
        return None
    read = [_from_json(each) for each in json.loads(kept)]
    return None if None in read else [each for each in read if each is not None]


async def drop_reviews(local: LocalState, session_id: str) -> None:
    """Remove the results of reading the session again: the store has all of them."""
    with suppress(StoreError):
        await local.answers.drop_of(session_id, _REVIEW)


def level_key(covers: Sequence[str]) -> str:
    """Return the key under which a summary over these is stored, beside the turns."""
    return f"{_LEVEL}{_hash_of(covers)}"


def _review_key(turns: Sequence[Turn]) -> str:
    return f"{_REVIEW}{_hash_of([turn.id for turn in turns])}"


async def _kept(local: LocalState, key: str, hash: str) -> str:
    try:
        return next((each.answer for each in await local.answers.held([key]) if each.hash == hash), "")
    except StoreError as error:
        log.warning("Cannot read stored results: %s", error)
        return ""


def _hash_of(shown: Sequence[str | Summary]) -> str:
    return hashlib.sha256(msgspec.json.encode(shown)).hexdigest()[:32]


def _hash(turn: Turn) -> str:
    shown = [parts_to_json(turn.user), turn.assistant, turn.status, str(turn.ended_at)]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:32]


def _to_json(understanding: Understanding, redactor: Redactor) -> str:
    safe = msgspec.to_builtins(redacted(understanding, redactor))
    return json.dumps({**safe, "more": redactor.json(safe["more"])})


def _from_json(text: str) -> Understanding | None:
    """Return what was stored; None if another version stored it."""
    kinds = {part.name: part.kind for part in find_parts()}
    try:
        made = msgspec.json.decode(text, type=Understanding)
        more = {
            name: msgspec.convert(value, kinds[name]) for name, value in made.more.items() if name in kinds
        }
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        log.info("Cannot read the stored result for a turn: %s", error)
        return None
    return msgspec.structs.replace(made, more=more)
