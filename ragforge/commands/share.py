"""`/share`: what an export would contain, and its format. Nothing is sent anywhere."""

from typing import TYPE_CHECKING

from ragforge.commands.base import Choose, NoArguments, Option, Outcome, Verb
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import short_id

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    from ragforge.commands.export import exporter_of

    if not session.live.stored:
        raise UsageError("This session has no messages yet, so it cannot be shared.")
    goes = await exporter_of(session).what_goes(session.live.record, files=False)
    name = f"ragforge-{short_id(session.id)}"
    return Choose(
        "Write this session to a file?",
        "\n".join(
            (
                f"It holds {goes[0]}",
                *goes[1:],
                "The file is written to this folder. Nothing is sent anywhere.",
            )
        ),
        (
            Option("To import", f"{name}.ragforge", f"export --format ragforge {name}.ragforge"),
            Option(
                "With files",
                f"{name}-files.ragforge, with all versions of files, except files that contain a secret",
                f"export --format ragforge --files {name}-files.ragforge",
            ),
            Option("Markdown", f"{name}.md", f"export --format md {name}.md"),
            Option("HTML", f"{name}.html", f"export --format html {name}.html"),
            Option("JSON", f"{name}.json", f"export --format json {name}.json"),
        ),
    )


VERB = Verb(
    "share",
    "Choose a format and write this session to a file; nothing is sent.",
    NoArguments,
    _run,
    while_running=False,
)
