"""A session as a document that people can read."""

import json
from collections.abc import Collection

from ragforge.domain.messages import commands_in, text_of
from ragforge.domain.turns import Step, ToolCall, Turn
from ragforge.domain.web_search import as_markdown as search_as_markdown
from ragforge.session.history import StoredTurns, read_turns
from ragforge.session.state import Session, Workspace


async def as_markdown(session: Session) -> str:
    """The path to the head: every message, answer and tool call, without secrets."""
    store, record = session.workspace.store, session.live.record
    stored = await read_turns(store, await store.turns.path(record.head))
    sections = [
        f"# {record.title}",
        f"{record.started_at:%Y-%m-%d %H:%M} UTC, {record.cwd}, {record.model or 'no model'}",
    ]
    return _document(session.workspace, [*sections, *_turns(stored)])


async def turns_as_markdown(workspace: Workspace, turn_ids: Collection[str]) -> str:
    """Those of the turns that were not undone, as in `as_markdown`. Raises StoreError."""
    store = workspace.store
    abandoned = await store.turns.abandoned(list(turn_ids))
    ids = [turn_id for turn_id in dict.fromkeys(turn_ids) if turn_id not in abandoned]
    turns = [turn for turn_id in ids if (turn := await store.turns.get(turn_id))]
    return _document(workspace, _turns(await read_turns(store, turns))) if turns else ""


def _document(workspace: Workspace, sections: list[str]) -> str:
    return workspace.redactor.text("\n\n".join(sections) + "\n")


def _turns(stored: StoredTurns) -> list[str]:
    sections: list[str] = []
    for turn in stored.turns:
        steps = [step for step in stored.steps if step.turn_id == turn.id]
        calls = [call for call in stored.calls if call.turn_id == turn.id]
        sections += _turn(turn, steps, calls)
    return sections


def _turn(turn: Turn, steps: list[Step], calls: list[ToolCall]) -> list[str]:
    sections = [f"## {turn.index + 1}. {turn.started_at:%Y-%m-%d %H:%M}"]
    for own in commands_in(turn.user):
        sections.append(f"**!** `{own.command}`\n\n{_fenced(own.output)}")
    sections.append(_quoted(text_of(turn.user)))
    for step in steps:
        if step.message.text.strip():
            sections.append(step.message.text.strip())
        if step.message.searched:
            sections.append(search_as_markdown(step.message.searched))
        sections += [_call(call) for call in calls if call.step_index == step.index]
    if turn.error:
        sections.append(f"*{turn.status}: {turn.error}*")
    return sections


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def _call(call: ToolCall) -> str:
    body = _fenced(call.diff or call.result, kind="diff" if call.diff else "")
    args = json.dumps(call.args, ensure_ascii=False)
    return f"**{call.name}** ({call.status}, {call.duration_ms} ms) `{args}`\n\n{body}"


def _fenced(body: str, *, kind: str = "") -> str:
    fence = "`" * max(3, _longest_run(body, "`") + 1)
    return f"{fence}{kind}\n{body}\n{fence}"


def _longest_run(text: str, char: str) -> int:
    longest = run = 0
    for each in text:
        run = run + 1 if each == char else 0
        longest = max(longest, run)
    return longest
