"""`/cost`: what this session and this project have used, and who used it."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ragforge.commands.base import NoArguments, Opens, Outcome, Tell, Verb
from ragforge.domain.printable import one_line
from ragforge.domain.usage import Purpose, sum_costs
from ragforge.domain.words import cost_words

if TYPE_CHECKING:
    from ragforge.session.state import Session
    from ragforge.store.base_conversations import PersonUsage, UsageRow


_FOR = {
    Purpose.CHAT: "chat",
    Purpose.SUMMARY: "memory: summaries",
    Purpose.EMBEDDING: "memory: embeddings",
    Purpose.RECALL: "memory: look-ups",
    Purpose.PROGRAM: "program",
}


async def _run(session: "Session", args: NoArguments) -> Outcome:
    log = session.workspace.store.usage
    here = await log.by_model(session_id=session.id)
    project = await log.by_model(project_id=session.workspace.project.id)
    tables = [_table("This session", here), _table("This project", project)]
    if agents := await _agents_rows(session):
        tables.insert(1, _table("Sub-agents of this session, in addition", agents))
    if not session.workspace.person.alone:
        users = await log.by_person(project_id=session.workspace.project.id)
        tables += [_users_table(users, session.workspace.person.id)] if len(users) > 1 else []
    return Tell("\n\n".join(tables))


async def _agents_rows(session: "Session") -> "list[UsageRow]":
    """What the session's sub-agents used, a row a model and purpose."""
    from ragforge.session.sub_agents import sub_agents_of

    store = session.workspace.store
    agents = await sub_agents_of(store, session.workspace.project.id, session.id)
    summed: dict[tuple[str, Purpose], UsageRow] = {}
    for agent in agents:
        for row in await store.usage.by_model(session_id=agent.session):
            before = summed.get((row.model, row.purpose))
            summed[row.model, row.purpose] = _sum(before, row) if before else row
    return list(summed.values())


def _sum(one: "UsageRow", other: "UsageRow") -> "UsageRow":
    return replace(
        one,
        calls=one.calls + other.calls,
        usage=one.usage + other.usage,
        cost_usd=sum_costs((one.cost_usd, other.cost_usd)),
    )


def _table(title: str, rows: "list[UsageRow]") -> str:
    if not rows:
        return f"**{title}**: nothing used yet."
    chat = [row for row in rows if row.purpose is Purpose.CHAT]
    programs = [row for row in rows if row.purpose is Purpose.PROGRAM]
    memory = [row for row in rows if row.purpose.is_memory]
    head = [
        "| model | for | calls | input | cached | output | thoughts | cost |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines = [
        f"| {row.model} | {_FOR[row.purpose]} | {row.calls} "
        f"| {row.usage.input_tokens:,} | {row.usage.cached_tokens:,} "
        f"| {row.usage.output_tokens:,} | {row.usage.thought_tokens:,} | {cost_words(row.cost_usd)} |"
        for row in [*chat, *programs, *memory]
    ]
    parts = {"chat": chat, "programs": programs, "memory": memory}
    apart = ", ".join(f"{name} {_sum_words(part)}" for name, part in parts.items() if part or name == "chat")
    return "\n".join([f"**{title}**: {apart}", "", *head, *lines])


def _users_table(rows: "list[PersonUsage]", user: str) -> str:
    head = ["| user | calls | input | cached | output | thoughts | cost |", "|---|--:|--:|--:|--:|--:|--:|"]
    lines = [
        f"| {_user_words(row.person, user)} | {row.calls} "
        f"| {row.usage.input_tokens:,} | {row.usage.cached_tokens:,} "
        f"| {row.usage.output_tokens:,} | {row.usage.thought_tokens:,} | {cost_words(row.cost_usd)} |"
        for row in rows
    ]
    return "\n".join(["**This project, by user**", "", *head, *lines])


def _user_words(id: str, user: str) -> str:
    shown = one_line(id).replace("|", "\\|") or "unknown"
    return f"{shown} (you)" if id == user else shown


def _sum_words(rows: "list[UsageRow]") -> str:
    return cost_words(sum_costs(row.cost_usd for row in rows))


VERB = Verb(
    "cost",
    "Show tokens and cost of this session and project.",
    NoArguments,
    _run,
    opens=Opens.LOOK,
    reads=True,
)
