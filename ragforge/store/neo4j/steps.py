"""The numbered steps that built the schema. A released step never changes."""

import hashlib

from msgspec import Struct

from ragforge.domain.memories import MemorySort
from ragforge.store.memory_rules import TOPIC

FIRST = """
CREATE CONSTRAINT project_id IF NOT EXISTS FOR (n:Project) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT session_id IF NOT EXISTS FOR (n:ConversationSession) REQUIRE n.sessionId IS UNIQUE;
CREATE CONSTRAINT turn_id IF NOT EXISTS FOR (n:ConversationTurn) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT step_id IF NOT EXISTS FOR (n:ConversationStep) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT call_id IF NOT EXISTS FOR (n:ToolCall) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT summary_id IF NOT EXISTS FOR (n:ConversationSummary) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT database_id IF NOT EXISTS FOR (n:RagforgeDatabase) REQUIRE n.id IS UNIQUE;
CREATE INDEX session_project IF NOT EXISTS FOR (n:ConversationSession) ON (n.projectId);
CREATE INDEX session_activity IF NOT EXISTS FOR (n:ConversationSession) ON (n.lastActivity);
CREATE INDEX turn_session IF NOT EXISTS FOR (n:ConversationTurn) ON (n.sessionId);
CREATE INDEX turn_project IF NOT EXISTS FOR (n:ConversationTurn) ON (n.projectId);
CREATE INDEX step_turn IF NOT EXISTS FOR (n:ConversationStep) ON (n.turnId);
CREATE INDEX call_turn IF NOT EXISTS FOR (n:ToolCall) ON (n.turnId);
CREATE INDEX summary_session IF NOT EXISTS FOR (n:ConversationSummary) ON (n.sessionId);
CREATE INDEX summary_project IF NOT EXISTS FOR (n:ConversationSummary) ON (n.projectId);
CREATE FULLTEXT INDEX conversation_words IF NOT EXISTS
FOR (n:ConversationTurn|ToolCall|ConversationSummary)
ON EACH [n.searchUser, n.searchReply, n.searchNear, n.searchTools, n.searchDate, n.searchScope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}};
CREATE VECTOR INDEX turn_embedding IF NOT EXISTS FOR (n:ConversationTurn) ON (n.embedding)
OPTIONS {indexConfig: {`vector.dimensions`: 256, `vector.similarity_function`: 'cosine'}};
CREATE VECTOR INDEX summary_embedding IF NOT EXISTS FOR (n:ConversationSummary) ON (n.embedding)
OPTIONS {indexConfig: {`vector.dimensions`: 256, `vector.similarity_function`: 'cosine'}};
"""

MEMORIES = """
CREATE CONSTRAINT memory_id IF NOT EXISTS FOR (n:Memory) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT usage_id IF NOT EXISTS FOR (n:Usage) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT lease_id IF NOT EXISTS FOR (n:RagforgeLease) REQUIRE n.id IS UNIQUE;
CREATE INDEX session_head IF NOT EXISTS FOR (n:ConversationSession) ON (n.headId);
CREATE INDEX memory_project IF NOT EXISTS FOR (n:Memory) ON (n.projectId);
CREATE INDEX memory_session IF NOT EXISTS FOR (n:Memory) ON (n.sessionId);
CREATE INDEX usage_time IF NOT EXISTS FOR (n:Usage) ON (n.timestamp);
CREATE INDEX turn_text IF NOT EXISTS FOR (n:ConversationTurn) ON (n.embeddingHash);
CREATE INDEX summary_text IF NOT EXISTS FOR (n:ConversationSummary) ON (n.embeddingHash);
CREATE INDEX memory_text IF NOT EXISTS FOR (n:Memory) ON (n.embeddingHash);
DROP INDEX conversation_words IF EXISTS;
CREATE FULLTEXT INDEX conversation_words IF NOT EXISTS
FOR (n:ConversationTurn|ToolCall|ConversationSummary|Memory)
ON EACH [n.searchUser, n.searchReply, n.searchNear, n.searchTools, n.searchDate, n.searchScope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}};
CREATE VECTOR INDEX memory_embedding IF NOT EXISTS FOR (n:Memory) ON (n.embedding)
OPTIONS {indexConfig: {`vector.dimensions`: 256, `vector.similarity_function`: 'cosine'}};
"""

