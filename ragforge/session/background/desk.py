"""What derivations work with: the projects of this run, the model of the background and its purse."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

from ragforge.domain.errors import ModelError
from ragforge.domain.ids import new_id, now
from ragforge.domain.usage import Purpose, Spent, Usage
from ragforge.memory.derive.base import Home
from ragforge.providers.base import Provider
from ragforge.providers.registry import ModelName
from ragforge.session.background.lane import pause_s
from ragforge.session.background.model import Ready, Thinker, cost_of, is_offline, is_on_this_machine
from ragforge.session.schedule import Timing
from ragforge.session.state import Session

T = TypeVar("T")


class WorkDesk:
    """The desk of one run; see `Desk`."""

    def __init__(self, thinker: Thinker, timing: Timing, unfinished: Callable[[], Collection[str]]) -> None:
        self.sessions: dict[str, Session] = {}
        """The session that was last in front, by project; the newest at the end."""
        self.improving = False
        self._thinker = thinker
        self._timing = timing
        self._unfinished = unfinished

    @property
    def homes(self) -> Mapping[str, Home]:
        """As in `Desk`."""
        return {project_id: home_of(session) for project_id, session in self.sessions.items()}

    @property
    def busy(self) -> bool:
        """As in `Desk`."""
        return not self._thinker.idle.is_set()

    @property
    def unfinished(self) -> Collection[str]:
        """As in `Desk`."""
        return self._unfinished()

    @property
    def final_s(self) -> float:
        """As in `Desk`."""
        return self._timing.final_s

    async def ask(
        self, home: Home, call: Callable[[Provider], Awaitable[tuple[T, Usage]]], *, tries: int
    ) -> T | None:
        """As in `Desk`. Raises StoreError, and TakenBack."""
        thinker = self._thinker
        for _ in range(tries):
            ready = await thinker.ready(self.sessions[home.project_id], patient=True)
            if ready is None:
                break

            async def paid(provider: Provider, ready: Ready = ready) -> T:
                result, usage = await call(provider)
                await thinker.pay(ready, usage)
                return result

            try:
                result = await thinker.ask(ready, paid)
            except ModelError as error:
                thinker.failed(ready.name, error)
                continue
            thinker.worked()
            return result
        return None

    async def can_ask(self, home: Home) -> bool:
        """As in `Desk`."""
        return await self._thinker.ready(self.sessions[home.project_id]) is not None

    def is_offline(self, home: Home) -> bool:
        """As in `Desk`."""
        return is_offline(self.sessions[home.project_id])

    def is_free(self, home: Home, name: ModelName) -> bool:
        """As in `Desk`."""
        return is_on_this_machine(home.settings, name.provider)

    def cost(self, home: Home, name: ModelName, usage: Usage) -> float | None:
        """As in `Desk`."""
        return cost_of(self.sessions[home.project_id].workspace, name, usage)

    async def is_spent(self, home: Home) -> bool:
        """As in `Desk`."""
        return await self._thinker.purse.is_empty(home.store, home.settings.memory.cost_usd_per_day_max)

    async def pay(self, home: Home, name: ModelName, usage: Usage, purpose: Purpose) -> None:
        """As in `Desk`."""
        spent = Spent(
            id=new_id(),
            project_id=home.project_id,
            session_id="",
            at=now(),
            model=str(name),
            purpose=purpose,
            usage=usage,
            cost_usd=self.cost(home, name, usage),
        )
        await self._thinker.purse.pay(self.sessions[home.project_id].workspace, spent)

    def pause_s(self, failures: int) -> float:
        """As in `Desk`."""
        return pause_s(self._timing, failures)


def home_of(session: Session) -> Home:
    """The session's project, as derivations see it."""
    workspace = session.workspace
    return Home(
        workspace.project.id, workspace.store, workspace.settings, workspace.redactor, workspace.recall
    )
