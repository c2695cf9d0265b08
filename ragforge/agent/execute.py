"""The calls of one step: validated, approved, run, and stored as each ends."""

import asyncio
import json
import logging
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.agent.parts import AgentParts, GuardedCall, TurnProgress
from ragforge.agent.permissions import Allow, Ask, Decision, Refuse, only_reads
from ragforge.domain import timeouts
from ragforge.domain.approvals import (
    ApprovalAnswer,
    ChangeFile,
    ConsentAnswer,
    ConstraintHit,
    OtherCall,
    Proposal,
    Rule,
    ToolApproval,
    proposal_text,
)
from ragforge.domain.cancellation import undisturbed
from ragforge.domain.errors import NotKept, StoreError, UsageError
from ragforge.domain.events import ConstraintsMet, Notice, ToolEnded, ToolOutput, ToolStarted
from ragforge.domain.ids import now
from ragforge.domain.messages import CallRequest, ToolMessage
from ragforge.domain.redact import MARK
from ragforge.domain.reveal import oddities
from ragforge.domain.turns import CallStatus, Step, ToolCall, declined
from ragforge.files.diffs import unified
from ragforge.tools.base import AnyTool, Effect, Preview, ToolContext, ToolResult
from ragforge.tools.limits import cut_result, result_chars_max

log = logging.getLogger(__name__)


EDIT_CHARS_MAX = 8_000
"""How much of an edit the model is told."""
LED_ELSEWHERE = "The path leads somewhere else than when it was approved. Nothing was done."
CHANGED = "; its file has changed since you were first asked"
_Stamp: TypeAlias = tuple[int, int, int] | None
"""A file's number, size and time of change; None for no file."""
CHANGES_NOTHING = (Effect.READ, Effect.WEB)
"""Calls of such tools run at the same time, and no file is checked meanwhile."""


class _Refused(Struct, frozen=True):
    """Why a call does not run, as told to the model."""

    text: str
    status: CallStatus = CallStatus.FAILED


class _Ready(Struct, frozen=True):
    """A call with valid arguments and a known effect.

    call: with the arguments that the user edited, if they did.
    """

    call: "_OpenCall"
    tool: AnyTool
    args: msgspec.Struct
    preview: Preview
    decision: Decision
    hits: tuple[ConstraintHit, ...] = ()
    """The violated constraints, in spite of which it runs."""


class _OpenCall(Struct, frozen=True):
    """A call in progress."""

    parts: AgentParts
    progress: TurnProgress
    step: Step
    request: CallRequest
    position: int
    from_store: bool = False
    """Read back from the store, where secrets are redacted."""
    started_at: datetime = field(default_factory=now)
    started_s: float = field(default_factory=time.monotonic)
    waited_s: list[float] = field(default_factory=list[float])
    """How long it waited for the user while it ran."""

    async def end(self, result: ToolResult, status: CallStatus) -> ToolCall:
        """Store it completely, even while it is cancelled, because it may have changed files."""
        return await undisturbed(self._end(result, status), cancel_after=True)

    async def _end(self, result: ToolResult, status: CallStatus) -> ToolCall:
        # What is too long for the model goes to the blob store.
        redact = self.parts.redact
        text = redact.text(result.text)
        chars_max = result_chars_max(self.request.name)
        long = len(text) > chars_max
        blob = await self._keep_whole(text) if long else None
        ended = ToolCall(
            id=self.request.id,
            turn_id=self.progress.turn_id,
            step_index=self.step.index,
            position=self.position,
            name=self.request.name,
            args=redact.fields(self.request.args),
            status=status,
            result=cut_result(text, reference=blob or "", chars_max=chars_max),
            started_at=self.started_at,
            duration_ms=round((time.monotonic() - self.started_s - sum(self.waited_s)) * 1000),
            result_chars=len(text),
            result_blob=blob,
            diff=redact.text(result.diff),
            images=tuple(redact.image(image) for image in result.images),
            provider_id=self.request.provider_id,
        )
        self.progress.unkept.append((ended, self.step))
        await self.parts.record.add_call(ended, self.step)
        self.progress.unkept.remove((ended, self.step))
        await self.parts.events.send(ToolEnded(ended))
        return ended

    async def _keep_whole(self, text: str) -> str | None:
        """Store the complete result and return its hash; None if that fails, so that the rest is not lost."""
        try:
            return await self.parts.context.put_blob(text.encode("utf-8", "replace"))
        except StoreError as error:
            log.warning("Only a shortened result of %s was stored: %s", self.request.name, error)
            return None


