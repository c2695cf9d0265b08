"""`/help`: what can be typed."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Outcome, Tell, Verb, find_verbs

if TYPE_CHECKING:
    from ragforge.session.state import Session


BAR = r"\|"
"""A bar inside a cell of a Markdown table."""


async def _run(session: "Session", args: NoArguments) -> Outcome:
    lines = [
        f"| /{' '.join(filter(None, (verb.name, verb.usage.replace('|', BAR))))} | {verb.help}"
        + (f" Also {', '.join('/' + alias for alias in verb.aliases)}." if verb.aliases else "")
        + " |"
        for verb in find_verbs().values()
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


VERB = Verb("help", "Show the commands and the keys.", NoArguments, _run)
