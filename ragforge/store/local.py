"""This machine's own state: prompt history, drafts, queues, consent rules, where projects lie, what was
recalled for which turn and of what use it was, what was hinted at, which turns ran on since they were
summarised, and what a model made of turns until the store has it.

Nothing is in it alone that belongs to a conversation, so losing it loses none. It never travels with a store.
The texts are kept as they are given: whoever calls has taken the secrets out.
"""

import asyncio
import json
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from ragforge.domain.approvals import Rule
from ragforge.domain.context import ContextBlock, RecallUse
from ragforge.domain.errors import StoreDamaged, StoreError, StoreMoved, StoreNewer, StoreUnavailable
from ragforge.domain.ids import now
from ragforge.domain.json import each_text
from ragforge.domain.messages import Parts, parts_from_json, parts_to_json
from ragforge.store.backups import recovery_words
from ragforge.store.damage_words import moved
from ragforge.store.files import machine_file
from ragforge.store.schemas import LOCAL
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.prepare import INSTEAD, INSTEAD_OF_FOLDER, prepare

T = TypeVar("T")
CountOf: TypeAlias = tuple[str, tuple[str, ...], str]
"""What was counted: a metric, the values of its labels, and a part of it."""

ANSWERS_MAX = 40
"""So many structured answers of a model are remembered as usable or not."""
UNUSABLE_MAX = ANSWERS_MAX // 20
"""Where more of them could not be used, the model is asked for less."""
_ANSWERS = "answers of "
RECALLED_MAX = 1_000
"""How many turns keep what was recalled for them; some 8 MB at most."""
ANSWERS_HELD_MAX = 1_000
"""Of so many turns what a model made of them waits for the store."""
RECALL_USES_MAX = 1_000
"""Of so many turns of a project it is known whether what was recalled was of use."""
_PERSON = "person "
"""Before a store's address, the name under which the user's id is kept."""


TYPED = (
    ("prompt", "number", "text", False),
    ("draft", "key", "text", False),
    ("queue", "session", "messages", True),
    ("recalled", "turn", "block", True),
    ("answer", "turn", "answer", True),
)
"""Tables with what was said, their keys and columns, and whether these hold JSON."""

INSTRUCTIONS_MAX = 20
"""Of each instruction file so many texts are remembered, at most 40 KB each."""


def commands_key(of: str) -> str:
    """The name in the queue of what the user ran in a session, or in `cwd:<path>`, since the last message."""
    return f"commands of {of}"


async def open_local_state(data_dir: Path, *, history_max: int = 10_000) -> "LocalState":
    """The state kept in `data_dir`, made where there is none.

    Raises StoreUnavailable, StoreDamaged or StoreNewer.
    """
    path = machine_file(data_dir).path
    await asyncio.to_thread(_prepare, path)
    return LocalState(path, history_max=history_max)


class Sealed(Struct, frozen=True):
    """The records of a memory that was removed everywhere, as they were: lines of a backup."""

    memory_id: str
    content: str
    lines: list[str]


class HeldAnswer(Struct, frozen=True):
    """What a model made of a turn, which the store does not have yet.

    hash: of what the model was shown. answer: as JSON.
    """

    turn_id: str
    session_id: str
    hash: str
    answer: str


class HintHistory(Struct, frozen=True):
    """How the user was hinted at a preference before.

    session_id: where it was offered last. ignored: how often it was. postponed: it is due in the next session
    or tomorrow.
    """

    preference_id: str
    offered_at: datetime
    session_id: str
    ignored: int = 0
    ignored_at: datetime | None = None
    postponed: bool = False


