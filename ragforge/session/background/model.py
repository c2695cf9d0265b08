"""The model for background work: which it is, whether it may be asked now, and its cost."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import TypeVar
from urllib.parse import urlsplit

from msgspec import Struct, field

from ragforge.config.settings import Settings
from ragforge.domain import timeouts
from ragforge.domain.cancellation import undisturbed
from ragforge.domain.errors import (
    AnswerUnusable,
    ContextTooLong,
    ModelError,
    ModelRefusedKey,
    ModelUnknown,
    ModelUnreachable,
    StoreError,
    UsageError,
)
from ragforge.domain.ids import new_id, now
from ragforge.domain.metrics import count_usage
from ragforge.domain.schedule import Timing
from ragforge.domain.turns import Person
from ragforge.domain.usage import Purpose, Spent, Usage
from ragforge.domain.words import counted
from ragforge.memory.derive.base import Limit, TakenBack
from ragforge.memory.summarise import NoSummary
from ragforge.providers.base import Provider
from ragforge.providers.registry import ModelName, parse_model
from ragforge.session.machine import Machine
from ragforge.session.model import NO_MODEL, Pricing, connect, model_of
from ragforge.session.state import Session, Workspace
from ragforge.store.base import Store

T = TypeVar("T")

CHEAP = {"gemini": "gemini-3.5-flash-lite"}
"""The default for background work if no model was chosen for it; otherwise it is the session's own."""

THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})
OUTAGE_FAILURES = 3
"""After so many failures in a row the model counts as unavailable."""
UNUSABLE_MAX = 3
"""After so many unreadable answers in a row the model counts as unsuitable."""

LONG_WAIT_S = 60.0
"""For longer pauses, the user is told how to end them."""


class Ready(Struct, frozen=True):
    """A model that may be asked now."""

    workspace: Workspace
    session_id: str
    name: ModelName
    provider: Provider
    one_at_a_time: bool
    """A server on this machine: it is not used while a turn runs."""


def background_model(session: Session) -> ModelName:
    """Return the model for a session's background work; `local` for none. Raises UsageError."""
    return background_model_beside(session.workspace.settings, model_of(session))


def background_model_beside(settings: Settings, chosen: ModelName) -> ModelName:
    """Return the model for background work beside the chosen chat model. Raises UsageError."""
    if settings.memory.model:
        return parse_model(settings.memory.model, endpoints=settings.endpoints)
    return ModelName(chosen.provider, CHEAP.get(chosen.provider, chosen.model))


def is_on_this_machine(settings: Settings, provider: str) -> bool:
    """Whether the provider is a local endpoint: it is asked whatever it costs, one request at a time."""
    endpoint = settings.endpoints.get(provider)
    return endpoint is not None and (urlsplit(endpoint.base_url).hostname or "") in THIS_MACHINE


def is_offline(session: Session) -> bool:
    """Whether the settings say that no model is asked."""
    try:
        return background_model(session).provider == NO_MODEL
    except UsageError:
        return False


def answers_one_at_a_time(session: Session) -> bool:
    """Whether the model is on a local server."""
    try:
        return is_on_this_machine(session.workspace.settings, background_model(session).provider)
    except UsageError:
        return False


def cost_of(workspace: Machine, name: ModelName, usage: Usage) -> float | None:
    """Return the cost of the usage; None if the price is unknown."""
    return Pricing(workspace, name, now()).cost(usage)


def spent_on(
    workspace: Workspace, name: ModelName, usage: Usage, purpose: Purpose, *, session_id: str = ""
) -> Spent:
    """Return the usage now, as it is stored and counted."""
    cost = cost_of(workspace, name, usage)
    count_usage(str(name), purpose, usage, cost)
    of = (new_id(), workspace.project.id, session_id)
    return Spent(*of, now(), str(name), purpose, usage, cost, workspace.person.id)


