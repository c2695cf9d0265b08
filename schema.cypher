// The whole schema of ragforge's graph, for Neo4j 5.26 and 2026.x, Community included.
//
// `ragforge --store bolt://...` builds it by itself; this file is for reading, and for whoever prepares a
// database by hand: paste it into Neo4j Browser. Running it twice changes nothing.
//
// (:Project)-[:HAS_SESSION]->(:ConversationSession)-[:HAS_TURN]->(:ConversationTurn)
// (:Person)-[:WROTE]->(:ConversationTurn)                    whose message it is
// (:ConversationTurn)-[:NEXT]->(:ConversationTurn)            turns are a tree: a turn may have several
// (:ConversationTurn)-[:HAS_TOOL_CALL]->(:ToolCall)-[:PART_OF]->(:ConversationTurn)
// (:ConversationStep)-[:PART_OF]->(:ConversationTurn)         what the model said between two tool calls
// (:ConversationSession)-[:HAS_SUMMARY]->(:ConversationSummary)
// (:ConversationSummary)-[:SUMMARIZES]->(:ConversationTurn)     level 1
// (:ConversationSummary)-[:SUMMARIZES]->(:ConversationSummary)  level 2 and up
// (:Project)-[:HAS_MEMORY]->(:Memory)<-[:HAS_MEMORY]-(:ConversationSession)  where it was made in one
// (:Memory)-[:EVIDENCE]->(:ConversationTurn)
// (:Memory)-[:UPDATES|CONTRADICTS|SUPPORTS|RELATES_TO|CAUSED_BY {at, turn}]->(:Memory)  turn: where it was said
// (:Derived)-[:DERIVED_FROM]->(:ConversationTurn|ConversationSession|Project)  or the relationship of its kind,
//                                                             which is a label of the node too
// Derived of programs, each with a relationship to its (:Project):
// (:Program), (:ProgramVersion), (:ProgramDocument)  KEPT_IN  the program, what is known of a version, what it stored
// (:ProgramRun)      RAN_IN   a run: `program`, `source`, `seconds`, `isDone`, `fault`
// (:ProgramSession)  HELD_IN  a conversation; `messages` and `versions` are ids
// (:ProgramMessage)  SAID_IN  a message: `session`, `type`, `text`, `timestamp`
// (:Usage)                                                    a model call that is no step of a turn
// (:Project)-[:HAS_VERSION]->(:Version)-[:PARENT {ord}]->(:Version)  ord 0 is the first parent
// (:Version)-[:MADE_IN]->(:ConversationTurn)                  where a turn made it
// (:Project)-[:HAS_BRANCH]->(:Branch)-[:POINTS_TO]->(:Version)
// (:Project)-[:HAS_MOVE]->(:CheckoutLog)                      a move of the heads; by their ids, `turns` are those
//                                                             that it moved, `undoes` is the move that it undoes

// Ids. Everything is written by MERGE on them, so that writing it again changes nothing.
CREATE CONSTRAINT project_id IF NOT EXISTS
FOR (n:Project) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT session_id IF NOT EXISTS
FOR (n:ConversationSession) REQUIRE n.sessionId IS UNIQUE;
CREATE CONSTRAINT turn_id IF NOT EXISTS
FOR (n:ConversationTurn) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT step_id IF NOT EXISTS
FOR (n:ConversationStep) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT call_id IF NOT EXISTS
FOR (n:ToolCall) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT summary_id IF NOT EXISTS
FOR (n:ConversationSummary) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT memory_id IF NOT EXISTS
FOR (n:Memory) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT usage_id IF NOT EXISTS
FOR (n:Usage) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT derived_id IF NOT EXISTS
FOR (n:Derived) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT version_id IF NOT EXISTS
FOR (n:Version) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT branch_id IF NOT EXISTS
FOR (n:Branch) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT person_id IF NOT EXISTS
FOR (n:Person) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT move_id IF NOT EXISTS
FOR (n:CheckoutLog) REQUIRE n.id IS UNIQUE;

// The database itself: one node with its id, the version of this schema, and the embedder in use; one node
// a step of the schema that was taken, and one of version 0 that locks against a second process; one node
// a piece of background work that somebody has taken for a while.
CREATE CONSTRAINT database_id IF NOT EXISTS
FOR (n:RagforgeDatabase) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT migration_version IF NOT EXISTS
FOR (n:RagforgeMigration) REQUIRE n.version IS UNIQUE;
CREATE CONSTRAINT lease_id IF NOT EXISTS
FOR (n:RagforgeLease) REQUIRE n.id IS UNIQUE;

