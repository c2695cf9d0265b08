"""`/cost`: what this session and this project have used."""

from ragforge.session.commands.base import Command, Outcome, Tell
from ragforge.session.state import Session
from ragforge.store.base import UsageRow


async def _run(session: Session, args: str) -> Outcome:
    log = session.workspace.store.usage
    here = await log.by_model(session_id=session.id)
    project = await log.by_model(project_id=session.workspace.project.id)
    return Tell(f"{_table('This session', here)}\n\n{_table('This project', project)}")


def _table(title: str, rows: list[UsageRow]) -> str:
    if not rows:
        return f"**{title}**: nothing used yet."
    head = [
        "| model | for | calls | input | cached | output | thoughts | cost |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines = [
        f"| {row.model} | {row.purpose} | {row.calls} "
        f"| {row.usage.input_tokens:,} | {row.usage.cached_tokens:,} "
        f"| {row.usage.output_tokens:,} | {row.usage.thought_tokens:,} | {cost_words(row.cost_usd)} |"
        for row in rows
    ]
    return "\n".join([f"**{title}**", "", *head, *lines])


def cost_words(cost_usd: float | None) -> str:
    """The cost for a person: never 0 for what is unknown."""
    return "price unknown" if cost_usd is None else f"${cost_usd:.4f}"


COMMAND = Command("cost", "Show tokens and cost of this session and project.", _run)
