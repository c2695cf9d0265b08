"""What the graph has of the records that a batch of an archive names: see `load.py`."""

from collections.abc import Mapping, Sequence
from typing import Any

from ragforge.domain.errors import Conflict
from ragforge.domain.records import RecordKind
from ragforge.domain.turns import ToolCall, Turn
from ragforge.domain.usage import Spent
from ragforge.domain.vectors import Owner, OwnerKind
from ragforge.domain.versions import Branch
from ragforge.store.archive_items import key_of, kind_of, references
from ragforge.store.base import Record
from ragforge.store.memory_rules import TOLD
from ragforge.store.neo4j.memory_rows import FORGOTTEN, TYPES
from ragforge.store.neo4j.rows import Label, Props, step_key
from ragforge.store.neo4j.version_rows import branch_key

LISTS = {
    RecordKind.PROJECT: "projects",
    RecordKind.SESSION: "sessions",
    RecordKind.TURN: "turns",
    RecordKind.STEP: "steps",
    RecordKind.TOOL_CALL: "calls",
    RecordKind.SUMMARY: "summaries",
    RecordKind.MEMORY: "memories",
    RecordKind.DERIVED: "derived",
    RecordKind.SPENT: "spent",
    RecordKind.VERSION: "versions",
    RecordKind.BRANCH: "branches",
    RecordKind.MOVE: "moves",
}
"""The parameter names for the ids of each kind; vectors and links are found by what they belong to."""

# What exists of the named records, with what tells which is newer, and of turns what their rows need. A list
# a subquery: to group what follows by a long list would cost its length for every row. All is found by unique
# ids: replanning while the graph grows takes longer than reading. In one map, as rows are carried.
THERE = f"""
CYPHER replan=skip
RETURN
  COLLECT {{ MATCH (n:{Label.PROJECT}) WHERE n.id IN $ids.projects RETURN n.id }} AS projects,
  COLLECT {{
    MATCH (n:{Label.SESSION}) WHERE n.sessionId IN $ids.sessions
    RETURN [n.sessionId, n.lastActivity, n.projectId, n.changedAt]
  }} AS sessions,
  COLLECT {{
    MATCH (n:{Label.TURN}) WHERE n.id IN $ids.turns
    RETURN n {{.id, .sessionId, .projectId, .searchTools, vector: [n.embeddingModel, n.embeddingHash]}}
  }} AS turns,
  COLLECT {{
    MATCH (n:{Label.TURN}) WHERE n.id IN $ids.said
    OPTIONAL MATCH (up:{Label.TURN} {{id: n.parentId}})
    RETURN n {{.id, .turnIndex, .endTime, .sessionId, .projectId, .searchTools, .searchNear, .nearChild,
      userMessage: left(n.userMessage, 1000), parentWords: left(up.userMessage, 1000),
      vector: [n.embeddingModel, n.embeddingHash]}}
  }} AS said,
  COLLECT {{ MATCH (n:{Label.STEP}) WHERE n.id IN $ids.steps RETURN n.id }} AS steps,
  COLLECT {{ MATCH (n:{Label.CALL}) WHERE n.id IN $ids.calls RETURN n.id }} AS calls,
  COLLECT {{
    MATCH (n:{Label.SUMMARY}) WHERE n.id IN $ids.summaries
    RETURN [n.id, n.embeddingModel, n.embeddingHash, n.method]
  }} AS summaries,
  COLLECT {{
    MATCH (n:{Label.MEMORY}) WHERE n.id IN $ids.memories
    RETURN n {{.id, .updated, .{FORGOTTEN}, {", ".join(f".{name}" for name in TOLD)},
      vector: [n.embeddingModel, n.embeddingHash]}}
  }} AS memories,
  COLLECT {{
    MATCH (a:{Label.MEMORY})-[r:{"|".join(TYPES.values())}]->(b:{Label.MEMORY}) WHERE a.id IN $ids.memories
    RETURN toLower(type(r)) + '/' + a.id + '/' + b.id
      + CASE coalesce(r.turn, '') WHEN '' THEN '' ELSE '/' + r.turn END
  }} AS links,
  COLLECT {{
    MATCH (n:{Label.DERIVED}) WHERE n.id IN $ids.derived RETURN n {{.id, .timestamp}}
  }} AS derived,
  COLLECT {{ MATCH (n:{Label.USAGE}) WHERE n.id IN $ids.spent RETURN n.id }} AS spent,
  COLLECT {{
    MATCH (n:{Label.VERSION}) WHERE n.id IN $ids.versions
    RETURN n {{.id, .projectId, .timestamp, .sessionId, .turnId}}
  }} AS versions,
  COLLECT {{
    MATCH (n:{Label.BRANCH}) WHERE n.id IN $ids.branches RETURN n {{.id, .timestamp}}
  }} AS branches,
  COLLECT {{ MATCH (n:{Label.MOVE}) WHERE n.id IN $ids.moves RETURN n.id }} AS moves
"""


