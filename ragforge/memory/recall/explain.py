"""What was found and why, in words for a user, the same on the command line and on the screen."""

from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace

from ragforge.domain.memories import Memory, MemoryType
from ragforge.domain.search import Hit, HitKind
from ragforge.domain.words import day_words
from ragforge.memory.recall.results import HitSource, RankedHit, SearchResults, Why

if TYPE_CHECKING:  # loaded where something is forgotten
    from ragforge.memory.forgotten import Forgotten


def marked(results: SearchResults, forgotten: "Forgotten | None") -> SearchResults:
    """Return the complete results, with a mark where a model receives less of them."""
    if not forgotten:
        return results
    hits = [replace(each.hit, forgotten=forgotten.hit(each.hit) != each.hit) for each in results.found]
    found = (replace(each, hit=hit) for each, hit in zip(results.found, hits, strict=True))
    return replace(results, found=tuple(found))


def reason(found: RankedHit) -> str:
    """Return why it matched: `words: parser, bug; meaning 0.81`."""
    parts = [_reason(why, found.hit) for why in found.why if why.source is not HitSource.METADATA]
    return "; ".join(part for part in parts if part)


def _reason(why: Why, hit: Hit) -> str:
    match why.source:
        case HitSource.WORDS:
            return f"words: {words}" if (words := ", ".join(matched(hit))) else "words"
        case HitSource.MEANING:
            return f"meaning {why.score:.2f}"
        case HitSource.GRAPH:
            return "next to a match" if hit.kind is HitKind.TURN else ""
        case HitSource.METADATA:
            return ""
        case _:
            assert_never(why.source)


def matched(hit: Hit) -> list[str]:
    """Return the matched words, as written in the excerpt, each once."""
    return list({hit.text[start:end].lower(): None for start, end in hit.marks})


def explained(found: RankedHit) -> list[str]:
    """Return a line for each source: its rank, its score and its share of the final score."""
    return [
        f"{why.source:<8} rank {why.rank:<4} score {why.score:<9.4g} share {why.share:.4f}"
        for why in found.why
    ]


def because(found: RankedHit) -> str:
    """Return why it is in the context block, in a few words for a user."""
    sources = {why.source for why in found.why}
    if HitSource.WORDS in sources and (words := matched(found.hit)[:3]):
        return f"speaks of {', '.join(words)}"
    if HitSource.MEANING in sources:
        return "is about something similar"
    return "came just before or after"


_SAID = {
    MemoryType.IDENTITY: "you told this about yourself",
    MemoryType.GOAL: "you set this goal",
    MemoryType.DECISION: "you decided this",
    MemoryType.TODO: "still to do, as you said",
    MemoryType.PREFERENCE: "you prefer this",
    MemoryType.FACT: "you said this",
    MemoryType.EVENT: "this happened",
    MemoryType.OBSERVATION: "this was noticed",
}


def memory_reason(memory: Memory) -> str:
    """Return the reason, such as `you decided this on 3 Nov`."""
    return f"{_SAID[memory.type]} on {day_words(memory.created_at)}"


def matched_words(hit: Hit) -> str:
    """Return the reason, such as `words: database, decide`."""
    words = matched(hit)[:5]
    return f"words: {', '.join(words)}" if words else "words"


def scores_of(found: RankedHit) -> dict[str, float]:
    """Return the score of each source, and the total."""
    return {**{str(why.source): why.score for why in found.why}, "score": found.hit.score}
