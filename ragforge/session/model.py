"""The model of a session: opened when it is first needed, changed at will, and what it costs."""

import asyncio
import logging
from datetime import datetime

from msgspec import Struct

from ragforge.config.paths import config_dir
from ragforge.config.secrets import find_key, key_variables
from ragforge.domain.errors import ModelError, UsageError
from ragforge.domain.ids import now
from ragforge.domain.search import Hit, Query
from ragforge.domain.usage import Price, Usage, cost_usd, sum_costs
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
"""Careful values for a model that does not tell: a request that is too short still gets its answer."""

ASKED_TOKENS = 50_000
"""About 150 KB: what a user types never comes near, and what is pasted on purpose seldom."""

NO_MODEL = "local"
GEMINI_DEFAULT = "gemini:gemini-3.8-flash"
"""What is used where a Gemini key is there and no model was chosen: capable, cheap, with a free tier."""


async def first_model(workspace: Library) -> str:
    """The model of a new session: the setting's, else the one chosen last, else Gemini's where its key is
    in the environment; empty where there is nothing to go by."""
    chosen = workspace.settings.model or await workspace.local.last_model()
    if chosen:
        return chosen
    has_key = any(workspace.environ.get(name) for name in key_variables("gemini"))
    return GEMINI_DEFAULT if has_key else ""


def model_of(session: Session) -> ModelName:
    """The model that the session talks to; `local` where none was chosen."""
    return parse_model(session.live.record.model or NO_MODEL)


async def provider_of(session: Session) -> Provider:
    """The session's provider, opened at first use. Raises ModelError or UsageError that says what to do."""
    live = session.live
    while live.provider is None:
        name = model_of(session)
        opened = await connect(session.workspace, name)
        if live.provider is None and name == model_of(session):
            live.provider = opened
        else:  # another task was quicker, or another model was chosen meanwhile
            await opened.close()
    return live.provider


async def prepare_model(session: Session) -> None:
    """Open what the first message needs of its model. What is wrong with it is said when it is asked."""
    if not session.live.record.model:
        return
    try:
        await (await provider_of(session)).prepare()
    except (ModelError, UsageError) as error:
        log.info("The model is not ready: %s", error)


async def limits_of(session: Session) -> ModelLimits:
    """What the session's model takes, capped by the settings; careful values where it cannot be asked."""
    try:
        told = await (await provider_of(session)).limits()  # the provider keeps what it was told
    except ModelError:
        told = LIMITS_UNKNOWN
    cap = session.workspace.settings.context.tokens_max
    return ModelLimits(min(told.context_tokens_max, cap or told.context_tokens_max), told.output_tokens_max)


async def connect(workspace: Workspace, name: ModelName, *, key: str | None = None) -> Provider:
    """A provider for the model; `key` instead of the one that is kept. Raises ModelError, UsageError."""
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
    """Whether the model may search the web by its provider's tool, for `/status`."""
    settings, model = session.workspace.settings, session.live.record.model
    if not settings.web.search:
        return "off; web.search turns on the provider's own"
    endpoints = settings.endpoints
    if not model or not searches_web(parse_model(model, endpoints=endpoints), endpoints):
        return "on, but this model has no search tool"
    return "on, by the provider; its fee for each search is in /cost"


async def choose_model(session: Session, text: str) -> ModelName:
    """Let the session talk to another model from the next message on. Raises UsageError, ModelError."""
    name = parse_model(text, endpoints=session.workspace.settings.endpoints)
    provider = await connect(session.workspace, name)
    await leave_model(session)
    session.live.provider = provider
    session.change(model=str(name))
    if session.live.stored and not session.live.read_only:
        await session.workspace.store.sessions.set_model(session.id, str(name))
    await session.workspace.local.set_last_model(str(name))
    return name


async def leave_model(session: Session) -> None:
    """Close the provider's connections; the next turn opens it anew, with the key as it is then."""
    live = session.live
    provider, live.provider = live.provider, None
    if provider:
        await provider.close()


class Pricing(Struct, frozen=True):
    """What a model costs at a moment."""

    workspace: Machine
    name: ModelName
    at: datetime

    def cost(self, usage: Usage, searches: int = 0) -> float | None:
        """What the usage and so many searches of the web cost, None where the price is unknown."""
        if self.name.provider == NO_MODEL:
            return 0.0
        try:
            return cost_usd(usage, self._price(usage), searches=searches)
        except UsageError:
            return None  # the file was broken after `check`: the answer is worth more than its price

    def check(self) -> None:
        """Raises UsageError when the user's own table of prices cannot be read."""
        self._price(Usage())

    def _price(self, usage: Usage) -> Price | None:
        overrides = config_dir(self.workspace.environ) / "prices.toml"
        return price_of(self.name.model, self.at, overrides=overrides, input_tokens=usage.input_tokens)


def pricing_of(session: Session) -> Pricing:
    """The prices of the session's model today."""
    return Pricing(session.workspace, model_of(session), now())


def question_of(session: Session, text: str) -> str:
    """What to ask before the message goes, or "" where it is short or there is no model that is paid."""
    tokens = text_tokens(text)
    if tokens < ASKED_TOKENS or model_of(session).provider == NO_MODEL:
        return ""
    cost = pricing_of(session).cost(Usage(input_tokens=tokens))
    price = f", at about ${cost:.2f} each time" if cost else ""
    return f"Send this message of up to {tokens // 1000:,}k tokens{price}?"


async def memory_cost(store: Store, session_id: str) -> float | None:
    """What summaries and look-ups cost for the session so far, in USD; None where a price is unknown.

    Raises StoreError.
    """
    rows = await store.usage.by_model(session_id=session_id)
    return sum_costs(row.cost_usd for row in rows if row.purpose.is_memory)