// What belongs to what, by property: each costs a little with every write, so there are no others.
CREATE INDEX session_project IF NOT EXISTS
FOR (n:ConversationSession) ON (n.projectId);
CREATE INDEX session_activity IF NOT EXISTS
FOR (n:ConversationSession) ON (n.lastActivity);
CREATE INDEX session_head IF NOT EXISTS
FOR (n:ConversationSession) ON (n.headId);
CREATE INDEX turn_session IF NOT EXISTS
FOR (n:ConversationTurn) ON (n.sessionId);
CREATE INDEX turn_at IF NOT EXISTS
FOR (n:ConversationTurn) ON (n.timestamp);
CREATE INDEX turn_project IF NOT EXISTS
FOR (n:ConversationTurn) ON (n.projectId);
CREATE INDEX step_turn IF NOT EXISTS
FOR (n:ConversationStep) ON (n.turnId);
CREATE INDEX call_turn IF NOT EXISTS
FOR (n:ToolCall) ON (n.turnId);
CREATE INDEX summary_session IF NOT EXISTS
FOR (n:ConversationSummary) ON (n.sessionId);
CREATE INDEX summary_project IF NOT EXISTS
FOR (n:ConversationSummary) ON (n.projectId);
CREATE INDEX memory_project IF NOT EXISTS
FOR (n:Memory) ON (n.projectId);
CREATE INDEX memory_session IF NOT EXISTS
FOR (n:Memory) ON (n.sessionId);
CREATE INDEX usage_time IF NOT EXISTS
FOR (n:Usage) ON (n.timestamp);
CREATE INDEX usage_session IF NOT EXISTS
FOR (n:Usage) ON (n.sessionId);
CREATE INDEX derived_owner IF NOT EXISTS
FOR (n:Derived) ON (n.ownerId);
CREATE INDEX version_session IF NOT EXISTS
FOR (n:Version) ON (n.sessionId);
CREATE INDEX version_turn IF NOT EXISTS
FOR (n:Version) ON (n.turnId);
CREATE INDEX branch_project IF NOT EXISTS
FOR (n:Branch) ON (n.projectId);
CREATE INDEX move_session IF NOT EXISTS
FOR (n:CheckoutLog) ON (n.sessionId);

// In the order in which they are listed: the newest of a project come in the same time however many there are.
CREATE INDEX version_time IF NOT EXISTS
FOR (n:Version) ON (n.projectId, n.timestamp, n.id);
CREATE INDEX derived_time IF NOT EXISTS
FOR (n:Derived) ON (n.projectId, n.kind, n.timestamp);
CREATE INDEX move_time IF NOT EXISTS
FOR (n:CheckoutLog) ON (n.projectId, n.timestamp, n.id);
CREATE INDEX session_time IF NOT EXISTS
FOR (n:ConversationSession) ON (n.projectId, n.lastActivity);
CREATE INDEX turn_time IF NOT EXISTS
FOR (n:ConversationTurn) ON (n.projectId, n.timestamp);
CREATE INDEX summary_time IF NOT EXISTS
FOR (n:ConversationSummary) ON (n.projectId, n.timestamp);
CREATE INDEX memory_time IF NOT EXISTS
FOR (n:Memory) ON (n.projectId, n.created);
CREATE INDEX memory_important IF NOT EXISTS
FOR (n:Memory) ON (n.projectId, n.importance, n.created);
CREATE INDEX memory_recent IF NOT EXISTS
FOR (n:Memory) ON (n.projectId, n.updated, n.created);
CREATE INDEX memory_used IF NOT EXISTS
FOR (n:Memory) ON (n.projectId, n.accessCount, n.created);
CREATE INDEX usage_project IF NOT EXISTS
FOR (n:Usage) ON (n.projectId, n.timestamp);
CREATE INDEX turn_person IF NOT EXISTS
FOR (n:ConversationTurn) ON (n.person, n.timestamp);
CREATE INDEX usage_person IF NOT EXISTS
FOR (n:Usage) ON (n.person, n.timestamp);

