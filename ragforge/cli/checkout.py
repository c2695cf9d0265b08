"""`ragforge checkout`: bring files and conversation to any version."""

from typing import Annotated

import typer

from ragforge.cli.versions import ChatOnly, Conflicts, FilesOnly, SessionId, choices_of, part_of, run_move


def checkout(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME|VERSION", help="A branch, a label, HEAD, or a part of an id."),
    ],
    resume: SessionId = None,
    on_conflict: Conflicts = None,
    files: FilesOnly = False,
    chat: ChatOnly = False,
) -> None:
    """Bring files and conversation to a branch's newest version, or to any version.

    Only files that differ are touched. Those that another session changed on the way are kept unless
    --on-conflict says otherwise.
    """
    from ragforge.versions.moves import checkout as go_to

    choices, part = choices_of(on_conflict), part_of(files=files, chat=chat)
    run_move(
        context,
        lambda session: go_to(session, name, choices=choices, part=part),
        resume=resume,
        chosen=on_conflict is not None,
        may_begin=True,
    )
