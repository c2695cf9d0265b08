"""Undo, redo, rewind and checkout of a session: its conversation moves with its files."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ragforge.domain.errors import UsageError
from ragforge.domain.turns import TurnStatus
from ragforge.files.open import why
from ragforge.session.history import keep_end, session_window
from ragforge.session.state import Session
from ragforge.versions import moves
from ragforge.versions.head_move import ChatHead
from ragforge.versions.record.recorder import Worktree
from ragforge.versions.turn_choice import turns_between

P = ParamSpec("P")
T = TypeVar("T")


@asynccontextmanager
async def moving(session: Session) -> AsyncGenerator[ChatHead]:
    """While inside, no turn starts, and the open session follows its conversation's head.

    Raises UsageError if heads must not move now.
    """
    live = session.live
    if live.read_only:
        raise UsageError(
            "This session is open elsewhere and read-only here. Do this there, or use /fork to continue here."
        )
    if busy := session.why_busy:
        raise UsageError(busy)

    async def follow(to_turn: str) -> None:
        moved = await turns_between(session.workspace.store, live.record.head or "", to_turn)
        session.change(head=to_turn or None)
        await session.workspace.background.turns_moved(session, moved)
        live.view.window = await session_window(session, to_turn or None)
        live.view.todos_are_read = False

    session.activity.moving = True
    try:
        await keep_end(session)
        head = await session.workspace.store.turns.get(live.record.head) if live.record.head else None
        if head and head.status is TurnStatus.WAITING:
            raise UsageError(
                f"The last turn is waiting for your approval. Answer it first: `ragforge -r {session.id}` "
                "asks again."
            )
        yield ChatHead(session.id, live.record.head or "", follow)
    except OSError as error:
        raise UsageError(
            f"The files of {session.workspace.place.root} cannot be changed: {why(error)}. Nothing was "
            "lost. Fix this and try again."
        ) from error
    finally:
        session.activity.moving = False


def of_session(
    verb: Callable[Concatenate[Worktree, ChatHead, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Session, P], Coroutine[Any, Any, T]]:
    """Return the verb for a session: it moves its files, and its conversation follows."""

    @wraps(verb)
    async def carried_out(session: Session, *args: P.args, **kwargs: P.kwargs) -> T:
        async with moving(session) as chat:
            return await verb(session.worktree, chat, *args, **kwargs)

    return carried_out


undo = of_session(moves.undo)
rewind = of_session(moves.rewind)
redo = of_session(moves.redo)
checkout = of_session(moves.checkout)
