"""Values to store, each whole and valid; name only what the test is about."""

from datetime import UTC, datetime, timedelta
from typing import Any

from ragforge.domain.ids import new_id
from ragforge.domain.messages import CallRequest, ModelMessage, TextPart
from ragforge.domain.turns import (
    CallStatus,
    ConversationSession,
    Project,
    Step,
    ToolCall,
    Turn,
    TurnEnd,
    TurnStatus,
)
from ragforge.domain.usage import Usage
from ragforge.store.base import Store

NOON = datetime(2026, 3, 4, 12, 0, 0, 123_000, tzinfo=UTC)


def a_project(**values: Any) -> Project:
    return Project(**{"id": new_id(), "name": "parser", "created_at": NOON, **values})


def a_session(project_id: str, **values: Any) -> ConversationSession:
    return ConversationSession(
        **{
            "id": new_id(),
            "project_id": project_id,
            "cwd": "/home/ada/parser",
            "started_at": NOON,
            "last_activity_at": NOON,
            **values,
        }
    )


def a_turn(
    session: ConversationSession, text: str = "Fix it.", *, parent: Turn | None = None, **values: Any
) -> Turn:
    """A turn below `parent`, begun a minute later."""
    index = 0 if parent is None else parent.index + 1
    return Turn(
        **{
            "id": new_id(),
            "session_id": session.id,
            "parent": parent and parent.id,
            "index": index,
            "user": (TextPart(text),),
            "started_at": (parent.started_at if parent else NOON) + timedelta(minutes=1),
            "model": "gemini:a",
            **values,
        }
    )


def a_step(
    turn: Turn, index: int = 0, text: str = "Let me look.", *calls: CallRequest, **values: Any
) -> Step:
    return Step(
        **{
            "turn_id": turn.id,
            "index": index,
            "message": ModelMessage("gemini", "a", text, calls),
            "usage": Usage(100, 40, 10, 5),
            "cost_usd": 0.25,
            **values,
        }
    )


def a_request(name: str = "read", **args: Any) -> CallRequest:
    return CallRequest(new_id(), name, args or {"path": "src/parser.py"})


def a_call(step: Step, position: int = 0, **values: Any) -> ToolCall:
    """The answer to the step's call at that position."""
    request = step.message.calls[position]
    return ToolCall(
        **{
            "id": request.id,
            "turn_id": step.turn_id,
            "step_index": step.index,
            "position": position,
            "name": request.name,
            "args": request.args,
            "status": CallStatus.OK,
            "result": "def parse(text): ...",
            "started_at": NOON,
            "duration_ms": 12,
            **values,
        }
    )


def an_end(turn: Turn, assistant: str = "Done.", **values: Any) -> TurnEnd:
    return TurnEnd(
        **{
            "turn_id": turn.id,
            "status": TurnStatus.FINISHED,
            "assistant": assistant,
            "ended_at": turn.started_at + timedelta(seconds=9),
            **values,
        }
    )


async def new_session(store: Store, project: Project | None = None, **values: Any) -> ConversationSession:
    """A stored session, in a project of its own unless one is given."""
    if project is None:
        project = a_project()
        await store.projects.add(project)
    session = a_session(project.id, **values)
    await store.sessions.add(session)
    return session


async def said(
    store: Store,
    session: ConversationSession,
    text: str = "Fix it.",
    *,
    parent: Turn | None = None,
    answer: str = "Done.",
    **values: Any,
) -> Turn:
    """A stored turn that ended."""
    turn = a_turn(session, text, parent=parent, **values)
    await store.turns.start(turn)
    await store.turns.end(an_end(turn, answer))
    return turn


async def conversation(store: Store, session: ConversationSession, count: int, **values: Any) -> list[Turn]:
    """So many stored turns, each below the one before."""
    turns: list[Turn] = []
    for number in range(count):
        parent = turns[-1] if turns else None
        turns.append(await said(store, session, f"Question {number}.", parent=parent, **values))
    return turns
