"""The rows of the full-text index; `store/index_text.py` determines their contents."""

import json

from ragforge.store.index_text import (
    IndexText,
    call_text,
    commands_run,
    memory_text,
    said,
    summary_text,
    turn_text,
    version_text,
)
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.rows import from_ms, one

CALLS_MAX = 200

TURN = "kt"
CALL = "kc"
SUMMARY = "ks"
MEMORY = "km"
VERSION = "kv"
EVERYWHERE = "pg"
"""In place of a project, for what applies in all of them."""


def index_turn(connection: Connection, turn: int) -> None:
    """Rewrite the turn's row from what is stored."""
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
    text = turn_text(
        said(user),
        assistant,
        near=[said(each) for each in near if each],
        calls=[(name, args) for name, args in calls],
        at=from_ms(started_at),
        commands=commands_run(user),
    )
    write_row(connection, turn, f"p{project} s{session} {TURN}", text)


def index_ended(connection: Connection, turn: int) -> None:
    """Write the row of a turn that ended, and its parent's, which is found by its child's words too.

    At its end, not at its start: nobody waits for the end, the model's answer waits for the start.
    """
    index_turn(connection, turn)
    found = one(connection, "SELECT parent FROM turn WHERE key = ?", (turn,))
    if found is not None and found[0] is not None:
        index_turn(connection, found[0])


def index_call(connection: Connection, call: int) -> None:
    """Rewrite the tool call's row from what is stored."""
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
    text = call_text(name, args, result, at=from_ms(started_at))
    write_row(connection, call, f"p{project} s{session} {CALL}", text)


def index_summary(connection: Connection, summary: int) -> None:
    """Rewrite the summary's row from what is stored."""
    found = one(
        connection,
        "SELECT session, session.project, summary.at, text, files, findings, topics FROM summary "
        "JOIN session ON session.key = summary.session WHERE summary.key = ?",
        (summary,),
    )
    if found is None:
        return
    session, project, at, text, files, findings, topics = found
    words = summary_text(
        text,
        files=json.loads(files),
        findings=json.loads(findings),
        topics=json.loads(topics),
        at=from_ms(at),
    )
    write_row(connection, summary, f"p{project} s{session} {SUMMARY}", words)


def index_memory(connection: Connection, memory: int) -> None:
    """Rewrite the memory's row from what is stored; a forgotten one has none."""
    found = one(
        connection,
        "SELECT memory.project, session.key, scope, type, topic, content, created_at, forgotten_at "
        "FROM memory LEFT JOIN session ON session.id = memory.session WHERE memory.key = ?",
        (memory,),
    )
    if found is None:
        return
    project, session, scope, kind, topic, content, created_at, forgotten_at = found
    if forgotten_at is not None:
        connection.execute("DELETE FROM words WHERE rowid = ?", (memory,))
        return
    where = EVERYWHERE if scope == "global" else f"p{project}"
    made_in = "" if session is None else f"s{session} "
    text = memory_text(content, kind=kind, topic=topic, at=from_ms(created_at))
    write_row(connection, memory, f"{where} {made_in}{MEMORY}", text)


def index_version(connection: Connection, version: int) -> None:
    """Rewrite the version's row from what is stored; one without searchable text has none.

    Such rows would count as texts, and BM25 depends on how many there are and how long.
    """
    found = one(
        connection,
        "SELECT project, session, turn IS NOT NULL AND files = 0, at, title, label, note, words FROM version "
        "WHERE key = ?",
        (version,),
    )
    if found is None:
        return
    project, session, is_empty_turn, at, title, label, note, words = found
    made_in = "" if session is None else f"s{session} "
    text = version_text(
        title, label=label, note=note, words=words, at=from_ms(at), is_empty_turn=bool(is_empty_turn)
    )
    if text == IndexText():
        connection.execute("DELETE FROM words WHERE rowid = ?", (version,))
        return
    write_row(connection, version, f"p{project} {made_in}{VERSION}", text)


def write_row(connection: Connection, row: int, scope: str, text: IndexText) -> None:
    """Save the row; scope: `p<project> s<session> k<kind>`."""
    connection.execute(
        "INSERT OR REPLACE INTO words (rowid, scope, user, reply, near, tools, date) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (row, scope, text.user, text.reply, text.near, text.tools, text.date),
    )
