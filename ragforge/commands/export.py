"""`/export`: the session as a Markdown file."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Outcome, Tell, Verb
from ragforge.domain.arguments import rest
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import short_id

if TYPE_CHECKING:
    from ragforge.session.state import Session


class ExportArguments(Struct, frozen=True):
    """What follows the name."""

    path: Annotated[str, rest("PATH", "The file; by default a new one in the session's folder.")] = ""


async def _run(session: "Session", args: ExportArguments) -> Outcome:
    from ragforge.session.export import as_markdown

    if not session.live.stored:
        raise UsageError("This session has no messages yet.")
    path = Path(args.path).expanduser() if args.path else Path(f"ragforge-{short_id(session.id)}.md")
    path = session.cwd / path
    if path.exists():
        raise UsageError(f"{path} already exists. Choose another file: /export PATH.")
    text = await as_markdown(session)
    try:
        await asyncio.to_thread(path.write_text, text, "utf-8")
    except OSError as error:
        raise UsageError(
            f"Cannot write {path}: {error.strerror}. Choose another file: /export PATH."
        ) from error
    return Tell(f"Exported this session to `{path}`.")


VERB = Verb("export", "Write this session to a Markdown file.", ExportArguments, _run, while_running=False)
