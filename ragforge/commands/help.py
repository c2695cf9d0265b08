"""`/help`: what can be typed."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Outcome, Tell, Verb, find_verbs

if TYPE_CHECKING:
    from ragforge.session.state import Session


BAR = r"\|"
"""A bar inside a cell of a Markdown table."""


def rows(code: str = "") -> list[str]:
    """Every verb as a row of a Markdown table. code: what stands around each command."""
    return [
        f"| {code}/{f'{verb.name} {verb.usage}'.rstrip().replace('|', BAR)}{code} | {verb.help}"
        + (f" Also {', '.join(f'{code}/{alias}{code}' for alias in verb.aliases)}." if verb.aliases else "")
        + " |"
        for verb in find_verbs().values()
    ]


async def _run(session: "Session", args: NoArguments) -> Outcome:
    return Tell(
        "\n".join(
            [
                "| command | |",
                "|---|---|",
                *rows(),
                "| !COMMAND | Run a shell command yourself, in the real terminal. |",
                "| @PATH | Mention a file; an image goes along to models that see. |",
            ]
        )
    )


VERB = Verb("help", "Show the commands and the keys.", NoArguments, _run)