async def execute_calls(
    parts: AgentParts,
    progress: TurnProgress,
    step: Step,
    done: Sequence[ToolCall] = (),
    *,
    from_store: bool = False,
) -> ToolMessage:
    """Return the results of the step's calls in order, each stored when it ended.

    done: calls of this step that ended in an earlier run; they are not repeated. from_store: the step was
    read from the store. Calls that only read run at the same time; a call that changes something waits for
    earlier ones and runs alone.
    Raises StoreError if a result cannot be stored.
    """
    ended = {call.id: call for call in done}
    reading: list[asyncio.Task[ToolCall]] = []
    try:
        async with asyncio.TaskGroup() as tasks:
            for position, request in enumerate(step.message.calls):
                if request.id in ended:
                    continue
                tool = parts.tools.get(request.name)
                if reading and tool and tool.effect not in CHANGES_NOTHING:
                    await asyncio.wait(reading)
                call = _OpenCall(parts, progress, step, request, position, from_store)
                ready = await _prepare(call)
                if isinstance(ready, _Refused):
                    ended[request.id] = await call.end(ToolResult(ready.text, failed=True), ready.status)
                elif ready.tool.effect in CHANGES_NOTHING:
                    reading.append(tasks.create_task(_run(ready)))
                else:
                    ended[request.id] = await _run(ready)
    except* StoreError as failures:
        raise failures.exceptions[0] from None
    ended.update((task.result().id, task.result()) for task in reading)
    return ToolMessage(tuple(ended[request.id].answer for request in step.message.calls))


async def _prepare(call: _OpenCall) -> _Ready | _Refused:
    """Return the call, approved and ready to run, or why it does not run."""
    request, parts = call.request, call.parts
    tool = parts.tools.get(request.name)
    args, summary = _read_args(call, tool)
    await parts.events.send(
        ToolStarted(request.id, request.name, parts.redact.fields(request.args), parts.redact.text(summary))
    )
    if tool is None:
        known = ", ".join(sorted(parts.tools))
        return _Refused(f"Unknown tool {request.name!r}. Available tools: {known}.")
    if isinstance(args, _Refused):
        return args
    looked = await _look(call, tool, args)
    if isinstance(looked, _Refused):
        return looked
    ready, refused = await _ask_consent(looked)
    is_asked = isinstance(ready.decision, Ask)
    if ready.hits:
        met = ConstraintsMet(request.id, ready.hits, is_asked, refused is not None)
        await parts.count(met)
        await parts.events.send(met)
    # What the user has just allowed need not be reported.
    return refused or (replace(ready, hits=()) if is_asked else ready)


async def _look(call: _OpenCall, tool: AnyTool, args: msgspec.Struct) -> _Ready | _Refused:
    """Return what the call would do and whether it is allowed, or why it cannot run."""
    parts = call.parts
    try:
        preview = await tool.preview(args, parts.context)
        if preview.refused:
            return _Refused(preview.refused)
        decision = await parts.consent(tool, call.request.args, preview)
    except Exception as error:
        return _Refused(_unexpected(tool.name, error))
    return _Ready(call, tool, args, preview, decision, decision.hits)


def _read_args(call: _OpenCall, tool: AnyTool | None) -> tuple[msgspec.Struct | _Refused, str]:
    """Return the arguments, or why they are invalid; and the call in one line."""
    request = call.request
    if request.malformed:
        why = f"The arguments could not be read: {request.malformed}. Send them as a JSON object."
        return _Refused(why), ""
    if tool is None:
        return _Refused(""), ""
    if call.from_store and MARK in json.dumps(request.args):
        # Nobody can consent to it: what is shown would not be what the model asked for.
        why = "Parts of this call were redacted when it was stored, so it cannot run. Make the call again."
        return _Refused(why), ""
    try:
        args = tool.parse(request.args)
        return args, tool.summarise(args)
    except msgspec.ValidationError as error:
        return _Refused(f"The arguments do not fit {request.name}: {error}. It takes: {_fields(tool)}."), ""
    except Exception as error:
        return _Refused(_unexpected(tool.name, error)), ""


def _fields(tool: AnyTool) -> str:
    """Return the names of the tool's arguments, for a model that used others."""
    fields = msgspec.structs.fields(tool.args_type)
    return ", ".join(each.name if each.required else f"{each.name} (optional)" for each in fields) or "none"


def against(hits: Sequence[ConstraintHit]) -> str:
    """Return what the model is told about violated constraints."""
    said = " ".join(f'"{each.constraint.text}" ({each.constraint.said_at:%Y-%m-%d}).' for each in hits)
    return f"This goes against what the user said: {said}"


def _unexpected(tool: str, error: Exception) -> str:
    # A tool returns its failures; what it raises is a bug of ours, and must not end the turn.
    log.exception("The tool %s failed unexpectedly", tool)
    return f"{tool} failed unexpectedly: {type(error).__name__}: {error}"


