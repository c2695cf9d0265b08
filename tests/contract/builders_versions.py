"""Versions, branches and moves to store, each whole and valid; name only what the test is about."""

import hashlib
from datetime import timedelta
from typing import Any

from ragforge.domain.ids import new_id
from ragforge.domain.turns import ConversationSession, Project, Turn
from ragforge.domain.usage import Usage
from ragforge.domain.versions import (
    USER,
    Branch,
    Change,
    CheckoutLog,
    MoveAction,
    Node,
    NodeKind,
    Provenance,
    Version,
)
from ragforge.store.base import Store
from tests.contract.builders import NOON, said


def a_node(content: str = "x = 1\n", **values: Any) -> Node:
    """A file with that content."""
    data = content.encode()
    return Node(
        **{
            "kind": NodeKind.FILE,
            "digest": hashlib.sha256(data).hexdigest(),
            "mode": 0o644,
            "size": len(data),
            **values,
        }
    )


def a_change(path: str = "src/parser.py", **values: Any) -> Change:
    """A file that a tool added."""
    return Change(
        **{"path": path, "before": None, "after": a_node(), "provenance": Provenance.TOOL, **values}
    )


def a_version(of: ConversationSession | Project, *parents: Version, **values: Any) -> Version:
    """A version made in the session, or by the user in the project; a minute after its parents."""
    project_id, session_id = (of.id, "") if isinstance(of, Project) else (of.project_id, of.id)
    newest = max((parent.at for parent in parents), default=NOON)
    return Version(
        **{
            "id": new_id(),
            "project_id": project_id,
            "parents": tuple(parent.id for parent in parents),
            "at": newest + timedelta(minutes=1),
            "by": "gemini:a" if session_id else USER,
            "changes": (a_change(),),
            "session_id": session_id,
            "title": "Fix it.",
            "usage": Usage(100, 40, 10, 5) if session_id else Usage(),
            "cost_usd": 0.25 if session_id else 0.0,
            **values,
        }
    )


def a_branch(version: Version, name: str = "try-it", **values: Any) -> Branch:
    return Branch(
        **{
            "project_id": version.project_id,
            "name": name,
            "version_id": version.id,
            "at": version.at,
            **values,
        }
    )


def a_move(of: ConversationSession | Project, **values: Any) -> CheckoutLog:
    """By default an undo."""
    project_id, session_id = (of.id, "") if isinstance(of, Project) else (of.project_id, of.id)
    return CheckoutLog(
        **{
            "id": new_id(),
            "project_id": project_id,
            "session_id": session_id,
            "action": MoveAction.UNDO,
            "at": NOON,
            **values,
        }
    )


def an_operation(*turn_ids: str, undoes: str = "") -> dict[str, Any]:
    """What a move says of what it did; one of the paths is no text."""
    nodes = {"a.py": a_node("a"), "gone \udcff": None}
    return {
        "turns": turn_ids,
        "undoes": undoes,
        "kept": nodes,
        "aside": {"b.py": a_node("b")},
        "command_id": new_id(),
    }


async def new_version(
    store: Store, of: ConversationSession | Project, *parents: Version, **values: Any
) -> Version:
    """A stored version."""
    version = a_version(of, *parents, **values)
    await store.versions.add(version)
    return version


async def new_line(store: Store, of: ConversationSession | Project, count: int) -> list[Version]:
    """So many stored versions, each a child of the one before."""
    versions: list[Version] = []
    for number in range(count):
        path = f"file-{number}.py"
        versions.append(await new_version(store, of, *versions[-1:], changes=(a_change(path),)))
    return versions


async def worked(
    store: Store,
    session: ConversationSession,
    *parents: Version,
    text: str = "Fix it.",
    below: Turn | None = None,
    **values: Any,
) -> tuple[Turn, Version]:
    """A stored turn that ended, with its version."""
    turn = await said(store, session, text, parent=below)
    version = await new_version(store, session, *parents, turn_id=turn.id, title=text, **values)
    return turn, version
