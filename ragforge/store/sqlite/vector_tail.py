"""Vectors that are in no block yet: whether they are many, and their codes."""

import json
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from ragforge.domain.blas import load_numpy
from ragforge.store.sqlite.connection import Connection

SEALED_MIN = 1_024
"""Fewer rows wait: each sealing rewrites the block that they belong to."""
WAITS = "(change, embedding.owner) > (SELECT sealed_change, sealed_owner FROM embedder)"
ARE_MANY_WAITING = f"SELECT 1 FROM embedding WHERE {WAITS} LIMIT 1 OFFSET {SEALED_MIN - 1}"
CODED_AT_ONCE = 256


def write_codes(connection: Connection, owners: Sequence[int]) -> None:
    """Store the codes of these owners' vectors, none of which is truncated."""
    if not owners:
        return
    load_numpy()
    from ragforge.store.sqlite.vector_codes import codes_of
    from ragforge.store.sqlite.vector_shelves import units_of

    for at in range(0, len(owners), CODED_AT_ONCE):
        rows = connection.execute(
            "SELECT dimensions, owner, vector FROM json_each(?) JOIN embedding ON owner = value "
            "ORDER BY dimensions",
            (json.dumps(owners[at : at + CODED_AT_ONCE]),),
        )
        for dimensions, group in groupby(rows, key=itemgetter(0)):
            vectors = {owner: vector for _, owner, vector in group}
            codes = codes_of(units_of(vectors.values(), dimensions))
            connection.executemany(
                "INSERT OR REPLACE INTO vector_code VALUES (?, ?)", zip(vectors, codes, strict=True)
            )
