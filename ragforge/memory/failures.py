"""What failed just before a turn (an undo, a declined call, a check), and why, in the user's words."""

from collections.abc import Sequence

from msgspec.structs import replace

from ragforge.domain.language.base import AnyOf
from ragforge.domain.tasks import PastTask, TaskOutcome
from ragforge.domain.turns import Turn
from ragforge.domain.versions import CheckoutLog, MoveAction
from ragforge.memory.corrections import reasons
from ragforge.memory.forgotten import read_forgotten
from ragforge.memory.likeness import content_words, share_of
from ragforge.memory.statements import is_wondering, said_by
from ragforge.memory.tasks import ALTERNATIVE, read_tasks
from ragforge.store.base import Store

MOVES_MAX = 20
"""How many of a session's last moves are checked."""
SAME_SHARE = 0.6
"""The share of a sentence's words in the undone request from which it repeats the request."""
REASON_CHARS_MAX = 240

_CORRECTS = AnyOf(lambda language: language.corrects)
_STATES = AnyOf(lambda language: (*language.cues["is"], *language.cues["past"]))
_ORDERS = AnyOf(lambda language: (*language.cues["order"], *language.cues["set"], *language.chooses))
_FAULTS = AnyOf(lambda language: language.faults)


async def failed_before(store: Store, project_id: str, turn: Turn) -> list[PastTask]:
    """Return the tasks that failed right before the turn, each with the reason that is known of it.

    What was undone has no reason yet: only the turn's message may give one. Raises StoreError.
    """
    forgotten = await read_forgotten(store, project_id)
    moves = await store.versions.moves(project_id, session_id=turn.session_id, limit=MOVES_MAX)
    left = await _left_by(store, moves, turn)
    gone = [task for task in await read_tasks(store, left, forgotten) if task.outcome.is_failure]
    if not turn.parent:
        return gone
    before = await read_tasks(store, [turn.parent], forgotten)
    declined = [each.text for each in reasons(await store.calls.of_turns([turn.parent]))]
    return [
        *gone,
        *(
            replace(
                task,
                outcome=TaskOutcome.DENIED if declined else task.outcome,
                reason=forgotten.cut("; ".join(declined)) if declined else task.reason,
            )
            for task in before
            if declined or task.outcome is TaskOutcome.CHECK_FAILED
        ),
    ]


async def _left_by(store: Store, moves: Sequence[CheckoutLog], turn: Turn) -> list[str]:
    """Return the turns that the last move before the message removed from the path."""
    last = next((each for each in moves if each.at <= turn.started_at and each.is_of_chat), None)
    if last is None:
        return []
    if last.action is MoveAction.TAKE:
        return await _beside(store, last)
    is_back = last.action in (MoveAction.UNDO, MoveAction.REWIND) and last.to_turn == (turn.parent or "")
    return list(reversed(last.turns)) if is_back else []


async def _beside(store: Store, taken: CheckoutLog) -> list[str]:
    """Return the turns of the alternatives that were not chosen."""
    versions = await store.versions.get([taken.to_version])
    base = versions[0].parents[:1] if versions else ()
    children = await store.versions.children(base[0]) if base else []
    return [
        each.turn_id
        for each in children
        if each.label.startswith(ALTERNATIVE) and each.id != taken.to_version and each.turn_id
    ]


def reason_in(message: str, *, request: str) -> str:
    """Return the sentences that say why, word for word; empty for a message that only asks otherwise.

    request: what was undone. A problem that it already stated is no reason.
    """
    asked = content_words(request)
    found: list[str] = []
    for sentence, words in said_by(message):
        opening = _CORRECTS.match(words)
        said = sentence[opening.end() :] if opening else sentence
        plainly = words[opening.end() :] if opening else words
        # "No, an hour blocks all workers" says why, "no, write it to a file" what to do.
        says_why = _FAULTS.search(plainly) or (
            opening and _STATES.search(plainly) and not _ORDERS.search(plainly)
        )
        if says_why and not is_wondering(plainly) and share_of(said, asked) < SAME_SHARE:
            found.append(said.strip())
    reason = " ".join(found)
    return reason if len(reason) <= REASON_CHARS_MAX else reason[: REASON_CHARS_MAX - 1].rstrip() + "…"
