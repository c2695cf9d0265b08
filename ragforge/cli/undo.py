"""`ragforge undo`: take back the newest turns, files and conversation."""

from typing import Annotated

import typer

from ragforge.cli.numbers import whole
from ragforge.cli.versions import ChatOnly, Conflicts, FilesOnly, SessionId, choices_of, part_of, run_move


def undo(
    context: typer.Context,
    count: Annotated[int, typer.Argument(metavar="[N]", parser=whole(1), help="How many turns.")] = 1,
    resume: SessionId = None,
    on_conflict: Conflicts = None,
    files: FilesOnly = False,
    chat: ChatOnly = False,
) -> None:
    """Take back the newest turn, or N of them: what it changed in the files, and the conversation.

    What you or another session changed since stays. Nothing is lost: `ragforge redo` brings it again, and
    `ragforge log` lists every state there was.
    """
    from ragforge.versions.moves import undo as take_back

    choices, part = choices_of(on_conflict), part_of(files=files, chat=chat)
    run_move(
        context,
        lambda session: take_back(session, count, choices=choices, part=part),
        resume=resume,
        chosen=on_conflict is not None,
    )