// Memories by whose and of what kind they are, summaries by what is still to be done with them, calls by their tool.
CREATE INDEX memory_kind IF NOT EXISTS
FOR (n:Memory) ON (n.projectId, n.type, n.confidence);
CREATE INDEX memory_owner IF NOT EXISTS
FOR (n:Memory) ON (n.owner, n.type, n.confidence);
CREATE INDEX memory_scope IF NOT EXISTS
FOR (n:Memory) ON (n.scope);
CREATE INDEX summary_method IF NOT EXISTS
FOR (n:ConversationSummary) ON (n.method, n.level);
CREATE INDEX summary_outdated IF NOT EXISTS
FOR (n:ConversationSummary) ON (n.outdated);
CREATE INDEX call_tool IF NOT EXISTS
FOR (n:ToolCall) ON (n.toolName);

// What is owed: sessions that were written lately or await a roll-up, turns without a summary, and what has no
// vector of the embedder in use.
CREATE INDEX session_archived IF NOT EXISTS FOR (n:ConversationSession) ON (n.projectId, n.archivedAt);
CREATE INDEX session_carried IF NOT EXISTS
FOR (n:ConversationSession) ON (n.carriedAt);
CREATE INDEX session_owed IF NOT EXISTS
FOR (n:ConversationSession) ON (n.projectId, n.carriedAt);
CREATE INDEX session_awaits IF NOT EXISTS
FOR (n:ConversationSession) ON (n.awaitsChars);
CREATE INDEX turn_owed IF NOT EXISTS
FOR (n:ConversationTurn) ON (n.summaryDue);
CREATE INDEX turn_stale IF NOT EXISTS
FOR (n:ConversationTurn) ON (n.embeddingStale);
CREATE INDEX turn_embedded IF NOT EXISTS
FOR (n:ConversationTurn) ON (n.embeddingModel, n.embeddingDimensions);
CREATE INDEX summary_stale IF NOT EXISTS
FOR (n:ConversationSummary) ON (n.embeddingStale);
CREATE INDEX summary_embedded IF NOT EXISTS
FOR (n:ConversationSummary) ON (n.embeddingModel, n.embeddingDimensions);
CREATE INDEX memory_stale IF NOT EXISTS
FOR (n:Memory) ON (n.embeddingStale);
CREATE INDEX memory_embedded IF NOT EXISTS
FOR (n:Memory) ON (n.embeddingModel, n.embeddingDimensions);

// By what was embedded: the same text is never embedded twice.
CREATE INDEX turn_text IF NOT EXISTS
FOR (n:ConversationTurn) ON (n.embeddingHash);
CREATE INDEX summary_text IF NOT EXISTS
FOR (n:ConversationSummary) ON (n.embeddingHash);
CREATE INDEX memory_text IF NOT EXISTS
FOR (n:Memory) ON (n.embeddingHash);
// What is forgotten is asked for before every request.
CREATE INDEX memory_forgotten IF NOT EXISTS
FOR (n:Memory) ON (n.forgottenAt);

// What binds is asked for before a call that changes something.
CREATE INDEX memory_binding IF NOT EXISTS
FOR (n:Memory) ON (n.projectId, n.strength);

// The memories of the weightiest topics are read when a session opens.
CREATE INDEX memory_topic_important IF NOT EXISTS
FOR (n:Memory) ON (n.projectId, n.topic, n.importance, n.created);

// Search by words. The properties hold stems with spaces between them, made by ragforge in the same way for
// every store; `searchScope` holds what a search is limited to.
CREATE FULLTEXT INDEX conversation_words IF NOT EXISTS
FOR (n:ConversationTurn|ToolCall|ConversationSummary|Memory|Version)
ON EACH [n.searchUser, n.searchReply, n.searchNear, n.searchTools, n.searchDate, n.searchScope]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}};

// Search by meaning. 256 is what the offline embedder makes; ragforge rebuilds all for another embedder,
// and on a server that can filter inside the index (2026.x) with the properties it filters by.
CREATE VECTOR INDEX turn_embedding IF NOT EXISTS
FOR (n:ConversationTurn) ON (n.embedding)
OPTIONS {indexConfig: {`vector.dimensions`: 256, `vector.similarity_function`: 'cosine'}};
CREATE VECTOR INDEX summary_embedding IF NOT EXISTS
FOR (n:ConversationSummary) ON (n.embedding)
OPTIONS {indexConfig: {`vector.dimensions`: 256, `vector.similarity_function`: 'cosine'}};
CREATE VECTOR INDEX memory_embedding IF NOT EXISTS
FOR (n:Memory) ON (n.embedding)
OPTIONS {indexConfig: {`vector.dimensions`: 256, `vector.similarity_function`: 'cosine'}};
