"""Summaries of summaries: made where they are due, made anew where what they stand on has changed."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping

from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import Conflict, ModelError
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.memory.levels import Children, roll_up_session
from ragforge.memory.summarise import roll_up, roll_up_offline
from ragforge.providers.base import Provider
from ragforge.session.background.model import Ready, Thinker, is_offline
from ragforge.session.background.turns import redacted_summary
from ragforge.session.state import Session

log = logging.getLogger(__name__)

OUTDATED_AT_ONCE = 20
SESSIONS_LISTED_MAX = 100_000
"""Only ids; a limit that cut them would hide the newest for ever behind those where nothing is due."""


class LevelWork:
    """Rolls up the sessions in which something changed, and once after opening those left behind."""

    def __init__(self, thinker: Thinker) -> None:
        self._thinker = thinker
        self._listed: set[str] = set()
        self._retried: set[str] = set()
        """Stand-ins for which the model was asked again in this run: it must not be paid for ever."""
        self._failed: Counter[str] = Counter()
        """How often the model made nothing of an outdated one in this run."""
        self._changed: dict[str, dict[str, None]] = {}
        """By project, the sessions in which something may be due, oldest change first."""

    def changed(self, project_id: str, session_id: str) -> None:
        """A summary came to this session, or its head moved."""
        self._changed.setdefault(project_id, {})[session_id] = None

    async def step(self, homes: Mapping[str, Session], *, redo: bool) -> bool:
        """Do all that is due; whether something is to be tried again later. redo: what is outdated too.

        Raises StoreError, and TakenBack.
        """
        again = False
        for project_id, session in list(homes.items()):
            if session.workspace.settings.memory.enabled:
                await self._list_left_behind(project_id, session)
                if redo and await self._redo_outdated(project_id, session):
                    again = True
                await self._roll_up(project_id, session)
        return again

    async def _list_left_behind(self, project_id: str, session: Session) -> None:
        if project_id in self._listed:
            return
        limits = session.workspace.settings.memory
        found = await session.workspace.store.summaries.sessions_to_roll_up(
            min(limits.raw_chars_max, limits.level_chars_max),
            project_id=project_id,
            limit=SESSIONS_LISTED_MAX,
        )
        for session_id in found:
            self.changed(project_id, session_id)
        self._listed.add(project_id)

    async def _roll_up(self, project_id: str, session: Session) -> None:
        store, limits = session.workspace.store, session.workspace.settings.memory

        async def make(children: Children) -> Summary:
            return await self._make(session, children)

        waiting = self._changed.setdefault(project_id, {})
        for session_id in list(waiting):
            # Taken off first: what changes meanwhile is looked at again.
            del waiting[session_id]
            try:
                await roll_up_session(store, session_id, limits, make)
            except Conflict as error:
                log.info("Session %s changed while it was rolled up: %s", session_id, error)
            except BaseException:
                waiting[session_id] = None
                raise

    async def _redo_outdated(self, project_id: str, session: Session) -> bool:
        """Each once, from the lowest level up, so that a change below is written anew once a level.

        Whether the model failed for one that is to be tried again.
        """
        store, again = session.workspace.store, False
        tried: set[str] = set()
        while old := await self._next_to_redo(project_id, session, tried):
            tried.add(old.id)
            children = await store.summaries.get(old.covers)
            new = await self._make(session, tuple(children)) if children else old
            if new.method is SummaryMethod.EXTRACTIVE and (
                old.method is SummaryMethod.MODEL or old.id in self._retried
            ):
                # It stays as it is until there is a model again.
                self._failed[old.id] += 1
                again = again or (
                    not is_offline(session) and self._failed[old.id] < timeouts.ROLL_UP_REDO_TRIES_MAX
                )
                continue
            try:
                await store.summaries.save(replace(new, id=old.id, covers=old.covers))
                self.changed(project_id, old.session_id)
            except Conflict as error:
                log.info("Summary %s went while it was made anew: %s", old.id, error)
        return again

    async def _next_to_redo(self, project_id: str, session: Session, tried: set[str]) -> Summary | None:
        """What stands on something that changed, else what stands in for a model's answer."""
        summaries = session.workspace.store.summaries
        found = await summaries.outdated(project_id=project_id, limit=len(tried) + OUTDATED_AT_ONCE)
        if old := next((summary for summary in found if summary.id not in tried), None):
            return old
        if is_offline(session):
            return None
        found = await summaries.upper_stand_ins(project_id=project_id, limit=len(self._retried) + 1)
        old = next((summary for summary in found if summary.id not in self._retried), None)
        if old and await self._thinker.ready(session):
            self._retried.add(old.id)
            return old
        return None

    async def _make(self, session: Session, children: Children) -> Summary:
        """One summary over these, by the model or by what stands in for it. Raises StoreError, TakenBack."""
        thinker = self._thinker
        for _ in range(timeouts.ROLL_UP_TRIES_MAX):
            # Nothing waits for it: of an outage the end is waited for.
            ready = await thinker.ready(session, patient=True)
            if ready is None:
                break

            async def call(provider: Provider, ready: Ready = ready) -> Summary:
                summary, usage = await roll_up(provider, children)
                await thinker.pay(ready, usage)
                return summary

            try:
                summary = await thinker.ask(ready, call)
            except ModelError as error:
                thinker.failed(ready.name, error)
                continue
            thinker.worked()
            return redacted_summary(summary, session.workspace.redactor)
        summary = await asyncio.to_thread(roll_up_offline, children)
        return redacted_summary(summary, session.workspace.redactor)
