"""Laws of the graph: queries for what violates them, and statements that repair it.

A query returns the ids of what it finds as `id`; `{limit}` stands where it may stop. Relationships are
created from the properties that name what a node belongs to, so these decide. Texts are never deleted.
"""

from msgspec import Struct

from ragforge.store.neo4j.rows import Label

BATCH = 500

_SESSION, _TURN, _CALL, _STEP, _SUMMARY = Label.SESSION, Label.TURN, Label.CALL, Label.STEP, Label.SUMMARY
_MEMORY, _VERSION = Label.MEMORY, Label.VERSION


def _noun(label: Label) -> str:
    """Return the label's name for people."""
    return str(label).removeprefix("Conversation")


class Law(Struct, frozen=True):
    """sentence: with {} for the id. repair: a statement for all violations, if there is one."""

    sentence: str
    find: str
    repair: str = ""
    repaired: str = ""
    """The repair, as a sentence."""


class Tie(Struct, frozen=True):
    """A relationship and the property it is created from: (owner {key}) - (owned {named_by}).

    inward: it points from the owned to its owner.
    """

    type: str
    owner: Label
    key: str
    owned: Label
    named_by: str
    inward: bool = False

    @property
    def pattern(self) -> str:
        """The pattern between `o`, the owner, and `n`."""
        return f"(o)<-[r:{self.type}]-(n)" if self.inward else f"(o)-[r:{self.type}]->(n)"

    @property
    def id(self) -> str:
        """The property with the id of the owned."""
        return "n.sessionId" if self.owned is _SESSION else "n.id"


TIES = (
    Tie("HAS_SESSION", Label.PROJECT, "id", _SESSION, "projectId"),
    Tie("HAS_TURN", _SESSION, "sessionId", _TURN, "sessionId"),
    Tie("WROTE", Label.PERSON, "id", _TURN, "person"),
    Tie("NEXT", _TURN, "id", _TURN, "parentId"),
    Tie("HAS_TOOL_CALL", _TURN, "id", _CALL, "turnId"),
    Tie("PART_OF", _TURN, "id", _CALL, "turnId", inward=True),
    Tie("PART_OF", _TURN, "id", _STEP, "turnId", inward=True),
    Tie("HAS_SUMMARY", _SESSION, "sessionId", _SUMMARY, "sessionId"),
    Tie("HAS_VERSION", Label.PROJECT, "id", _VERSION, "projectId"),
    Tie("MADE_IN", Label.TURN, "id", _VERSION, "turnId", inward=True),
    Tie("HAS_BRANCH", Label.PROJECT, "id", Label.BRANCH, "projectId"),
    Tie("POINTS_TO", _VERSION, "id", Label.BRANCH, "versionId", inward=True),
    Tie("HAS_MOVE", Label.PROJECT, "id", Label.MOVE, "projectId"),
)


def laws(*, embedder: str, dimensions: int) -> list[Law]:
    """Return all of them, for the current embedder."""
    found = [law for tie in TIES for law in _of_tie(tie)]
    # A call has two relationships to its turn; one sentence is enough if it has none.
    found = list({(law.sentence, law.find): law for law in found}.values())
    found = [*found, *_OTHERS, *_OF_TREE, *_of_covers(), *_of_memories(), *_of_derived()]
    return [*found, *_of_vectors(embedder, dimensions)]


def _of_tie(tie: Tie) -> tuple[Law, ...]:
    """Return the laws of a tie: both ends are stored, and the relationship exists there and only once."""
    return _orphans(tie), _astray(tie), _doubled(tie), _undrawn(tie)


def _orphans(tie: Tie) -> Law:
    return Law(
        f"{_noun(tie.owned)} {{}} names a {_noun(tie.owner)} that is not stored.",
        f"MATCH (n:{tie.owned}) WHERE n.{tie.named_by} IS NOT NULL "
        f"AND NOT EXISTS {{ MATCH (o:{tie.owner}) WHERE o.{tie.key} = n.{tie.named_by} }} "
        f"RETURN {tie.id} AS id LIMIT $limit",
    )


