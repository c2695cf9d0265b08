"""`/permissions`: the rules for what may happen without asking in this project."""

import re
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import NoArguments, Outcome, Tell, Verb
from ragforge.domain.approvals import Rule, parse_rule
from ragforge.domain.arguments import rest
from ragforge.domain.errors import UsageError
from ragforge.domain.reveal import spelled_out

if TYPE_CHECKING:
    from ragforge.session.state import Session


class AddArguments(Struct, frozen=True):
    """The rule."""

    rule: Annotated[str, rest("RULE", "A rule such as shell(git status).")]


class RemoveArguments(Struct, frozen=True):
    """Which rule."""

    rule: Annotated[str, rest("NUMBER", "The number of a rule, or the rule.")]


async def _run(session: "Session", args: NoArguments) -> Outcome:
    return Tell(_listed(session.live.consent.rules))


async def _add(session: "Session", args: AddArguments) -> Outcome:
    await session.live.consent.grant((parse_rule(args.rule),))
    return Tell(_listed(session.live.consent.rules))


async def _remove(session: "Session", args: RemoveArguments) -> Outcome:
    consent = session.live.consent
    await consent.take_back(_chosen(consent.rules, args.rule))
    return Tell(_listed(consent.rules))


def _listed(rules: tuple[Rule, ...]) -> str:
    if not rules:
        return "This project has no rules. /mode shows what is allowed without asking."
    lines = [f"{number}. {_code(rule)}" for number, rule in enumerate(rules, 1)]
    return "\n".join(
        [
            "Allowed in this project without asking:",
            "",
            *lines,
            "",
            "`/permissions remove NUMBER` removes one.",
        ]
    )


def _code(rule: Rule) -> str:
    """Return the rule in Markdown. Invisible characters are escaped, because a rule is consent."""
    text = spelled_out(str(rule)).replace("\n", "<U+000A>")
    longest = max((len(found) for found in re.findall("`+", text)), default=0)
    if not longest:
        return f"`{text}`"
    quotes = "`" * (longest + 1)
    return f"{quotes} {text} {quotes}"


def _chosen(rules: tuple[Rule, ...], text: str) -> Rule:
    if text.isdigit() and 1 <= int(text) <= len(rules):
        return rules[int(text) - 1]
    for rule in rules:
        if str(rule) == text:
            return rule
    raise UsageError(f"Unknown rule {text!r}. /permissions lists them with their numbers.")


VERB = Verb(
    "permissions",
    "List, add or remove rules that allow something without asking.",
    NoArguments,
    _run,
    verbs=(
        Verb("add", "Add a rule.", AddArguments, _add),
        Verb("remove", "Remove a rule.", RemoveArguments, _remove),
    ),
)
