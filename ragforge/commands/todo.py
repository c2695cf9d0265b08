"""`todo`: the to-do list of a session."""

from typing import TYPE_CHECKING

import msgspec

from ragforge.commands.base import JsonArguments, Opens, Outcome, Report, Verb

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: JsonArguments) -> Outcome:
    from ragforge.domain.todos import todo_lines
    from ragforge.session.todos import todos_of

    todos = await todos_of(session)
    if args.json:
        return Report(data=msgspec.to_builtins(todos.items))
    if not todos.items:
        return Report(
            notes=("This session has no to-do list. The model makes one for longer work and for plans.",)
        )
    return Report([todos.counted, *todo_lines(todos.items)])


VERB = Verb("todo", "Show the to-do list.", JsonArguments, _run, opens=Opens.LOOK, reads=True)
