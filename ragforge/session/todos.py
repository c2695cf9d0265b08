"""The session's to-do list: stored with the turn that changed it, and found on the path."""

import logging

from ragforge.domain.derivations import Underived
from ragforge.domain.errors import StoreError, UsageError
from ragforge.domain.ids import now
from ragforge.domain.todos import KIND, todo_lines
from ragforge.domain.turns import KeptTodos, Todos
from ragforge.memory.todos import read_todos
from ragforge.memory.window import Window
from ragforge.session.state import Session

log = logging.getLogger(__name__)

_REMINDER = (
    "The list of the `todo` tool, as you wrote it some turns ago:\n{lines}\n"
    "Keep it up to date if this message continues that work; otherwise ignore it."
)


async def todos_of(session: Session) -> Todos:
    """Return the list at the session's head; empty if there is none. Raises StoreError."""
    kept = await _kept(session)
    return kept.todos if kept else Todos()


async def keep_todos(session: Session, todos: Todos) -> Todos:
    """Store the list with the running turn. Raises StoreError, and UsageError if no turn has started."""
    workspace, view, head = session.workspace, session.live.view, session.live.record.head
    if head is None:
        raise UsageError("There is no turn to store the list with.")
    kept = KIND.clean(todos, workspace.redactor)
    await workspace.store.derivations.save(KIND.record(Underived(head, workspace.project.id, now()), kept))
    view.todos, view.todos_are_read = KeptTodos(head, kept), True
    return kept


async def reminder(session: Session, window: Window) -> str:
    """Return the open list for the model, if the turn that changed it is no longer sent; else empty."""
    try:
        kept = await _kept(session)
    except StoreError as error:
        log.warning("The list of what is to do cannot be read: %s", error)
        return ""
    if kept is None or not kept.todos.is_open or kept.turn in window.turn_ids:
        return ""
    return _REMINDER.format(lines="\n".join(todo_lines(kept.todos.items)))


async def _kept(session: Session) -> KeptTodos | None:
    view = session.live.view
    if not view.todos_are_read:
        record = session.live.record
        view.todos = await read_todos(session.workspace.store, record.project_id, record.head)
        view.todos_are_read = True
    return view.todos
