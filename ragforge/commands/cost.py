"""`/cost`: what this session and this project have used."""

from ragforge.commands.base import Command, Outcome, Tell
from ragforge.domain.usage import Purpose, sum_costs
from ragforge.session.state import Session
from ragforge.store.base_conversations import UsageRow

_FOR = {
    Purpose.CHAT: "chat",
    Purpose.SUMMARY: "memory: summaries",
    Purpose.EMBEDDING: "memory: embeddings",
    Purpose.RECALL: "memory: look-ups",
}


async def _run(session: Session, args: str) -> Outcome:
    log = session.workspace.store.usage
    here = await log.by_model(session_id=session.id)
    project = await log.by_model(project_id=session.workspace.project.id)
    return Tell(f"{_table('This session', here)}\n\n{_table('This project', project)}")


def _table(title: str, rows: list[UsageRow]) -> str:
    if not rows:
        return f"**{title}**: nothing used yet."
    chat = [row for row in rows if row.purpose is Purpose.CHAT]
    memory = [row for row in rows if row.purpose is not Purpose.CHAT]
    head = [
        "| model | for | calls | input | cached | output | thoughts | cost |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines = [
        f"| {row.model} | {_FOR[row.purpose]} | {row.calls} "
        f"| {row.usage.input_tokens:,} | {row.usage.cached_tokens:,} "
        f"| {row.usage.output_tokens:,} | {row.usage.thought_tokens:,} | {cost_words(row.cost_usd)} |"
        for row in [*chat, *memory]
    ]
    apart = f"chat {_sum_words(chat)}" + (f", memory {_sum_words(memory)}" if memory else "")
    return "\n".join([f"**{title}**: {apart}", "", *head, *lines])


def _sum_words(rows: list[UsageRow]) -> str:
    return cost_words(sum_costs(row.cost_usd for row in rows))


def cost_words(cost_usd: float | None) -> str:
    """The cost for a person: never 0 for what is unknown."""
    return "price unknown" if cost_usd is None else f"${cost_usd:.4f}"


COMMAND = Command("cost", "Show tokens and cost of this session and project.", _run)
