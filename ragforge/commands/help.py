"""`/help`: what can be typed."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ragforge.commands.base import NoArguments, Outcome, Tell, Verb, verbs_on
from ragforge.domain.arguments import Face

if TYPE_CHECKING:
    from ragforge.session.state import Session


BAR = r"\|"
"""A bar inside a cell of a Markdown table."""


def rows(verbs: Iterable[Verb[Any]], code: str = "") -> list[str]:
    """The verbs as rows of a Markdown table. code: what stands around each command."""
    return [
        f"| {code}/{f'{verb.name} {verb.usage}'.rstrip().replace('|', BAR)}{code} | {verb.help}"
        + (f" Also {', '.join(f'{code}/{alias}{code}' for alias in verb.aliases)}." if verb.aliases else "")
        + " |"
        for verb in verbs
    ]


def commands_table(verbs: Iterable[Verb[Any]]) -> str:
    """All that can be typed, as a Markdown table."""
    return "\n".join(
        [
            "| command | |",
            "|---|---|",
            *rows(verbs),
            "| !COMMAND | Run a shell command yourself, in the real terminal. |",
            "| @PATH | Mention a file; an image goes along to models that see. |",
        ]
    )


async def _run(session: "Session", args: NoArguments) -> Outcome:
    return Tell(commands_table(verbs_on(Face.INTERFACE).values()))


VERB = Verb("help", "Show the commands and the keys.", NoArguments, _run)
