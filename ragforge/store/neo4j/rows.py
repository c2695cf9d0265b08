"""How values of the domain stand in the graph: one node each, flat properties under names that are fixed.

Ids of what a node belongs to stand in it too (`sessionId`, `parentId`): the relationships that people
follow are drawn from them, and every row can be read, kept and compared by itself. Times are Neo4j's own,
in UTC. What is None is absent.

Properties whose names begin with `search` are derived from the others, for the full-text index: they hold
the stems that SQLite's index would hold, so that both stores find the same (see `store/index_text.py`).
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeAlias

from ragforge.domain.messages import (
    ImagePart,
    Parts,
    TextPart,
    parts_from_json,
    parts_to_json,
    text_of,
)
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import CallStatus, ConversationSession, Project, Step, ToolCall, Turn, TurnStatus
from ragforge.domain.usage import Usage
from ragforge.store.json_text import (
    from_json,
    images_from_json,
    images_to_json,
    message_from_json,
    message_to_json,
    storable,
    to_json,
)

Props: TypeAlias = dict[str, Any]
"""A node's properties: text, numbers, truth values, datetimes in UTC, lists of text."""


class Label(StrEnum):
    """The labels of our nodes; the id of a session is `sessionId`, that of all others `id`."""

    PROJECT = "Project"
    SESSION = "ConversationSession"
    TURN = "ConversationTurn"
    STEP = "ConversationStep"
    CALL = "ToolCall"
    SUMMARY = "ConversationSummary"
    MEMORY = "Memory"
    USAGE = "Usage"
    """A model call that is no step of a turn."""
    DERIVED = "Derived"
    VERSION = "Version"
    BRANCH = "Branch"
    MOVE = "CheckoutLog"
    DATABASE = "RagforgeDatabase"
    """One node: the database's id, its schema's version, and the embedder in use."""
    MIGRATION = "RagforgeMigration"
    LEASE = "RagforgeLease"


def utc(moment: datetime) -> datetime:
    """The moment in UTC, to the millisecond, as the other store keeps it."""
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def project_row(project: Project) -> Props:
    """The project as a node."""
    return {
        "id": project.id,
        "name": storable(project.name),
        "createdAt": utc(project.created_at),
        "gitRemote": storable(project.git_remote),
        "firstCommit": project.first_commit,
    }


def project_of(row: Mapping[str, Any]) -> Project:
    """The inverse of `project_row`."""
    return Project(row["id"], row["name"], row["createdAt"], row["gitRemote"], row["firstCommit"])


def session_row(session: ConversationSession) -> Props:
    """The session as a node."""
    return {
        "sessionId": session.id,
        "projectId": session.project_id,
        "cwd": storable(session.cwd),
        "projectPath": storable(session.project_path),
        "startTime": utc(session.started_at),
        "lastActivity": utc(session.last_activity_at),
        "title": storable(session.title),
        "model": storable(session.model),
        "mode": str(session.mode),
        "headId": session.head,
        "forkedFrom": session.forked_from,
        "user": storable(session.user),
        "host": storable(session.host),
    }


def session_of(row: Mapping[str, Any]) -> ConversationSession:
    """The inverse of `session_row`."""
    return ConversationSession(
        id=row["sessionId"],
        project_id=row["projectId"],
        cwd=row["cwd"],
        project_path=row["projectPath"],
        started_at=row["startTime"],
        last_activity_at=row["lastActivity"],
        title=row["title"],
        model=row["model"],
        mode=row["mode"],
        head=row.get("headId"),
        forked_from=row.get("forkedFrom"),
        user=row["user"],
        host=row["host"],
    )


def turn_row(turn: Turn, *, project_id: str) -> Props:
    """The turn as a node."""
    words = storable(text_of(turn.user))
    return {
        "id": turn.id,
        "sessionId": turn.session_id,
        "projectId": project_id,
        "parentId": turn.parent,
        "turnIndex": turn.index,
        "userMessage": words,
        "userParts": _parts_json(turn.user),
        "assistantMessage": storable(turn.assistant),
        "charCount": len(words) + len(turn.assistant),
        "timestamp": utc(turn.started_at),
        "endTime": None if turn.ended_at is None else utc(turn.ended_at),
        "status": str(turn.status),
        "model": storable(turn.model),
        "error": storable(turn.error),
        **usage_row(turn.usage, turn.cost_usd),
    }


def turn_of(row: Mapping[str, Any]) -> Turn:
    """The inverse of `turn_row`."""
    usage, cost_usd = usage_of(row)
    return Turn(
        id=row["id"],
        session_id=row["sessionId"],
        parent=row.get("parentId"),
        index=row["turnIndex"],
        user=user_of(row),
        started_at=row["timestamp"],
        status=TurnStatus(row["status"]),
        assistant=row["assistantMessage"],
        model=row["model"],
        ended_at=row.get("endTime"),
        error=row["error"],
        usage=usage,
        cost_usd=cost_usd,
    )


def user_of(row: Mapping[str, Any]) -> Parts:
    """What the user said in the turn of this row."""
    parts = row.get("userParts")
    return parts_from_json(from_json(parts)) if parts else (TextPart(row["userMessage"]),)


