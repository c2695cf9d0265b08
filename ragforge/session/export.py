"""A session as a document that people can read."""

import html
import json
from collections.abc import Collection, Sequence

from ragforge.domain.exports import ExportFormat
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.messages import CommandPart, commands_in, text_of
from ragforge.domain.printable import fenced, printable
from ragforge.domain.redact import Redactor
from ragforge.domain.turns import ConversationSession, Step, ToolCall, Turn
from ragforge.domain.web_search import as_markdown as search_as_markdown
from ragforge.session.history import StoredTurns, read_turns
from ragforge.session.state import Workspace
from ragforge.store.base import Store
from ragforge.store.json_text import to_json


async def as_document(
    store: Store, redactor: Redactor, record: ConversationSession, format: ExportFormat
) -> str:
    """Return the path to the session's head to read: every message, answer and tool call, without secrets.

    Terminal codes are made visible, whatever the document is read with.
    """
    if format is ExportFormat.JSON:
        return await _as_json(store, redactor, record)
    markdown = printable(await as_markdown(store, redactor, record))
    return _as_html(redactor.text(record.title), markdown) if format is ExportFormat.HTML else markdown


async def as_markdown(store: Store, redactor: Redactor, record: ConversationSession) -> str:
    """Return the path to the head: every message, answer and tool call, without secrets."""
    stored = await read_turns(store, await store.turns.path(record.head))
    sections = [
        f"# {record.title}",
        f"{record.started_at:%Y-%m-%d %H:%M} UTC, {record.cwd}, {record.model or 'no model'}",
    ]
    return _document(redactor, [*sections, *_turns(stored)])


def _as_html(title: str, markdown: str) -> str:
    """Return one page that requests nothing from a network and runs nothing."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{html.escape(printable(title))}</title>\n"
        "<style>body{max-width:50rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 sans-serif}"
        "pre{white-space:pre-wrap;overflow-wrap:anywhere;font-family:inherit}</style>\n</head>\n<body>\n"
        f"<pre>{html.escape(markdown)}</pre>\n</body>\n</html>\n"
    )


async def _as_json(store: Store, redactor: Redactor, record: ConversationSession) -> str:
    stored = await read_turns(store, await store.turns.path(record.head))
    turns: list[JsonValue] = [
        {
            "number": turn.index + 1,
            "at": turn.started_at.isoformat(),
            "model": turn.model,
            "status": turn.status,
            "user": text_of(turn.user),
            "assistant": turn.assistant,
            "calls": [
                {
                    "tool": call.name,
                    "args": call.args,
                    "status": call.status,
                    "result": call.result,
                    "diff": call.diff,
                }
                for call in stored.calls
                if call.turn_id == turn.id
            ],
        }
        for turn in stored.turns
    ]
    data: JsonObject = {
        "session": record.id,
        "title": record.title,
        "started": record.started_at.isoformat(),
        "turns": turns,
    }
    return to_json(redactor.json(data)) + "\n"


async def turns_as_markdown(
    workspace: Workspace, turn_ids: Collection[str], *, waiting: Sequence[CommandPart] = ()
) -> str:
    """Those of the turns that were not undone, as in `as_markdown`. Raises StoreError.

    waiting: the user's own commands that no message has taken with it yet; they come last.
    """
    store = workspace.store
    abandoned = await store.turns.abandoned(list(turn_ids))
    ids = [turn_id for turn_id in dict.fromkeys(turn_ids) if turn_id not in abandoned]
    turns = [turn for turn_id in ids if (turn := await store.turns.get(turn_id))]
    sections = [*_turns(await read_turns(store, turns)), *map(_own_command, waiting)]
    return _document(workspace.redactor, sections) if sections else ""


def _document(redactor: Redactor, sections: list[str]) -> str:
    return redactor.text("\n\n".join(sections) + "\n")


def _turns(stored: StoredTurns) -> list[str]:
    sections: list[str] = []
    for turn in stored.turns:
        steps = [step for step in stored.steps if step.turn_id == turn.id]
        calls = [call for call in stored.calls if call.turn_id == turn.id]
        sections += _turn(turn, steps, calls)
    return sections


def _turn(turn: Turn, steps: list[Step], calls: list[ToolCall]) -> list[str]:
    sections = [f"## {turn.index + 1}. {turn.started_at:%Y-%m-%d %H:%M}"]
    sections += map(_own_command, commands_in(turn.user))
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


def _own_command(own: CommandPart) -> str:
    return f"**!** `{own.command}`\n\n{fenced(own.output)}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.split("\n"))


def _call(call: ToolCall) -> str:
    body = fenced(call.diff or call.result, "diff" if call.diff else "")
    args = json.dumps(call.args, ensure_ascii=False)
    return f"**{call.name}** ({call.status}, {call.duration_ms} ms) `{args}`\n\n{body}"
