"""Versions, branches and moves of heads as nodes of the graph.

As in `rows.py`: flat nodes that name what they belong to; PARENT, MADE_IN and POINTS_TO are created from
that. The change set is one text; `paths` contains its paths for queries by hand, with question marks for
what is not valid text.
"""

import hashlib
from collections.abc import Mapping

from ragforge.domain.versions import BRANCH, MOVE, VERSION, Branch, Change, Version, files_touched
from ragforge.domain.versions import Node as PathNode
from ragforge.store.json_text import storable
from ragforge.store.layouts import Form
from ragforge.store.neo4j.rows import Props, RecordNode
from ragforge.store.version_text import (
    FORMS,
    changes_from_json,
    changes_to_json,
    nodes_from_json,
    nodes_to_json,
)

NAME_CHARS_MAX = 200
"""An index entry is limited to a few thousand bytes; longer names are stored as their hash."""


def _or_none(text: str) -> str | None:
    return storable(text) or None


def _or_empty(text: str | None) -> str:
    return text or ""


def _changes_of(text: str | None) -> tuple[Change, ...]:
    return changes_from_json(text) if text else ()


def _nodes_or_none(nodes: Mapping[str, PathNode | None]) -> str | None:
    return nodes_to_json(nodes) if nodes else None


OR_NONE = Form(_or_none, _or_empty)
"""For a text that is absent if it is empty."""

# Lists of versions leave out words and changes.
VERSIONS = RecordNode(
    VERSION,
    forms={
        **FORMS,
        **dict.fromkeys(("session_id", "turn_id"), OR_NONE),
        "words": Form(storable, _or_empty),
        "changes": Form(changes_to_json, _changes_of),
    },
    more="files",
)
BRANCHES = RecordNode(BRANCH, more="id")
MOVES = RecordNode(
    MOVE,
    forms={
        **FORMS,
        **dict.fromkeys(
            ("from_version", "to_version", "from_turn", "to_turn", "undoes", "command_id"), OR_NONE
        ),
        "aside": Form(_nodes_or_none, nodes_from_json),
    },
)

version_of, branch_of = VERSIONS.record, BRANCHES.record
move_row, move_of = MOVES.row, MOVES.record


def version_row(version: Version) -> Props:
    """Return the version as a node."""
    paths = [storable(change.path) for change in version.changes]
    return VERSIONS.row(version, paths=paths, files=files_touched(version.changes))


def branch_key(project_id: str, name: str) -> str:
    """Return the id of a branch's node."""
    key = storable(f"{project_id}/{name}")
    return key if len(key) <= NAME_CHARS_MAX else hashlib.sha256(key.encode()).hexdigest()


def branch_row(branch: Branch) -> Props:
    """Return the branch as a node."""
    return BRANCHES.row(branch, id=branch_key(branch.project_id, branch.name))
