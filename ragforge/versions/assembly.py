"""Build versions: of a turn, and of what the user changed between turns."""

import asyncio
import logging
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain.errors import StoreError
from ragforge.domain.ids import new_id, now
from ragforge.domain.messages import own_text
from ragforge.domain.printable import escaped
from ragforge.domain.redact import Redactor
from ragforge.domain.turns import Turn
from ragforge.domain.usage import Usage
from ragforge.domain.versions import USER, WORDS_CHARS_MAX, Change, Untracked, Version
from ragforge.domain.words import first_words
from ragforge.store.base import Blobs
from ragforge.versions.difference import differences, lines_changed, words_of
from ragforge.versions.project_files import ProjectFiles

log = logging.getLogger(__name__)

TITLE_CHARS_MAX = 80
COUNTED_FILES_MAX = 200
"""With more files than this, as after checking out another branch, lines are not counted."""


class TurnFacts(Struct, frozen=True):
    """What a turn's version records besides its changes.

    usage, cost_usd: of this run of the turn; a turn that continued has a version for each run.
    """

    turn: Turn
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    note: str = ""
    untracked: tuple[Untracked, ...] = ()
    version_id: str = field(default_factory=new_id)


async def turn_version(
    files: ProjectFiles, facts: TurnFacts, changes: Sequence[Change], *, parent: str
) -> Version:
    """Return the version of a turn; empty changes make one too."""
    turn = facts.turn
    ended_at = turn.ended_at or now()
    version = Version(
        id=facts.version_id,
        project_id=files.project.id,
        parents=(parent,) if parent else (),
        at=now(),
        by=turn.model,
        changes=tuple(changes),
        session_id=turn.session_id,
        turn_id=turn.id,
        title=files.redactor.text(first_words(own_text(turn.user), TITLE_CHARS_MAX)),
        note=facts.note,
        untracked=facts.untracked,
        usage=facts.usage,
        cost_usd=facts.cost_usd,
        duration_ms=max(0, round((ended_at - turn.started_at).total_seconds() * 1000)),
    )
    return await with_lines(version, files.blobs, files.redactor)


async def outside_version(
    files: ProjectFiles,
    changes: Sequence[Change],
    *,
    parent: str,
    note: str = "",
    untracked: tuple[Untracked, ...] = (),
) -> Version:
    """Return the version of changes that belong to no turn."""
    paths = sorted({change.path for change in changes})
    more = len(paths) - 1
    title = f"{escaped(paths[0])}{f' and {more} more' if more else ''}, changed outside"
    version = Version(
        id=new_id(),
        project_id=files.project.id,
        parents=(parent,) if parent else (),
        at=now(),
        by=USER,
        changes=tuple(changes),
        title=files.redactor.text(title),
        note=note,
        untracked=untracked,
    )
    return await with_lines(version, files.blobs, files.redactor)


async def with_lines(version: Version, blobs: Blobs, redactor: Redactor) -> Version:
    """Return the version with its lines counted, and the words by which a search finds it."""
    changes = version.changes
    if not changes:
        return version
    if len(changes) > COUNTED_FILES_MAX:
        paths = "\n".join(escaped(change.path) for change in changes)
        return replace(version, words=redactor.text(paths)[:WORDS_CHARS_MAX])
    try:
        found = await differences(changes, blobs)
    except StoreError as error:
        log.warning("The lines of version %s could not be counted: %s", version.id, error)
        return version
    words = await asyncio.to_thread(words_of, found, redactor.text)
    added, removed = lines_changed(found)
    return replace(version, lines_added=added, lines_removed=removed, words=words)
