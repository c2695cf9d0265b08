"""Versions, branches and moves of an archive into the graph: see `load.py`."""

from collections.abc import Mapping
from typing import Any

from ragforge.domain.errors import Conflict
from ragforge.domain.versions import Branch, CheckoutLog, Version
from ragforge.store.neo4j.carry import new_row, whole_rows
from ragforge.store.neo4j.carry_versions import GONE, MACHINE
from ragforge.store.neo4j.index_rows import version_props
from ragforge.store.neo4j.outbox_row import OutboxRow
from ragforge.store.neo4j.rows import Label, Props
from ragforge.store.neo4j.version_rows import branch_key, branch_row, version_row
from ragforge.store.neo4j.versions import after_parents

TREE_NAMES = ("versions", "branches", "moves")

TREE_THERE = f"""
  COLLECT {{
    MATCH (n:{Label.VERSION}) WHERE n.id IN $ids.versions
    RETURN n {{.id, .projectId, .timestamp, .sessionId, .turnId}}
  }} AS versions,
  COLLECT {{
    MATCH (n:{Label.BRANCH}) WHERE n.id IN $ids.branches RETURN n {{.id, .timestamp}}
  }} AS branches,
  COLLECT {{ MATCH (n:{Label.MOVE}) WHERE n.id IN $ids.moves RETURN n.id }} AS moves
"""


class TreeThere:
    """What the graph has of the tree that a batch names."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.versions: dict[str, Props] = {found["id"]: found for found in answer["versions"]}
        self.branches: dict[str, Any] = {found["id"]: found["timestamp"] for found in answer["branches"]}
        self.moves = set[str](answer["moves"])

    def add(self, coming: "TreeThere") -> None:
        """Add what another batch brings, which is being written."""
        self.versions |= coming.versions
        self.branches |= coming.branches
        self.moves |= coming.moves


def name_tree(record: Version | Branch | CheckoutLog, ids: Mapping[str, set[str]]) -> None:
    """Add the ids of what the record is or belongs to."""
    ids["projects"].add(record.project_id)
    match record:
        case Version():
            ids["versions"].update((record.id, *record.parents))
            ids["sessions"].update({record.session_id} - {""})
            ids["turns"].update({record.turn_id} - {""})
        case Branch():
            ids["versions"].add(record.version_id)
            ids["branches"].add(branch_key(record.project_id, record.name))
        case CheckoutLog():
            ids["moves"].add(record.id)


def version_rows(version: Version, there: TreeThere) -> list[OutboxRow]:
    """What is to be written of it. Raises Conflict where a parent is not stored or another project's."""
    if version.id in there.versions:
        return _origin_rows(version, there.versions[version.id])
    parents: list[Props] = []
    for parent in version.parents:
        found = there.versions.get(parent)
        if found is None:
            raise Conflict(f"Version {version.id} is a child of {parent}, which is not in the store.")
        if found["projectId"] != version.project_id:
            raise Conflict(f"Version {version.id} is a child of {parent}, which is another project's.")
        parents.append(found)
    props = version_row(after_parents(version, parents))
    there.versions[version.id] = props
    return [new_row(Label.VERSION, props | version_props(props))]


def branch_rows(branch: Branch, there: TreeThere) -> list[OutboxRow]:
    """What is to be written of it. Raises Conflict where its version is not one of the project's."""
    version = there.versions.get(branch.version_id)
    if version is None or version["projectId"] != branch.project_id:
        raise Conflict(
            f"Branch {branch.name} cannot point to version {branch.version_id}: "
            f"project {branch.project_id} has none of that id."
        )
    props = branch_row(branch)
    known = there.branches.get(props["id"])
    if known is not None and known >= props["timestamp"]:
        return []
    there.branches[props["id"]] = props["timestamp"]
    return whole_rows([(Label.BRANCH, props | {GONE: False, MACHINE: ""})])


def _origin_rows(version: Version, known: Props) -> list[OutboxRow]:
    """What a version takes whose session was deleted here and has come back: session, turn and title."""
    if known.get("sessionId") or known.get("turnId") or not version.session_id:
        return []
    row = version_row(version) | {"timestamp": known["timestamp"]}
    names = ("sessionId", "turnId", "title")
    known |= {name: row[name] for name in names}
    changes = {name: row[name] for name in names} | _found_by(row)
    return [OutboxRow(Label.VERSION, version.id, row | changes, dirty=frozenset(changes))]


def _found_by(row: Props) -> Props:
    """What changes of what it is found by; its label and note here may be others."""
    return {name: value for name, value in version_props(row).items() if name != "searchUser"}
