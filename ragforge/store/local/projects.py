"""The folders of projects on this machine, and what the user allowed and trusts in each."""

import os
from collections.abc import Iterable
from pathlib import Path

from ragforge.domain.approvals import Rule
from ragforge.store.local.database import LocalDatabase, clean, ms
from ragforge.store.sqlite.connection import Connection


class ProjectPaths:
    """Which project is at which path, and which folders may be one."""

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database

    async def set_project(self, path: Path, project_id: str) -> None:
        """Remember which project is at the path."""
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT INTO place (path, project, at) VALUES (?, ?, ?) ON CONFLICT (path) "
                "DO UPDATE SET project = excluded.project, at = excluded.at",
                (os.fsencode(path), project_id, ms()),
            )
        )

    async def project_at(self, path: Path) -> str | None:
        """Return the id of the project at the path, or None."""
        return await self._database.value("SELECT project FROM place WHERE path = ?", os.fsencode(path))

    async def project_at_or(self, path: Path, project_id: str) -> str:
        """Return the id of the project at the path; if there is none, set it to this one.

        Processes that open a new folder at the same time get the same id.
        """
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT OR IGNORE INTO place (path, project, at) VALUES (?, ?, ?)",
                (os.fsencode(path), project_id, ms()),
            )
        )
        return await self.project_at(path) or project_id

    async def paths_of(self, project_id: str) -> list[Path]:
        """Return the present and former paths of the project, newest first."""
        return await self._database.read(
            lambda connection: [
                Path(os.fsdecode(path))
                for (path,) in connection.execute(
                    "SELECT path FROM place WHERE project = ? ORDER BY at DESC, rowid DESC", (project_id,)
                )
            ]
        )

    async def set_folder(self, path: Path, folder: str) -> None:
        """Remember which folder is at the known path, by its inode; "" for none."""
        row = (folder or None, os.fsencode(path))
        written = await self._database.read(
            lambda connection: list(
                connection.execute("SELECT 1 FROM place WHERE folder IS ?1 AND path = ?2", row)
            )
        )
        if not written:
            await self._database.write(
                lambda connection: connection.execute("UPDATE place SET folder = ?1 WHERE path = ?2", row)
            )

    async def places_of(self, folder: str) -> list[tuple[Path, str]]:
        """Return the paths at which this folder was, and the projects there; newest first."""
        return await self._database.read(
            lambda connection: [
                (Path(os.fsdecode(path)), project)
                for path, project in connection.execute(
                    "SELECT path, project FROM place WHERE folder = ? ORDER BY at DESC, rowid DESC", (folder,)
                )
            ]
        )

    async def confirm_folder(self, path: Path) -> None:
        """Remember that the user wants this unlikely folder, such as the home, as a project."""
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO confirmed VALUES (?, ?)", (os.fsencode(path), ms())
            )
        )

    async def is_confirmed(self, path: Path) -> bool:
        """Whether the user has said so."""
        return (
            await self._database.value("SELECT 'yes' FROM confirmed WHERE path = ?", os.fsencode(path))
            is not None
        )


INSTRUCTIONS_MAX = 20
"""How many texts of each instruction file are remembered, at most 40 KB each."""


class ProjectTrust:
    """Consent rules, commands that a project wants to run, and trusted instructions."""

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database

    async def add_rules(self, project_id: str, rules: Iterable[Rule]) -> None:
        """Remember consent for this project; existing rules are kept."""
        rows = [(project_id, rule.tool, clean(rule.pattern), ms()) for rule in rules]
        await self._database.write(
            lambda connection: connection.executemany(
                "INSERT OR IGNORE INTO rule (project, tool, pattern, at) VALUES (?, ?, ?, ?)", rows
            )
        )

    async def remove_rule(self, project_id: str, rule: Rule) -> bool:
        """Revoke consent; return whether there was such a rule."""

        def job(connection: Connection) -> bool:
            connection.execute(
                "DELETE FROM rule WHERE project = ? AND tool = ? AND pattern = ?",
                (project_id, rule.tool, clean(rule.pattern)),
            )
            return connection.changes() > 0

        return await self._database.write(job)

    async def rules(self, project_id: str) -> list[Rule]:
        """Return the project's rules, oldest first."""
        return await self._database.read(
            lambda connection: [
                Rule(tool, pattern)
                for tool, pattern in connection.execute(
                    "SELECT tool, pattern FROM rule WHERE project = ? ORDER BY number", (project_id,)
                )
            ]
        )

    async def set_may_run(self, folder: Path, setting: str, text: str, *, may_run: bool) -> None:
        """Remember the user's answer about a command that the folder's project wants by that setting."""
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO command VALUES (?, ?, ?, ?, ?)",
                (os.fsencode(folder), setting, text, int(may_run), ms()),
            )
        )

    async def may_run(self, folder: Path, setting: str, text: str) -> bool | None:
        """Return the answer about exactly this text in this folder; None if the user was not asked."""
        answers = await self._database.read(
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

        path: relative to the project. text: stored to show what changed; only the newest of each file are.
        """
        name = os.fsencode(path)

        def job(connection: Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO instruction (project, path, digest, trusted, text) "
                "VALUES (?, ?, ?, ?, ?)",
                (project_id, name, digest, int(trusted), clean(text) if trusted else ""),
            )
            connection.execute(
                "DELETE FROM instruction WHERE number <= (SELECT number FROM instruction "
                "WHERE project = ?1 AND path = ?2 ORDER BY number DESC LIMIT 1 OFFSET ?3) "
                "AND project = ?1 AND path = ?2",
                (project_id, name, INSTRUCTIONS_MAX),
            )

        await self._database.write(job)

    async def is_trusted(self, project_id: str, path: Path, digest: str) -> bool | None:
        """Whether the user trusts this text of the file; None if they were not asked."""
        answer = await self._database.read(
            lambda connection: list(
                connection.execute(
                    "SELECT trusted FROM instruction WHERE project = ? AND path = ? AND digest = ?",
                    (project_id, os.fsencode(path), digest),
                )
            )
        )
        return bool(answer[0][0]) if answer else None

    async def trusted_text(self, project_id: str, path: Path) -> str | None:
        """Return the text of the file that was trusted last; None if none was."""
        texts = await self._database.read(
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
        """Return the instruction files of the project that the user was asked about, relative to it."""
        return await self._database.read(
            lambda connection: [
                Path(os.fsdecode(path))
                for (path,) in connection.execute(
                    "SELECT DISTINCT path FROM instruction WHERE project = ? ORDER BY path",
                    (project_id,),
                )
            ]
        )