class LocalState:
    """What this machine remembers. Made by `open_local_state`.

    Every write is durable when it returns. Several processes may have it open.
    """

    def __init__(self, path: Path, *, history_max: int) -> None:
        self.path = path
        self._history_max = history_max
        self._database = Database(path)

    async def add_prompt(self, text: str, *, project_id: str) -> None:
        """Put a message at the end of the history, unless it repeats the project's last one."""
        text = _clean(text)

        def job(connection: Connection) -> None:
            last = connection.execute(
                "SELECT text FROM prompt WHERE project = ? ORDER BY number DESC LIMIT 1", (project_id,)
            )
            if (text,) in last:
                return
            connection.execute(
                "INSERT INTO prompt (project, at, text) VALUES (?, ?, ?)", (project_id, _ms(), text)
            )
            connection.execute(
                "DELETE FROM prompt WHERE number <= "
                "(SELECT number FROM prompt ORDER BY number DESC LIMIT 1 OFFSET ?)",
                (self._history_max,),
            )

        if text.strip():
            await self._write(job)

    async def prompts(
        self, *, project_id: str | None = None, containing: str = "", limit: int = 1000
    ) -> list[str]:
        """The history, newest first, each text once; of one project, or of all."""
        wanted = containing.casefold()

        def job(connection: Connection) -> list[str]:
            found: dict[str, None] = {}
            rows = connection.execute(
                "SELECT text FROM prompt WHERE ?1 IS NULL OR project = ?1 ORDER BY number DESC", (project_id,)
            )
            # In Python, because SQLite knows upper and lower case of ASCII alone.
            for (text,) in rows:
                if len(found) >= limit:
                    break
                if wanted in text.casefold():
                    found.setdefault(text)
            return list(found)

        return await self._read(job)

    async def set_draft(self, key: str, text: str) -> None:
        """Keep what is typed but not sent, for a session's id or `cwd:<path>`; empty text removes it."""

        def job(connection: Connection) -> None:
            if text:
                connection.execute(
                    "INSERT OR REPLACE INTO draft VALUES (?, ?, ?)", (os.fsencode(key), _clean(text), _ms())
                )
            else:
                connection.execute("DELETE FROM draft WHERE key = ?", (os.fsencode(key),))

        await self._write(job)

    async def draft(self, key: str) -> str:
        """The draft, or nothing."""
        return await self._value("SELECT text FROM draft WHERE key = ?", os.fsencode(key)) or ""

    async def move_drafts(self, folder: Path, to: Path) -> None:
        """What was typed in the folder or below it is at the other path now, unless there is some already."""
        old, new = os.fsencode(f"cwd:{folder}"), os.fsencode(f"cwd:{to}")

        def find(connection: Connection) -> list[tuple[bytes, bytes]]:
            keys = [key for (key,) in connection.execute("SELECT key FROM draft")]
            return [(new + key[len(old) :], key) for key in keys if key == old or key.startswith(old + b"/")]

        if found := await self._read(find):
            await self._write(
                lambda connection: connection.executemany(
                    "UPDATE OR IGNORE draft SET key = ? WHERE key = ?", found
                )
            )

    async def set_queue(self, session_id: str, messages: Sequence[Parts]) -> None:
        """Keep the messages that wait for the running turn; an empty list removes them."""
        text = json.dumps([parts_to_json(parts) for parts in messages])

        def job(connection: Connection) -> None:
            if messages:
                connection.execute("INSERT OR REPLACE INTO queue VALUES (?, ?)", (session_id, text))
            else:
                connection.execute("DELETE FROM queue WHERE session = ?", (session_id,))

        await self._write(job)

    async def queue(self, session_id: str) -> list[Parts]:
        """The messages that wait, in the order in which they were typed."""
        text = await self._value("SELECT messages FROM queue WHERE session = ?", session_id)
        try:
            return [parts_from_json(parts) for parts in json.loads(text or "[]")]
        except KeyError as error:
            raise StoreNewer(
                f"The queued messages in {self.path} hold a part of kind {error}, which this ragforge does "
                "not know. Update ragforge."
            ) from error

    async def queues(self) -> list[Parts]:
        """The messages that wait in any session. Raises as `queue`."""
        sessions = await self._read(
            lambda connection: [name for (name,) in connection.execute("SELECT session FROM queue")]
        )
        return [parts for session in sessions for parts in await self.queue(session)]

    async def add_rules(self, project_id: str, rules: Iterable[Rule]) -> None:
        """Remember consent for this project; what is there already is left."""
        rows = [(project_id, rule.tool, _clean(rule.pattern), _ms()) for rule in rules]
        await self._write(
            lambda connection: connection.executemany(
                "INSERT OR IGNORE INTO rule (project, tool, pattern, at) VALUES (?, ?, ?, ?)", rows
            )
        )

    async def remove_rule(self, project_id: str, rule: Rule) -> bool:
        """Take consent back; whether there was such a rule."""

        def job(connection: Connection) -> bool:
            connection.execute(
                "DELETE FROM rule WHERE project = ? AND tool = ? AND pattern = ?",
                (project_id, rule.tool, _clean(rule.pattern)),
            )
            return connection.changes() > 0

        return await self._write(job)

    async def rules(self, project_id: str) -> list[Rule]:
        """The project's rules, oldest first."""
        return await self._read(
            lambda connection: [
                Rule(tool, pattern)
                for tool, pattern in connection.execute(
                    "SELECT tool, pattern FROM rule WHERE project = ? ORDER BY number", (project_id,)
                )
            ]
        )

    async def merge_project(self, project_id: str, into: str) -> None:
        """Let what was allowed, trusted and typed in the project hold in the one that it was merged into.

        Its folders stay with its id, which leads to the other one, so that a split gives them back.
        """

        def job(connection: Connection) -> None:
            for table in ("rule", "instruction", "ran_on", "prompt"):
                connection.execute(
                    f"UPDATE OR IGNORE {table} SET project = ? WHERE project = ?", (into, project_id)
                )

        await self._write(job)

    async def set_project(self, path: Path, project_id: str) -> None:
        """Remember which project lies at the path."""
        await self._write(
            lambda connection: connection.execute(
                "INSERT INTO place (path, project, at) VALUES (?, ?, ?) ON CONFLICT (path) "
                "DO UPDATE SET project = excluded.project, at = excluded.at",
                (os.fsencode(path), project_id, _ms()),
            )
        )

    async def project_at(self, path: Path) -> str | None:
        """The id of the project that lies at the path, or None."""
        return await self._value("SELECT project FROM place WHERE path = ?", os.fsencode(path))

    async def project_at_or(self, path: Path, project_id: str) -> str:
        """The id of the project that lies at the path: this one from now on, where there was none.

        Processes that come to a new folder at the same time are told the same.
        """
        await self._write(
            lambda connection: connection.execute(
                "INSERT OR IGNORE INTO place (path, project, at) VALUES (?, ?, ?)",
                (os.fsencode(path), project_id, _ms()),
            )
        )
        return await self.project_at(path) or project_id

    async def paths_of(self, project_id: str) -> list[Path]:
        """Where the project lies or lay, the newest first."""
        return await self._read(
            lambda connection: [
                Path(os.fsdecode(path))
                for (path,) in connection.execute(
                    "SELECT path FROM place WHERE project = ? ORDER BY at DESC, rowid DESC", (project_id,)
                )
            ]
        )

    async def set_folder(self, path: Path, folder: str) -> None:
        """Remember which folder is at the known path, by its number in the file system; "" for none."""
        row = (folder or None, os.fsencode(path))
        written = await self._read(
            lambda connection: list(
                connection.execute("SELECT 1 FROM place WHERE folder IS ?1 AND path = ?2", row)
            )
        )
        if not written:
            await self._write(
                lambda connection: connection.execute("UPDATE place SET folder = ?1 WHERE path = ?2", row)
            )

    async def places_of(self, folder: str) -> list[tuple[Path, str]]:
        """Return the paths at which this very folder was, and the projects there; newest first."""
        return await self._read(
            lambda connection: [
                (Path(os.fsdecode(path)), project)
                for path, project in connection.execute(
                    "SELECT path, project FROM place WHERE folder = ? ORDER BY at DESC, rowid DESC", (folder,)
                )
            ]
        )

    async def confirm_folder(self, path: Path) -> None:
        """Remember that the user wants this unlikely folder, such as the home, as a project."""
        await self._write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO confirmed VALUES (?, ?)", (os.fsencode(path), _ms())
            )
        )

    async def is_confirmed(self, path: Path) -> bool:
        """Whether the user has said so."""
        return await self._value("SELECT 'yes' FROM confirmed WHERE path = ?", os.fsencode(path)) is not None

    async def set_may_run(self, folder: Path, setting: str, text: str, *, may_run: bool) -> None:
        """Remember the user's answer about a command that the folder's project wants by that setting."""
        await self._write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO command VALUES (?, ?, ?, ?, ?)",
                (os.fsencode(folder), setting, text, int(may_run), _ms()),
            )
        )

    async def may_run(self, folder: Path, setting: str, text: str) -> bool | None:
        """The answer about this very text in this folder; None where nobody was asked."""
        answers = await self._read(
            lambda connection: [
                bool(may_run)
                for (may_run,) in connection.execute(
                    "SELECT may_run FROM command WHERE folder = ? AND setting = ? AND text = ?",
                    (os.fsencode(folder), setting, text),
                )
            ]
        )
        return answers[0] if answers else None

    async def set_trust(self, project_id: str, path: Path, digest: str, text: str, *, trusted: bool) -> None:
        """Remember whether the user trusts this text of an instruction file of the project.

        path: relative to the project. text: kept to show what changed; of each file only the newest are.
        """
        name = os.fsencode(path)

        def job(connection: Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO instruction (project, path, digest, trusted, text) "
                "VALUES (?, ?, ?, ?, ?)",
                (project_id, name, digest, int(trusted), _clean(text) if trusted else ""),
            )
            connection.execute(
                "DELETE FROM instruction WHERE number <= (SELECT number FROM instruction "
                "WHERE project = ?1 AND path = ?2 ORDER BY number DESC LIMIT 1 OFFSET ?3) "
                "AND project = ?1 AND path = ?2",
                (project_id, name, INSTRUCTIONS_MAX),
            )

        await self._write(job)

    async def is_trusted(self, project_id: str, path: Path, digest: str) -> bool | None:
        """Whether the user trusts this text of the file; None where nobody was asked."""
        answer = await self._read(
            lambda connection: list(
                connection.execute(
                    "SELECT trusted FROM instruction WHERE project = ? AND path = ? AND digest = ?",
                    (project_id, os.fsencode(path), digest),
                )
            )
        )
        return bool(answer[0][0]) if answer else None

    async def trusted_text(self, project_id: str, path: Path) -> str | None:
        """The text of the file that was trusted last; None where none was."""
        texts = await self._read(
            lambda connection: list(
                connection.execute(
                    "SELECT text FROM instruction WHERE project = ? AND path = ? AND trusted "
                    "ORDER BY number DESC LIMIT 1",
                    (project_id, os.fsencode(path)),
                )
            )
        )
        return texts[0][0] if texts else None

    async def instruction_paths(self, project_id: str) -> list[Path]:
        """The instruction files of the project that the user was asked about, relative to it."""
        return await self._read(
            lambda connection: [
                Path(os.fsdecode(path))
                for (path,) in connection.execute(
                    "SELECT DISTINCT path FROM instruction WHERE project = ? ORDER BY path",
                    (project_id,),
                )
            ]
        )

    async def person(self, store_url: str) -> str:
        """The id of the user in this store; empty before it was found out."""
        return await self._value("SELECT value FROM chosen WHERE name = ?", _PERSON + store_url) or ""

    async def persons(self) -> set[str]:
        """The ids of the user in all stores."""
        query = "SELECT value FROM chosen WHERE name GLOB ?"
        return await self._read(
            lambda connection: {value for (value,) in connection.execute(query, (f"{_PERSON}*",))}
        )

    async def set_person(self, store_url: str, person: str) -> None:
        """Remember the id of the user in this store."""
        await self._write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO chosen VALUES (?, ?)", (_PERSON + store_url, person)
            )
        )

    async def set_last_model(self, model: str) -> None:
        """Remember the model chosen last, as `provider:name`."""
        await self._write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO chosen VALUES ('model', ?)", (model,)
            )
        )

    async def last_model(self) -> str:
        """The model chosen last, or nothing."""
        return await self._value("SELECT value FROM chosen WHERE name = ?", "model") or ""

    async def add_answer(self, model: str, *, usable: bool) -> None:
        """Remember whether a structured answer of the model could be used; the newest ANSWERS_MAX count."""

        def job(connection: Connection) -> None:
            connection.execute(
                "INSERT INTO chosen VALUES (?1, ?2) "
                "ON CONFLICT (name) DO UPDATE SET value = substr(value || ?2, ?3)",
                (_ANSWERS + model, "1" if usable else "0", -ANSWERS_MAX),
            )

        await self._write(job)

    async def unusable_answers(self) -> dict[str, int]:
        """How many of the newest structured answers of each model could not be used."""

        def job(connection: Connection) -> dict[str, int]:
            rows = connection.execute(
                "SELECT substr(name, ?1), value FROM chosen WHERE name GLOB ?2",
                (len(_ANSWERS) + 1, f"{_ANSWERS}*"),
            )
            return {model: value.count("0") for model, value in rows}

        return await self._read(job)

    async def keep_recalled(self, turn_id: str, block: ContextBlock, *, session_id: str) -> None:
        """Remember what was put in front of a turn's message; of very many turns only the newest."""
        text = msgspec.json.encode(block).decode()

        def job(connection: Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO recalled VALUES (?, ?, ?)", (turn_id, session_id, text)
            )
            connection.execute(
                "DELETE FROM recalled WHERE rowid <= "
                "(SELECT rowid FROM recalled ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
                (RECALLED_MAX,),
            )

        await self._write(job)

    async def keep_recall_use(
        self, turn_id: str, use: RecallUse, *, project_id: str, session_id: str, at: datetime
    ) -> None:
        """Remember of what use it was what was recalled for a turn; of very many turns only the newest.

        That it was opened stays so.
        """

        def job(connection: Connection) -> None:
            connection.execute(
                "INSERT INTO recall_use (turn, project, session, at, quoted, cited) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (turn) DO UPDATE "
                "SET quoted = excluded.quoted, cited = excluded.cited",
                (turn_id, project_id, session_id, _ms(at), int(use.quoted), int(use.cited)),
            )
            connection.execute(
                "DELETE FROM recall_use WHERE project = ?1 AND at < "
                "(SELECT at FROM recall_use WHERE project = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?2)",
                (project_id, RECALL_USES_MAX - 1),
            )

        await self._write(job)

    async def forget_recall_use(self, turn_id: str) -> None:
        """Count the turn no longer: nothing came of it."""
        await self._write(
            lambda connection: connection.execute("DELETE FROM recall_use WHERE turn = ?", (turn_id,))
        )

    async def set_recall_opened(self, turn_id: str) -> None:
        """Remember that the user opened what was recalled for the turn."""
        await self._write(
            lambda connection: connection.execute(
                "UPDATE recall_use SET opened = 1 WHERE turn = ?", (turn_id,)
            )
        )

    async def recall_uses(self, project_id: str) -> tuple[int, int]:
        """For how many of the project's newest turns something recalled was of use, and for how many any was
        recalled."""

        def job(connection: Connection) -> tuple[int, int]:
            rows = connection.execute(
                "SELECT coalesce(sum(quoted OR cited OR opened), 0), count(*) FROM recall_use "
                "WHERE project = ?",
                (project_id,),
            )
            used, turns = next(rows)
            return used, turns

        return await self._read(job)

    async def recalled(self, turn_id: str) -> ContextBlock | None:
        """What was put in front of the turn's message, or None where that is not known."""
        text = await self._value("SELECT block FROM recalled WHERE turn = ?", turn_id)
        try:
            return msgspec.json.decode(text, type=ContextBlock) if text else None
        except msgspec.DecodeError:  # of another version: it is only shown
            return None

    async def forget_recalled(self, session_id: str) -> None:
        """Remove what was recalled in a session, and from it in others, and what was made of its turns."""

        def job(connection: Connection) -> None:
            connection.execute("DELETE FROM recalled WHERE session = ?1 OR instr(block, ?1)", (session_id,))
            for table in ("recall_use", "answer"):
                connection.execute(f"DELETE FROM {table} WHERE session = ?", (session_id,))

        await self._write(job)

    async def redact(self, cut: Callable[[str], str]) -> None:
        """Pass what users typed here, and what was recalled for turns, through `cut`; leave nothing of it.

        Prompts, drafts, queues and blocks: what cut takes out of them is not kept anywhere.
        """

        def job(connection: Connection) -> None:
            for table, key, column, is_json in TYPED:
                rows = list(connection.execute(f"SELECT {key}, {column} FROM {table}"))
                for found, text in rows:
                    without = _json_without(text, cut) if is_json else cut(text)
                    if without != text:
                        connection.execute(
                            f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (without, found)
                        )

        await self._write(job)
        await self._compact()

    async def seal(self, memory_id: str, content: str, lines: Sequence[str]) -> None:
        """Keep the records of a memory that is removed everywhere, as lines, until `remove_sealed`."""
        await self._write(
            lambda connection: connection.execute(
                "INSERT INTO sealed (memory, content, lines) VALUES (?, ?, ?) "
                "ON CONFLICT (memory) DO UPDATE SET lines = excluded.lines",
                (memory_id, _clean(content), json.dumps(list(lines))),
            )
        )

    async def sealed(self) -> "list[Sealed]":
        """What is sealed, the newest first."""

        def job(connection: Connection) -> list[Sealed]:
            rows = connection.execute("SELECT memory, content, lines FROM sealed ORDER BY number DESC")
            return [Sealed(memory, content, json.loads(lines)) for memory, content, lines in rows]

        return await self._read(job)

    async def remove_sealed(self, memory_id: str = "") -> int:
        """Remove for good what is sealed, of this memory or of all; of how many it was."""

        def job(connection: Connection) -> int:
            connection.execute("DELETE FROM sealed WHERE ?1 = '' OR memory = ?1", (memory_id,))
            return connection.changes()

        if removed := await self._write(job):
            await self._compact()
        return removed

    async def _compact(self) -> None:
        with _explained(self.path):
            await self._database.compact()

    async def set_compacted(self, session_id: str, turn_id: str) -> None:
        """Remember after which turn the user had the conversation compacted."""
        await self._write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO compacted VALUES (?, ?)", (session_id, turn_id)
            )
        )

    async def compacted(self, session_id: str) -> str:
        """After which turn the conversation was compacted by hand last, or nothing."""
        return await self._value("SELECT turn FROM compacted WHERE session = ?", session_id) or ""

    async def note_ran_on(self, turn_id: str, *, project_id: str) -> None:
        """Remember that a turn that had ended runs on: what was made of its end is old from now on."""
        await self._write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO ran_on VALUES (?, ?, ?)", (turn_id, project_id, _ms())
            )
        )

    async def ran_on(self, project_id: str) -> list[str]:
        """The project's turns that ran on since something was made of them, the earliest first."""
        return await self._read(
            lambda connection: [
                turn
                for (turn,) in connection.execute(
                    "SELECT turn FROM ran_on WHERE project = ? ORDER BY at, turn", (project_id,)
                )
            ]
        )

    async def clear_ran_on(self, turn_id: str, *, until: datetime) -> None:
        """Forget that it ran on, unless it did so later than this."""
        await self._write(
            lambda connection: connection.execute(
                "DELETE FROM ran_on WHERE turn = ? AND at <= ?", (turn_id, int(until.timestamp() * 1000))
            )
        )

    async def hold_answers(self, answers: Sequence[HeldAnswer]) -> None:
        """Keep what a model made of turns until `drop_answers`; of very many turns only the newest."""
        rows = [(each.turn_id, each.session_id, each.hash, each.answer) for each in answers]

        def job(connection: Connection) -> None:
            connection.executemany("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?)", rows)
            connection.execute(
                "DELETE FROM answer WHERE rowid <= "
                "(SELECT rowid FROM answer ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
                (ANSWERS_HELD_MAX,),
            )

        await self._write(job)

    async def held_answers(self, turn_ids: Sequence[str]) -> list[HeldAnswer]:
        """What is held of these turns."""
        marks = ", ".join("?" * len(turn_ids))
        query = f"SELECT turn, session, hash, answer FROM answer WHERE turn IN ({marks})"
        return await self._read(
            lambda connection: [
                HeldAnswer(*map(str, row)) for row in connection.execute(query, tuple(turn_ids))
            ]
        )

    async def drop_answers(self, turn_ids: Sequence[str]) -> None:
        """Forget what is held of these turns."""
        await self._write(
            lambda connection: connection.executemany(
                "DELETE FROM answer WHERE turn = ?", [(turn,) for turn in turn_ids]
            )
        )

    async def drop_answers_of(self, session_id: str, prefix: str) -> None:
        """Forget what is held of the session under keys that begin so."""
        await self._write(
            lambda connection: connection.execute(
                "DELETE FROM answer WHERE session = ?1 AND substr(turn, 1, length(?2)) = ?2",
                (session_id, prefix),
            )
        )

    async def close(self) -> None:
        await self._database.close()

    async def add_counts(self, counts: Mapping[CountOf, float]) -> None:
        """Add these to what was counted in all runs."""
        rows = [
            (name, json.dumps(labels, ensure_ascii=False), part, value)
            for (name, labels, part), value in counts.items()
        ]
        await self._write(
            lambda connection: connection.executemany(
                "INSERT INTO metric VALUES (?, ?, ?, ?) "
                "ON CONFLICT (name, labels, part) DO UPDATE SET value = value + excluded.value",
                rows,
            )
        )

    async def counts(self) -> dict[CountOf, float]:
        """What was counted in all runs."""

        def job(connection: Connection) -> dict[CountOf, float]:
            rows = connection.execute("SELECT name, labels, part, value FROM metric")
            return {(name, tuple(json.loads(labels)), part): value for name, labels, part, value in rows}

        return await self._read(job)

    async def set_offered(
        self, preference_ids: Sequence[str], *, session_id: str, at: datetime, project_id: str = ""
    ) -> None:
        """Remember that these preferences were hinted at; they are no longer put off."""
        rows = [(preference, _ms(at), session_id, project_id) for preference in preference_ids]
        await self._write(
            lambda connection: connection.executemany(
                "INSERT INTO hint (preference, offered, session, project, offers) VALUES (?, ?, ?, ?, 1) "
                "ON CONFLICT (preference) DO UPDATE SET offered = excluded.offered, "
                "session = excluded.session, project = excluded.project, offers = offers + 1, postponed = 0",
                rows,
            )
        )

    async def add_taken(self, preference_id: str) -> None:
        """Count that the hint at this preference was applied."""
        await self._write(
            lambda connection: connection.execute(
                "UPDATE hint SET taken = taken + 1 WHERE preference = ?", (preference_id,)
            )
        )

    async def hints_taken(self, project_id: str) -> tuple[int, int]:
        """How many hints were applied in the project, and how many were offered."""

        def job(connection: Connection) -> tuple[int, int]:
            rows = connection.execute(
                "SELECT coalesce(sum(taken), 0), coalesce(sum(offers), 0) FROM hint WHERE project = ?",
                (project_id,),
            )
            taken, offers = next(rows)
            return taken, offers

        return await self._read(job)

    async def add_ignored(self, preference_id: str, *, at: datetime) -> None:
        """Count that the hint at this preference was ignored."""
        await self._write(
            lambda connection: connection.execute(
                "UPDATE hint SET ignored = ignored + 1, ignored_at = ? WHERE preference = ?",
                (_ms(at), preference_id),
            )
        )

    async def postpone(self, preference_id: str) -> None:
        """Remember that the user put the hint at this preference off."""
        await self._write(
            lambda connection: connection.execute(
                "UPDATE hint SET postponed = 1 WHERE preference = ?", (preference_id,)
            )
        )

    async def hint_histories(self) -> dict[str, HintHistory]:
        """How each preference was hinted at so far, by its id."""

        def job(connection: Connection) -> dict[str, HintHistory]:
            rows = connection.execute(
                "SELECT preference, offered, session, ignored, ignored_at, postponed FROM hint"
            )
            return {
                preference: HintHistory(
                    preference,
                    _moment(offered),
                    session,
                    ignored,
                    None if ignored_at is None else _moment(ignored_at),
                    bool(postponed),
                )
                for preference, offered, session, ignored, ignored_at, postponed in rows
            }

        return await self._read(job)

    async def _value(self, query: str, binding: str | bytes) -> str | None:
        """The only column of the only row, or None."""

        def job(connection: Connection) -> str | None:
            return next((value for (value,) in connection.execute(query, (binding,))), None)

        return await self._read(job)

    async def _read(self, job: Callable[[Connection], T]) -> T:
        with _explained(self.path):
            return await self._database.read(job)

    async def _write(self, job: Callable[[Connection], T]) -> T:
        with _explained(self.path):
            return await self._database.write(job)


