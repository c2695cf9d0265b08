"""Corrections: what a user says or does about unwanted results. They are the most instructive."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from ragforge.domain.language.base import AnyOf, common_words, stop_words
from ragforge.domain.turns import ToolCall
from ragforge.domain.versions import USER, CheckoutLog, MoveAction, Provenance, Version
from ragforge.memory.prohibitions import is_name, is_path, names_behind, names_object, prohibitions_in
from ragforge.memory.statements import is_report, is_wondering, plain, said_by

EDITED_LINES_MAX = 10
"""The maximum number of lines of an edit by hand, and of those it replaced: a longer one is separate work."""
EDITED_LINE_CHARS_MIN = 10
"""Shorter lines occur in many files."""

_CORRECTS = AnyOf(lambda language: language.corrects)
_CHOOSES = AnyOf(lambda language: language.chooses)


class CorrectionKind(StrEnum):
    """What was corrected, and how."""

    DENIED = "declined call"
    UNDONE = "after an undo"
    EDITED = "edited by hand"


class Correction(Struct, frozen=True):
    """One correction.

    text: the user's words, or the lines that they wrote; empty if the turn's message contains the words.
    of: what was corrected: the call, the message of the undone turn, or the previous lines.
    """

    kind: CorrectionKind
    text: str
    of: str


def reasons(calls: Iterable[ToolCall]) -> Iterator[Correction]:
    """Yield why the user declined calls."""
    for call in calls:
        if call.refusal:
            args = ", ".join(f"{name}: {value}" for name, value in call.args.items())
            yield Correction(CorrectionKind.DENIED, call.refusal, f"{call.name}({args})")


def undone_before(moves: Sequence[CheckoutLog], *, parent: str | None, at: datetime) -> str:
    """Return the id of the turn that was undone just before a message was sent; empty if there was none.

    moves: those of the session, the newest first. parent, at: those of the message's turn.
    """
    last = next((each for each in moves if each.at <= at and each.is_of_chat), None)
    if last is None or last.action not in (MoveAction.UNDO, MoveAction.REWIND) or not last.turns:
        return ""
    return last.turns[-1] if last.to_turn == (parent or "") else ""


def edited(version: Version, before: Version) -> Correction | None:
    """Return what the user wrote in place of lines that the assistant had just written.

    version: what changed between two turns. before: the version of the first of them.
    """
    by_hand = version.by == USER and all(each.provenance is Provenance.OUTSIDE for each in version.changes)
    if not by_hand or not before.turn_id or before.by == USER:
        return None
    paths = {each.path for each in version.changes}
    changed = [line for line in version.words.splitlines() if line not in paths]
    written = set(before.words.splitlines())
    gone = [line for line in changed if line in written and len(line.strip()) >= EDITED_LINE_CHARS_MIN]
    lines = [line for line in changed if line not in written]
    if not gone or not lines or max(len(gone), len(lines)) > EDITED_LINES_MAX:
        return None
    return Correction(CorrectionKind.EDITED, "\n".join(lines), "\n".join(gone))


def wishes_in(text: str, *, corrects: bool) -> Iterator[str]:
    """Yield sentences of the text that say what to use or not to use, as a correction does.

    corrects: whether all of the text corrects something; else only what follows "no": "no, use X".
    """
    for sentence, words in said_by(text):
        opening = _CORRECTS.match(words)
        wish = sentence[opening.end() :] if opening else sentence
        corrects = corrects or opening is not None
        if not (corrects and wish) or is_wondering(words) or is_report(words):
            continue
        if names_object(wish) or any(map(_is_general, _wanted_or_not(wish))):
            yield wish


def is_correction(message: str) -> bool:
    """Whether the message begins by saying that something was done wrong."""
    first = next(iter(said_by(message)), None)
    return first is not None and _CORRECTS.match(first[1]) is not None


def _wanted_or_not(wish: str) -> Iterator[str]:
    """Yield the things that it says to use, or not to use."""
    found = _CHOOSES.search(plain(wish))
    yield from names_behind(wish[found.end() :]) if found else ()
    for forbidden in prohibitions_in(wish):
        yield from forbidden.objects


def _is_general(name: str) -> bool:
    """Whether it is something for general use: a word or a name, and no path of this task."""
    if is_path(name) or name.casefold() in stop_words() | common_words():
        return False
    return is_name(name) or " " not in name