def _astray(tie: Tie) -> Law:
    found = (
        f"MATCH {tie.pattern.replace('(n)', f'(n:{tie.owned})')} "
        f"WHERE NOT coalesce(o:{tie.owner} AND o.{tie.key} = n.{tie.named_by}, false)"
    )
    return Law(
        f"{_noun(tie.owned)} {{}} has a {tie.type} that its {tie.named_by} does not name.",
        f"{found} RETURN DISTINCT {tie.id} AS id LIMIT $limit",
        f"{found} CALL (r) {{ DELETE r }} IN TRANSACTIONS OF {BATCH} ROWS",
        "It was removed.",
    )


def _doubled(tie: Tie) -> Law:
    ends = f"(n)-[:{tie.type}]->()" if tie.inward else f"(n)<-[:{tie.type}]-()"
    found = f"MATCH (n:{tie.owned}) WHERE COUNT {{ {ends} }} > 1"
    return Law(
        f"{_noun(tie.owned)} {{}} has more than one {tie.type}.",
        f"{found} RETURN {tie.id} AS id LIMIT $limit",
        f"{found} CALL (n) {{ MATCH {tie.pattern} WITH o, collect(r) AS drawn "
        "UNWIND tail(drawn) AS more DELETE more } "
        f"IN TRANSACTIONS OF {BATCH} ROWS",
        "Only one was kept.",
    )


def _undrawn(tie: Tie) -> Law:
    bare = tie.pattern.replace("[r:", "[:")
    found = (
        f"MATCH (n:{tie.owned}) WHERE n.{tie.named_by} IS NOT NULL "
        f"MATCH (o:{tie.owner}) WHERE o.{tie.key} = n.{tie.named_by} AND NOT EXISTS {{ {bare} }}"
    )
    return Law(
        f"{_noun(tie.owned)} {{}} lacks its {tie.type}.",
        f"{found} RETURN {tie.id} AS id LIMIT $limit",
        f"{found} CALL (o, n) {{ MERGE {tie.pattern} }} IN TRANSACTIONS OF {BATCH} ROWS",
        "It was added.",
    )


_HEAD_LOST = (
    f"MATCH (s:{_SESSION}) WHERE s.headId IS NOT NULL "
    f"AND NOT EXISTS {{ MATCH (t:{_TURN}) WHERE t.id = s.headId }}"
)
_DUE = (
    f"CASE WHEN n.parentId IS NULL THEN 0 ELSE COLLECT {{ MATCH (p:{_TURN}) WHERE p.id = n.parentId "
    "RETURN p.turnIndex + 1 }[0] END"
)

_OTHERS = (
    Law(
        "Session {} has a head that is not stored.",
        f"{_HEAD_LOST} RETURN s.sessionId AS id LIMIT $limit",
        f"{_HEAD_LOST} CALL (s) {{ OPTIONAL MATCH (t:{_TURN}) WHERE t.sessionId = s.sessionId "
        "WITH s, t ORDER BY t.timestamp DESC, t.id DESC LIMIT 1 SET s.headId = t.id } "
        f"IN TRANSACTIONS OF {BATCH} ROWS",
        "Its newest turn is its head now.",
    ),
    Law(
        "Turn {} is not one level below its parent.",
        f"MATCH (n:{_TURN}) WITH n, {_DUE} AS due WHERE n.turnIndex <> due RETURN n.id AS id LIMIT $limit",
    ),
    Law(
        # A turn with the right index cannot be on a circle, so few are checked.
        "Turn {} is its own ancestor.",
        f"MATCH (n:{_TURN}) WITH n, {_DUE} AS due WHERE n.turnIndex <> due "
        f"MATCH (n)<-[:NEXT*1..]-(a:{_TURN}) WHERE a = n RETURN DISTINCT n.id AS id LIMIT $limit",
    ),
    *(
        Law(
            f"{_noun(label)} {{}} cannot be found by search.",
            f"MATCH (n:{label}) WHERE n.searchScope IS NULL RETURN n.id AS id LIMIT $limit",
        )
        for label in (_TURN, _CALL, _SUMMARY, _MEMORY, _VERSION)
    ),
    Law(
        "The database has more than one RagforgeDatabase node: {}.",
        f"MATCH (d:{Label.DATABASE}) WITH d ORDER BY d.id SKIP 1 RETURN d.id AS id LIMIT $limit",
    ),
)