# Which turns are abandoned is computed by the first reader that needs it.
MEMORIES_DATA = """
MATCH (d:RagforgeDatabase) SET d.leftStale = coalesce(d.leftStale, randomUUID());
"""

VERSIONS = """
CREATE CONSTRAINT version_id IF NOT EXISTS FOR (n:Version) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT branch_id IF NOT EXISTS FOR (n:Branch) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT move_id IF NOT EXISTS FOR (n:CheckoutLog) REQUIRE n.id IS UNIQUE;
CREATE INDEX version_time IF NOT EXISTS FOR (n:Version) ON (n.projectId, n.timestamp, n.id);
CREATE INDEX version_session IF NOT EXISTS FOR (n:Version) ON (n.sessionId);
CREATE INDEX version_turn IF NOT EXISTS FOR (n:Version) ON (n.turnId);
CREATE INDEX branch_project IF NOT EXISTS FOR (n:Branch) ON (n.projectId);
CREATE INDEX move_time IF NOT EXISTS FOR (n:CheckoutLog) ON (n.projectId, n.timestamp, n.id);
CREATE INDEX move_session IF NOT EXISTS FOR (n:CheckoutLog) ON (n.sessionId);
DROP INDEX conversation_words IF EXISTS;
CREATE FULLTEXT INDEX conversation_words IF NOT EXISTS
FOR (n:ConversationTurn|ToolCall|ConversationSummary|Memory|Version)
ON EACH [n.searchUser, n.searchReply, n.searchNear, n.searchTools, n.searchDate, n.searchScope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}};
"""

# As in SQLite: the turns that left the path, and of a redo the newest move that it can have undone.
OPERATIONS_DATA = """
MATCH (n:CheckoutLog {action: 'redo'}) WHERE n.turns IS NULL
SET n.turns = CASE WHEN n.toTurn IS NULL OR n.toTurn = n.fromTurn THEN [] ELSE [n.toTurn] END;
MATCH (n:CheckoutLog) WHERE n.turns IS NULL
CALL (n) {
  OPTIONAL MATCH (:ConversationTurn {id: n.toTurn})<-[:NEXT*0..]-(t:ConversationTurn)
  RETURN collect(t.id) AS stayed
}
CALL (n, stayed) {
  OPTIONAL MATCH (:ConversationTurn {id: n.fromTurn})<-[:NEXT*0..]-(t:ConversationTurn)
  WHERE NOT t.id IN stayed
  WITH t ORDER BY t.turnIndex DESC
  RETURN collect(t.id) AS went
}
SET n.turns = went;
MATCH (n:CheckoutLog {action: 'redo'}) WHERE n.undoes IS NULL AND n.sessionId <> ''
CALL (n) {
  MATCH (u:CheckoutLog {sessionId: n.sessionId})
  WHERE u.action <> 'redo' AND (u.timestamp < n.timestamp OR u.timestamp = n.timestamp AND u.id < n.id)
    AND CASE WHEN n.fromTurn = n.toTurn
      THEN u.fromTurn = n.toTurn AND u.toTurn = n.toTurn AND u.action IN ['undo', 'rewind'] AND 0 = REDUCE(
        open = 0, each IN COLLECT {
          MATCH (m:CheckoutLog {sessionId: n.sessionId})
          WHERE m.fromTurn = n.toTurn AND m.toTurn = n.toTurn AND m.action IN ['undo', 'rewind', 'redo']
            AND (m.timestamp > u.timestamp OR m.timestamp = u.timestamp AND m.id > u.id)
            AND (m.timestamp < n.timestamp OR m.timestamp = n.timestamp AND m.id < n.id)
          RETURN CASE m.action WHEN 'redo' THEN 1 ELSE -1 END
        } | open + each)
      ELSE coalesce(u.fromTurn, '') <> coalesce(u.toTurn, '') AND n.toTurn IN u.turns END
  RETURN u.id AS undone ORDER BY u.timestamp DESC, u.id DESC LIMIT 1
}
SET n.undoes = undone;
"""


