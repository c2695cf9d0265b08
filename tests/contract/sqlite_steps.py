"""What a statement costs in SQLite, apart from time."""

from pathlib import Path
from typing import Any

import apsw


def steps_of(path: Path, sql: str, values: Any) -> tuple[int, int]:
    """How many steps SQLite's machine takes for the statement, and how many rows come of it."""
    steps: list[int] = []

    def note(event: dict[str, Any]) -> None:
        steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])

    connection: Any = apsw.Connection(str(path))  # its types are partly unknown
    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
    rows = len(list(connection.execute(sql, values)))
    connection.close()
    (count,) = steps
    return count, rows
