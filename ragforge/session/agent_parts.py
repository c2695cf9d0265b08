"""The agent's parts, built from an open session."""

import platform
from asyncio import to_thread
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from ragforge.agent.parts import AgentParts, Events, Guard, TurnLimits, unguarded
from ragforge.agent.permissions import Ask, Decision, Refuse, decide
from ragforge.agent.prompts import load_prompt
from ragforge.domain.approvals import Approve, Mode
from ragforge.domain.context import ContextBlock
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import now
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import ToolSpec
from ragforge.domain.redact import Redactor
from ragforge.domain.search import Hit, Query
from ragforge.domain.turns import Step, ToolCall
from ragforge.memory.forgotten import read_forgotten
from ragforge.memory.recall.search import search
from ragforge.memory.window import Window
from ragforge.session.constraints import ALONE, Constraints, decide_with
from ragforge.session.context import RECALL_TOOLS, RequestMaker, recalls
from ragforge.session.instructions import instructions_for, project_instructions, trusts_writes
from ragforge.session.memory_tools import recall_memory, save_memory
from ragforge.session.model import NO_MODEL, pricing_of, provider_of
from ragforge.session.skills import admit_skills, read_skill
from ragforge.session.state import Session
from ragforge.session.todos import keep_todos, reminder, todos_of
from ragforge.store.base import Store
from ragforge.tools.base import AnyTool, Effect, Preview, ToolContext


class StoreRecorder:
    """Stores steps and calls of a running turn."""

    def __init__(self, store: Store, redactor: Redactor) -> None:
        self._store = store
        self._redactor = redactor

    async def save_step(self, step: Step, *, waits: bool = False) -> None:
        """Save a step before its calls run. waits: one of them needs approval."""
        await self._store.turns.save_step(safe_step(step, self._redactor), waits=waits)

    async def run_on(self, turn_id: str) -> None:
        """Record that the user has answered and the turn no longer waits."""
        await self._store.turns.reopen(turn_id)

    async def add_call(self, call: ToolCall, step: Step) -> None:
        """Save a call that ended, and its step."""
        await self._store.calls.add(call, safe_step(step, self._redactor))


def safe_step(step: Step, redactor: Redactor) -> Step:
    """Return the step as it is stored, without secrets that the model may have combined from what it was
    shown."""
    return replace(step, message=redactor.answer(step.message))


async def agent_parts(
    session: Session,
    window: Window,
    recall: Callable[[], Awaitable[ContextBlock]],
    *,
    approve: Approve,
    events: Events,
    limits: TurnLimits,
    guard: Guard = unguarded,
) -> AgentParts:
    """Return what the loop needs for the last turn of the window.

    recall: returns the block; called last, so that the request is sent right after it.
    Raises ModelError or UsageError if there is no model.
    """
    workspace, live = session.workspace, session.live
    provider = await provider_of(session)
    pricing = pricing_of(session)
    pricing.check()
    told = (await project_instructions(session), await admit_skills(session))
    system = system_prompt(session, "\n\n".join(filter(None, told)))
    constraints = Constraints(session)
    todos = await reminder(session, window)
    maker = RequestMaker(session, system, tool_specs(session), window, await recall(), todos)
    return AgentParts(
        provider=provider,
        tools=tools_of(session),
        context=replace(tool_context(session), get_result=window.result),
        consent=partial(_consent, session, constraints),
        count=constraints.answered,
        add_rules=live.consent.grant,
        approve=approve,
        record=StoreRecorder(workspace.store, workspace.redactor),
        events=events,
        fit=maker.fit,
        price=pricing.cost,
        redact=workspace.redactor,
        has_queued=lambda: bool(live.queue),
        instructions_for=partial(instructions_for, session),
        limits=limits,
        guard=trusts_writes(session, guard),
    )


async def prepare_parts(session: Session) -> None:
    """Read what a turn sends besides the conversation, beside the loop. Errors are reported on first use."""
    with suppress(UsageError):
        await to_thread(_read_parts, session)


