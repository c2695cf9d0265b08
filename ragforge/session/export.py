"""A session as a document that people can read."""

import json

from ragforge.domain.messages import text_of
from ragforge.domain.turns import Step, ToolCall, Turn
from ragforge.session.history import read_turns
from ragforge.session.state import Session


async def as_markdown(session: Session) -> str:
    """The path to the head: every message, answer and tool call, without secrets."""
    store, record = session.workspace.store, session.live.record
    stored = await read_turns(store, await store.turns.path(record.head))
    sections = [
        f"# {record.title}",
        f"{record.started_at:%Y-%m-%d %H:%M} UTC, {record.cwd}, {record.model or 'no model'}",
    ]
    for turn in stored.turns:
        steps = [step for step in stored.steps if step.turn_id == turn.id]
        calls = [call for call in stored.calls if call.turn_id == turn.id]
        sections += _turn(turn, steps, calls)
    return session.workspace.redactor.text("\n\n".join(sections) + "\n")


def _turn(turn: Turn, steps: list[Step], calls: list[ToolCall]) -> list[str]:
    sections = [f"## {turn.index + 1}. {turn.started_at:%Y-%m-%d %H:%M}", _quoted(text_of(turn.user))]
    for step in steps:
        if step.message.text.strip():
            sections.append(step.message.text.strip())
        sections += [_call(call) for call in calls if call.step_index == step.index]
    if turn.error:
        sections.append(f"*{turn.status}: {turn.error}*")
    return sections


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def _call(call: ToolCall) -> str:
    body = call.diff or call.result
    fence = "`" * max(3, _longest_run(body, "`") + 1)
    kind = "diff" if call.diff else ""
    args = json.dumps(call.args, ensure_ascii=False)
    return (
        f"**{call.name}** ({call.status}, {call.duration_ms} ms) `{args}`\n\n{fence}{kind}\n{body}\n{fence}"
    )


def _longest_run(text: str, char: str) -> int:
    longest = run = 0
    for each in text:
        run = run + 1 if each == char else 0
        longest = max(longest, run)
    return longest