def step_key(turn_id: str, index: int) -> str:
    """The id of a step's node."""
    return f"{turn_id}/{index}"


def step_row(step: Step, *, session_id: str) -> Props:
    """The step as a node."""
    return {
        "id": step_key(step.turn_id, step.index),
        "turnId": step.turn_id,
        "sessionId": session_id,
        "stepIndex": step.index,
        "provider": storable(step.message.provider),
        "model": storable(step.message.model),
        "message": message_to_json(step.message),
        "interrupted": step.interrupted,
        **usage_row(step.usage, step.cost_usd),
    }


def step_of(row: Mapping[str, Any]) -> Step:
    """The inverse of `step_row`."""
    usage, cost_usd = usage_of(row)
    return Step(
        turn_id=row["turnId"],
        index=row["stepIndex"],
        message=message_from_json(row["message"], provider=row["provider"], model=row["model"]),
        usage=usage,
        cost_usd=cost_usd,
        interrupted=row["interrupted"],
    )


def call_row(call: ToolCall, *, session_id: str, project_id: str) -> Props:
    """The tool call as a node. `toolResult` is what the model heard, as JSON; the whole lies in a blob."""
    return {
        "id": call.id,
        "turnId": call.turn_id,
        "sessionId": session_id,
        "projectId": project_id,
        "stepIndex": call.step_index,
        "position": call.position,
        "toolName": storable(call.name),
        "toolArgs": to_json(call.args),
        "toolResult": to_json({"text": storable(call.result)}),
        "resultChars": call.result_chars,
        "resultBlob": call.result_blob,
        "diff": storable(call.diff),
        "images": images_to_json(call.images) if call.images else None,
        "success": call.status is CallStatus.OK,
        "status": str(call.status),
        "durationMs": call.duration_ms,
        "timestamp": utc(call.started_at),
        "providerId": storable(call.provider_id),
    }


def call_of(row: Mapping[str, Any]) -> ToolCall:
    """The inverse of `call_row`."""
    images: tuple[ImagePart, ...] = images_from_json(row["images"]) if row.get("images") else ()
    return ToolCall(
        id=row["id"],
        turn_id=row["turnId"],
        step_index=row["stepIndex"],
        position=row["position"],
        name=row["toolName"],
        args=from_json(row["toolArgs"]),
        status=CallStatus(row["status"]),
        result=json.loads(row["toolResult"])["text"],
        started_at=row["timestamp"],
        duration_ms=row["durationMs"],
        result_chars=row["resultChars"],
        result_blob=row.get("resultBlob"),
        diff=row["diff"],
        images=images,
        provider_id=row["providerId"],
    )


def summary_row(summary: Summary) -> Props:
    """The summary as a node; `covers` becomes its SUMMARIZES relationships."""
    return {
        "id": summary.id,
        "sessionId": summary.session_id,
        "projectId": summary.project_id,
        "level": summary.level,
        "summary": storable(summary.text),
        "charCount": len(summary.text),
        "turnCount": summary.turn_count,
        "covers": list(summary.covers),
        "timestamp": utc(summary.at),
        "method": str(summary.method),
        "model": storable(summary.model),
        "filesMentioned": _texts(summary.files),
        "keyFindings": _texts(summary.findings),
        "toolsUsed": _texts(summary.tools),
        "topics": _texts(summary.topics),
        "constraints": _texts(summary.constraints),
    }


def summary_of(row: Mapping[str, Any]) -> Summary:
    """The inverse of `summary_row`."""
    return Summary(
        id=row["id"],
        project_id=row["projectId"],
        session_id=row["sessionId"],
        level=row["level"],
        text=row["summary"],
        covers=tuple(row["covers"]),
        at=row["timestamp"],
        turn_count=row["turnCount"],
        method=SummaryMethod(row["method"]),
        model=row["model"],
        files=tuple(row["filesMentioned"]),
        findings=tuple(row["keyFindings"]),
        tools=tuple(row["toolsUsed"]),
        topics=tuple(row["topics"]),
        constraints=tuple(row["constraints"]),
    )


def _texts(texts: Sequence[str]) -> list[str]:
    return [storable(text) for text in texts]


def _parts_json(parts: Parts) -> str | None:
    """The parts, where they are more than one text that can be read as it is."""
    match parts:
        case (TextPart(text),) if text == storable(text):
            return None
        case _:
            return to_json(parts_to_json(parts))


def usage_row(usage: Usage, cost_usd: float | None) -> Props:
    """Tokens and their price as properties."""
    return {
        "inputTokens": usage.input_tokens,
        "cachedTokens": usage.cached_tokens,
        "outputTokens": usage.output_tokens,
        "thoughtTokens": usage.thought_tokens,
        "costUsd": cost_usd,
    }


def usage_of(row: Mapping[str, Any]) -> tuple[Usage, float | None]:
    """The inverse of `usage_row`."""
    usage = Usage(row["inputTokens"], row["cachedTokens"], row["outputTokens"], row["thoughtTokens"])
    return usage, row.get("costUsd")