DERIVED = """
CREATE CONSTRAINT derived_id IF NOT EXISTS FOR (n:Derived) REQUIRE n.id IS UNIQUE;
CREATE INDEX derived_owner IF NOT EXISTS FOR (n:Derived) ON (n.ownerId);
CREATE INDEX derived_time IF NOT EXISTS FOR (n:Derived) ON (n.projectId, n.kind, n.timestamp);
"""

FORGOTTEN = """
CREATE INDEX memory_forgotten IF NOT EXISTS FOR (n:Memory) ON (n.forgottenAt);
"""


# Existing ones belong to whoever started the session that they come from.
OWNERS_DATA = """
MATCH (n:Memory) WHERE n.type IN ['identity', 'preference'] AND n.owner IS NULL
MATCH (s:ConversationSession {sessionId: n.sessionId}) WHERE s.user + s.host <> ''
SET n.owner = s.user + '@' + s.host;
"""


# As in SQLite: one that returned is valid since then, and one that is replaced was valid until it was.
PERIODS_DATA = """
MATCH (n:Memory) WHERE n.validFrom IS NULL
CALL (n) {
  OPTIONAL MATCH (n)-[back:UPDATES]->(:Memory)
  WHERE EXISTS { MATCH (n)<-[gone:UPDATES]-(:Memory) WHERE gone.at < back.at }
    AND NOT EXISTS { MATCH (told:ConversationTurn {id: back.turn}) WHERE told.left }
  RETURN max(back.at) AS returned
}
SET n.validFrom = coalesce(returned, n.created)
WITH n
CALL (n) {
  OPTIONAL MATCH (n)<-[link:UPDATES]-(newer:Memory)
  WHERE link.at >= n.validFrom AND newer.forgottenAt IS NULL
    AND NOT EXISTS { MATCH (told:ConversationTurn {id: link.turn}) WHERE told.left }
  RETURN min(link.at) AS replaced
}
SET n.validTo = replaced;
"""


ORIGINS_DATA = """
MATCH (n:Memory) WHERE n.origin IS NULL
SET n.origin = CASE n.source
  WHEN 'person' THEN 'told by a command' WHEN 'model' THEN 'saved by the model' ELSE 'found in a turn' END;
"""


LOOKUPS = """
CREATE INDEX session_time IF NOT EXISTS FOR (n:ConversationSession) ON (n.projectId, n.lastActivity);
CREATE INDEX turn_at IF NOT EXISTS FOR (n:ConversationTurn) ON (n.timestamp);
CREATE INDEX turn_time IF NOT EXISTS FOR (n:ConversationTurn) ON (n.projectId, n.timestamp);
CREATE INDEX call_tool IF NOT EXISTS FOR (n:ToolCall) ON (n.toolName);
CREATE INDEX summary_time IF NOT EXISTS FOR (n:ConversationSummary) ON (n.projectId, n.timestamp);
CREATE INDEX summary_method IF NOT EXISTS FOR (n:ConversationSummary) ON (n.method, n.level);
CREATE INDEX summary_outdated IF NOT EXISTS FOR (n:ConversationSummary) ON (n.outdated);
CREATE INDEX memory_scope IF NOT EXISTS FOR (n:Memory) ON (n.scope);
CREATE INDEX memory_kind IF NOT EXISTS FOR (n:Memory) ON (n.projectId, n.type, n.confidence);
CREATE INDEX memory_owner IF NOT EXISTS FOR (n:Memory) ON (n.owner, n.type, n.confidence);
CREATE INDEX memory_time IF NOT EXISTS FOR (n:Memory) ON (n.projectId, n.created);
CREATE INDEX usage_project IF NOT EXISTS FOR (n:Usage) ON (n.projectId, n.timestamp);
CREATE INDEX usage_session IF NOT EXISTS FOR (n:Usage) ON (n.sessionId);
"""

