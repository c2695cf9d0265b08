"""`/help`: what can be typed."""

from ragforge.commands.base import Command, Outcome, Tell, find_commands
from ragforge.session.state import Session

BAR = r"\|"
"""A bar inside a cell of a Markdown table."""


async def _run(session: Session, args: str) -> Outcome:
    lines = [
        f"| /{' '.join(filter(None, (command.name, command.usage.replace('|', BAR))))} | {command.help}"
        + (f" Also {', '.join('/' + alias for alias in command.aliases)}." if command.aliases else "")
        + " |"
        for command in find_commands().values()
    ]
    return Tell(
        "\n".join(
            [
                "| command | |",
                "|---|---|",
                *lines,
                "| !COMMAND | Run a shell command yourself, in the real terminal. |",
                "| @PATH | Mention a file; an image goes along to models that see. |",
            ]
        )
    )


COMMAND = Command("help", "Show the commands and the keys.", _run)
