"""The one place that ranks what is found; every front end and the model search through it."""

from ragforge.domain.search import Hit, Query
from ragforge.store.base import Store


async def search(store: Store, query: Query) -> list[Hit]:
    """What answers the query, best first."""
    return await store.search.words(query)