# Sessions from before their project's root was stored get that of another one started in it on the same
# machine, else their start folder, which was used as the root. Memories from before owners are everybody's.
LOOKUPS_DATA = """
MATCH (n:ConversationSession) WHERE coalesce(n.projectPath, '') = ''
CALL (n) {
  OPTIONAL MATCH (other:ConversationSession {projectId: n.projectId})
  WHERE other.host = n.host AND other.projectPath <> ''
    AND (n.cwd = other.projectPath OR n.cwd STARTS WITH other.projectPath + '/')
  RETURN min(other.projectPath) AS root
}
SET n.projectPath = coalesce(root, n.cwd);
MATCH (n:Memory) WHERE n.owner IS NULL SET n.owner = '';
"""


BINDING = """
CREATE INDEX memory_binding IF NOT EXISTS FOR (n:Memory) ON (n.projectId, n.strength);
"""


OWED = """
CREATE INDEX session_carried IF NOT EXISTS FOR (n:ConversationSession) ON (n.carriedAt);
CREATE INDEX session_owed IF NOT EXISTS FOR (n:ConversationSession) ON (n.projectId, n.carriedAt);
CREATE INDEX session_awaits IF NOT EXISTS FOR (n:ConversationSession) ON (n.awaitsChars);
CREATE INDEX turn_owed IF NOT EXISTS FOR (n:ConversationTurn) ON (n.summaryDue);
CREATE INDEX turn_stale IF NOT EXISTS FOR (n:ConversationTurn) ON (n.embeddingStale);
CREATE INDEX turn_embedded IF NOT EXISTS
FOR (n:ConversationTurn) ON (n.embeddingModel, n.embeddingDimensions);
CREATE INDEX summary_stale IF NOT EXISTS FOR (n:ConversationSummary) ON (n.embeddingStale);
CREATE INDEX summary_embedded IF NOT EXISTS
FOR (n:ConversationSummary) ON (n.embeddingModel, n.embeddingDimensions);
CREATE INDEX memory_stale IF NOT EXISTS FOR (n:Memory) ON (n.embeddingStale);
CREATE INDEX memory_embedded IF NOT EXISTS FOR (n:Memory) ON (n.embeddingModel, n.embeddingDimensions);
"""

# In batches that commit by themselves. Turns and sessions get their marks from the first reader of due work,
# which checks all sessions written since the last check, and there was none.
OWED_DATA = """
MATCH (s:ConversationSession) WHERE s.carriedAt IS NULL
CALL (s) { SET s.carriedAt = datetime.realtime() } IN TRANSACTIONS OF 1000 ROWS;
MATCH (n:ConversationSummary|Memory) WHERE n.embeddingModel IS NULL AND n.embeddingStale IS NULL
CALL (n) { SET n.embeddingStale = true } IN TRANSACTIONS OF 1000 ROWS;
MATCH (n:ConversationTurn|ConversationSummary|Memory)
WHERE n.embeddingModel IS NOT NULL AND n.embeddingDimensions IS NULL
CALL (n) { SET n.embeddingDimensions = size(n.embedding) } IN TRANSACTIONS OF 1000 ROWS;
"""


_WEIGHT = MemorySort.IMPORTANCE
LISTED = f"""
CREATE INDEX memory_important IF NOT EXISTS FOR (n:Memory) ON (n.projectId, n.{_WEIGHT}, n.created);
CREATE INDEX memory_recent IF NOT EXISTS FOR (n:Memory) ON (n.projectId, n.updated, n.created);
CREATE INDEX memory_used IF NOT EXISTS FOR (n:Memory) ON (n.projectId, n.accessCount, n.created);
"""


