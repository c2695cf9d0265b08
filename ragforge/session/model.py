"""The model of a session: opened on first use, changed at any time, and its cost."""

import asyncio
import logging
from datetime import datetime

from msgspec import Struct

from ragforge.config.paths import config_dir
from ragforge.config.secrets import find_key, key_variables
from ragforge.domain.commands import typed
from ragforge.domain.errors import ModelError, UsageError
from ragforge.domain.ids import now
from ragforge.domain.search import Hit, Query
from ragforge.domain.usage import NO_MODEL, Price, Usage, cost_usd, sum_costs
from ragforge.memory.context import text_tokens
from ragforge.memory.recall.search import search
from ragforge.providers.base import ModelLimits, Provider, ProviderParts
from ragforge.providers.prices import price_of
from ragforge.providers.registry import ModelName, open_provider, parse_model, searches_web
from ragforge.session.machine import Library, Machine
from ragforge.session.state import Session, Workspace
from ragforge.store.base import Store

log = logging.getLogger(__name__)

LIMITS_UNKNOWN = ModelLimits(context_tokens_max=32_000, output_tokens_max=4_000)
"""Cautious values for a model that does not report them: a request that is too short still gets an answer."""

ASKED_TOKENS = 50_000
"""About 150 KB: typed text never comes near, and deliberate pastes rarely."""

GEMINI_DEFAULT = "gemini:gemini-3.8-flash"
"""The default if there is a Gemini key and no model was chosen: capable, cheap, with a free tier."""


async def first_model(workspace: Library, *, needs_one: bool = False) -> str:
    """Return the model of a new session: the setting, or else the one chosen last, or else Gemini's if its
    key is in the environment; empty if there is none.

    needs_one: to have chosen none last counts as no choice.
    """
    if workspace.settings.model:
        return workspace.settings.model
    last = await workspace.local.chosen.last_model()
    if last and not (needs_one and last == NO_MODEL):
        return last
    has_key = any(workspace.environ.get(name) for name in key_variables("gemini"))
    return GEMINI_DEFAULT if has_key else ""


def model_of(session: Session) -> ModelName:
    """Return the session's model; `local` if none was chosen."""
    return parse_model(session.live.record.model or NO_MODEL)


async def provider_of(session: Session) -> Provider:
    """Return the session's provider, opened on first use. Raises ModelError or UsageError that says what to
    do."""
    live = session.live
    while live.provider is None:
        name = model_of(session)
        opened = await connect(session.workspace, name)
        if live.provider is None and name == model_of(session):
            live.provider = opened
        else:  # another task was faster, or another model was chosen meanwhile
            await opened.close()
    return live.provider


async def prepare_model(session: Session) -> None:
    """Open what the first message needs of its model. Errors are reported on first use."""
    if not session.live.record.model:
        return
    try:
        await (await provider_of(session)).prepare()
    except (ModelError, UsageError) as error:
        log.info("The model is not ready: %s", error)


async def limits_of(session: Session) -> ModelLimits:
    """Return the limits of the session's model, capped by the settings; cautious values if it cannot be
    asked."""
    try:
        told = await (await provider_of(session)).limits()  # the provider caches them
    except ModelError:
        told = LIMITS_UNKNOWN
    cap = session.workspace.settings.context.tokens_max
    return ModelLimits(min(told.context_tokens_max, cap or told.context_tokens_max), told.output_tokens_max)


