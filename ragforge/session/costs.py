"""What a session has cost beside its turns."""

from ragforge.domain.usage import Purpose, sum_costs
from ragforge.store.base import Store


async def memory_cost(store: Store, session_id: str) -> float | None:
    """What summaries and look-ups cost for the session so far, in USD; None where a price is unknown.

    Raises StoreError.
    """
    rows = await store.usage.by_model(session_id=session_id)
    return sum_costs(row.cost_usd for row in rows if row.purpose is not Purpose.CHAT)
