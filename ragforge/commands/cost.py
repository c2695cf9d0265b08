"""`/cost`: what this session and this project have used, and who used it."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from ragforge.commands.base import Opens, Outcome, Report, Verb
from ragforge.domain.arguments import shell_option
from ragforge.domain.printable import one_line
from ragforge.domain.usage import Purpose, sum_costs
from ragforge.domain.words import aligned, cost_words

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


class CostArguments(Struct, frozen=True):
    """How it is printed."""

    json: Annotated[bool, shell_option("--json", help="Print one JSON object.")] = False


async def _run(session: "Session", args: CostArguments) -> Outcome:
    log, project = session.workspace.store.usage, session.workspace.project.id
    parts = {
        "session": _Used("This session", await log.by_model(session_id=session.id)),
        "sub_agents": _Used("Sub-agents of this session, in addition", await _agents_rows(session)),
        "project": _Used("This project", await log.by_model(project_id=project)),
    }
    person = session.workspace.person
    users = [] if person.alone else await log.by_person(project_id=project)
    if args.json:
        data = {name: part.as_json() for name, part in parts.items()}
        return Report(data={**data, "users": [_user_json(row) for row in users]})
    tables = [part.table() for name, part in parts.items() if part.rows or name != "sub_agents"]
    if len(users) > 1:
        tables.append(_users_table(users, person.id))
    blocks = ["\n".join(table.lines()) for table in tables]
    return Report("\n\n".join(blocks).split("\n"), markdown="\n\n".join(table.markdown() for table in tables))


async def _agents_rows(session: "Session") -> "list[UsageRow]":
    """Return what the session's sub-agents used, a row per model and purpose."""
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


class _Columns(Struct, frozen=True):
    """A heading above rows of cells. words: how many of the columns are words; the others are figures."""

    title: str
    told: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    words: int = 1

    def lines(self) -> list[str]:
        """Return the table as plain text."""
        table = aligned([self.head, *self.rows], words=self.words) if self.rows else []
        return [f"{self.title}{self.told}", *table]

    def markdown(self) -> str:
        """Return the same in Markdown."""
        rule = ["---"] * self.words + ["--:"] * (len(self.head) - self.words)
        rows = [self.head, rule, *self.rows] if self.rows else []
        cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
        table = ["", *(f"| {' | '.join(row)} |" for row in cells)] if cells else []
        return "\n".join([f"**{self.title}**{self.told}", *table])


class _Used(Struct, frozen=True):
    """Return what a session, its sub-agents or a project used, a row per model and purpose."""

    title: str
    rows: "list[UsageRow]"

    def table(self) -> _Columns:
        if not self.rows:
            return _Columns(self.title, ": nothing used yet.")
        chat = [row for row in self.rows if row.purpose is Purpose.CHAT]
        programs = [row for row in self.rows if row.purpose is Purpose.PROGRAM]
        memory = [row for row in self.rows if row.purpose.is_memory]
        sums = {"chat": chat, "programs": programs, "memory": memory}
        parts = [f"{name} {_sum_words(rows)}" for name, rows in sums.items() if rows or name == "chat"]
        cells = [(row.model, _FOR[row.purpose], *_figures(row)) for row in [*chat, *programs, *memory]]
        head = ("model", "for", *_FIGURES)
        return _Columns(self.title, f": {', '.join(parts)}", head, tuple(cells), words=2)

    def as_json(self) -> dict[str, Any]:
        return {
            "cost_usd": sum_costs(row.cost_usd for row in self.rows),
            "rows": [{"model": row.model, "purpose": row.purpose, **_figures_json(row)} for row in self.rows],
        }


_FIGURES = ("calls", "input", "cached", "output", "thoughts", "cost")


def _figures(row: "UsageRow | PersonUsage") -> tuple[str, ...]:
    usage = row.usage
    counts = (row.calls, usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.thought_tokens)
    return (*(f"{count:,}" for count in counts), cost_words(row.cost_usd))


def _figures_json(row: "UsageRow | PersonUsage") -> dict[str, Any]:
    import msgspec

    return {"calls": row.calls, **msgspec.to_builtins(row.usage), "cost_usd": row.cost_usd}


def _users_table(rows: "list[PersonUsage]", user: str) -> _Columns:
    cells = tuple((_user_words(row.person, user), *_figures(row)) for row in rows)
    return _Columns("This project, by user", "", ("user", *_FIGURES), cells)


def _user_json(row: "PersonUsage") -> dict[str, Any]:
    return {"user": row.person, **_figures_json(row)}


def _user_words(id: str, user: str) -> str:
    shown = one_line(id) or "unknown"
    return f"{shown} (you)" if id == user else shown


def _sum_words(rows: "list[UsageRow]") -> str:
    return cost_words(sum_costs(row.cost_usd for row in rows))


VERB = Verb(
    "cost",
    "Show tokens and cost of this session and project.",
    CostArguments,
    _run,
    opens=Opens.LOOK,
    reads=True,
)