# What a version comes from is a list, so it is not a Tie.
_ABOVE = f"MATCH (n:{_VERSION}) UNWIND range(0, size(n.parents) - 1) AS ord"
_STORED = f"{_ABOVE} MATCH (p:{_VERSION}) WHERE p.id = n.parents[ord]"
_UNDRAWN = f"{_STORED} AND NOT EXISTS {{ (n)-[:PARENT {{ord: ord}}]->(p) }} WITH n, ord, p"
_ASTRAY = f"MATCH (n:{_VERSION})-[r:PARENT]->(p) WHERE NOT coalesce(n.parents[r.ord] = p.id, false)"
_DOUBLED = (
    f"MATCH (n:{_VERSION})-[r:PARENT]->(p) WITH n, r.ord AS ord, collect(r) AS drawn WHERE size(drawn) > 1"
)
_LATE = "(p.timestamp > n.timestamp OR p.timestamp = n.timestamp AND p.id >= n.id)"

_OF_TREE = (
    Law(
        "Version {} names a parent that is not stored.",
        f"{_ABOVE} WITH n, ord WHERE NOT EXISTS {{ MATCH (p:{_VERSION}) WHERE p.id = n.parents[ord] }} "
        "RETURN DISTINCT n.id AS id LIMIT $limit",
    ),
    Law(
        "Version {} has a PARENT that its parents do not name.",
        f"{_ASTRAY} RETURN DISTINCT n.id AS id LIMIT $limit",
        f"{_ASTRAY} CALL (r) {{ DELETE r }} IN TRANSACTIONS OF {BATCH} ROWS",
        "It was removed.",
    ),
    Law(
        "Version {} has the same PARENT more than once.",
        f"{_DOUBLED} RETURN DISTINCT n.id AS id LIMIT $limit",
        f"{_DOUBLED} CALL (drawn) {{ UNWIND tail(drawn) AS more DELETE more }} "
        f"IN TRANSACTIONS OF {BATCH} ROWS",
        "Only one was kept.",
    ),
    Law(
        "Version {} lacks a PARENT.",
        f"{_UNDRAWN} RETURN DISTINCT n.id AS id LIMIT $limit",
        f"{_UNDRAWN} CALL (n, ord, p) {{ MERGE (n)-[:PARENT {{ord: ord}}]->(p) }} "
        f"IN TRANSACTIONS OF {BATCH} ROWS",
        "It was added.",
    ),
    Law(
        "Version {} does not come after its parent, or belongs to another project.",
        f"{_STORED} AND ({_LATE} OR p.projectId <> n.projectId) RETURN DISTINCT n.id AS id LIMIT $limit",
    ),
    Law(
        # A version that is later than all its parents is on no circle, so few are checked.
        "Version {} is its own ancestor.",
        f"{_STORED} AND {_LATE} WITH DISTINCT n "
        f"MATCH (n)-[:PARENT]->(up:{_VERSION}) WITH n, up "
        f"MATCH ANY SHORTEST (up)-[:PARENT]->*(n) RETURN DISTINCT n.id AS id LIMIT $limit",
    ),
    Law(
        "Version {} names a Session that is not stored.",
        f"MATCH (n:{_VERSION}) WHERE n.sessionId IS NOT NULL AND NOT EXISTS {{ "
        f"MATCH (s:{Label.SESSION}) WHERE s.sessionId = n.sessionId }} RETURN n.id AS id LIMIT $limit",
    ),
)


