"""The agent's parts, put together from an open session."""

import platform
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ragforge.agent.instructions import as_text, find_instructions, folders_between
from ragforge.agent.parts import AgentParts, Events, Fitted, TurnLimits
from ragforge.agent.permissions import Decision, decide
from ragforge.agent.prompts import load_prompt
from ragforge.domain.approvals import Approve, Mode, Rule
from ragforge.domain.ids import now
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import Message, ToolSpec
from ragforge.domain.redact import Redactor
from ragforge.domain.search import Hit, Query
from ragforge.domain.turns import Step, ToolCall
from ragforge.memory import recall
from ragforge.memory.context import fixed_tokens, shorten
from ragforge.providers.base import ModelRequest
from ragforge.session.model import limits_of, pricing_of, provider_of
from ragforge.session.state import Session
from ragforge.store.base import Store
from ragforge.tools.base import AnyTool, Preview, ToolContext

OUTPUT_SHARE_MAX = 4
"""At most one part in this many of the window is kept free for the answer."""


class StoreRecorder:
    """Keeps steps and calls of a running turn in the store."""

    def __init__(self, store: Store, redactor: Redactor) -> None:
        self._store = store
        self._redactor = redactor

    async def save_step(self, step: Step) -> None:
        """Keep a step whose calls have not run yet."""
        await self._store.turns.save_step(safe_step(step, self._redactor))

    async def run_on(self, turn_id: str) -> None:
        """Keep that the person has answered: the turn waits no longer."""
        await self._store.turns.reopen(turn_id)

    async def add_call(self, call: ToolCall, step: Step) -> None:
        """Keep a call that ended, and its step."""
        await self._store.calls.add(call, safe_step(step, self._redactor))


def safe_step(step: Step, redactor: Redactor) -> Step:
    """The step as it is stored: the model may have put a secret together from what it was shown."""
    return replace(step, message=redactor.answer(step.message))


async def agent_parts(
    session: Session, *, approve: Approve, events: Events, limits: TurnLimits
) -> AgentParts:
    """What the loop needs. Raises ModelError or UsageError when there is no model to talk to."""
    workspace, live = session.workspace, session.live
    provider = await provider_of(session)
    pricing = pricing_of(session)
    pricing.check()
    specs = tuple(tool.spec for tool in workspace.tools.values()) if provider.name != "local" else ()
    root = workspace.place.root

    def consent(tool: AnyTool, args: JsonObject, preview: Preview) -> Decision:
        return decide(tool, args, preview, mode=live.mode, rules=live.rules, root=root, cwd=session.cwd)

    async def add_rules(rules: tuple[Rule, ...]) -> None:
        await workspace.local.add_rules(workspace.project.id, rules)
        live.rules = tuple(dict.fromkeys((*live.rules, *rules)))

    def instructions_for(paths: Sequence[Path]) -> str:
        folders = [folder for path in paths for folder in folders_between(root, path.parent)]
        return as_text(find_instructions(folders, root=root, given=live.instructions_given), root)

    system = system_prompt(session)

    async def fit(messages: Sequence[Message], share: float) -> Fitted:
        return await fit_request(session, system, specs, messages, share)

    return AgentParts(
        provider=provider,
        tools=workspace.tools,
        context=tool_context(session),
        consent=consent,
        add_rules=add_rules,
        approve=approve,
        record=StoreRecorder(workspace.store, workspace.redactor),
        events=events,
        fit=fit,
        price=pricing.cost,
        redact=workspace.redactor,
        has_queued=lambda: bool(live.queue),
        instructions_for=instructions_for,
        limits=limits,
    )


def system_prompt(session: Session) -> str:
    """The system prompt: our words, the situation, and the project's instructions down to the folder.

    It stays the same through a day of a session, so that the providers' prompt caches work.
    """
    place = session.workspace.place
    given = session.live.instructions_given
    folders = folders_between(place.root, session.cwd) or [session.cwd]
    # Asked anew each time: a file that was changed counts from the next turn on.
    found = find_instructions(folders, root=folders[0], given=set())
    given.update(item.path for item in found)
    plan = load_prompt("plan") if session.live.mode is Mode.PLAN else ""
    fields = {
        "{plan}": plan,
        "{cwd}": str(session.cwd),
        "{root}": str(place.root),
        "{platform}": f"{platform.system()} {platform.machine()}",
        "{date}": now().date().isoformat(),
        "{instructions}": as_text(found, folders[0]),
    }
    text = load_prompt("system")
    for field, value in fields.items():
        text = text.replace(field, value)
    return session.workspace.redactor.text(text)


async def fit_request(
    session: Session, system: str, specs: tuple[ToolSpec, ...], messages: Sequence[Message], share: float
) -> Fitted:
    """The request, within `share` of the model's window less room for the answer."""
    limits = await limits_of(session)
    room = limits.context_tokens_max - min(
        limits.output_tokens_max, limits.context_tokens_max // OUTPUT_SHARE_MAX
    )
    fixed = fixed_tokens(system, specs)
    short = shorten(messages, tokens_max=max(1, int(room * share) - fixed))
    return Fitted(
        ModelRequest(system, short.messages, specs),
        tokens=short.tokens + fixed,
        tokens_max=limits.context_tokens_max,
        stubbed_results=short.stubbed_results,
        dropped_turns=short.dropped_turns,
        dropped_steps=short.dropped_steps,
    )


def tool_context(session: Session) -> ToolContext:
    """What tools are given to work with."""
    workspace = session.workspace

    async def search(text: str, limit: int) -> list[Hit]:
        query = Query(text, project_id=workspace.project.id, limit=limit)
        return await recall.search(workspace.store, query)

    return ToolContext(
        cwd=session.cwd,
        root=workspace.place.root,
        env=dict(workspace.child_env),
        read_files=session.live.read_files,
        jobs=workspace.jobs,
        search=search,
        put_blob=workspace.blobs.put,
        get_blob=workspace.blobs.get,
        emit=lambda _: None,
        shell_timeout_s=workspace.settings.shell.timeout_s,
    )
