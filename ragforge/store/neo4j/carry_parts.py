"""What rows of conversations are written by: a part of the query for each label.

Each is a subquery of its own over its rows in `$rows`, and merges by our own ids, so that a batch that is
sent again changes nothing.
"""

from ragforge.store.neo4j.rows import Label

PROJECTS = """
CALL () {
  UNWIND $rows.projects AS row
  MERGE (n:Project {id: row.id})
  ON CREATE SET n += row.first
  SET n += row.set
}
"""

# Writing a property takes the lock before the epoch is read: a claim that comes meanwhile waits.
# A batch may come late: its answer was given up, and a stopped server went on with it after the batch that
# followed. Such a one is skipped; all that it held was sent again.
# A head that goes on to a new turn below it, which nearly every one does, leaves nothing behind. Of all
# other moves `moved` holds the turns whose paths are looked at afterwards: the new head, the old, what came.
SESSIONS = """
CALL () {
  UNWIND $rows.sessions AS row
  FOREACH (_ IN CASE WHEN row.make THEN [1] ELSE [] END |
    MERGE (new:ConversationSession {sessionId: row.id})
    ON CREATE SET new += row.first)
  WITH row
  MATCH (n:ConversationSession {sessionId: row.id})
  SET n.carriedAt = datetime.realtime()
  WITH n, row, coalesce(n.writerEpoch, 0) AS epoch, coalesce(n.headId, '') AS head
  WITH n, row, head,
    row.epoch > 0 AND epoch > row.epoch AS fenced,
    row.epoch > 0 AND epoch = row.epoch AND coalesce(n.carriedBatch, 0) > $batch AS late
  FOREACH (_ IN CASE WHEN fenced OR late THEN [] ELSE [1] END |
    SET n += row.set, n.carriedBatch = CASE WHEN row.epoch > 0 THEN $batch ELSE n.carriedBatch END)
  WITH n, row, fenced, late, head
  CALL (n, row) {
    WITH n, row WHERE row.draw
    MERGE (p:Project {id: n.projectId})
    MERGE (p)-[:HAS_SESSION]->(n)
  }
  RETURN collect(CASE WHEN fenced THEN n.sessionId END) AS fenced,
    collect(CASE WHEN late THEN n.sessionId END) AS late,
    collect(CASE
      WHEN late OR NOT $lefts OR coalesce(row.onto = head, false) AND NOT fenced THEN []
      WHEN head = coalesce(n.headId, '') AND NOT row.make THEN row.made
      ELSE [n.headId, head] + row.made
    END) AS moved
}
"""

# The same where nothing else of the sessions is written.
GUARDS = """
CALL () {
  UNWIND $rows.sessions AS row
  MATCH (n:ConversationSession {sessionId: row.id})
  SET n.carriedAt = datetime.realtime()
  WITH n, row, coalesce(n.writerEpoch, 0) AS epoch
  WITH n, row,
    row.epoch > 0 AND epoch > row.epoch AS fenced,
    row.epoch > 0 AND epoch = row.epoch AND coalesce(n.carriedBatch, 0) > $batch AS late
  FOREACH (_ IN CASE WHEN fenced OR late OR row.epoch = 0 THEN [] ELSE [1] END | SET n.carriedBatch = $batch)
  RETURN collect(CASE WHEN fenced THEN n.sessionId END) AS fenced,
    collect(CASE WHEN late THEN n.sessionId END) AS late
}
"""

# What was made here is written whole, but over nothing that is there. All else is written to what is there:
# who was silent while his session was deleted makes no half of a node by going on.
ROWS = """
CALL (late) {{
  UNWIND $rows.{name} AS row
  WITH row WHERE NOT row.session IN late{needs}
  FOREACH (_ IN CASE WHEN row.make THEN [1] ELSE [] END |
    MERGE (new:{label} {{id: row.id}})
    ON CREATE SET new += row.first)
  WITH *
  MATCH (n:{label} {{id: row.id}})
  SET n += row.set
  WITH * WHERE row.draw
{draw}
}}
"""

TURNS = ROWS.format(
    name="turns",
    label=Label.TURN,
    needs="",
    draw="""
  MATCH (s:ConversationSession {sessionId: n.sessionId})
  MERGE (s)-[:HAS_TURN]->(n)
  WITH n WHERE n.parentId IS NOT NULL
  MATCH (p:ConversationTurn {id: n.parentId})
  MERGE (p)-[:NEXT]->(n)""",
)

OF_TURN = "\n  MATCH (t:ConversationTurn {id: row.turn})"

STEPS = ROWS.format(name="steps", label=Label.STEP, needs=OF_TURN, draw="  MERGE (n)-[:PART_OF]->(t)")

CALLS = ROWS.format(
    name="calls",
    label=Label.CALL,
    needs=OF_TURN,
    draw="  MERGE (t)-[:HAS_TOOL_CALL]->(n)\n  MERGE (n)-[:PART_OF]->(t)",
)

# An extract never takes the place of a model's summary, and a model's takes that of an extract, whichever
# machine was first. What a turn is embedded by holds its level 1 summary; a new text makes that vector old,
# and so does none. What was written from the old text is to be written anew.
SUMMARIES = """
CALL (late) {
  UNWIND $rows.summaries AS row
  WITH row WHERE NOT row.session IN late
  OPTIONAL MATCH (old:ConversationSummary {id: row.id})
  WITH row, old.summary AS text, old.method AS method
  WHERE NOT (coalesce(method = 'model', false) AND row.method = 'extractive')
  FOREACH (_ IN CASE WHEN row.make AND EXISTS { (:ConversationSession {sessionId: row.session}) }
      THEN [1] ELSE [] END |
    MERGE (new:ConversationSummary {id: row.id})
    ON CREATE SET new += row.first)
  WITH row, text, row.make AND coalesce(method <> row.method, false) AS instead
  MATCH (n:ConversationSummary {id: row.id})
  SET n += CASE WHEN instead THEN row.first ELSE {} END
  SET n += row.set
  WITH n, row, text
  CALL (n, text) {
    WITH n WHERE n.summary <> text
    MATCH (up:ConversationSummary)-[:SUMMARIZES]->(n)
    SET up.outdated = true
  }
  WITH n, row WHERE row.draw
  MATCH (s:ConversationSession {sessionId: n.sessionId})
  MERGE (s)-[:HAS_SUMMARY]->(n)
  WITH n
  CALL (n) {
    OPTIONAL MATCH (n)-[old:SUMMARIZES]->(child)
    WHERE NOT coalesce(child.id, '') IN n.covers
    DELETE old
    FOREACH (_ IN CASE WHEN child:ConversationTurn THEN [1] ELSE [] END | SET child.embeddingStale = true)
  }
  CALL (n) {
    WITH n WHERE n.level = 1
    MATCH (t:ConversationTurn) WHERE t.id IN n.covers
    MERGE (n)-[:SUMMARIZES]->(t)
    SET t.embeddingStale = true
  }
  CALL (n) {
    WITH n WHERE n.level > 1
    MATCH (c:ConversationSummary) WHERE c.id IN n.covers
    MERGE (n)-[:SUMMARIZES]->(c)
  }
}
"""
