"""Values to store, each whole and valid; name only what the test is about."""

from array import array
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ragforge.domain.derivations import Derived, DerivedOwner
from ragforge.domain.ids import new_id
from ragforge.domain.memories import (
    Association,
    AssociationKind,
    Memory,
    MemoryScope,
    MemoryType,
    memory_id,
)
from ragforge.domain.messages import CallRequest, ModelMessage, TextPart
from ragforge.domain.summaries import Summary
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
from ragforge.domain.usage import Purpose, Spent, Usage
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.store.base import Store

DIMENSIONS = 256
"""As the schema has them. A server that rebuilds its indexes plans every query anew, which takes long."""
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


def a_summary(
    session: ConversationSession, text: str = "It was fixed.", *covered: Turn | Summary, **values: Any
) -> Summary:
    """A summary one level above what it covers."""
    newest = covered[-1]
    level, at = (1, newest.started_at) if isinstance(newest, Turn) else (newest.level + 1, newest.at)
    return Summary(
        **{
            "id": new_id(),
            "project_id": session.project_id,
            "session_id": session.id,
            "level": level,
            "text": text,
            "covers": tuple(each.id for each in covered),
            "at": at,
            "turn_count": sum(1 if isinstance(each, Turn) else each.turn_count for each in covered),
            "model": "gemini:a",
            **values,
        }
    )


def a_memory(
    of: ConversationSession | Project, content: str = "Uses tabs.", *rests_on: Turn, **values: Any
) -> Memory:
    """A memory of the session's project, or of the project with no session; its id is that of its text."""
    project_id, session_id = (of.id, "") if isinstance(of, Project) else (of.project_id, of.id)
    given: dict[str, Any] = {
        "type": MemoryType.FACT,
        "content": content,
        "project_id": project_id,
        "session_id": session_id,
        "scope": MemoryScope.PROJECT,
        "importance": 0.6,
        "created_at": NOON,
        "updated_at": NOON,
        "turns": tuple(turn.id for turn in rests_on),
        **values,
    }
    place = {name: given[name] for name in ("scope", "project_id", "session_id")}
    return Memory(**{"id": memory_id(given["content"], **place), **given})


def an_association(newer: Memory, older: Memory, **values: Any) -> Association:
    """By default, that the first updates the second."""
    return Association(
        **{
            "kind": AssociationKind.UPDATES,
            "from_id": newer.id,
            "to_id": older.id,
            "at": NOON,
            **values,
        }
    )


def a_derived(of: Turn | ConversationSession | Project, **values: Any) -> Derived:
    """A record of the owner as it is now; a turn's needs its project and its end."""
    match of:
        case Project():
            place: dict[str, Any] = {"owner_kind": DerivedOwner.PROJECT, "project_id": of.id, "at": NOON}
        case ConversationSession():
            place = {
                "owner_kind": DerivedOwner.SESSION,
                "project_id": of.project_id,
                "at": of.last_activity_at,
            }
        case Turn():
            place = {"owner_kind": DerivedOwner.TURN, "at": an_end(of).ended_at}
    given = {"kind": "Foresight", "owner": of.id, "data": {"next_step": "Feed the gnu."}, **place, **values}
    return Derived(**given)


def a_spending(of: ConversationSession | Project, **values: Any) -> Spent:
    """A background call."""
    project_id, session_id = (of.id, "") if isinstance(of, Project) else (of.project_id, of.id)
    return Spent(
        **{
            "id": new_id(),
            "project_id": project_id,
            "session_id": session_id,
            "at": NOON,
            "model": "gemini:lite",
            "purpose": Purpose.SUMMARY,
            "usage": Usage(50, 0, 20, 0),
            "cost_usd": 0.125,
            **values,
        }
    )


def an_embedding(of: Turn | Summary | Memory, *numbers: float, **values: Any) -> Embedding:
    """The embedding of a turn, summary or memory."""
    return Embedding(
        **{
            "owner": owner_of(of),
            "model": "static:minilm-256-2",
            "text_hash": "0" * 64,
            "vector": a_vector(*numbers or (1.0, 0.0)),
            **values,
        }
    )


def a_vector(*numbers: float) -> "array[float]":
    """The numbers, filled up with zeros to DIMENSIONS; none stay none."""
    return array("f", [*numbers, *[0.0] * (DIMENSIONS - len(numbers))] if numbers else ())


def an_odd_vector(*numbers: float) -> "array[float]":
    """The numbers alone: a vector of another length."""
    return array("f", numbers)


def owner_of(of: Turn | Summary | Memory) -> Owner:
    kinds = {Turn: OwnerKind.TURN, Summary: OwnerKind.SUMMARY, Memory: OwnerKind.MEMORY}
    return Owner(kinds[type(of)], of.id)


def owners_of(all_of: Sequence[Turn | Summary | Memory]) -> list[Owner]:
    return [owner_of(each) for each in all_of]


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
