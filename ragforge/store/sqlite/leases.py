"""Leases in SQLite: rows with an expiry time."""

from ragforge.domain.ids import new_id
from ragforge.store.json_text import storable
from ragforge.store.sqlite.connection import Connection, Database

# The clock of the database is the machine's: the file is on a local disk.
NOW_MS = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"


class SqliteLeases:
    """Implements `Leases`. Each opened store is a holder of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._holder = new_id()

    async def take(self, what: str, *, seconds: float) -> bool:
        """Take it or extend one's own; return False while somebody else has it."""

        def write(connection: Connection) -> bool:
            connection.execute(f"DELETE FROM lease WHERE until <= {NOW_MS}")
            connection.execute(
                f"INSERT INTO lease VALUES (?, ?, {NOW_MS} + ?) ON CONFLICT (what) DO UPDATE "
                "SET until = excluded.until WHERE holder = excluded.holder",
                (storable(what), self._holder, int(seconds * 1000)),
            )
            return bool(connection.changes())

        return await self._database.write(write)

    async def give_back(self, what: str) -> None:

        def write(connection: Connection) -> None:
            connection.execute(
                "DELETE FROM lease WHERE what = ? AND holder = ?", (storable(what), self._holder)
            )

        await self._database.write(write)
