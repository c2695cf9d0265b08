"""What was found and why, in words for a person: the same on the command line and on the screen."""

from typing import assert_never

from ragforge.domain.search import Hit, HitKind
from ragforge.memory.results import Found, Source, Why


def reason(found: Found) -> str:
    """Why it matched: `words: parser, bug; meaning 0.81`."""
    parts = [_reason(why, found.hit) for why in found.why if why.source is not Source.METADATA]
    return "; ".join(part for part in parts if part)


def _reason(why: Why, hit: Hit) -> str:
    match why.source:
        case Source.WORDS:
            return f"words: {words}" if (words := ", ".join(matched(hit))) else "words"
        case Source.MEANING:
            return f"meaning {why.score:.2f}"
        case Source.GRAPH:
            return "beside what matches" if hit.kind is HitKind.TURN else ""
        case Source.METADATA:
            return ""
        case _:
            assert_never(why.source)


def matched(hit: Hit) -> list[str]:
    """The words that matched, as they stand in the excerpt, each once."""
    return list({hit.text[start:end].lower(): None for start, end in hit.marks})


def explained(found: Found) -> list[str]:
    """A line for each source: its rank, its score and its share of the score that decides."""
    return [
        f"{why.source:<8} rank {why.rank:<4} score {why.score:<9.4g} share {why.share:.4f}"
        for why in found.why
    ]
