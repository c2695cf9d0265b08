"""The schema of each role's database."""

from typing import assert_never

from ragforge.store.files import Role
from ragforge.store.schemas import BLOBS, HISTORY, LOCAL
from ragforge.store.sqlite.prepare import Schema


def schema_of(role: Role) -> Schema:
    """Return the schema of this role's database."""
    # The others are loaded on request: one loads a driver.
    match role:
        case Role.CONVERSATIONS:
            from ragforge.store.sqlite.migrations import STORE as found
        case Role.CONTENTS:
            found = BLOBS
        case Role.VERSIONS:
            found = HISTORY
        case Role.MACHINE:
            found = LOCAL
        case Role.OUTBOX:
            from ragforge.store.neo4j.outbox import OUTBOX as found
        case _:
            assert_never(role)
    return found