def _prepare(path: Path) -> None:
    with _explained(path):
        prepare(path, LOCAL, lock_dir=path.parent / "locks")


@contextmanager
def _explained(path: Path) -> Generator[None]:
    """Says of this file what the database layer says of a store."""
    try:
        yield
    except StoreNewer as error:
        raise StoreNewer(str(error).replace(INSTEAD, INSTEAD_OF_FOLDER)) from error
    except StoreDamaged as error:
        raise StoreDamaged(
            f"{path} cannot be used ({error.__cause__ or error}). It contains this machine's prompt history, "
            "drafts and permission rules, but no conversations. Move it away, and a new one is created."
            f"{recovery_words(path.parent, path)}"
        ) from error
    except StoreMoved as error:
        raise moved(machine_file(path.parent)) from error
    except StoreUnavailable as error:
        if "disk is full" in str(error):
            raise
        raise StoreUnavailable(
            f"Cannot use {path} ({error.__cause__ or error}), which holds this machine's prompt history, "
            "drafts and permission rules. Make the file and its folder readable and writable, or choose "
            "another folder with RAGFORGE_DATA_DIR."
        ) from error
    except UnicodeError as error:  # an identifier with half a character in it
        raise StoreError(f"Cannot write to {path}: {error}.") from error


def _json_without(text: str, cut: Callable[[str], str]) -> str:
    """The JSON with each of its texts cut."""
    return json.dumps(each_text({"it": json.loads(text)}, cut)["it"], ensure_ascii=False)


def _clean(text: str) -> str:
    """The text as SQLite can keep it: halves of characters, from broken input, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _ms(at: datetime | None = None) -> int:
    """The moment, or now, in milliseconds of UTC."""
    return int((at or now()).timestamp() * 1000)


def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
