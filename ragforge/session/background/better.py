"""Turns that have a summary and are owed a better one.

One that ran on after it had been summarised is owed one of its present end. Where an extract stands in for
the model's answer, the model is asked when it can be, once a run: a turn of which it makes nothing must not
be paid for again and again.
"""

import logging
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime

from ragforge.domain.errors import StoreError
from ragforge.domain.ids import now
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Turn
from ragforge.session.background.turns import came_to_nothing
from ragforge.session.state import Session

log = logging.getLogger(__name__)

LISTED_MAX = 400
A_RUN_MAX = 100
"""So many are made better in a run at most: a whole history of extracts must not be paid for at once."""


class Better:
    """What is to be made better, and what was tried in this run."""

    def __init__(self) -> None:
        self._listed: set[str] = set()
        """Turns that ran on and were listed in this run."""
        self._tried: set[str] = set()
        """Turns for which the model was asked once more."""
        self._of_nothing: set[str] = set()
        """Turns that came to nothing: there is no better."""

    async def ran_on(self, session: Session) -> list[Turn]:
        """Turns that ran on since their summary was made, and ended; each once a run. Raises StoreError."""
        store, turns = session.workspace.store, list[Turn]()
        for turn_id in await ran_on(session):
            turn = await store.turns.get(turn_id)
            if turn is None:
                await _is_done(session, turn_id, now())
            elif turn.ended_at is not None and turn_id not in self._listed:
                turns.append(turn)
        self._listed |= {turn.id for turn in turns}
        return turns

    async def next(self, project_id: str, session: Session, *, without: Collection[str]) -> Turn | None:
        """A turn for which the model was not asked again in this run; None too when it was for enough of
        them. without: turns that somebody is at. Raises StoreError."""
        if len(self._tried) >= A_RUN_MAX:
            return None
        store = session.workspace.store
        stand_ins = await store.summaries.stand_ins(project_id=project_id, limit=LISTED_MAX)
        owed = [*await ran_on(session), *(summary.covers[0] for summary in stand_ins)]
        for turn_id in dict.fromkeys(owed):
            if turn_id in without or turn_id in self._tried or turn_id in self._of_nothing:
                continue
            turn = await store.turns.get(turn_id)
            if turn is None or turn.ended_at is None:
                continue
            if not came_to_nothing(turn, await store.calls.of_turns([turn_id])):
                return turn
            self._of_nothing.add(turn_id)
        return None

    def tries(self, turn: Turn) -> None:
        """The model is asked for it now."""
        self._tried.add(turn.id)

    async def kept(self, session: Session, turn: Turn, made: Summary) -> None:
        """A summary of the turn as it was read was given to the store. Raises StoreError."""
        if turn.ended_at is None or turn.id not in await ran_on(session):
            return
        stored = await session.workspace.store.summaries.get([made.id])
        # A model's words about the earlier end stay until there are a model's about this one.
        if not stored or stored[0].method is made.method:
            await _is_done(session, turn.id, turn.ended_at)


async def ran_on(session: Session) -> list[str]:
    """Ids of turns of the project that ran on since their summary was made, as far as can be told."""
    try:
        return await session.workspace.local.ran_on(session.workspace.project.id)
    except StoreError as error:
        # This machine's own file: what the store holds is worked off without it.
        log.warning("Which turns ran on cannot be told: %s", error)
        return []


async def _is_done(session: Session, turn_id: str, until: datetime) -> None:
    with suppress(StoreError):  # then it is done once more
        await session.workspace.local.clear_ran_on(turn_id, until=until)
