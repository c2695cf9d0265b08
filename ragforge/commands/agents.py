"""`agents`: the sub-agents of a session, and what one of them did."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import NoArguments, Opens, Outcome, Report, Tell, Verb
from ragforge.domain.arguments import word
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import id_fits, short_id
from ragforge.domain.printable import inline_code, one_line
from ragforge.domain.turns import CallStatus
from ragforge.domain.words import cost_words, counted

if TYPE_CHECKING:
    from ragforge.domain.sub_agents import SubAgent
    from ragforge.domain.turns import ToolCall, Turn
    from ragforge.session.state import Session
    from ragforge.store.base import Store


class AgentArguments(Struct, frozen=True):
    """Which one."""

    id: Annotated[str, word("ID", "Its id, or a part of it; /agents lists them.")]


async def _run(session: "Session", args: NoArguments) -> Outcome:
    found = await _found(session)
    if not found:
        return Report(notes=("This session has no sub-agents.",))
    store = session.workspace.store
    told = [(each, await _figures(store, each)) for each in reversed(found)]
    listed = [
        f"- {inline_code(one_line(each.title))}: {figures} · `{short_id(each.session)}`"
        for each, figures in told
    ]
    return Report(
        [f"{short_id(each.session)}  {one_line(each.title)}  {figures}" for each, figures in told],
        markdown="\n".join([*listed, "", "`/agents open ID` shows what one did."]),
    )


async def _open(session: "Session", args: AgentArguments) -> Outcome:
    """Show its progress, even while it works."""
    fitting = [each for each in await _found(session) if id_fits(each.session, args.id)]
    if len(fitting) != 1:
        raise UsageError(f"{'Several sub-agents match' if fitting else 'No sub-agent matches'} {args.id!r}.")
    store, [agent] = session.workspace.store, fitting
    record = await store.sessions.get(agent.session)
    if record is None:
        raise UsageError(f"The session of {agent.title!r} does not exist yet or was deleted.")
    path = await store.turns.path(record.head)
    calls = await store.calls.of_turns([turn.id for turn in path])
    steps = await store.turns.steps([turn.id for turn in path])
    resume = f"`ragforge -r {short_id(agent.session)}`"
    parts = [f"**{one_line(agent.title)}** · {await _figures(store, agent)} · {resume}"]
    for step in steps:
        parts += filter(None, [step.message.text])
        place = (step.turn_id, step.index)
        parts += [_call(call) for call in calls if (call.turn_id, call.step_index) == place]
    return Tell("\n\n".join([*parts, *(_end(turn) for turn in path[-1:])]))


async def _found(session: "Session") -> "list[SubAgent]":
    from ragforge.session.sub_agents import sub_agents_of

    return await sub_agents_of(session.workspace.store, session.workspace.project.id, session.id)


async def _figures(store: "Store", agent: "SubAgent") -> str:
    record = await store.sessions.get(agent.session)
    head = await store.turns.get(record.head) if record and record.head else None
    if head is None:
        return "begins"
    steps = len(await store.turns.steps([head.id]))
    return f"{head.status}, {counted(steps, 'step')}, {cost_words(head.cost_usd)}"


def _call(call: "ToolCall") -> str:
    args = ", ".join(f"{name}={value}" for name, value in call.args.items())
    why = f": {one_line(call.result)[:200]}" if call.status is not CallStatus.OK else ""
    return f"`{call.name}` {one_line(args)[:200]} → {call.status}{why}"


def _end(turn: "Turn") -> str:
    return f"*{turn.status}*" + (f": {one_line(turn.error)}" if turn.error else "")


OPEN = Verb("open", "Show a sub-agent's conversation.", AgentArguments, _open, opens=Opens.LOOK, reads=True)
VERB = Verb(
    "agents",
    "List the sub-agents of this session, or show one.",
    NoArguments,
    _run,
    opens=Opens.LOOK,
    reads=True,
    verbs=(OPEN,),
)
