"""`/export`: the session as a Markdown file."""

import asyncio
from pathlib import Path

from ragforge.commands.base import Command, Outcome, Tell
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import short_id
from ragforge.session.export import as_markdown
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    if not session.live.stored:
        raise UsageError("Nothing was said in this session yet.")
    path = Path(args).expanduser() if args else Path(f"ragforge-{short_id(session.id)}.md")
    path = session.cwd / path
    if path.exists():
        raise UsageError(f"{path} exists. Name another file: /export PATH.")
    text = await as_markdown(session)
    try:
        await asyncio.to_thread(path.write_text, text, "utf-8")
    except OSError as error:
        raise UsageError(
            f"Cannot write {path}: {error.strerror}. Name another file: /export PATH."
        ) from error
    return Tell(f"The session is exported to `{path}`.")


COMMAND = Command(
    "export", "Write this session to a Markdown file.", _run, usage="[PATH]", while_running=False
)
