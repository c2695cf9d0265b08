"""What a row of the full-text index holds. Its columns matter more to what is found than any ranking.

Measured on user-and-assistant transcripts: the person's words must not drown in long answers, so each
has a column with a weight of its own. What the person said in the two turns before and in the one after
helps nearly as much as all of it; what was answered there hurts.
"""

import json
from typing import Any

from ragforge.domain.json import JsonValue
from ragforge.domain.messages import text_of
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.rows import from_ms, one, storable, user_from_json

USER_CHARS_MAX = 200_000
REPLY_CHARS_MAX = 100_000
RESULT_CHARS_MAX = 4_000
NEAR_CHARS_MAX = 1_000
ARG_CHARS_MAX = 500
CALLS_MAX = 200

TURN = "kt"
CALL = "kc"


def index_turn(connection: Connection, turn: int) -> None:
    """Write the turn's row afresh from what is stored."""
    found = one(
        connection,
        "SELECT turn.session, session.project, turn.started_at, turn.user, turn.assistant, "
        "before.user, earlier.user, "
        "(SELECT user FROM turn AS child WHERE child.parent = turn.key ORDER BY child.key LIMIT 1) "
        "FROM turn JOIN session ON session.key = turn.session "
        "LEFT JOIN turn AS before ON before.key = turn.parent "
        "LEFT JOIN turn AS earlier ON earlier.key = before.parent WHERE turn.key = ?",
        (turn,),
    )
    if found is None:
        return
    session, project, started_at, user, assistant, *near = found
    calls = connection.execute("SELECT name, args FROM tool_call WHERE turn = ? LIMIT ?", (turn, CALLS_MAX))
    tools = {word: None for name, args in calls for word in (name, *_paths(json.loads(args)))}
    _replace(
        connection,
        turn,
        scope=_scope(project, session, TURN),
        user=said(user)[:USER_CHARS_MAX],
        reply=assistant[:REPLY_CHARS_MAX],
        near=" ".join(said(text)[:NEAR_CHARS_MAX] for text in near if text),
        tools=" ".join(tools),
        started_at=started_at,
    )


def index_ended(connection: Connection, turn: int) -> None:
    """Write the row of a turn that ended, and its parent's, which is found by its child's words too.

    At the end, not at the start: nobody waits for the end, the model's answer waits for the start.
    """
    index_turn(connection, turn)
    found = one(connection, "SELECT parent FROM turn WHERE key = ?", (turn,))
    if found is not None and found[0] is not None:
        index_turn(connection, found[0])


def index_call(connection: Connection, call: int) -> None:
    """Write the tool call's row afresh from what is stored."""
    found = one(
        connection,
        "SELECT turn.session, session.project, tool_call.started_at, name, args, result FROM tool_call "
        "JOIN turn ON turn.key = tool_call.turn JOIN session ON session.key = turn.session "
        "WHERE tool_call.key = ?",
        (call,),
    )
    if found is None:
        return
    session, project, started_at, name, args, result = found
    _replace(
        connection,
        call,
        scope=_scope(project, session, CALL),
        user="",
        reply=cut_middle(result, RESULT_CHARS_MAX),
        near="",
        tools=call_line(name, args),
        started_at=started_at,
    )


def said(user: str) -> str:
    """The text of a stored message of the person."""
    return storable(text_of(user_from_json(user)))


def call_line(name: str, args: str) -> str:
    """The tool's name and its arguments, long ones cut."""
    values = _strings(json.loads(args))
    return storable(" ".join([name, *(value[:ARG_CHARS_MAX] for value in values)]))


def cut_middle(text: str, chars_max: int) -> str:
    """Three quarters from the start, one from the end: errors stand at the end."""
    if len(text) <= chars_max:
        return text
    tail = chars_max // 4
    return f"{text[: chars_max - tail]}\n{text[-tail:]}"


def _strings(value: JsonValue) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for item in value.values() for text in _strings(item)]
        case list():
            return [text for item in value for text in _strings(item)]
        case _:
            return []


def _paths(args: dict[str, Any]) -> list[str]:
    path = args.get("path")
    return [storable(path)[:ARG_CHARS_MAX]] if isinstance(path, str) else []


def _scope(project: int, session: int, kind: str) -> str:
    return f"p{project} s{session} {kind}"


def _replace(
    connection: Connection,
    row: int,
    *,
    scope: str,
    user: str,
    reply: str,
    near: str,
    tools: str,
    started_at: int,
) -> None:
    # In UTC: the index must be the same wherever it is built.
    date = f"{from_ms(started_at):%Y-%m-%d %A %B}"
    connection.execute(
        "INSERT OR REPLACE INTO words (rowid, scope, user, reply, near, tools, date) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (row, scope, user, reply, near, tools, date),
    )
