"""Memories in the output of `ragforge memory`: as lines, and as JSON."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from ragforge.domain.memories import AssociationKind, Memory, marks_of
from ragforge.domain.messages import text_of
from ragforge.domain.printable import one_line
from ragforge.domain.words import counted, moment_words
from ragforge.memory.memories import TICK, Evidence, Linked, Story

ID_CHARS_SHOWN = 8
EVIDENCE_CHARS_SHOWN = 300

_OUT = {
    AssociationKind.UPDATES: "replaces",
    AssociationKind.CONTRADICTS: "contradicts",
    AssociationKind.SUPPORTS: "supports",
    AssociationKind.RELATES_TO: "relates to",
    AssociationKind.CAUSED_BY: "caused by",
}
_IN = {
    AssociationKind.UPDATES: "replaced by",
    AssociationKind.CONTRADICTS: "contradicted by",
    AssociationKind.SUPPORTS: "supported by",
    AssociationKind.RELATES_TO: "related to",
    AssociationKind.CAUSED_BY: "cause of",
}


def list_line(memory: Memory, *, newer: Memory | None = None, whose: bool = False) -> str:
    """Its id, type, importance, scope, date, words, and what is special of it; its owner too with `whose`.

    newer: a rule that says the opposite of it and applies in its place.
    """
    until = [f"until {last_moment(memory):%Y-%m-%d}"] if last_moment(memory) else []
    contradicted = [f"contradicted by the newer {newer.id[:ID_CHARS_SHOWN]}"] if newer else []
    marks = "".join(f" [{mark}]" for mark in [*marks_of(memory), *contradicted, *until])
    return (
        f"{memory.id[:ID_CHARS_SHOWN]}  {memory.type:<11}  {memory.importance:.2f}  {memory.scope:<7}  "
        f"{memory.updated_at.astimezone():%Y-%m-%d}  {one_line(memory.content)}{marks}"
        + (f"  {one_line(memory.owner) or 'everybody'}" if whose else "")
    )


def memory_lines(memory: Memory) -> list[str]:
    """Return all fields of one."""
    rows = {
        "id": memory.id,
        "type": memory.type,
        "scope": memory.scope,
        "owner": one_line(memory.owner) or "everybody",
        "importance": f"{memory.importance:.2f}",
        "confidence": f"{memory.confidence:.2f}",
        "topic": one_line(memory.topic),
        "source": memory.source,
        "origin": one_line(memory.origin),
        "created": moment_words(memory.created_at),
        "updated": moment_words(memory.updated_at),
        "valid": period_words(memory),
        "strength": binds_words(memory),
        "applies to": one_line(", ".join(memory.applies_to)),
        "used": used_words(memory),
        "based on": counted(len(memory.turns), "turn"),
        "state": ", ".join(marks_of(memory)),
    }
    facts = (f"  {name:<11} {value}" for name, value in rows.items() if value)
    return [one_line(memory.content), *facts]


def story_lines(story: Story, abandoned: Collection[str]) -> list[str]:
    """Return the memory, its turns with the command that opens each, and its links."""
    lines = [*memory_lines(story.memory), ""]
    if not story.evidence:
        lines.append(
            "It is not based on a stored turn: a user stated it with a command, or its session was deleted."
        )
    for each in story.evidence:
        undone = "  (undone)" if each.turn.id in abandoned else ""
        title = one_line(each.session.title) if each.session else "a deleted session"
        when = moment_words(each.turn.started_at)
        lines.append(f"{when}  {title}, turn {each.turn.index + 1}{undone}")
        lines.append(f"  {one_line(text_of(each.turn.user))[:EVIDENCE_CHARS_SHOWN]}")
        if each.session:
            lines.append(f"  {resume_command(each)}")
    for link in story.linked:
        lines.append(f"{link_words(link)}: {link.other.id[:ID_CHARS_SHOWN]}  {one_line(link.other.content)}")
    return lines


def story_as_json(story: Story, abandoned: Collection[str]) -> dict[str, Any]:
    """Return the object, with `evidence` and `linked`."""
    evidence = [
        {
            "turn": each.turn.id,
            "session": each.turn.session_id,
            "at": each.turn.started_at.isoformat(),
            "text": text_of(each.turn.user)[:EVIDENCE_CHARS_SHOWN],
            "undone": each.turn.id in abandoned,
            "resume": resume_command(each) if each.session else None,
        }
        for each in story.evidence
    ]
    linked = [
        {
            "kind": link.kind,
            "direction": "out" if link.outgoing else "in",
            "id": link.other.id,
            "content": link.other.content,
        }
        for link in story.linked
    ]
    return {**as_json(story.memory), "evidence": evidence, "linked": linked}


def as_json(memory: Memory) -> dict[str, Any]:
    """Return the fields of a memory."""
    return {
        "id": memory.id,
        "type": memory.type,
        "content": memory.content,
        "scope": memory.scope,
        "owner": memory.owner or None,
        "importance": memory.importance,
        "confidence": memory.confidence,
        "topic": memory.topic,
        "strength": memory.strength or None,
        "applies_to": list(memory.applies_to),
        "said": memory.said,
        "held": memory.held,
        "broken": memory.broken,
        "source": memory.source,
        "origin": memory.origin or None,
        "project": memory.project_id,
        "session": memory.session_id or None,
        "turns": list(memory.turns),
        "created": memory.created_at.isoformat(),
        "updated": memory.updated_at.isoformat(),
        "valid_from": (memory.valid_from or memory.created_at).isoformat(),
        "valid_to": memory.valid_to.isoformat() if memory.valid_to else None,
        "accessed": memory.accessed_at.isoformat() if memory.accessed_at else None,
        "used": memory.access_count,
        "forgotten": memory.forgotten_at.isoformat() if memory.forgotten_at else None,
        "replaced": memory.replaced,
        "undone": memory.abandoned,
    }


def last_moment(memory: Memory) -> datetime | None:
    """Return when it was last valid, in local time: for a day that its words name, the end of that day."""
    if memory.abandoned or memory.valid_to is None:
        return None
    return (memory.valid_to - TICK).astimezone()


def period_words(memory: Memory) -> str:
    """Return from when until when it is valid, or was last."""
    if memory.abandoned:
        return ""
    last = last_moment(memory)
    until = f" until {last:%Y-%m-%d %H:%M}" if last else ""
    return f"from {moment_words(memory.valid_from or memory.created_at)}{until}"


def binds_words(memory: Memory) -> str:
    """Return how strictly it binds, in how many sessions it was said, and the calls against it."""
    if not memory.strength:
        return ""
    said = f"said in {counted(memory.said, 'session')}"
    held = f"stopped {counted(memory.held, 'call')}" if memory.held else ""
    broken = f"broken by {counted(memory.broken, 'call')}" if memory.broken else ""
    return ", ".join(filter(None, (memory.strength, said, held, broken)))


def used_words(memory: Memory) -> str:
    """Return how often it was given to a model or opened, and when last."""
    if not memory.access_count:
        return "never"
    last = f", last {moment_words(memory.accessed_at)}" if memory.accessed_at else ""
    return f"{counted(memory.access_count, 'time')}{last}"


def link_words(link: Linked) -> str:
    """Return the memory's relation to the other."""
    return (_OUT if link.outgoing else _IN)[link.kind]


def resume_command(evidence: Evidence) -> str:
    """Return the command that opens the session at the turn."""
    return f"ragforge -r {evidence.turn.session_id} --at {evidence.turn.index + 1}"
