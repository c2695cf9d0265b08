"""Settings for one turn only: another model, and what needs no approval."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ragforge.domain.approvals import TurnTerms
from ragforge.providers.registry import parse_model
from ragforge.session.model import connect
from ragforge.session.state import Session


@asynccontextmanager
async def under(session: Session, terms: TurnTerms | None) -> AsyncGenerator[None]:
    """For the duration, the session's turns run with these terms. Raises ModelError and UsageError."""
    if terms is None:
        yield
        return
    consent = session.live.consent
    consent.of_turn = terms.rules
    try:
        async with _with_model(session, terms.model):
            yield
    finally:
        consent.of_turn = ()


@asynccontextmanager
async def _with_model(session: Session, model: str) -> AsyncGenerator[None]:
    live, before = session.live, session.live.record.model
    if model in ("", before):
        yield
        return
    provider = await connect(session.workspace, parse_model(model))
    own, live.provider = live.provider, provider
    session.change(model=model)
    try:
        yield
    finally:
        if live.record.model == model:  # nobody chose another one meanwhile
            session.change(model=before)
            live.provider = own
            await provider.close()
        elif own:
            await own.close()
