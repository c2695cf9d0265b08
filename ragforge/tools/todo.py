"""The tool that updates the to-do list."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, UnsetType

from ragforge.domain.errors import RagforgeError
from ragforge.domain.todos import ITEM_CHARS_MAX, ITEMS_MAX, todo_lines
from ragforge.domain.turns import TodoItem, Todos, TodoState
from ragforge.tools.base import Effect, Tool, ToolContext, ToolResult, asks_nothing


class TodoItemArgs(msgspec.Struct, forbid_unknown_fields=True):
    """One item."""

    text: Annotated[
        str,
        Meta(description="What to do, in a few words.", min_length=1, max_length=ITEM_CHARS_MAX),
    ]
    state: Annotated[
        Literal["pending", "active", "done"],
        Meta(description="`active` for what you are working on now; `done` once it is finished and checked."),
    ] = "pending"


class TodoArgs(msgspec.Struct, forbid_unknown_fields=True):
    """The complete list."""

    items: Annotated[
        list[TodoItemArgs] | UnsetType,
        Meta(
            description="The whole list in order, which replaces the one before; empty clears it. Leave it "
            "out to read the list."
        ),
    ] = msgspec.UNSET


async def run(args: TodoArgs, ctx: ToolContext) -> ToolResult:
    """Return the current list."""
    if not isinstance(args.items, list):
        return ToolResult(_told(await ctx.todos()))
    if len(args.items) > ITEMS_MAX:
        return ToolResult(
            f"The list takes at most {ITEMS_MAX} items, and this has {len(args.items)}. Nothing was changed.",
            failed=True,
        )
    try:
        kept = await ctx.keep_todos(_todos(args))
    except RagforgeError as error:
        return ToolResult(f"The list was not changed. {error}", failed=True)
    return ToolResult(_told(kept))


def _todos(args: TodoArgs) -> Todos:
    items = args.items if isinstance(args.items, list) else []
    return Todos(tuple(TodoItem(" ".join(item.text.split()), TodoState(item.state)) for item in items))


def _told(todos: Todos) -> str:
    if not todos.items:
        return "The list is empty."
    return "\n".join([todos.counted, *todo_lines(todos.items)])


def _summary(args: TodoArgs) -> str:
    if not isinstance(args.items, list):
        return "read the list"
    todos = _todos(args)
    active = next((item.text for item in todos.items if item.state is TodoState.ACTIVE), "")
    return " · ".join(filter(None, [todos.counted, active])) if todos.items else "clear the list"


TOOL = Tool(
    name="todo",
    description=(
        "Keep a to-do list that the user sees while you work. Use it for work of three steps or more and "
        "for plans: write the whole list before you begin, keep one item active at a time, and mark each "
        "item done as soon as it is. Do not use it for a single step or a question."
    ),
    effect=Effect.READ,  # it touches no file and runs nothing
    args_type=TodoArgs,
    run=run,
    summarise=_summary,
    preview=asks_nothing,  # it touches no file, and the user sees the list
)
