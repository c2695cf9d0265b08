"""One step through the graph from search results."""

import json
from collections.abc import Mapping, Sequence

from ragforge.domain.search import Candidate, HitKind, Related, Relation
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.places import candidates_of

# Of the ids in a JSON list: each with the keys of the turns one step away, in their order.
STEPS: Mapping[HitKind, str] = {
    # The turn before and those after it, oldest first.
    HitKind.TURN: """
SELECT value, beside.key, beside.depth, beside.started_at, beside.id
FROM json_each(:ids) CROSS JOIN turn ON turn.id = value CROSS JOIN turn AS beside ON beside.key = turn.parent
UNION ALL
SELECT value, beside.key, beside.depth, beside.started_at, beside.id
FROM json_each(:ids) CROSS JOIN turn ON turn.id = value CROSS JOIN turn AS beside ON beside.parent = turn.key
ORDER BY 3, 4, 5
""",
    HitKind.TOOL_CALL: """
SELECT value, turn FROM json_each(:ids) CROSS JOIN tool_call ON tool_call.id = value
""",
    HitKind.SUMMARY: """
SELECT value, turn.key FROM json_each(:ids) CROSS JOIN summary ON summary.id = value
    CROSS JOIN cover ON cover.summary = summary.key CROSS JOIN turn ON turn.id = covered ORDER BY position
""",
    HitKind.MEMORY: """
SELECT value, turn.key FROM json_each(:ids) CROSS JOIN memory ON memory.id = value
    CROSS JOIN evidence ON evidence.memory = memory.key CROSS JOIN turn ON turn.id = evidence.turn
ORDER BY position
""",
    HitKind.VERSION: """
SELECT value, turn FROM json_each(:ids) CROSS JOIN version ON version.id = value WHERE turn IS NOT NULL
""",
}


def related_turns(connection: Connection, candidates: Sequence[Candidate], *, limit: int) -> list[Related]:
    """Return at most so many in all, in the order of the candidates."""
    found: dict[tuple[HitKind, str], list[int]] = {(each.kind, each.id): [] for each in candidates}
    for kind, sql in STEPS.items():
        ids = [identifier for of, identifier in found if of is kind]
        if ids:
            for identifier, turn, *_ in connection.execute(sql, {"ids": json.dumps(ids)}):
                found[kind, identifier].append(turn)
    steps = [(each, turn) for each in candidates for turn in found[each.kind, each.id]][: max(0, limit)]
    keys = list(dict.fromkeys(turn for _, turn in steps))
    turns = dict(zip(keys, candidates_of(connection, keys), strict=True))
    return [Related(each.id, _relation(each), turns[turn]) for each, turn in steps]


def _relation(candidate: Candidate) -> Relation:
    return Relation.NEIGHBOUR if candidate.kind is HitKind.TURN else Relation.CITED
