"""How versions, branches and moves of heads stand in the graph.

As in `rows.py`: flat nodes that name what they belong to; PARENT, MADE_IN and POINTS_TO are drawn from
that. The change set is one text; `paths` holds its paths for people who ask by hand, with question marks
for what is no valid text.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from ragforge.domain.versions import Branch, CheckoutLog, MoveAction, Version, files_touched
from ragforge.store.json_text import storable
from ragforge.store.neo4j.rows import Props, usage_of, usage_row, utc
from ragforge.store.version_text import (
    changes_from_json,
    changes_to_json,
    nodes_from_json,
    nodes_to_json,
    uncovered_from_json,
    uncovered_to_json,
)

NAME_CHARS_MAX = 200
"""An index takes no more than some thousand bytes; what is longer is known by its hash."""


def version_row(version: Version) -> Props:
    """The version as a node."""
    return {
        "id": version.id,
        "projectId": version.project_id,
        "sessionId": version.session_id or None,
        "turnId": version.turn_id or None,
        "parents": list(version.parents),
        "timestamp": utc(version.at),
        "by": storable(version.by),
        "title": storable(version.title),
        "label": storable(version.label),
        "note": storable(version.note),
        "words": storable(version.words),
        "changes": changes_to_json(version.changes),
        "paths": [storable(change.path) for change in version.changes],
        "files": files_touched(version.changes),
        "uncovered": uncovered_to_json(version.uncovered),
        "linesAdded": version.lines_added,
        "linesRemoved": version.lines_removed,
        "durationMs": version.duration_ms,
        **usage_row(version.usage, version.cost_usd),
    }


def version_of(row: Mapping[str, Any]) -> Version:
    """The inverse of `version_row`; without changes and words where the row has none."""
    usage, cost_usd = usage_of(row)
    return Version(
        id=row["id"],
        project_id=row["projectId"],
        parents=tuple(row["parents"]),
        at=row["timestamp"],
        by=row["by"],
        changes=changes_from_json(row["changes"]) if row.get("changes") else (),
        session_id=row.get("sessionId") or "",
        turn_id=row.get("turnId") or "",
        title=row["title"],
        label=row["label"],
        note=row["note"],
        words=row.get("words") or "",
        uncovered=uncovered_from_json(row["uncovered"]),
        lines_added=row["linesAdded"],
        lines_removed=row["linesRemoved"],
        usage=usage,
        cost_usd=cost_usd,
        duration_ms=row["durationMs"],
    )


def branch_key(project_id: str, name: str) -> str:
    """The id of a branch's node."""
    key = storable(f"{project_id}/{name}")
    return key if len(key) <= NAME_CHARS_MAX else hashlib.sha256(key.encode()).hexdigest()


def branch_row(branch: Branch) -> Props:
    """The branch as a node."""
    return {
        "id": branch_key(branch.project_id, branch.name),
        "projectId": branch.project_id,
        "name": storable(branch.name),
        "versionId": branch.version_id,
        "timestamp": utc(branch.at),
    }


def branch_of(row: Mapping[str, Any]) -> Branch:
    """The inverse of `branch_row`."""
    return Branch(row["projectId"], row["name"], row["versionId"], row["timestamp"])


def move_row(move: CheckoutLog) -> Props:
    """The move as a node."""
    return {
        "id": move.id,
        "projectId": move.project_id,
        "sessionId": storable(move.session_id),
        "action": str(move.action),
        "timestamp": utc(move.at),
        "fromVersion": storable(move.from_version) or None,
        "toVersion": storable(move.to_version) or None,
        "fromTurn": storable(move.from_turn) or None,
        "toTurn": storable(move.to_turn) or None,
        "turns": [storable(each) for each in move.turns],
        "undoes": storable(move.undoes) or None,
        "kept": None if move.kept is None else nodes_to_json(move.kept),
        "aside": nodes_to_json(move.aside) if move.aside else None,
        "commandId": storable(move.command_id) or None,
    }


def move_of(row: Mapping[str, Any]) -> CheckoutLog:
    """The inverse of `move_row`."""
    return CheckoutLog(
        id=row["id"],
        project_id=row["projectId"],
        session_id=row["sessionId"],
        action=MoveAction(row["action"]),
        at=row["timestamp"],
        from_version=row.get("fromVersion") or "",
        to_version=row.get("toVersion") or "",
        from_turn=row.get("fromTurn") or "",
        to_turn=row.get("toTurn") or "",
        turns=tuple(row.get("turns") or ()),
        undoes=row.get("undoes") or "",
        kept=None if row.get("kept") is None else nodes_from_json(row["kept"]),
        aside=nodes_from_json(row.get("aside") or "{}"),
        command_id=row.get("commandId") or "",
    )