def _of_covers() -> tuple[Law, ...]:
    """Return the laws of what a summary covers, which is a list, so it is not a Tie."""
    covered = f"(c:{_TURN}|{_SUMMARY})"
    stored = (
        f"CASE WHEN n.level = 1 THEN COLLECT {{ MATCH (c:{_TURN}) WHERE c.id IN n.covers RETURN c }} "
        f"ELSE COLLECT {{ MATCH (c:{_SUMMARY}) WHERE c.id IN n.covers RETURN c }} END"
    )
    undrawn = (
        f"MATCH (n:{_SUMMARY}) UNWIND {stored} AS c WITH n, c WHERE NOT EXISTS {{ (n)-[:SUMMARIZES]->(c) }}"
    )
    astray = f"MATCH (n:{_SUMMARY})-[r:SUMMARIZES]->{covered} WHERE NOT coalesce(c.id IN n.covers, false)"
    return (
        Law(
            "Summary {} covers nothing that is stored.",
            f"MATCH (n:{_SUMMARY}) WITH n, size({stored}) AS stored WHERE stored = 0 "
            "RETURN n.id AS id LIMIT $limit",
        ),
        Law(
            "Summary {} has a SUMMARIZES that its covers do not name.",
            f"{astray} RETURN DISTINCT n.id AS id LIMIT $limit",
            f"{astray} CALL (r) {{ DELETE r }} IN TRANSACTIONS OF {BATCH} ROWS",
            "It was removed.",
        ),
        Law(
            "Summary {} lacks a SUMMARIZES.",
            f"{undrawn} RETURN DISTINCT n.id AS id LIMIT $limit",
            f"{undrawn} CALL (n, c) {{ MERGE (n)-[:SUMMARIZES]->(c) }} IN TRANSACTIONS OF {BATCH} ROWS",
            "It was added.",
        ),
    )


def _of_memories() -> tuple[Law, ...]:
    """Return the laws of memories, whose owners share a relationship, and whose evidence is a list."""
    owned = f"MATCH (n:{_MEMORY})<-[r:HAS_MEMORY]-(o)"
    foreign = (
        f"{owned} WHERE NOT coalesce(o:{Label.PROJECT} AND o.id = n.projectId "
        f"OR o:{_SESSION} AND o.sessionId = n.sessionId, false)"
    )
    lone = f"MATCH (n:{_MEMORY}) MATCH (o:{Label.PROJECT}) WHERE o.id = n.projectId"
    lone += " AND NOT EXISTS { (o)-[:HAS_MEMORY]->(n) }"
    unproven = f"MATCH (n:{_MEMORY}) UNWIND n.evidence AS proof MATCH (t:{_TURN}) WHERE t.id = proof"
    unproven += " AND NOT EXISTS { (n)-[:EVIDENCE]->(t) } WITH n, t"
    astray = f"MATCH (n:{_MEMORY})-[r:EVIDENCE]->(t) WHERE NOT coalesce(t.id IN n.evidence, false)"
    return (
        Law(
            "Memory {} names a Project that is not stored.",
            f"MATCH (n:{_MEMORY}) WHERE NOT EXISTS {{ MATCH (o:{Label.PROJECT}) WHERE o.id = n.projectId }} "
            "RETURN n.id AS id LIMIT $limit",
        ),
        Law(
            "Memory {} has a HAS_MEMORY that neither its projectId nor its sessionId names.",
            f"{foreign} RETURN DISTINCT n.id AS id LIMIT $limit",
            f"{foreign} CALL (r) {{ DELETE r }} IN TRANSACTIONS OF {BATCH} ROWS",
            "It was removed.",
        ),
        Law(
            "Memory {} lacks the HAS_MEMORY of its Project.",
            f"{lone} RETURN n.id AS id LIMIT $limit",
            f"{lone} CALL (o, n) {{ MERGE (o)-[:HAS_MEMORY]->(n) }} IN TRANSACTIONS OF {BATCH} ROWS",
            "It was added.",
        ),
        Law(
            "Memory {} has an EVIDENCE that its evidence does not name.",
            f"{astray} RETURN DISTINCT n.id AS id LIMIT $limit",
            f"{astray} CALL (r) {{ DELETE r }} IN TRANSACTIONS OF {BATCH} ROWS",
            "It was removed.",
        ),
        Law(
            "Memory {} lacks an EVIDENCE.",
            f"{unproven} RETURN DISTINCT n.id AS id LIMIT $limit",
            f"{unproven} CALL (n, t) {{ MERGE (n)-[:EVIDENCE]->(t) }} IN TRANSACTIONS OF {BATCH} ROWS",
            "It was added.",
        ),
    )


