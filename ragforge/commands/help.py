"""`/help`: what can be typed."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct

from ragforge.commands.base import Open, Outcome, Verb
from ragforge.domain.arguments import rest

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


class HelpArguments(Struct, frozen=True):
    """What to look up."""

    words: Annotated[str, rest("WORDS", "To look up.")] = ""


async def _run(session: "Session", args: HelpArguments) -> Outcome:
    return Open("help", args.words)


VERB = Verb("help", "Look up commands and keys.", HelpArguments, _run)
