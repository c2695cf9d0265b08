"""Rebuild derived data. Turns, steps and tool calls are read, never written."""

from ragforge.store.sqlite.abandonment import count_afresh
from ragforge.store.sqlite.check import (
    LACKING_VERSIONS,
    OF_NOTHING,
    UNOWNED,
    WRONG_COVERS,
    WRONG_VECTOR,
    findings,
)
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.index import index_call, index_memory, index_summary, index_turn, index_version
from ragforge.store.sqlite.owed import list_afresh
from ragforge.store.sqlite.vector_tail import write_codes
from ragforge.store.sqlite.vectors import drop_embeddings, move_embeddings, seal_afresh

INDEXED = (
    ("turn", index_turn),
    ("tool_call", index_call),
    ("summary", index_summary),
    ("memory", index_memory),
    ("version", index_version),
)


def repaired(connection: Connection) -> list[str]:
    """Return what was repaired, in sentences; empty if nothing was wrong."""
    if not findings(connection):
        return []
    done = [_index_words(connection), *_drop_covers(connection), *_drop_embeddings(connection)]
    connection.execute(f"DELETE FROM derived WHERE {UNOWNED}")
    if count := connection.changes():
        done.append(f"Removed {count} derived records of owners that are not stored.")
    owners = [row[0] for row in connection.execute("SELECT owner FROM embedding")]
    move_embeddings(connection, owners)
    connection.execute("DELETE FROM vector_code")
    write_codes(connection, owners)
    seal_afresh(connection)
    list_afresh(connection)
    count_afresh(connection)
    connection.execute(f"DELETE FROM unversioned WHERE turn NOT IN ({LACKING_VERSIONS})")
    return [*done, "Rebuilt the lists of pending summaries and embeddings, and of abandoned turns."]


def _index_words(connection: Connection) -> str:
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    for table, index in INDEXED:
        for (key,) in connection.execute(f"SELECT key FROM {table} ORDER BY key"):
            index(connection, key)
    (count,) = next(connection.execute("SELECT count(*) FROM words_docsize"))
    return f"Rebuilt the search index: {count} rows."


def _drop_covers(connection: Connection) -> list[str]:
    """Remove covers that lead nowhere, then summaries that cover nothing any more."""
    connection.execute(f"DELETE FROM cover WHERE (summary, position) IN ({WRONG_COVERS})")
    covers = connection.changes()
    summaries = 0
    while empty := list(
        connection.execute("SELECT key, id FROM summary WHERE key NOT IN (SELECT summary FROM cover)")
    ):
        keys = [key for key, _ in empty]
        connection.executemany("DELETE FROM cover WHERE covered = ?", [(each,) for _, each in empty])
        connection.executemany("DELETE FROM words WHERE rowid = ?", [(key,) for key in keys])
        connection.executemany("DELETE FROM summary WHERE key = ?", [(key,) for key in keys])
        drop_embeddings(connection, keys)
        summaries += len(keys)
    done = [f"Removed {covers} links of summaries to something that is not stored."] if covers else []
    return done + ([f"Removed {summaries} summaries that covered nothing."] if summaries else [])


def _drop_embeddings(connection: Connection) -> list[str]:
    rows = connection.execute(f"SELECT owner FROM embedding WHERE {OF_NOTHING} OR {WRONG_VECTOR}")
    wrong = [row[0] for row in rows]
    drop_embeddings(connection, wrong)
    return (
        [f"Removed {len(wrong)} embeddings that belonged to nothing, were truncated or empty."]
        if wrong
        else []
    )
