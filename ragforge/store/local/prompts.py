"""The user's input on this machine: sent before, not sent yet, and waiting for a turn to end."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from ragforge.domain.errors import StoreNewer
from ragforge.domain.messages import Parts, parts_from_json, parts_to_json
from ragforge.store.local.database import LocalDatabase, clean, ms
from ragforge.store.sqlite.connection import Connection


def commands_key(of: str) -> str:
    """The queue with what the user ran in a session, or in `cwd:<path>`, since the last message."""
    return f"commands of {of}"


class Prompts:
    """The prompt history, drafts, and queued messages."""

    def __init__(self, database: LocalDatabase, *, history_max: int) -> None:
        self._database = database
        self._history_max = history_max

    async def add(self, text: str, *, project_id: str) -> None:
        """Append a message to the history, unless it repeats the project's last one."""
        text = clean(text)

        def job(connection: Connection) -> None:
            last = connection.execute(
                "SELECT text FROM prompt WHERE project = ? ORDER BY number DESC LIMIT 1", (project_id,)
            )
            if (text,) in last:
                return
            connection.execute(
                "INSERT INTO prompt (project, at, text) VALUES (?, ?, ?)", (project_id, ms(), text)
            )
            connection.execute(
                "DELETE FROM prompt WHERE number <= "
                "(SELECT number FROM prompt ORDER BY number DESC LIMIT 1 OFFSET ?)",
                (self._history_max,),
            )

        if text.strip():
            await self._database.write(job)

    async def history(
        self, *, project_id: str | None = None, containing: str = "", limit: int = 1000
    ) -> list[str]:
        """Return the history, newest first, each text once; of one project, or of all."""
        wanted = containing.casefold()

        def job(connection: Connection) -> list[str]:
            found: dict[str, None] = {}
            rows = connection.execute(
                "SELECT text FROM prompt WHERE ?1 IS NULL OR project = ?1 ORDER BY number DESC", (project_id,)
            )
            # In Python, because SQLite only folds the case of ASCII.
            for (text,) in rows:
                if len(found) >= limit:
                    break
                if wanted in text.casefold():
                    found.setdefault(text)
            return list(found)

        return await self._database.read(job)

    async def set_draft(self, key: str, text: str) -> None:
        """Save an unsent draft, for a session's id or `cwd:<path>`; empty text removes it."""

        def job(connection: Connection) -> None:
            if text:
                connection.execute(
                    "INSERT OR REPLACE INTO draft VALUES (?, ?, ?)", (os.fsencode(key), clean(text), ms())
                )
            else:
                connection.execute("DELETE FROM draft WHERE key = ?", (os.fsencode(key),))

        await self._database.write(job)

    async def draft(self, key: str) -> str:
        """Return the draft, or nothing."""
        return await self._database.value("SELECT text FROM draft WHERE key = ?", os.fsencode(key)) or ""

    async def move_drafts(self, folder: Path, to: Path) -> None:
        """Move the drafts of the folder and its subfolders to the other path, unless it has some already."""
        old, new = os.fsencode(f"cwd:{folder}"), os.fsencode(f"cwd:{to}")

        def find(connection: Connection) -> list[tuple[bytes, bytes]]:
            keys = [key for (key,) in connection.execute("SELECT key FROM draft")]
            return [(new + key[len(old) :], key) for key in keys if key == old or key.startswith(old + b"/")]

        if found := await self._database.read(find):
            await self._database.write(
                lambda connection: connection.executemany(
                    "UPDATE OR IGNORE draft SET key = ? WHERE key = ?", found
                )
            )

    async def set_queue(self, session_id: str, messages: Sequence[Parts]) -> None:
        """Save the messages that wait for the running turn; an empty list removes them."""
        text = json.dumps([parts_to_json(parts) for parts in messages])

        def job(connection: Connection) -> None:
            if messages:
                connection.execute("INSERT OR REPLACE INTO queue VALUES (?, ?)", (session_id, text))
            else:
                connection.execute("DELETE FROM queue WHERE session = ?", (session_id,))

        await self._database.write(job)

    async def queue(self, session_id: str) -> list[Parts]:
        """Return the waiting messages, in the order in which they were typed."""
        text = await self._database.value("SELECT messages FROM queue WHERE session = ?", session_id)
        try:
            return [parts_from_json(parts) for parts in json.loads(text or "[]")]
        except KeyError as error:
            raise StoreNewer(
                f"The queued messages in {self._database.path} hold a part of kind {error}, which this "
                "ragforge does not know. Update ragforge."
            ) from error

    async def queues(self) -> list[Parts]:
        """Return the waiting messages of all sessions. Raises as `queue`."""
        sessions = await self._database.read(
            lambda connection: [name for (name,) in connection.execute("SELECT session FROM queue")]
        )
        return [parts for session in sessions for parts in await self.queue(session)]