class Purse(Struct):
    """What background work has cost the user today, in UTC, on all machines."""

    cost_usd: float = 0.0
    payments: int = 0
    """How often something was paid."""
    _largest_usd: float = 0.0
    _is_known: bool = False
    """Whether anything was paid, so that the cost of a call can be estimated."""
    _under_way: int = 0
    _counted_at: float = float("-inf")
    _day: datetime | None = None
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @asynccontextmanager
    async def call(self, cap_usd: float) -> AsyncGenerator[None]:
        """Check the limit and make the call within it: parallel calls do not exceed it together.

        The first call of a run is made alone, because its cost is unknown; near the limit each call waits for
        the cost of those in progress.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: not self._under_way or self._has_room(cap_usd))
            self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            async with self._changed:
                self._changed.notify_all()

    def _has_room(self, cap_usd: float) -> bool:
        expected_usd = (self._under_way + 1) * self._largest_usd
        return self._is_known and self.cost_usd + expected_usd < cap_usd

    async def is_empty(self, store: Store, person: Person, cap_usd: float) -> bool:
        """Whether the user's daily limit is reached; others who share the store have their own.

        Raises StoreError.
        """
        midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
        if midnight != self._day or time.monotonic() - self._counted_at > timeouts.SPENT_COUNT_EVERY_S:
            whose = None if person.alone else person.id
            rows = await store.usage.by_model(since=midnight, person=whose)
            counted = sum(row.cost_usd or 0.0 for row in rows if row.purpose.is_memory)
            # The store may lack what was paid while it counted, and what waits for its server.
            self.cost_usd = max(self.cost_usd, counted) if midnight == self._day else counted
            self._day, self._counted_at = midnight, time.monotonic()
        return self.cost_usd >= cap_usd

    async def pay(self, workspace: Workspace, spent: Spent) -> None:
        """Store what was spent, even when the work is being stopped. Raises StoreError."""
        self.charge(spent.cost_usd or 0.0)
        await undisturbed(workspace.store.usage.add(spent), cancel_after=True)
        self.payments += 1  # after it is stored: whoever sees the number finds it there

    def charge(self, cost_usd: float) -> None:
        """Count the cost of a call."""
        self.cost_usd += cost_usd
        self._largest_usd = max(self._largest_usd, cost_usd)
        self._is_known = True


class Thinker(Struct):
    """Asks the model, as long as that works, is within the budget and disturbs nobody."""

    timing: Timing
    purse: Purse = field(default_factory=Purse)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while no turn runs."""
    note: str = ""
    """Why it is not asked, for a user; empty while it is, or if none is wanted."""
    _providers: dict[ModelName, Provider] = field(default_factory=dict[ModelName, Provider])
    _failed: ModelName | None = None
    _failures: int = 0
    _unusable: Counter[ModelName] = field(default_factory=Counter[ModelName])
    """How many answers of each model were unusable, one after the other."""
    _first_failure: float = 0.0
    _resume_at: float = 0.0
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)
    _current: "asyncio.Task[object] | None" = None
    _paid_for: int = 0
    """How many calls of a remote service are in progress."""
    _none_paid_for: asyncio.Event = field(default_factory=asyncio.Event)
    _ending: bool = False

    @property
    def resumes_in_s(self) -> float:
        """In how many seconds the model may be asked again; 0 for now."""
        return max(0.0, self._resume_at - time.monotonic())

    async def ready(self, session: Session, *, patient: bool = False) -> Ready | None:
        """Return the model to ask, or None if it cannot or may not be asked; `note` says why.

        patient: wait for the end of an outage, unless it lasts. Short pauses are always waited for.
        Raises StoreError.
        """
        try:
            name = background_model(session)
        except UsageError as error:
            self.note = _without(str(error))
            return None
        if name.provider == NO_MODEL:
            self.note = ""
            return None
        if not await self._may_pay(session.workspace, name) or not await self._is_up(name, patient=patient):
            return None
        try:
            provider = self._providers.get(name) or await connect(session.workspace, name)
        except (ModelError, UsageError) as error:
            self.failed(name, error)
            return None
        if name not in self._providers:
            await self._recall_failures(session.workspace, name, provider)
        self._providers[name] = provider
        here = is_on_this_machine(session.workspace.settings, name.provider)
        return Ready(session.workspace, session.id, name, provider, here)

    async def _recall_failures(self, workspace: Workspace, name: ModelName, provider: Provider) -> None:
        """Let one more unusable answer be enough for a model that gave nothing else in earlier runs."""
        model = f"{provider.name}:{provider.model}"
        with suppress(StoreError):  # this machine's own file: nothing is lost without it
            if await workspace.local.chosen.unusable_in_a_row(model) >= UNUSABLE_MAX:
                self._unusable[name] = UNUSABLE_MAX - 1

    async def ask(self, ready: Ready, call: Callable[[Provider], Awaitable[T]]) -> T:
        """Return what the call returns. Raises ModelError, and TakenBack if the user's turn comes first."""
        try:
            return await self._asked(ready, call)
        except NoSummary as error:
            # Its answer was unusable, and is paid for nevertheless.
            await self.pay(ready, error.usage)
            raise

    async def _asked(self, ready: Ready, call: Callable[[Provider], Awaitable[T]]) -> T:
        if self._ending:
            # An answer that nobody waits for would still be paid for: the caller is about to end.
            await asyncio.Event().wait()
        if not ready.one_at_a_time:
            self._paid_for += 1
            self._none_paid_for.clear()
            try:
                return await self._within_time(call(ready.provider))
            finally:
                self._paid_for -= 1
                if not self._paid_for:
                    self._none_paid_for.set()
        async with self._one:
            await self.idle.wait()
            task = asyncio.ensure_future(self._within_time(call(ready.provider)))
            self._current = task
            try:
                await asyncio.wait({task})
            finally:
                self._current = None
                if not task.done():
                    task.cancel()
                    await asyncio.wait({task})
            if task.cancelled():
                raise TakenBack
            return task.result()

    async def end_calls(self, *, timeout_s: float) -> None:
        """Start no more calls, and wait for remote ones in progress, for at most this long."""
        self._ending = True
        if self._paid_for:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._none_paid_for.wait()

    def take_back(self) -> None:
        """The user needs the server that handles one request at a time."""
        if self._current is not None:
            self._current.cancel()

    async def pay(self, ready: Ready, usage: Usage) -> None:
        """Store the usage of a call. Raises StoreError."""
        if usage == Usage():
            return
        spent = spent_on(ready.workspace, ready.name, usage, Purpose.SUMMARY, session_id=ready.session_id)
        await self.purse.pay(ready.workspace, spent)

    def worked(self, name: ModelName) -> None:
        """Record that the model answered, readably."""
        del self._unusable[name]
        if name == self._failed or not self.resumes_in_s:  # else another one is still left alone
            self._failures = 0
            self._resume_at, self.note = 0.0, ""

    def failed(self, name: ModelName, error: ModelError | UsageError) -> None:
        """Record a failure: the model is left alone for a while, longer each time."""
        match error:
            case AnswerUnusable() | ContextTooLong():
                self._unusable[name] += 1
                wait_s = self.timing.final_s if self._unusable[name] >= UNUSABLE_MAX else 0.0
                self._first_failure = float("-inf")
            case ModelRefusedKey() | ModelUnknown() | UsageError():
                self._failures = OUTAGE_FAILURES
                self._first_failure = float("-inf")  # waiting does not help
                wait_s = self.timing.final_s
                # It was opened with the key at that time; the next one is opened with the current key.
                self._providers.pop(name, None)
            case _:
                self._failures += 1
                wait_s = self.timing.pause_s(self._failures)
        if self._failures == 1:
            self._first_failure = time.monotonic()
        if wait_s:
            self._failed, self._resume_at = name, time.monotonic() + wait_s
            self.note = _without(str(error))
            if wait_s >= LONG_WAIT_S:
                minutes = counted(round(wait_s / 60), "minute")
                self.note += f" It is asked again in {minutes}, or at once if you use /model or /retry."

    def ask_again(self) -> bool:
        """Forget the failures, because the user wants the model asked; return whether there were any."""
        was_alone = self.resumes_in_s > 0
        self._failures = 0
        self._unusable.clear()
        self._first_failure = self._resume_at = 0.0
        self.note = "" if was_alone else self.note
        return was_alone

    async def close(self) -> None:
        providers, self._providers = list(self._providers.values()), {}
        for provider in providers:
            await provider.close()

    async def _within_time(self, call: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self.timing.call_s_max):
                return await call
        except TimeoutError as error:
            raise ModelUnreachable(
                f"The model took longer than {self.timing.call_s_max:g} s for a summary. Trying again."
            ) from error

    async def _is_up(self, name: ModelName, *, patient: bool) -> bool:
        """Whether the model may be asked, after waiting for the end of a pause if that is near."""
        while name == self._failed and self.resumes_in_s:
            is_out = self._failures >= OUTAGE_FAILURES or self._unusable[name] >= UNUSABLE_MAX
            lasts = time.monotonic() - self._first_failure > self.timing.patience_s
            if is_out and (lasts or not patient):
                return False
            await asyncio.sleep(self.resumes_in_s)
        return True

    async def limit(self, workspace: Workspace, name: ModelName, usage: Usage) -> Limit | None:
        """Return the limit, see `Desk.limit`. Raises StoreError."""
        if is_on_this_machine(workspace.settings, name.provider):
            return None
        if cost_of(workspace, name, usage) is None:
            return Limit.PRICE
        cap_usd = workspace.settings.memory.cost_usd_per_day_max
        return Limit.DAY if await self.purse.is_empty(workspace.store, workspace.person, cap_usd) else None

    async def _may_pay(self, workspace: Workspace, name: ModelName) -> bool:
        limit = await self.limit(workspace, name, Usage(input_tokens=1, output_tokens=1))
        if limit is Limit.PRICE:
            self.note = (
                f"Summaries are made without a model: the price of {name} is unknown, so its cost cannot "
                "be limited. Add the price to prices.toml, or set memory.model to another model."
            )
        elif limit is Limit.DAY:
            cap_usd = workspace.settings.memory.cost_usd_per_day_max
            self.note = (
                "Summaries are made without a model until midnight UTC: background work has reached the "
                f"{cap_usd:g} USD that memory.cost_usd_per_day_max allows for a day."
            )
        return limit is None


def _without(why: str) -> str:
    return f"Summaries are made without a model for now. {why}"
