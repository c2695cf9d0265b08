"""`ragforge merge`: bring another line of work into the files."""

from enum import StrEnum
from typing import Annotated

import typer

from ragforge.cli.edge import tell
from ragforge.cli.versions import SessionId, run_move


class OnClash(StrEnum):
    """What becomes of a file that both lines changed in the same place."""

    MARKERS = "markers"
    OURS = "ours"
    THEIRS = "theirs"


class OnStrategy(StrEnum):
    """How the model is asked."""

    BEST = "best"
    COMBINE_BEST = "combine_best"
    RESOLVE_CONFLICTS = "resolve_conflicts"


def merge(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME|VERSION", help="A branch, a label, or a part of an id.")
    ],
    on_conflict: Annotated[
        OnClash,
        typer.Option("--on-conflict", help="What becomes of files that both changed in the same place."),
    ] = OnClash.MARKERS,
    strategy: Annotated[
        OnStrategy | None,
        typer.Option(
            "--strategy",
            help="Ask the model about them first: in one way, or in both and take the one that alone passes "
            "history.check_command, else what stays nearer to both sides.",
        ),
    ] = None,
    resume: SessionId = None,
) -> None:
    """Merge another line of work into the files; the version that is made has both as parents.

    What only one of them changed is taken, what both did in different places is put together. Exit code 1
    where conflict markers are left, or a result was taken that failed the check or has an objection to it.
    """
    from ragforge.domain.moves import MergeMode, Side
    from ragforge.versions.branch_merge import merge as bring_in

    run_move(
        context,
        lambda session: bring_in(
            session,
            name,
            side=Side(on_conflict),
            strategy=MergeMode(strategy) if strategy else None,
            tell=tell,
        ),
        resume=resume,
        chosen=True,
        may_begin=True,
    )