def _of_derived() -> tuple[Law, ...]:
    """Return the laws of derived records, whose relationship to the owner is of the kind's own type."""
    owners = ((Label.PROJECT, "id", "project"), (_SESSION, "sessionId", "session"), (_TURN, "id", "turn"))
    stored = " UNION ".join(
        f"MATCH (n:{Label.DERIVED} {{ownerKind: '{kind}'}}) "
        f"{{match}} MATCH (o:{label}) WHERE o.{key} = n.ownerId RETURN n, o"
        for label, key, kind in owners
    )
    undrawn = (
        f"CALL () {{ {stored.replace('{match}', '')} }} WITH n, o "
        "WHERE NOT EXISTS { (n)-[r]->(o) WHERE type(r) = n.relation }"
    )
    orphans = stored.replace("{match}", "OPTIONAL")
    return (
        Law(
            "Derived record {} belongs to something that is not stored.",
            f"CALL () {{ {orphans} }} WITH n, o WHERE o IS NULL RETURN n.id AS id LIMIT $limit",
            f"CALL () {{ {orphans} }} WITH n, o WHERE o IS NULL "
            f"CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF {BATCH} ROWS",
            "It was removed.",
        ),
        Law(
            "Derived record {} lacks the relationship to its owner.",
            f"{undrawn} RETURN n.id AS id LIMIT $limit",
            f"{undrawn} CALL (n, o) {{ MERGE (n)-[:$(n.relation)]->(o) }} IN TRANSACTIONS OF {BATCH} ROWS",
            "It was added.",
        ),
    )


def _of_vectors(embedder: str, dimensions: int) -> list[Law]:
    forget = (
        "CALL (n) { REMOVE n.embedding, n.embeddingModel, n.embeddingHash SET n.embeddingStale = true } "
        f"IN TRANSACTIONS OF {BATCH} ROWS"
    )
    found: list[Law] = []
    for label in (_TURN, _SUMMARY, _MEMORY):
        half = (
            f"MATCH (n:{label}) WHERE (n.embedding IS NULL) <> (n.embeddingModel IS NULL) "
            "OR (n.embedding IS NULL) <> (n.embeddingHash IS NULL)"
        )
        wrong = f"MATCH (n:{label}) WHERE n.embeddingModel = $embedder AND size(n.embedding) <> $dimensions"
        found.append(
            Law(
                f"{_noun(label)} {{}} has only a part of its embedding, its model and its hash.",
                f"{half} RETURN n.id AS id LIMIT $limit",
                f"{half} {forget}",
                "It will be embedded again.",
            )
        )
        if embedder:
            found.append(
                Law(
                    f"{_noun(label)} {{}} has a vector of {embedder} that is not {dimensions} long.",
                    f"{wrong} RETURN n.id AS id LIMIT $limit",
                    f"{wrong} {forget}",
                    "It will be embedded again.",
                )
            )
    return found
