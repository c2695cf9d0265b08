"""The end of a turn, kept as soon as the store takes it."""

from ragforge.session.history import session_window
from ragforge.session.state import Session, Unkept
from ragforge.store.base import Store


async def store_end(store: Store, unkept: Unkept) -> None:
    """Keep how a turn ended, after the calls that the store had refused. Raises StoreError."""
    for call, step in unkept.calls:
        await store.calls.add(call, step)
    await store.turns.end(unkept.end)


async def keep_end(session: Session) -> None:
    """Keep the end of a turn that the store has not taken yet. Raises StoreError when it still does not."""
    store, live = session.workspace.store, session.live
    if live.unkept is None:
        return
    await store_end(store, live.unkept)
    live.window = await session_window(session, live.unkept.end.turn_id)
    live.unkept = None
