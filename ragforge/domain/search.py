"""Search queries and their results."""

from collections.abc import Hashable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import TypeVar, assert_never

from msgspec import Struct

from ragforge.domain.ids import short_id

ALSO_SHARE = 0.5
"""The weight of a match of a synonym or translation."""
K = TypeVar("K", bound=Hashable)


class HitKind(StrEnum):
    """What was found."""

    TURN = "turn"
    TOOL_CALL = "tool_call"
    SUMMARY = "summary"
    MEMORY = "memory"
    VERSION = "version"
    PROGRAM = "program"
    """A message of a program's conversation: in no index, and given to no model."""


INDEXED_KINDS = tuple(kind for kind in HitKind if kind is not HitKind.PROGRAM)
"""What the word indexes contain."""


class Query(Struct, frozen=True):
    """What to search for, and where. An empty project_id means every project.

    The memories of a project are its own and the global ones; those of a session were made in it. Forgotten
    memories are never found.
    """

    text: str
    project_id: str | None = None
    session_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Before this moment."""
    person: str = ""
    """Who asks: only memories that are everybody's or this person's are ranked."""
    by: str = ""
    """Only what the user with this id said, and what was done and remembered for it."""
    kinds: tuple[HitKind, ...] = INDEXED_KINDS
    limit: int = 20
    also: tuple[str, ...] = ()
    """Synonyms and translations, which count less."""


class Hit(Struct, frozen=True):
    """A turn, tool call, summary, memory, version or message of a program that matches.

    The turn of a summary is the newest that it covers; that of a memory the newest that it is based on, or
    empty (index -1) if it is based on none, as are its session's values if it was made in none. A version
    that no turn made has none either.

    text: an excerpt; marks: the (start, end) spans of matched words in it, which never overlap or touch.
    score: higher is better; comparable within one result only.
    """

    kind: HitKind
    id: str
    session_id: str
    session_title: str
    turn_id: str
    turn_index: int
    at: datetime
    score: float
    text: str
    marks: tuple[tuple[int, int], ...]
    cwd: str
    tool: str = ""
    level: int = 0
    """Of a summary, from 1."""
    abandoned: bool = False
    """It is on an abandoned branch: shown as undone, and never given to the model."""
    memory_type: str = ""
    replaced: bool = False
    """A memory that another one updates."""
    version_id: str = ""
    """Of a version, its id."""
    forgotten: bool = False
    """Something said there is forgotten: the user still finds it, and no model is given it."""


class Candidate(Struct, frozen=True):
    """A possible result, with the scores of each source; `recall` ranks them.

    words: the score by words, higher is better, None if no word matches; comparable within one result.
    meaning: (1 + cosine) / 2, None if there is no vector of the requested model.
    """

    kind: HitKind
    id: str
    session_id: str
    turn_id: str
    at: datetime
    words: float | None = None
    meaning: float | None = None
    abandoned: bool = False
    """A turn, or the call or version of one, that is abandoned; a summary of which any turn is; a memory that
    is based only on abandoned turns."""
    importance: float = 0.0
    """Of a memory."""
    level: int = 0
    replaced: bool = False
    """A memory that another one updates."""
    owner: str = ""
    """The owner of a memory; empty for everybody's."""


class Relation(StrEnum):
    """How a turn is related to a candidate."""

    NEIGHBOUR = "neighbour"
    """The turn before or after it."""
    CITED = "cited"
    """A summary of level 1 covers it, a memory is based on it, or the call or version was made in it."""


class Related(Struct, frozen=True):
    """A turn one step away from a candidate; the same turn can be related to several."""

    of: str
    """The candidate's id."""
    relation: Relation
    turn: Candidate
    """With neither `words` nor `meaning`."""


def with_also(words: Mapping[K, float], also: Mapping[K, float], *, limit: int) -> dict[K, float]:
    """Return the best by the words of a query and, with less weight, by its other words; ties favour its own
    words."""
    scores = {**words, **{key: words.get(key, 0.0) + ALSO_SHARE * score for key, score in also.items()}}
    best = sorted(scores, key=lambda key: -scores[key])
    return {key: scores[key] for key in best[:limit]}


def what(hit: Hit) -> str:
    """Return what was found: `turn 3`, `shell call of turn 3`, `summary up to turn 9`, `fact,
    undone`, `version 3f2a91bc of turn 3`."""
    return ", ".join((_kind_words(hit), *states(hit)))


def _kind_words(hit: Hit) -> str:
    turn = f"turn {hit.turn_index + 1}"
    match hit.kind:
        case HitKind.TURN:
            return turn
        case HitKind.TOOL_CALL:
            return f"{hit.tool} call of {turn}"
        case HitKind.SUMMARY:
            return f"summary of {turn}" if hit.level == 1 else f"summary up to {turn}"
        case HitKind.MEMORY:
            kind = hit.memory_type or "memory"
            return f"{kind} from {turn}" if hit.turn_id else kind
        case HitKind.VERSION:
            version = f"version {short_id(hit.version_id)}"
            return f"{version} of {turn}" if hit.turn_id else version
        case HitKind.PROGRAM:
            return f"{hit.memory_type} of a program"
        case _:
            assert_never(hit.kind)


def states(hit: Hit) -> tuple[str, ...]:
    """Return what a user must know about it: that it was undone, replaced by something newer, or partly
    forgotten."""
    each = ((hit.abandoned, "undone"), (hit.replaced, "replaced"), (hit.forgotten, "partly forgotten"))
    return tuple(words for holds, words in each if holds)