async def connect(workspace: Workspace, name: ModelName, *, key: str | None = None) -> Provider:
    """Return a provider for the model; `key` replaces the saved one. Raises ModelError, UsageError."""
    settings = workspace.settings

    def known_key(provider: str) -> tuple[str, str] | None:
        if key is not None:
            return key, "the key that you entered"
        found = find_key(provider, workspace.environ, endpoints=settings.endpoints)
        return (found.value, found.source) if found else None

    async def find(text: str, limit: int) -> list[Hit]:
        query = Query(text, project_id=workspace.project.id, person=workspace.person.id, limit=limit)
        return (await search(workspace.recall, query)).hits

    # In a thread: finding a key may mean waiting for the keyring.
    return await asyncio.to_thread(
        open_provider,
        name,
        parts=ProviderParts(
            find_key=known_key,
            load_blob=workspace.blobs.get,
            search=find,
            endpoints=settings.endpoints,
            environ=workspace.environ,
            thinking_level=settings.gemini.thinking_level,
            show_thoughts=settings.gemini.show_thoughts,
            attempts_max=settings.retry.attempts_max,
            delay_s_max=settings.retry.delay_s_max,
            idle_timeout_s=settings.stream.idle_timeout_s,
            web_search=settings.web.search,
        ),
    )


def web_search_words(session: Session) -> str:
    """Return whether the model may search the web with its provider's tool, for `/status`."""
    settings, model = session.workspace.settings, session.live.record.model
    if not settings.web.search:
        how = typed("config web.search true", shell="config set web.search true")
        return f"off; {how} turns on the provider's own search"
    endpoints = settings.endpoints
    if not model or not searches_web(parse_model(model, endpoints=endpoints), endpoints):
        return "on, but this model has no search tool"
    return f"on, by the provider; its fee for each search is in {typed('cost')}"


async def choose_model(session: Session, text: str) -> ModelName:
    """Use another model from the next message on. Raises UsageError, ModelError."""
    name = parse_model(text, endpoints=session.workspace.settings.endpoints)
    provider = await connect(session.workspace, name)
    await leave_model(session)
    session.live.provider = provider
    session.change(model=str(name))
    if session.live.stored and not session.live.read_only:
        await session.workspace.store.sessions.set_model(session.id, str(name))
    await session.workspace.local.chosen.set_last_model(str(name))
    session.workspace.background.ask_again()
    return name


async def leave_model(session: Session) -> None:
    """Close the provider's connections; the next turn opens it again, with the key at that time."""
    live = session.live
    provider, live.provider = live.provider, None
    if provider:
        await provider.close()


class Pricing(Struct, frozen=True):
    """The current prices of a model."""

    workspace: Machine
    name: ModelName
    at: datetime

    def cost(self, usage: Usage, searches: int = 0) -> float | None:
        """Return the cost of the usage and this many web searches, None if the price is unknown."""
        if self.name.provider == NO_MODEL:
            return 0.0
        try:
            return cost_usd(usage, self._price(usage), searches=searches)
        except UsageError:
            return None  # the file was broken after `check`: the answer is worth more than its price

    def check(self) -> None:
        """Raise UsageError if the user's own price table cannot be read."""
        self._price(Usage())

    def _price(self, usage: Usage) -> Price | None:
        overrides = config_dir(self.workspace.environ) / "prices.toml"
        return price_of(self.name.model, self.at, overrides=overrides, input_tokens=usage.input_tokens)


def pricing_of(session: Session) -> Pricing:
    """Return today's prices of the session's model."""
    return Pricing(session.workspace, model_of(session), now())


def question_of(session: Session, text: str) -> str:
    """Return what to ask before sending the message, or "" if it is short or no paid model is used."""
    tokens = text_tokens(text)
    if tokens < ASKED_TOKENS or model_of(session).provider == NO_MODEL:
        return ""
    cost = pricing_of(session).cost(Usage(input_tokens=tokens))
    price = f", about ${cost:.2f} for each request" if cost else ""
    return f"Send this message? It has up to {tokens // 1000:,}k tokens{price}."


async def memory_cost(store: Store, session_id: str) -> float | None:
    """Return the cost of summaries and look-ups for the session so far, in USD; None if a price is unknown.

    Raises StoreError.
    """
    rows = await store.usage.by_model(session_id=session_id)
    return sum_costs(row.cost_usd for row in rows if row.purpose.is_memory)