async def _ask_consent(ready: _Ready) -> tuple[_Ready, _Refused | None]:
    """Return the call as approved, perhaps edited by the user; or why it was not approved."""
    match ready.decision:
        case Allow():
            return ready, None
        case Refuse(reason):
            return ready, _Refused(reason, CallStatus.DENIED)
        case Ask(why):
            pass
    parts, draft = ready.call.parts, _draft(ready)
    while True:
        # It waits for a user now, perhaps for days: if the session is opened meanwhile, it must ask again.
        await parts.record.save_step(ready.call.step, waits=True)
        rules = ready.decision.rules if isinstance(ready.decision, Ask) else ()
        approval = _approval(ready, why, rules, draft)
        answer = await _answer(ready, approval)
        if answer is None:
            looked = await _look(ready.call, ready.tool, ready.args)
            if isinstance(looked, _Ready) and looked.preview.paths != ready.preview.paths:
                looked = _Refused(
                    LED_ELSEWHERE
                )  # not asked again: somebody may be switching a link back and forth
            if isinstance(looked, _Refused):
                await parts.record.run_on(ready.call.progress.turn_id)
                await parts.events.send(Notice(_withdrawn(ready)))
                return ready, looked
            # The mode may allow it by now; a question that is open stays open.
            ready, why = replace(looked, decision=ready.decision), f"{why.removesuffix(CHANGED)}{CHANGED}"
            continue
        # If the process dies while the call runs, it must not be taken for one that never began.
        await parts.record.run_on(ready.call.progress.turn_id)
        match answer.answer:
            case ConsentAnswer.ONCE:
                return ready, None
            case ConsentAnswer.ALWAYS:
                await parts.add_rules(approval.rules)
                return ready, None
            case ConsentAnswer.NO:
                told = declined(answer.reason) if answer.by_user else answer.reason
                return ready, _Refused(told, CallStatus.DENIED)
            case ConsentAnswer.EDIT:
                draft = answer.edited
                ready, why = await _edited(ready, draft)


async def _answer(ready: _Ready, approval: ToolApproval) -> ApprovalAnswer | None:
    """Return the answer; None if the call would by now do something else than the question shows.

    A sub-agent, a job or the user's editor may change the file meanwhile. The question is withdrawn then.
    """
    paths = ready.preview.paths
    asked = asyncio.ensure_future(ready.call.parts.approve(approval))
    seen: tuple[_Stamp, ...] | None = None
    try:
        while True:
            await asyncio.wait({asked}, timeout=timeouts.APPROVAL_LOOKED_AFTER_S if paths else None)
            answer = asked.result() if asked.done() else None
            if answer and answer.answer in (ConsentAnswer.NO, ConsentAnswer.EDIT):
                return answer  # nothing runs yet
            current = await asyncio.to_thread(_stamps, paths)
            if current != seen and not await _does_the_same(ready):
                return None
            if answer:
                return answer
            seen = current
    finally:
        asked.cancel()
        await asyncio.wait({asked})


async def _does_the_same(ready: _Ready) -> bool:
    """Whether the call would still do what was shown."""
    try:
        return await ready.tool.preview(ready.args, ready.call.parts.context) == ready.preview
    except Exception:
        return False  # a full check says why


def _stamps(paths: Sequence[Path]) -> tuple[_Stamp, ...]:
    """Return what tells, without reading the files, that their contents have changed."""
    return tuple(map(_stamp, paths))


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _withdrawn(ready: _Ready) -> str:
    """Return what the user is told about a question that disappears."""
    about = ready.call.parts.redact.text(ready.tool.summarise(ready.args))
    return f"The file has changed, so this is no longer asked: {ready.tool.name} {about}"


def _draft(ready: _Ready) -> str | None:
    """Return the part of the call that the user can edit."""
    draft = ready.call.request.args.get(ready.tool.editable)
    return draft if isinstance(draft, str) else None


async def _edited(ready: _Ready, draft: str) -> tuple[_Ready, str]:
    """Return the edited call, checked again, and why it needs approval; or the original call and the
    problem."""
    call, tool = ready.call, ready.tool
    request = replace(call.request, args={**call.request.args, tool.editable: draft})
    try:
        args = tool.parse(request.args)
    except msgspec.ValidationError as error:
        return ready, f"not as you edited it, which does not fit {tool.name}: {error}"
    looked = await _look(replace(call, request=request), tool, args)
    if isinstance(looked, _Refused):
        return ready, f"not as you edited it: {looked.text}"
    match looked.decision:
        case Refuse(reason):
            return ready, f"not as you edited it: {reason}"
        case Ask(reason):
            return looked, f"you edited it; {reason}"
        case Allow():
            # Shown again all the same: what was typed in an editor was not consented to.
            asked = Ask("you edited it", hits=looked.hits)
            return replace(looked, decision=asked), asked.reason