def _read_parts(session: Session) -> None:
    tool_specs(session)
    load_prompt("system")
    pricing_of(session).check()


async def _consent(
    session: Session, constraints: Constraints, tool: AnyTool, args: JsonObject, preview: Preview
) -> Decision:
    """Decide whether the call is allowed, by the current mode, rules and constraints."""
    consent, root = session.live.consent, session.workspace.place.root
    decision = decide(tool, args, preview, mode=consent.mode, rules=consent.rules, root=root, cwd=session.cwd)
    hits = () if isinstance(decision, Refuse) else await constraints.hits(tool, preview)
    decision = decide_with(
        decision,
        hits,
        mode=consent.mode,
        unattended=consent.unattended or (ALONE if consent.headless else ""),
        warns=session.workspace.settings.constraints.headless == "warn",
        unread=constraints.is_unread and tool.effect is not Effect.READ,
    )
    if consent.unattended and isinstance(decision, Ask):
        return Refuse(f"Not done, because it {decision.reason}. {consent.unattended}")
    return decision


def tools_of(session: Session) -> Mapping[str, AnyTool]:
    """Return the model's tools, without those that have nothing to work with here: memory, skills."""
    without: set[str] = set() if recalls(session.workspace) else set(RECALL_TOOLS)
    if not session.live.view.skills:
        without.add("skill")
    return {name: tool for name, tool in session.workspace.tools.items() if name not in without}


def tool_specs(session: Session) -> tuple[ToolSpec, ...]:
    """Return the descriptions of the tools for the session's model."""
    if (session.live.record.model or NO_MODEL) == NO_MODEL:
        return ()
    return tuple(tool.spec for tool in tools_of(session).values())


def system_prompt(session: Session, instructions: str) -> str:
    """Return the system prompt: ragforge's text, the situation, and the project's trusted instructions.

    It stays the same for a day of a session, so that the providers' prompt caches work.
    """
    place = session.workspace.place
    plan = load_prompt("plan") if session.live.consent.mode is Mode.PLAN else ""
    fields = {
        "{plan}": plan,
        "{cwd}": str(session.cwd),
        "{root}": str(place.root),
        "{platform}": f"{platform.system()} {platform.machine()}",
        "{date}": now().date().isoformat(),
        "{instructions}": instructions,
    }
    text = load_prompt("system")
    for field, value in fields.items():
        text = text.replace(field, value)
    return session.workspace.redactor.text(text)


def tool_context(session: Session) -> ToolContext:
    """Return what tools can use."""
    workspace = session.workspace

    async def find(text: str, limit: int) -> list[Hit]:
        query = Query(
            text,
            workspace.project.id,
            person=workspace.person.id,
            until=session.live.view.recalls_until,
            limit=limit,
        )
        forgotten = await read_forgotten(workspace.store, workspace.project.id)
        return [forgotten.hit(hit) for hit in (await search(workspace.recall, query)).hits]

    async def get_blob(digest: str) -> bytes:
        """A result of an earlier call."""
        data = await workspace.blobs.get(digest)
        forgotten = await read_forgotten(workspace.store, workspace.project.id)
        text = data.decode("utf-8", "replace")
        return cleaned.encode() if (cleaned := await to_thread(forgotten.cut, text)) != text else data

    return ToolContext(
        cwd=session.cwd,
        root=workspace.place.root,
        env=dict(workspace.child_env),
        read_files=session.live.view.read_files,
        jobs=workspace.jobs,
        search=find,
        put_blob=workspace.blobs.put,
        get_blob=get_blob,
        emit=lambda _: None,
        save_memory=partial(save_memory, session),
        recall_memory=partial(recall_memory, session),
        read_skill=partial(read_skill, session),
        todos=partial(todos_of, session),
        keep_todos=partial(keep_todos, session),
        shell_timeout_s=workspace.settings.shell.timeout_s,
        web_private_hosts=tuple(workspace.settings.web.private_hosts),
    )
