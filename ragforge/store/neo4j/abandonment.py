"""Which turns are abandoned: not on the path to any session's head. Their nodes have `left: true`.

It is updated right after the query that moves a head. If a turn is not abandoned, neither are its ancestors;
so when a turn changes, its ancestors are checked only as far as they change. A load of many records in any
order would check the same turns repeatedly: instead it records that all must be checked (`leftStale` on the
node of the database), and the next reader that needs it does so.
"""

from collections.abc import Mapping

from ragforge.domain import timeouts
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.memory_state import CHANGED
from ragforge.store.neo4j.rows import Label

BATCH = 1_000

_HEAD = "EXISTS {{ MATCH (s:ConversationSession) WHERE s.headId = {0}.id }}"

# A list of lists of ids, each checked after those before it; in a map, whose lists have no sizes to plan
# for: see `carry.py`. `turned`: how many changed.
_SETTLE = f"""CYPHER replan=skip WITH [$ids.of] AS moved
CALL (moved) {{
  UNWIND moved AS ids
  UNWIND ids AS id
  CALL (id) {{
    MATCH (x:{Label.TURN} {{id: id}})
    WITH x, {_HEAD.format("x")} OR EXISTS {{ (x)-[:NEXT]->(below) WHERE below.left IS NULL }} AS kept
    WITH x, kept, CASE WHEN kept = coalesce(x.left, false) THEN 1 ELSE 0 END AS itself
    SET x.left = CASE WHEN kept THEN null ELSE true END
    WITH x, kept, itself
    CALL (x, kept) {{
      WITH x WHERE kept
      MATCH (x)((:{Label.TURN})<-[:NEXT]-(up:{Label.TURN} WHERE up.left))+(y)
      SET y.left = null
      RETURN count(y) AS back
    }}
    CALL (x, kept) {{
      WITH x WHERE NOT kept
      MATCH (x)((down:{Label.TURN})<-[:NEXT]-(up:{Label.TURN}) WHERE NOT {_HEAD.format("up")}
        AND NOT EXISTS {{ (up)-[:NEXT]->(below) WHERE below <> down AND below.left IS NULL }})+(y)
      SET y.left = true
      RETURN count(y) AS gone
    }}
    RETURN itself + back + gone AS turned
  }}
  RETURN sum(turned) AS turned
}}
"""

SETTLE_THESE = f"{_SETTLE}RETURN turned"
# All is up to date now, unless a load came meanwhile. A batch that is sent again changes nothing.
SETTLE_MOVED = f"""{_SETTLE}
WITH * MATCH (d:{Label.DATABASE})
FOREACH (_ IN CASE WHEN turned > 0 THEN [1] ELSE [] END | SET d.memoryState = $mark)
WITH d WHERE d.leftStale = $mark REMOVE d.leftStale
"""

# Of a node `{0}`; no query uses the names in these. Turns that are not stored (yet) do not count. What the
# user said by a command is abandoned with no turn.
MEMORY_ABANDONED = """({0}.source <> 'person' AND coalesce(COLLECT {{
  UNWIND {0}.evidence AS proof MATCH (proven:ConversationTurn {{id: proof}})
  RETURN coalesce(proven.left, false) AS gone ORDER BY gone LIMIT 1
}}[0], false))"""
LINK_ABANDONED = "EXISTS {{ MATCH (told:ConversationTurn {{id: {0}.turn}}) WHERE told.left }}"
SUMMARY_ABANDONED = "EXISTS {{ ({0})-[:SUMMARIZES*1..]->(under:ConversationTurn) WHERE under.left }}"

ABANDONED = f"MATCH (t:{Label.TURN}) WHERE t.id IN $ids AND t.left RETURN t.id AS id"

TURNS = f"""
MATCH (t:{Label.TURN}) WHERE t.turnIndex IS NOT NULL
RETURN t.id AS id, t.parentId AS parent, t.turnIndex AS depth, coalesce(t.left, false) AS abandoned
"""
HEADS = f"MATCH (s:{Label.SESSION}) WHERE s.headId IS NOT NULL RETURN s.headId AS head"
STALE = f"MATCH (d:{Label.DATABASE}) WHERE d.leftStale IS NOT NULL RETURN d.leftStale AS stale"
# Another load may have come meanwhile, after which all must be checked once more.
FRESH = f"MATCH (d:{Label.DATABASE}) WHERE d.leftStale = $stale REMOVE d.leftStale"


async def wrongly_marked(graph: Graph) -> list[str]:
    """Return the ids of turns that are wrongly marked as abandoned, or wrongly not; lowest first.

    Excludes turns that are their own ancestors: each would have to be abandoned before the other.
    """
    # The head first: of a turn that comes meanwhile, it is better to know too little than too much.
    parents: dict[str, str | None] = {}
    marked: dict[str, bool] = {}
    depths: dict[str, int] = {}
    async for row in graph.stream(TURNS, deadline_s=timeouts.NEO4J_STREAM_S_MAX):
        parents[row["id"]], marked[row["id"]], depths[row["id"]] = (
            row["parent"],
            row["abandoned"],
            row["depth"],
        )
    kept: set[str] = set()
    for row in await graph.read(HEADS, deadline_s=timeouts.NEO4J_STREAM_S_MAX):
        turn = row["head"]
        while turn in parents and turn not in kept:
            kept.add(turn)
            turn = parents[turn]
    endless = _on_circles(parents, depths)
    wrong = [turn for turn, mark in marked.items() if mark == (turn in kept) and turn not in endless]
    return sorted(wrong, key=lambda turn: (-depths[turn], turn))


def _on_circles(parents: Mapping[str, str | None], depths: Mapping[str, int]) -> set[str]:
    """Return the turns that are their own ancestors."""
    # On each circle some turn is not below its parent, and there are few such turns.
    odd = [turn for turn, up in parents.items() if up and depths.get(up, -1) >= depths[turn]]
    found: set[str] = set()
    for turn in odd:
        passed: set[str] = set()
        above = parents[turn]
        while above is not None and above in parents and above not in passed:
            passed.add(above)
            above = parents[above]
        if turn in passed:
            found |= passed
    return found


async def mark_afresh(graph: Graph, wrong: list[str]) -> None:
    """Correct these marks, according to the turns around them at that time."""
    for start in range(0, len(wrong), BATCH):
        await graph.write(
            SETTLE_THESE, ids={"of": wrong[start : start + BATCH]}, deadline_s=timeouts.NEO4J_RUN_S_MAX
        )
    if wrong:
        await graph.write(CHANGED)


async def mark_all(graph: Graph) -> None:
    """Correct all marks, if a load left that to be done."""
    found = await graph.read(STALE)
    if found:
        await mark_afresh(graph, await wrongly_marked(graph))
        await graph.write(FRESH, stale=found[0]["stale"])
