"""The tree of versions as a list: for the log in text, for scripts, for a screen."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from ragforge.domain.ids import now, short_id
from ragforge.domain.json import JsonObject
from ragforge.domain.printable import one_line
from ragforge.domain.versions import Version
from ragforge.domain.words import age_words, counted, first_words
from ragforge.store.base import Store
from ragforge.store.base_versions import VersionRow, Versions
from ragforge.versions.graph import graph_lines
from ragforge.versions.state import Head
from ragforge.versions.tree import summed

LIMIT = 30
PAGE = 1_000
TITLE_CHARS = 60
NOBODY: Mapping[str, str] = {}


class Log(Struct, frozen=True):
    """Versions, newest first, with the names that point to them; `more` says whether there are older ones."""

    rows: tuple[VersionRow, ...]
    branches: Mapping[str, tuple[str, ...]]
    """By the version's id."""
    head: Head
    more: bool = False


async def read_log(
    versions: Versions, project_id: str, head: Head, *, limit: int = LIMIT, before: str | None = None
) -> Log:
    """Return the newest versions of the project, or those after `before`."""
    rows = await versions.rows(project_id, limit=limit + 1, before=before)
    names: dict[str, tuple[str, ...]] = {}
    for branch in await versions.branches(project_id):
        names[branch.version_id] = (*names.get(branch.version_id, ()), branch.name)
    return Log(tuple(rows[:limit]), names, head, len(rows) > limit)


async def read_log_of(store: Store, project_id: str, head: Head, *, person: str, limit: int = LIMIT) -> Log:
    """Return the newest versions of this user's turns in the project."""
    kept: list[VersionRow] = []
    page = await read_log(store.versions, project_id, head, limit=PAGE)
    names = page.branches
    while True:
        writers = await store.turns.writers([row.version.turn_id for row in page.rows if row.version.turn_id])
        kept += [row for row in page.rows if writers.get(row.version.turn_id) == person]
        if not page.more or len(kept) > limit:
            return Log(tuple(kept[:limit]), names, head, len(kept) > limit)
        before = page.rows[-1].version.id
        page = await read_log(store.versions, project_id, head, limit=PAGE, before=before)


async def log_json(versions: Versions, log: Log, writers: Mapping[str, str]) -> list[JsonObject]:
    """Return the log for a script, with the files of every version."""
    whole = await versions.get([row.version.id for row in log.rows])
    return [
        {
            "version": version.id,
            "parents": list(version.parents),
            "at": version.at.isoformat(),
            "by": version.by,
            "person": writers.get(version.turn_id, ""),
            "session": version.session_id or None,
            "turn": version.turn_id or None,
            "label": version.label,
            "branches": list(log.branches.get(version.id, ())),
            "head": version.id == log.head.version,
            "files": [*files_json(version)],
        }
        for version in whole
    ]


def files_json(version: Version | None) -> list[JsonObject]:
    """Return what it changed, for a script; nothing if there is no version."""
    return [
        {"path": change.path, "kind": change.kind.value, "provenance": change.provenance.value}
        for change in summed(version.changes if version else ())
    ]


def log_lines(log: Log, writers: Mapping[str, str] = NOBODY) -> list[str]:
    """Return the log as text: graph, version, names, age, files, title.

    writers: who wrote the turns, by their ids, if that should be shown.
    """
    moment = now()
    return [
        f"{line.graph}  {_row_words(line.row, log, writers, moment)}".rstrip() if line.row else line.graph
        for line in graph_lines(log.rows)
    ]


def _row_words(row: VersionRow, log: Log, writers: Mapping[str, str], moment: datetime) -> str:
    version = row.version
    parts = [
        short_id(version.id),
        names_words(version, log.branches.get(version.id, ()), log.head),
        age_words(version.at, moment),
        files_words(version, row.files),
        one_line(writers.get(version.turn_id, "")),
        first_words(version.label or version.title, TITLE_CHARS) or version.by,
    ]
    return "  ".join(part for part in parts if part)


def names_words(version: Version, branches: Sequence[str], head: Head) -> str:
    """Return the names of the version, in brackets; empty if there are none."""
    is_head = version.id == head.version
    names = [f"HEAD -> {name}" if is_head and name == head.branch else name for name in branches]
    if is_head and head.branch not in branches:
        names.insert(0, "HEAD")
    names.sort(key=lambda name: not name.startswith("HEAD"))
    return f"({', '.join(names)})" if names else ""


def files_words(version: Version, files: int) -> str:
    """Return how many files and lines it changed."""
    if not files:
        return "no files"
    lines = f" +{version.lines_added} -{version.lines_removed}"
    return counted(files, "file") + (lines if version.lines_added or version.lines_removed else "")
