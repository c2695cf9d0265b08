"""Consolidate archived sessions at once, and estimate the model calls for it."""

from collections.abc import Sequence

from msgspec import Struct

from ragforge.domain.schedule import Timing
from ragforge.domain.turns import ConversationSession
from ragforge.domain.usage import Usage
from ragforge.memory.derive.consolidation import (
    Contents,
    estimate,
    lacking_digests,
    read_contents,
    read_summaries,
)
from ragforge.memory.forgotten import read_forgotten
from ragforge.providers.registry import parse_model
from ragforge.session.background.model import background_model_beside, cost_of
from ragforge.session.machine import Library
from ragforge.session.model import NO_MODEL, first_model
from ragforge.session.state import Session

CHARS_A_TOKEN = 3
"""A high estimate, as for a request."""
TOKENS_AN_ANSWER = 500


class Consolidated(Struct, frozen=True):
    """How many archived sessions were consolidated, and how many are still incomplete."""

    done: int
    lacking: int


async def consolidate(session: Session) -> Consolidated:
    """Consolidate the archived sessions of the session's project; its background work is closed.

    Raises StoreError.
    """
    from ragforge.session.background.work import Work  # a list of sessions needs none of it

    store, project_id = session.workspace.store, session.workspace.project.id
    before = await lacking_digests(store, project_id)
    work = Work(Timing())
    try:
        if before:
            await work.consolidate(session)
    finally:
        await work.close()
    lacking = len(await lacking_digests(store, project_id)) if before else 0
    return Consolidated(len(before) - lacking, lacking)


class Expense(Struct, frozen=True):
    """The cost of consolidating sessions. model: empty for none. cost_usd: None for an unknown price."""

    model: str
    calls: int
    cost_usd: float | None


async def expense_of(library: Library, sessions: Sequence[ConversationSession]) -> Expense:
    """Estimate the cost of consolidating these. Raises StoreError, UsageError."""
    contents: list[Contents] = [await read_contents(library.store, each.id, each.head) for each in sessions]
    estimates = [estimate(each) for each in contents]
    name = background_model_beside(library.settings, parse_model(await first_model(library) or NO_MODEL))
    if name.provider == NO_MODEL:
        return Expense("", 0, 0.0)
    calls = sum(each.calls for each in estimates)
    chars = sum(each.chars for each in estimates)
    # Each call separately: a price may rise with its length.
    usage = Usage(input_tokens=chars // CHARS_A_TOKEN // max(1, calls), output_tokens=TOKENS_AN_ANSWER)
    cost = cost_of(library, name, usage)
    return Expense(str(name), calls, None if cost is None and calls else (cost or 0.0) * calls)


async def read_digests(library: Library, session_ids: Sequence[str]) -> dict[str, str]:
    """Return the summaries of whole sessions, if any, as they may be shown. Raises StoreError."""
    found = await read_summaries(library.store, session_ids)
    if not found:
        return {}
    forgotten = await read_forgotten(library.store, library.project.id)
    return {session: forgotten.summary(summary).text for session, summary in found.items()}
