"""`/permissions`: the rules that let things happen without asking in this project."""

import re

from ragforge.commands.base import Command, Outcome, Tell
from ragforge.domain.approvals import Rule, parse_rule
from ragforge.domain.errors import UsageError
from ragforge.domain.reveal import spelled_out
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    verb, _, rest = args.partition(" ")
    workspace = session.workspace
    match verb:
        case "":
            return Tell(_listed(session.live.rules))
        case "add":
            rule = parse_rule(rest)
            await workspace.local.add_rules(workspace.project.id, (rule,))
        case "remove":
            rule = _chosen(session.live.rules, rest.strip())
            await workspace.local.remove_rule(workspace.project.id, rule)
        case _:
            raise UsageError("Write /permissions, /permissions add RULE or /permissions remove NUMBER.")
    session.live.rules = tuple(await workspace.local.rules(workspace.project.id))
    return Tell(_listed(session.live.rules))


def _listed(rules: tuple[Rule, ...]) -> str:
    if not rules:
        return "No rules in this project: whatever changes something asks first. /mode says what else holds."
    lines = [f"{number}. {_code(rule)}" for number, rule in enumerate(rules, 1)]
    return "\n".join(
        [
            "In this project these need no asking:",
            "",
            *lines,
            "",
            "`/permissions remove NUMBER` takes one away.",
        ]
    )


def _code(rule: Rule) -> str:
    """The rule in Markdown. Characters that cannot be seen are spelled out, since a rule is consent."""
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
    raise UsageError(f"There is no rule {text!r}. /permissions lists them with their numbers.")


COMMAND = Command(
    "permissions",
    "List, add or remove the rules that let things happen without asking.",
    _run,
    usage="[add RULE | remove NUMBER]",
)
