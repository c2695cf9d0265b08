"""The derived properties of rows: the contents of the full-text index, and whether a vector is outdated."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ragforge.domain.memories import MemoryScope
from ragforge.domain.search import HitKind
from ragforge.store.index_text import (
    call_text,
    commands_run,
    memory_text,
    summary_text,
    turn_text,
    version_text,
)
from ragforge.store.neo4j.outbox import EMBEDDING, Rows
from ragforge.store.neo4j.rows import Props
from ragforge.store.neo4j.search_words import index_props, scope_tokens
from ragforge.store.text import stemmer

CALLS_MAX = 200


def turn_props(turn: Mapping[str, Any], *, near: Sequence[str]) -> Props:
    """Return those of a turn that starts. near: what the user said in the two turns before."""
    text = turn_text(
        turn["userMessage"],
        turn["assistantMessage"],
        near=near,
        calls=(),
        at=turn["timestamp"],
        commands=commands_run(turn.get("userParts")),
    )
    scope = scope_tokens(turn["projectId"], turn["sessionId"], HitKind.TURN)
    return index_props(text, scope=scope, cut=stemmer())


def turn_index(turn: Mapping[str, Any], *, near: Sequence[str], calls: Sequence[Mapping[str, Any]]) -> Props:
    """Return those of a turn after its texts, or those around it, changed. near: what the user said there."""
    pairs = [(call["toolName"], call["toolArgs"]) for call in calls[:CALLS_MAX]]
    text = turn_text(
        turn["userMessage"],
        turn["assistantMessage"],
        near=near,
        calls=pairs,
        at=turn["timestamp"],
        commands=commands_run(turn.get("userParts")),
    )
    return index_props(text, scope="", cut=stemmer())


def reply_props(turn: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> Props:
    """Return those of a turn that ended: its answer, and the tools and files of its calls."""
    pairs = [(call["toolName"], call["toolArgs"]) for call in calls[:CALLS_MAX]]
    text = turn_text(
        "",
        turn["assistantMessage"],
        near=(),
        calls=pairs,
        at=turn["timestamp"],
        commands=commands_run(turn.get("userParts")),
    )
    props = index_props(text, scope="", cut=stemmer())
    return {name: props[name] for name in ("searchReply", "searchTools")}


def child_props(parent: Mapping[str, Any], child: Mapping[str, Any]) -> Props:
    """Return those of a turn whose first child ended, with its words; nothing for a later child."""
    if parent.get("nearChild") is not None:
        return {}
    text = turn_text("", "", near=[child["userMessage"]], calls=(), at=child["timestamp"])
    near = index_props(text, scope="", cut=stemmer())["searchNear"]
    return {
        "searchNear": " ".join(each for each in (parent.get("searchNear"), near) if each),
        "nearChild": child["id"],
    }


def tools_props(turn: Mapping[str, Any], call: Mapping[str, Any]) -> Props:
    """Return those of a turn with one more call: it is found by the call's tool and file."""
    text = turn_text("", "", near=(), calls=[(call["toolName"], call["toolArgs"])], at=call["timestamp"])
    words = index_props(text, scope="", cut=stemmer())["searchTools"].split()
    known = (turn.get("searchTools") or "").split()
    new = [word for word in words if word not in known]
    return {"searchTools": " ".join([*known, *new])} if new else {}


def call_props(call: Mapping[str, Any]) -> Props:
    """Return those of a tool call."""
    result = json.loads(call["toolResult"])["text"]
    text = call_text(call["toolName"], call["toolArgs"], result, at=call["timestamp"])
    scope = scope_tokens(call["projectId"], call["sessionId"], HitKind.TOOL_CALL)
    return index_props(text, scope=scope, cut=stemmer())


def summary_props(summary: Mapping[str, Any]) -> Props:
    """Return those of a summary."""
    text = summary_text(
        summary["summary"],
        files=summary["filesMentioned"],
        findings=summary["keyFindings"],
        topics=summary["topics"],
        at=summary["timestamp"],
    )
    scope = scope_tokens(summary["projectId"], summary["sessionId"], HitKind.SUMMARY)
    return index_props(text, scope=scope, cut=stemmer())


def memory_props(memory: Mapping[str, Any]) -> Props:
    """Return those of a memory."""
    text = memory_text(memory["content"], kind=memory["type"], topic=memory["topic"], at=memory["created"])
    project = "" if memory["scope"] == MemoryScope.GLOBAL else memory["projectId"]
    scope = scope_tokens(project, memory["sessionId"], HitKind.MEMORY)
    return index_props(text, scope=scope, cut=stemmer())


def version_props(version: Mapping[str, Any]) -> Props:
    """Return those of a version."""
    text = version_text(
        version["title"],
        label=version["label"],
        note=version["note"],
        words=version["words"],
        at=version["timestamp"],
        is_empty_turn=bool(version.get("turnId")) and version["files"] == 0,
    )
    scope = scope_tokens(version["projectId"], version.get("sessionId") or "", HitKind.VERSION)
    return index_props(text, scope=scope, cut=stemmer())


def outdate_vector(rows: Rows, kind: str, identifier: str) -> None:
    """Mark a vector that still waits as outdated, because its text changed after it was computed."""
    key = f"{kind}/{identifier}"
    if rows.get(EMBEDDING, key):
        rows.put(EMBEDDING, key, {"stale": True})