# Versions that do not set it when memories change must not write here any more.
MEMORY_STATE_DATA = "MATCH (d:RagforgeDatabase) SET d.memoryState = randomUUID();\n"


PERSONS = """
CREATE CONSTRAINT person_id IF NOT EXISTS FOR (n:Person) REQUIRE n.id IS UNIQUE;
CREATE INDEX turn_person IF NOT EXISTS FOR (n:ConversationTurn) ON (n.person, n.timestamp);
CREATE INDEX usage_person IF NOT EXISTS FOR (n:Usage) ON (n.person, n.timestamp);
"""

# Until now a session was its beginner's, and so was all that was said and spent in it. Batches commit by
# themselves; what a process without persons writes meanwhile gets no relationship to a person.
PERSONS_DATA = "".join(
    f"""
MATCH (n:{label}) WHERE n.person IS NULL
CALL (n) {{
  MATCH (s:ConversationSession {{sessionId: n.sessionId}})
  WITH n, coalesce(s.person, '') AS person, coalesce(s.user, '') AS user, coalesce(s.host, '') AS host
  WITH n, CASE WHEN person <> '' OR user + host = '' THEN person ELSE user + '@' + host END AS person
  WHERE person <> ''
  SET n.person = person{draw}
}} IN TRANSACTIONS OF 1000 ROWS;
"""
    for label, draw in (
        (
            "ConversationTurn",
            "\n  MERGE (p:Person {id: person})\n  MERGE (p)-[:WROTE]->(n)",
        ),
        ("Usage", ""),
    )
)


ARCHIVED = """
CREATE INDEX session_archived IF NOT EXISTS FOR (n:ConversationSession) ON (n.projectId, n.archivedAt);
"""


CONCEPTS = f"""
CREATE INDEX memory_topic IF NOT EXISTS FOR (n:Memory) ON (n.projectId, n.{TOPIC});
"""

# Of thousands of memories of one concept the most important are read, in their order.
CONCEPTS_LISTED = f"""
CREATE INDEX memory_topic_important IF NOT EXISTS
FOR (n:Memory) ON (n.projectId, n.{TOPIC}, n.{_WEIGHT}, n.created);
DROP INDEX memory_topic IF EXISTS;
"""


class Step(Struct, frozen=True):
    """One step. schema, data: statements, each with a semicolon at its end, never in one transaction.

    Those of data commit one by one and can be repeated.
    """

    name: str
    schema: str = ""
    data: str = ""

    @property
    def checksum(self) -> str:
        """The checksum of what the step does, in hex."""
        return hashlib.sha256(f"{self.schema}\0{self.data}".encode()).hexdigest()


STEPS: tuple[Step, ...] = (
    Step("first", FIRST),
    Step("memories", MEMORIES, MEMORIES_DATA),
    Step("versions", VERSIONS),
    Step("operations", data=OPERATIONS_DATA),
    Step("derived records", DERIVED),
    Step("forgotten", FORGOTTEN),
    Step("owners", data=OWNERS_DATA),
    Step("periods", data=PERIODS_DATA),
    Step("origins", data=ORIGINS_DATA),
    Step("lookups", LOOKUPS, LOOKUPS_DATA),
    Step("what binds", BINDING),
    Step("owed", OWED, OWED_DATA),
    Step("memories in their order", LISTED),
    Step("state of memories", data=MEMORY_STATE_DATA),
    Step("persons", PERSONS, PERSONS_DATA),
    Step("archived sessions", ARCHIVED),
    Step("concepts", CONCEPTS),
    Step("concepts in their order", CONCEPTS_LISTED),
)


def statements(text: str) -> list[str]:
    """Return the statements in a text, each with a semicolon and a line break at its end."""
    return [statement.strip() for statement in text.split(";\n") if statement.strip()]
