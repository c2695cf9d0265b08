"""Due work (summaries, roll-ups, vectors) as indexed marks, so that a query costs no more than it finds.

Every write to what belongs to a session sets `carriedAt` of the session's node, in any version of ragforge.
So a reader first checks the sessions that were written since the last check, and sets the marks in them:
`summaryDue` on turns, `embeddingStale` on what has no vector, `awaitsChars` (the number of characters that
await a roll-up, at the level with the most) on the session. A mark may stay too long, but never comes too
late: a reader checks whether it is still valid.
"""

from datetime import datetime, timedelta

from ragforge.domain import timeouts
from ragforge.store.neo4j.connection import PLAN_ONCE, Graph
from ragforge.store.neo4j.rows import Label

SESSIONS_MAX = 200
"""How many one query checks."""

OF_ALL = str(Label.DATABASE)
OF_PROJECT = f"{Label.PROJECT} {{id: $project}}"

# `{0}` is the node with the time until which all was checked: of the project, or of the database.
LOOKED = """
MATCH (d:{0}) WITH d, datetime.realtime() AS now, coalesce(d.owedAt, datetime('1970-01-01')) AS since LIMIT 1
RETURN now, since, since < now - $margin AS old
"""
NOTE = "MATCH (d:{0}) SET d.owedAt = $until"

# A turn waits for a summary of level 2: level 1 only retells it. All is read first, and the session is
# written before what belongs to it, as the carrier does, so that the two cannot deadlock.
MARK = f"""{PLAN_ONCE}
MATCH (s:{Label.SESSION}) USING INDEX SEEK s:{Label.SESSION}({{0}}) WHERE {{1}}s.carriedAt >= $since
WITH s, s.carriedAt AS at ORDER BY at LIMIT $limit
CALL (s) {{{{
  OPTIONAL MATCH (t:{Label.TURN} {{{{sessionId: s.sessionId}}}})
  WITH t, EXISTS {{{{ (t)<-[:SUMMARIZES]-(:{Label.SUMMARY} {{{{level: 1}}}}) }}}} AS told,
    EXISTS {{{{ (t)<-[:SUMMARIZES]-(:{Label.SUMMARY})<-[:SUMMARIZES]-(:{Label.SUMMARY}) }}}} AS rolled
  RETURN collect(CASE WHEN told AND t.summaryDue THEN t END) AS told,
    collect(CASE WHEN NOT told AND t.summaryDue IS NULL THEN t END) AS due,
    collect(CASE WHEN t.embeddingModel IS NULL AND t.embeddingStale IS NULL THEN t END) AS turns,
    sum(CASE WHEN rolled OR t.endTime IS NULL THEN 0 ELSE t.charCount END) AS chars
}}}}
CALL (s) {{{{
  OPTIONAL MATCH (n:{Label.SUMMARY} {{{{sessionId: s.sessionId}}}})
  WITH n.level AS level,
    collect(CASE WHEN n.embeddingModel IS NULL AND n.embeddingStale IS NULL THEN n END) AS summaries,
    sum(CASE WHEN EXISTS {{{{ (n)<-[:SUMMARIZES]-(:{Label.SUMMARY}) }}}} THEN 0 ELSE n.charCount END) AS chars
  RETURN reduce(all = [], each IN collect(summaries) | all + each) AS summaries, max(chars) AS above
}}}}
CALL (s) {{{{
  OPTIONAL MATCH (s)-[:HAS_MEMORY]->(m:{Label.MEMORY})
  WHERE m.embeddingModel IS NULL AND m.embeddingStale IS NULL
  RETURN collect(m) AS memories
}}}}
WITH s, at, told, due, turns + summaries + memories AS stale,
  CASE WHEN chars > above THEN chars ELSE above END AS chars
FOREACH (_ IN CASE WHEN size(told) + size(due) + size(stale) > 0 OR coalesce(s.awaitsChars, -1) <> chars
    THEN [1] ELSE [] END | SET s.awaitsChars = chars)
FOREACH (t IN told | REMOVE t.summaryDue)
FOREACH (t IN due | SET t.summaryDue = true)
FOREACH (n IN stale | SET n.embeddingStale = true)
RETURN count(s) AS sessions, max(at) AS last
"""


async def mark_owed(graph: Graph, project_id: str | None) -> None:
    """Mark what is due in the project's sessions, or in all, that were written since the last time.

    If it is interrupted, the oldest are marked, and the next call continues there. Raises StoreUnavailable.
    """
    owner = OF_ALL if project_id is None else OF_PROJECT
    by = ("carriedAt", "") if project_id is None else ("projectId, carriedAt", "s.projectId = $project AND ")
    # What began before the previous check may be committed after it.
    margin = timedelta(seconds=timeouts.NEO4J_OWED_MARGIN_S)
    found = await graph.read(LOOKED.format(owner), project=project_id, margin=margin)
    if not found:
        return
    since: datetime = found[0]["since"] - margin
    limit = SESSIONS_MAX
    while True:
        (marked,) = await graph.run(MARK.format(*by), project=project_id, since=since, limit=limit)
        if marked["sessions"] < limit:
            break
        if marked["last"] <= since:
            # More were written at the same moment than one query checks.
            limit *= 2
        since = marked["last"]
        await graph.write(NOTE.format(owner), project=project_id, until=since)
    if found[0]["old"]:
        await graph.write(NOTE.format(owner), project=project_id, until=found[0]["now"])