class There:
    """What the graph has of the records that a batch names; the batch is added while it is prepared."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.projects = set[str](answer["projects"])
        self.sessions: dict[str, Any] = {found[0]: found for found in answer["sessions"]}
        self.turns: dict[str, Props] = {found["id"]: found for found in (*answer["turns"], *answer["said"])}
        self.steps = set[str](answer["steps"])
        self.calls = set[str](answer["calls"])
        self.summaries: dict[str, Any] = {found[0]: found for found in answer["summaries"]}
        self.memories: dict[str, Props] = {found["id"]: found for found in answer["memories"]}
        self.links = set[str](answer["links"])
        self.derived: dict[str, Any] = {found["id"]: found["timestamp"] for found in answer["derived"]}
        self.spent = set[str](answer["spent"])
        self.versions: dict[str, Props] = {found["id"]: found for found in answer["versions"]}
        self.branches: dict[str, Any] = {found["id"]: found["timestamp"] for found in answer["branches"]}
        self.moves = set[str](answer["moves"])
        self.arrived = False
        """Whether the graph has the batch by now."""

    def add(self, coming: "There") -> None:
        """Add the records of another batch, which is being written."""
        for name in ("projects", "steps", "calls", "links", "spent", "moves"):
            getattr(self, name).update(getattr(coming, name))
        self.sessions |= coming.sessions
        self.summaries |= coming.summaries
        self.versions |= coming.versions
        self.branches |= coming.branches
        self.derived |= coming.derived
        for mine, others in ((self.turns, coming.turns), (self.memories, coming.memories)):
            for key, props in others.items():
                # What the other batch did not need to know, this one has requested.
                known = {name: value for name, value in props.items() if value is not None}
                mine[key] = props | mine.get(key, {}) | known

    def need_project(self, project_id: str, what: str) -> None:
        """Raise Conflict if there is no such project."""
        if project_id not in self.projects:
            raise Conflict(
                f"The project {project_id} is not in the store, but {what} of it should be loaded."
            )

    def project_of(self, session_id: str) -> str:
        """Return the session's project. Raises Conflict if there is no such session."""
        if session_id not in self.sessions:
            raise Conflict(f"The session {session_id} is not in the store, but its turns should be loaded.")
        return self.sessions[session_id][2]

    def turn(self, turn_id: str) -> Props:
        """Return the turn. Raises Conflict if there is none."""
        if turn_id not in self.turns:
            raise Conflict(
                f"The turn {turn_id} is not in the store, but some of its records should be loaded."
            )
        return self.turns[turn_id]

    def vector(self, owner: Owner) -> Sequence[str | None] | None:
        """Return model and hash of the owner's vector; None if the owner is not stored."""
        match owner.kind:
            case OwnerKind.TURN:
                return self.turns[owner.id]["vector"] if owner.id in self.turns else None
            case OwnerKind.SUMMARY:
                return self.summaries[owner.id][1:3] if owner.id in self.summaries else None
            case OwnerKind.MEMORY:
                return self.memories[owner.id]["vector"] if owner.id in self.memories else None


def named(records: Sequence[Record]) -> dict[str, list[str]]:
    """Return the ids of the records and their owners, by kind. said: turns whose texts are needed."""
    ids: dict[str, set[str]] = {"said": set(), **{name: set() for name in LISTS.values()}}
    for record in records:
        kind, key = RecordKind(kind_of(record)), key_of(record)
        if kind in LISTS:
            ids[LISTS[kind]].add(
                branch_key(record.project_id, record.name) if isinstance(record, Branch) else key
            )
        for of, each in references(record):
            ids[LISTS[of]].add(each)
        if isinstance(record, Turn):
            ids["said"].update(each for each in (record.id, record.parent) if each)
        elif isinstance(record, ToolCall):
            ids["steps"].add(step_key(record.turn_id, record.step_index))
        elif isinstance(record, Spent):
            ids["steps"].add(key)
    ids["turns"] -= ids["said"]
    return {name: sorted(found) for name, found in ids.items()}
