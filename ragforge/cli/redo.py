"""`ragforge redo`: bring again what was undone."""

from typing import Annotated

import typer

from ragforge.cli.numbers import whole
from ragforge.cli.versions import ChatOnly, Conflicts, FilesOnly, SessionId, choices_of, part_of, run_move


def redo(
    context: typer.Context,
    count: Annotated[int, typer.Argument(metavar="[N]", parser=whole(1), help="How many turns.")] = 1,
    turn: Annotated[
        str, typer.Option("--turn", metavar="ID", help="The turn to bring again, by a part of its id.")
    ] = "",
    resume: SessionId = None,
    on_conflict: Conflicts = None,
    files: FilesOnly = False,
    chat: ChatOnly = False,
) -> None:
    """Bring again the turn that was undone last, or N of them."""
    from ragforge.versions.moves import redo as bring_again

    choices, part = choices_of(on_conflict), part_of(files=files, chat=chat)
    run_move(
        context,
        lambda session: bring_again(session, count, turn=turn, choices=choices, part=part),
        resume=resume,
        chosen=on_conflict is not None,
    )
