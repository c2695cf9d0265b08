"""The common part of verbs that move between versions: their options, and the question about conflicts."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ragforge.commands.base import Choose, HeadMoved, Option, Outcome, Verb
from ragforge.domain.arguments import flags, option, shell_option
from ragforge.domain.commands import is_in_shell
from ragforge.domain.moves import ConflictChoice, Part
from ragforge.domain.printable import escaped

if TYPE_CHECKING:  # verbs are declared before anything is opened
    from ragforge.versions.head_move import Choices, MoveResult

PATHS_SHOWN = 8
_MEANING = {
    ConflictChoice.KEEP: "keep the current content",
    ConflictChoice.RESTORE: "use the version's content; the current content is kept as a separate version",
    ConflictChoice.MERGE: "merge both, with conflict markers where both changed the same lines",
}


class TakeArguments(Struct, frozen=True, kw_only=True):
    """What to do with files that have changed since."""

    on_conflict: Annotated[
        ConflictChoice | None,
        option(
            "--on-conflict",
            help="What to do with files that have changed since then; by default, keep them.",
        ),
    ] = None

    json: Annotated[bool, shell_option("--json", help="Print one JSON object.")] = False

    @property
    def choices(self) -> "Choices":
        """Return what to do with files in conflict; if not specified, the user is asked, if possible."""
        from ragforge.versions.head_move import Choices

        is_asked = self.on_conflict is None and not is_in_shell()
        return Choices(self.on_conflict or ConflictChoice.KEEP, ask=is_asked)


MovingArgs = TypeVar("MovingArgs", bound=TakeArguments)


class MoveArguments(TakeArguments, frozen=True, kw_only=True):
    """What moves, and what to do with files that have changed since."""

    part: Annotated[
        Part,
        flags(
            files="Move only the files, not the conversation.",
            chat="Move only the conversation, not the files.",
        ),
    ] = Part.BOTH


async def moved_or_asked(
    moving: "Awaitable[MoveResult]", verb: Verb[MovingArgs], args: MovingArgs, *, under: str = ""
) -> Outcome:
    """Move the heads; or, without changing anything, ask what to do with files that have changed since.

    under: the verb that this one follows, with a space after it.
    """
    from ragforge.versions.head_move import FilesInConflict

    try:
        return HeadMoved(await moving, is_chosen=args.on_conflict is not None, as_json=args.json)
    except FilesInConflict as conflict:
        return _question(conflict.paths, lambda choice: under + verb.line(replace(args, on_conflict=choice)))


def _question(paths: tuple[str, ...], line: Callable[[ConflictChoice], str]) -> Choose:
    several, them = (f"{len(paths)} files have", "them") if len(paths) > 1 else ("A file has", "it")
    shown = [escaped(path) for path in paths[:PATHS_SHOWN]]
    if len(paths) > PATHS_SHOWN:
        shown.append(f"and {len(paths) - PATHS_SHOWN} more")
    options = tuple(Option(choice, meaning, line(choice)) for choice, meaning in _MEANING.items())
    question = f"{several} changed since then, by you or another session. What should happen to {them}?"
    return Choose(question, "\n".join(shown), options)
