"""Stored alternatives: sibling versions, identified by their labels."""

import re
from collections.abc import Sequence

from msgspec import Struct

from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import short_id
from ragforge.domain.json import JsonObject
from ragforge.domain.printable import fenced
from ragforge.domain.versions import MoveAction, Version, files_touched
from ragforge.domain.words import aligned
from ragforge.session.moves import checkout
from ragforge.session.state import Session
from ragforge.store.base_versions import Versions
from ragforge.versions.head_move import Choices, MoveResult
from ragforge.versions.log import files_json, files_words
from ragforge.versions.names import shown

BEFORE = "before the first turn"
"""The title of the empty version that alternatives follow if there is no version before them."""
ROWS_READ_MAX = 500

LOOKED_BACK = 20
"""How many versions from the head down are searched for alternatives."""

_LABEL = re.compile(r"alternative (\d{1,6})(?: \((.*?)\))?(?:, (.*))?")


class Alternative(Struct, frozen=True):
    """One attempt at a request. remarks: how it ended, what the check command said."""

    number: int
    name: str
    remarks: str
    version: Version

    @property
    def check(self) -> str:
        """What the check command said; empty if none was run."""
        said = [part for part in self.remarks.split(", ") if part.startswith("check ")]
        return said[0].removeprefix("check ") if said else ""

    @property
    def ended(self) -> str:
        """How the turn ended if it did not finish; else empty."""
        return ", ".join(part for part in self.remarks.split(", ") if not part.startswith("check "))

    def as_json(self) -> JsonObject:
        """Return it for a script."""
        version = self.version
        return {
            "number": self.number,
            "name": self.name,
            "version": version.id,
            "turn": version.turn_id or None,
            "by": version.by,
            "ended": self.ended or "finished",
            "check": self.check or None,
            "files": [*files_json(version)],
            "lines_added": version.lines_added,
            "lines_removed": version.lines_removed,
            "tokens": version.usage.input_tokens + version.usage.output_tokens,
            "cost_usd": version.cost_usd,
            "duration_ms": version.duration_ms,
        }


def alternative_of(version: Version) -> Alternative | None:
    """Return the version as an alternative; None if it is not one."""
    found = _LABEL.fullmatch(version.label)
    return Alternative(int(found[1]), found[2] or "", found[3] or "", version) if found else None


async def children_of(versions: Versions, version_id: str) -> list[Alternative]:
    """Return the alternatives that follow the version, by number."""
    found = [
        alternative
        for child in await versions.children(version_id)
        if child.parents[:1] == (version_id,) and (alternative := alternative_of(child))
    ]
    return sorted(found, key=lambda each: each.number)


class Here(Struct, frozen=True):
    """The alternatives for the current files: they follow `base`. taken: the version of the head."""

    base: Version | None = None
    alternatives: tuple[Alternative, ...] = ()
    head: str = ""


async def alternatives_here(session: Session) -> Here:
    """Return the alternatives that follow the current version, or the nearest earlier one that has any."""
    versions, project = session.workspace.store.versions, session.workspace.project
    head = (await session.worktree.head()).version
    line = await versions.line(head, limit=LOOKED_BACK) if head else []
    if line and not line[-1].parents and (before := await beginning_of(versions, project.id)):
        line.append(before)
    for version in line:
        if found := await children_of(versions, version.id):
            return Here(version, tuple(found), head)
    return Here(head=head)


async def beginning_of(versions: Versions, project_id: str) -> Version | None:
    """Return the version that stands for the state before the first one; None if there is none."""
    rows = await versions.rows(project_id, limit=ROWS_READ_MAX)
    return next(
        (row.version for row in rows if row.version.title == BEFORE and not row.version.parents), None
    )


async def take(session: Session, number: int, *, choices: Choices | None = None) -> MoveResult:
    """Check out that alternative, files and chat. Raises UsageError if there is none, and as `checkout`."""
    here = await alternatives_here(session)
    found = [each for each in here.alternatives if each.number == number]
    if not found:
        known = ", ".join(str(each.number) for each in here.alternatives)
        if not known:
            make = typed("alternatives N PROMPT")
            raise UsageError(f"There are no alternatives yet; `{make}` makes some.")
        raise UsageError(f"There is no alternative {number}, only {known}.")
    return await checkout(session, found[-1].version.id, choices=choices, action=MoveAction.TAKE)


HEADER = ("#", "way", "changed", "check", "tokens", "cost", "time", "version", "")


def table(rows: Sequence[Alternative], *, head: str = "") -> list[str]:
    """Return the alternatives as lines of text, in columns."""
    return aligned([HEADER, *(_cells(row, head) for row in rows)], words=len(HEADER))


def here_words(here: Here) -> str:
    """Return the alternatives as Markdown, with the version they follow and what can be done with them."""
    if here.base is None:
        return "There are no alternatives yet. `/alternatives 3 PROMPT` tries a request in three ways."
    first = here.alternatives[0]
    return (
        f"Alternatives from {shown(here.base)}:\n\n"
        + fenced("\n".join(table(here.alternatives, head=here.head)))
        + f"\n\n`/alternatives take {first.number}` takes one; `/diff {short_id(here.base.id)} "
        f"{short_id(first.version.id)}` shows what it changed. The others are kept and can be taken later."
    )


def _cells(row: Alternative, head: str) -> tuple[str, ...]:
    version = row.version
    tokens = version.usage.input_tokens + version.usage.output_tokens
    marks = [row.ended, "taken" if version.id == head else ""]
    return (
        str(row.number),
        row.name,
        files_words(version, files_touched(version.changes)),
        row.check or "-",
        f"{tokens:,}",
        "?" if version.cost_usd is None else f"${version.cost_usd:.4f}",
        f"{version.duration_ms / 1000:.1f} s",
        short_id(version.id),
        ", ".join(filter(None, marks)),
    )
