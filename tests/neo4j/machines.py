"""Two machines that share a graph, of which one does not always reach it: `there`, and `far`."""

from ragforge.store.base import Store
from tests.servers.proxy import Proxy


async def cut_off(proxy: Proxy, far: Store) -> None:
    """Let nothing through any more; the store has noticed."""
    proxy.refuse()
    proxy.cut()
    await far.leases.take("anything", seconds=1)
    assert far.link.away
