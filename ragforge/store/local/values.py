"""Single values, totals of metrics, and the hints given about preferences."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from ragforge.store.local.database import LocalDatabase, moment, ms
from ragforge.store.sqlite.connection import Connection

ANSWERS_MAX = 40
"""For how many structured answers of a model it is remembered whether they were usable."""
UNUSABLE_MAX = ANSWERS_MAX // 20
"""With more unusable ones, the model is asked for less."""
_ANSWERS = "answers of "
_PERSON = "person "
"""The prefix of a store's address in the name under which the user's id is stored."""


class Choices:
    """Single values by their names."""

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database

    async def person(self, store_url: str) -> str:
        """Return the id of the user in this store; empty before it is known."""
        return (
            await self._database.value("SELECT value FROM chosen WHERE name = ?", _PERSON + store_url) or ""
        )

    async def persons(self) -> set[str]:
        """Return the ids of the user in all stores."""
        query = "SELECT value FROM chosen WHERE name GLOB ?"
        return await self._database.read(
            lambda connection: {value for (value,) in connection.execute(query, (f"{_PERSON}*",))}
        )

    async def set_person(self, store_url: str, person: str) -> None:
        """Save the id of the user in this store."""
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO chosen VALUES (?, ?)", (_PERSON + store_url, person)
            )
        )

    async def set_last_model(self, model: str) -> None:
        """Save the model chosen last, as `provider:name`."""
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO chosen VALUES ('model', ?)", (model,)
            )
        )

    async def last_model(self) -> str:
        """Return the model chosen last, or nothing."""
        return await self._database.value("SELECT value FROM chosen WHERE name = ?", "model") or ""

    async def add_answer(self, model: str, *, usable: bool) -> None:
        """Record whether a structured answer of the model was usable; the newest ANSWERS_MAX count."""

        def job(connection: Connection) -> None:
            connection.execute(
                "INSERT INTO chosen VALUES (?1, ?2) "
                "ON CONFLICT (name) DO UPDATE SET value = substr(value || ?2, ?3)",
                (_ANSWERS + model, "1" if usable else "0", -ANSWERS_MAX),
            )

        await self._database.write(job)

    async def unusable_answers(self) -> dict[str, int]:
        """Return how many of the newest structured answers of each model were unusable."""

        def job(connection: Connection) -> dict[str, int]:
            rows = connection.execute(
                "SELECT substr(name, ?1), value FROM chosen WHERE name GLOB ?2",
                (len(_ANSWERS) + 1, f"{_ANSWERS}*"),
            )
            return {model: value.count("0") for model, value in rows}

        return await self._database.read(job)

    async def unusable_in_a_row(self, model: str) -> int:
        """How many of the newest structured answers of the model could not be used, one after the other."""
        answers = await self._database.value("SELECT value FROM chosen WHERE name = ?", _ANSWERS + model)
        return len(answers or "") - len((answers or "").rstrip("0"))


CountOf: TypeAlias = tuple[str, tuple[str, ...], str]
"""A count: a metric, the values of its labels, and a part of it."""


class Counts:
    """Totals of metrics, which only grow."""

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database

    async def add(self, counts: Mapping[CountOf, float]) -> None:
        """Add these to the totals of all runs."""
        rows = [
            (name, json.dumps(labels, ensure_ascii=False), part, value)
            for (name, labels, part), value in counts.items()
        ]
        await self._database.write(
            lambda connection: connection.executemany(
                "INSERT INTO metric VALUES (?, ?, ?, ?) "
                "ON CONFLICT (name, labels, part) DO UPDATE SET value = value + excluded.value",
                rows,
            )
        )

    async def read(self) -> dict[CountOf, float]:
        """Return the totals of all runs."""

        def job(connection: Connection) -> dict[CountOf, float]:
            rows = connection.execute("SELECT name, labels, part, value FROM metric")
            return {(name, tuple(json.loads(labels)), part): value for name, labels, part, value in rows}

        return await self._database.read(job)


class HintHistory(Struct, frozen=True):
    """The earlier hints about a preference.

    session_id: where it was offered last. ignored: how often it was. postponed: it is due in the next session
    or tomorrow.
    """

    offered_at: datetime
    session_id: str
    ignored: int = 0
    ignored_at: datetime | None = None
    postponed: bool = False


class OfferedHints:
    """How often hints about each preference were offered, applied, ignored and postponed."""

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database

    async def set_offered(
        self, preference_ids: Sequence[str], *, session_id: str, at: datetime, project_id: str = ""
    ) -> None:
        """Record hints about these preferences; they are no longer postponed."""
        rows = [(preference, ms(at), session_id, project_id) for preference in preference_ids]
        await self._database.write(
            lambda connection: connection.executemany(
                "INSERT INTO hint (preference, offered, session, project, offers) VALUES (?, ?, ?, ?, 1) "
                "ON CONFLICT (preference) DO UPDATE SET offered = excluded.offered, "
                "session = excluded.session, project = excluded.project, offers = offers + 1, postponed = 0",
                rows,
            )
        )

    async def add_taken(self, preference_id: str) -> None:
        """Record that the hint about this preference was applied."""
        await self._database.write(
            lambda connection: connection.execute(
                "UPDATE hint SET taken = taken + 1 WHERE preference = ?", (preference_id,)
            )
        )

    async def taken(self, project_id: str) -> tuple[int, int]:
        """Return how many hints were applied in the project, and how many were offered."""

        def job(connection: Connection) -> tuple[int, int]:
            rows = connection.execute(
                "SELECT coalesce(sum(taken), 0), coalesce(sum(offers), 0) FROM hint WHERE project = ?",
                (project_id,),
            )
            taken, offers = next(rows)
            return taken, offers

        return await self._database.read(job)

    async def add_ignored(self, preference_id: str, *, at: datetime) -> None:
        """Record that the hint about this preference was ignored."""
        await self._database.write(
            lambda connection: connection.execute(
                "UPDATE hint SET ignored = ignored + 1, ignored_at = ? WHERE preference = ?",
                (ms(at), preference_id),
            )
        )

    async def postpone(self, preference_id: str) -> None:
        """Record that the user postponed the hint about this preference."""
        await self._database.write(
            lambda connection: connection.execute(
                "UPDATE hint SET postponed = 1 WHERE preference = ?", (preference_id,)
            )
        )

    async def histories(self) -> dict[str, HintHistory]:
        """Return the earlier hints, by the preference's id."""

        def job(connection: Connection) -> dict[str, HintHistory]:
            rows = connection.execute(
                "SELECT preference, offered, session, ignored, ignored_at, postponed FROM hint"
            )
            return {
                preference: HintHistory(
                    moment(offered),
                    session,
                    ignored,
                    None if ignored_at is None else moment(ignored_at),
                    bool(postponed),
                )
                for preference, offered, session, ignored, ignored_at, postponed in rows
            }

        return await self._database.read(job)
