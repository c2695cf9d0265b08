"""`/export`: the session as a file, for reading or for an import elsewhere; `/share` asks for the format."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Outcome, Tell, Verb
from ragforge.domain.arguments import option, rest
from ragforge.domain.errors import UsageError
from ragforge.domain.exports import ExportFormat, ending_of, format_of
from ragforge.domain.ids import short_id

if TYPE_CHECKING:
    from ragforge.session.exporter import Exporter
    from ragforge.session.state import Session


class ExportArguments(Struct, frozen=True):
    """Which format, and where."""

    path: Annotated[str, rest("PATH", "The file; by default a new one in the session's folder.")] = ""
    format: Annotated[
        ExportFormat | None,
        option(
            "--format",
            help="ragforge (to import elsewhere), md, html or json; by default, the file's "
            "extension decides.",
        ),
    ] = None
    files: Annotated[
        bool,
        option(
            "--files", help="Include the versions of files; a version that contains a secret is left out."
        ),
    ] = False


async def _run(session: "Session", args: ExportArguments) -> Outcome:
    if not session.live.stored:
        raise UsageError("This session has no messages yet.")
    typed = args.path.strip()
    format = args.format or (format_of(Path(typed)) if typed else ExportFormat.MARKDOWN)
    if args.files and args.format is None and not typed:
        format = ExportFormat.RAGFORGE
    path = Path(typed).expanduser() if typed else Path(f"ragforge-{short_id(session.id)}{ending_of(format)}")
    said = await exporter_of(session).write(session.live.record, session.cwd / path, format, files=args.files)
    return Tell("\n".join(said))


def exporter_of(session: "Session") -> "Exporter":
    """Return the data for an export of the session."""
    from ragforge.session.exporter import Exporter

    workspace = session.workspace
    return Exporter(workspace.store, workspace.blobs, workspace.redactor, workspace.person)


VERB = Verb(
    "export",
    "Write this session to a file: Markdown, HTML, JSON, or ragforge's own format.",
    ExportArguments,
    _run,
    while_running=False,
)
