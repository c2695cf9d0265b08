"""Giving vectors to what has none, with the embedder of the settings."""

import logging
from collections.abc import Collection, Mapping, Sequence

from ragforge.domain import timeouts
from ragforge.domain.errors import ModelError, UsageError
from ragforge.domain.ids import new_id, now
from ragforge.domain.usage import Purpose, Spent, Usage
from ragforge.domain.vectors import Owner, OwnerKind
from ragforge.embedders.base import Embedder, learn_dimensions
from ragforge.memory.embedding import AT_ONCE, embed_owners
from ragforge.providers.registry import ModelName
from ragforge.session.background import Timing
from ragforge.session.background.lane import pause_s
from ragforge.session.background.model import Purse, cost_of, is_on_this_machine
from ragforge.session.state import Session

log = logging.getLogger(__name__)

LISTED_MAX = 2_000
"""So many are listed at once: enough to tell how far it is, few enough to see soon what came since."""
CHUNKS_A_STEP = 5
"""Then it is looked anew at what there is to do, the newest first."""
GENTLY_AT_ONCE = 10
"""While a turn runs: a commit of many vectors would keep the turn's own waiting."""


class VectorWork:
    """Embeds what lacks a vector, the newest first. While it fails, search goes on by words."""

    def __init__(self, timing: Timing, purse: Purse) -> None:
        self.waiting = 0
        """How many of those that were listed still wait."""
        self.note = ""
        """Why it waits, for a person; empty while all goes well."""
        self._timing = timing
        self._purse = purse
        self._in_use = ""
        self._seen = Usage()
        self._failures = 0
        self._last: list[Owner] = []

    async def step(
        self, homes: Mapping[str, Session], *, without: Collection[str], gently: bool
    ) -> float | None:
        """Embed what is listed; see `Step`. Raises StoreError.

        without: turns whose text is about to change; what costs money waits for it. gently: only a few.
        """
        session = list(homes.values())[-1] if homes else None
        embedder = session.workspace.recall.embedder if session else None
        if session is None or embedder is None or not await self._may_embed(session, embedder):
            return None if not self.note else self._timing.final_s
        try:
            await self._use(session, embedder)
            owners = await self._list(homes, session, embedder, without)
            if owners == self._last:
                return timeouts.WORK_AGAIN_S if owners else None
            self._last = owners
            owners = owners[: GENTLY_AT_ONCE if gently else CHUNKS_A_STEP * AT_ONCE]
            for start in range(0, len(owners), AT_ONCE):
                chunk = owners[start : start + AT_ONCE]
                await embed_owners(session.workspace.store, embedder, chunk)
                await self._pay(session, embedder)
                self.waiting = max(0, self.waiting - len(chunk))
        except (ModelError, UsageError) as error:
            return self._failed(error)
        finally:
            await self._pay(session, embedder)
        self._failures, self.note = 0, ""
        return 0

    async def at_once(self, session: Session, owners: Sequence[Owner]) -> None:
        """Embed these now if that can be; if not, they are embedded with all others. Raises StoreError."""
        embedder = session.workspace.recall.embedder
        if embedder is None or self.note or not await self._may_embed(session, embedder):
            return
        try:
            await self._use(session, embedder)
            await embed_owners(session.workspace.store, embedder, owners)
        except (ModelError, UsageError) as error:
            self._failed(error)
        finally:
            await self._pay(session, embedder)

    async def _use(self, session: Session, embedder: Embedder) -> None:
        """Make the store ready for the embedder before anything is asked or kept of it."""
        if self._in_use != embedder.name:
            dimensions = await learn_dimensions(embedder)
            await session.workspace.store.vectors.use(embedder.name, dimensions)
            self._in_use = embedder.name

    async def _list(
        self, homes: Mapping[str, Session], session: Session, embedder: Embedder, without: Collection[str]
    ) -> list[Owner]:
        # What costs nothing is done for all projects, for any may be searched; the rest where it is needed.
        projects = [*homes] if embedder.remote else [*homes, None]
        owners: dict[Owner, None] = {}
        for project_id in projects:
            if len(owners) < LISTED_MAX:
                lacking = await session.workspace.store.vectors.lacking(
                    embedder.name, project_id=project_id, limit=LISTED_MAX
                )
                owners |= dict.fromkeys(lacking)
        listed = [owner for owner in owners if owner.kind is not OwnerKind.TURN or owner.id not in without][
            :LISTED_MAX
        ]
        self.waiting = len(listed)
        return listed

    async def _may_embed(self, session: Session, embedder: Embedder) -> bool:
        settings = session.workspace.settings
        if not embedder.remote:
            return True
        name = _embedder_name(session)
        if not settings.memory.enabled:
            return False
        if is_on_this_machine(settings, name.provider):
            return True
        if cost_of(session.workspace, name, Usage(input_tokens=1)) is None:
            self.note = (
                f"Nothing is embedded, and search goes on by words: the price of {name} is unknown, so its "
                "cost could not be limited. Add it to prices.toml, or set memory.embedder to another."
            )
            return False
        cap_usd = settings.memory.cost_usd_per_day_max
        if await self._purse.is_empty(session.workspace.store, cap_usd):
            self.note = (
                "Embedding waits until midnight UTC, and search goes on by words: background work has cost "
                f"the {cap_usd:g} USD that memory.cost_usd_per_day_max allows for a day."
            )
            return False
        return True

    async def _pay(self, session: Session, embedder: Embedder) -> None:
        """Keep what the embedder used since the last time, questions of searches included."""
        used, seen = embedder.usage, self._seen
        more = Usage(
            used.input_tokens - seen.input_tokens,
            used.cached_tokens - seen.cached_tokens,
            used.output_tokens - seen.output_tokens,
            used.thought_tokens - seen.thought_tokens,
        )
        if more == Usage():
            return
        self._seen = used
        name = _embedder_name(session)
        spent = Spent(
            id=new_id(),
            project_id=session.workspace.project.id,
            session_id="",
            at=now(),
            model=str(name),
            purpose=Purpose.EMBEDDING,
            usage=more,
            cost_usd=cost_of(session.workspace, name, more),
        )
        await self._purse.pay(session.workspace, spent)

    def _failed(self, error: ModelError | UsageError) -> float:
        """In how many seconds it is tried again."""
        self._failures += 1
        self._last = []
        self.note = f"Search goes on by words and by what is embedded already. {error}"
        log.warning("Embedding waits: %s", error)
        if isinstance(error, UsageError):
            return self._timing.final_s
        return pause_s(self._timing, self._failures)


def _embedder_name(session: Session) -> ModelName:
    provider, _, model = session.workspace.settings.memory.embedder.partition(":")
    return ModelName(provider, model)