def _told_of_edit(ready: _Ready) -> str:
    """Return what the model is told if the user edited its call; empty if they did not."""
    call, name = ready.call, ready.tool.editable
    asked, ran = call.step.message.calls[call.position].args.get(name), call.request.args.get(name)
    if not name or asked == ran:
        return ""
    diff = cut_result(unified(str(asked), f"{ran}", name), chars_max=EDIT_CHARS_MAX)
    return f"\n\n[The user edited `{name}` before this ran, as follows.]\n{diff}"


async def _run(ready: _Ready) -> ToolCall:
    call, parts = ready.call, ready.call.parts
    call = replace(call, started_at=now(), started_s=time.monotonic())  # the wait for consent is no work
    shown = parts.redact.stream()

    def emit(text: str) -> None:
        parts.events.offer(ToolOutput(call.request.id, shown.feed(text)))

    try:
        result = await _run_guarded(call, ready, replace(parts.context, emit=emit))
    except asyncio.CancelledError:
        stopped = ToolResult(
            "Interrupted by the user while it ran; part of its work may be done.", failed=True
        )
        await call.end(stopped, CallStatus.INTERRUPTED)
        raise
    except Exception as error:
        result = ToolResult(_unexpected(ready.tool.name, error), failed=True)
    if edited := _told_of_edit(ready):
        result = replace(result, text=f"{result.text}{edited}")
    if ready.hits:
        result = replace(result, text=f"{result.text}\n\n[{against(ready.hits)}]")
    if instructions := await parts.instructions_for(ready.preview.paths):
        result = replace(result, text=f"{result.text}\n\n{instructions}")
    return await call.end(result, CallStatus.FAILED if result.failed else CallStatus.OK)


async def _run_guarded(call: _OpenCall, ready: _Ready, context: ToolContext) -> ToolResult:
    """Return the tool's result, after saving everything it changes; or why it must not run now."""
    tool = ready.tool
    if changed := await _look_again(call, ready):
        return changed
    if tool.effect in CHANGES_NOTHING:
        return await tool.run(ready.args, context)
    command = str(call.request.args.get("command", ""))
    may_write = tool.effect is not Effect.SHELL or not only_reads(command)
    unkept = False
    while True:
        async with AsyncExitStack() as guarded:
            try:
                await guarded.enter_async_context(
                    call.parts.guard(
                        GuardedCall(
                            tool,
                            ready.preview.paths,
                            may_write=may_write,
                            unkept=unkept,
                            after=ready.preview.after,
                            command=command,
                        )
                    )
                )
            except NotKept as error:
                why = str(error)
            except UsageError as error:
                return ToolResult(f"{error} Nothing was done.", failed=True)
            else:
                return await tool.run(ready.args, context)
        asked_s = time.monotonic()
        answer = await call.parts.approve(_approval(ready, why))
        call.waited_s.append(time.monotonic() - asked_s)
        if answer.answer is ConsentAnswer.NO:
            said = f" They said: {answer.reason}" if answer.reason else ""
            told = f"The user declined; nothing was done.{said}" if answer.by_user else answer.reason
            return ToolResult(f"{why} {told}", failed=True)
        if changed := await _look_again(call, ready):
            return changed
        unkept = True


async def _look_again(call: _OpenCall, ready: _Ready) -> ToolResult | None:
    """Return why the call must not run after all; None if it still does what was approved.

    While the user was deciding, a link may have changed its target, or a file may have changed.
    """
    preview = await ready.tool.preview(ready.args, call.parts.context)
    if preview.paths != ready.preview.paths:
        return ToolResult(LED_ELSEWHERE, failed=True)
    if not preview.refused and preview != ready.preview:
        return ToolResult(
            "The effect of this call has changed since it was approved. Nothing was done; make the call "
            "again.",
            failed=True,
        )
    return None


def _approval(
    ready: _Ready, why: str, rules: tuple[Rule, ...] = (), draft: str | None = None
) -> ToolApproval:
    call, parts = ready.call, ready.call.parts
    proposal = ready.preview.proposal or OtherCall(call.request.args)
    return ToolApproval(
        call_id=call.request.id,
        tool=ready.tool.name,
        summary=parts.redact.text(ready.tool.summarise(ready.args)),
        proposal=proposal,
        reason=parts.redact.text(why),
        hits=ready.hits,
        rules=rules if _may_be_kept(call, proposal, rules) else (),
        draft=draft,
        draft_name=Path(proposal.path).name if isinstance(proposal, ChangeFile) else "command.sh",
    )


def _may_be_kept(call: _OpenCall, proposal: Proposal, rules: tuple[Rule, ...]) -> bool:
    """Whether to offer "always": not for a command that cannot be parsed reliably, nor to store a secret."""
    texts = (proposal_text(proposal), proposal_text(OtherCall(call.request.args)), *map(str, rules))
    redact = call.parts.redact
    return not any(map(oddities, texts)) and all(redact.text(str(rule)) == str(rule) for rule in rules)
