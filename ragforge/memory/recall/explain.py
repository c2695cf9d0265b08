"""What was found and why, in words for a user: the same on the command line and on the screen."""

from typing import assert_never

from msgspec.structs import replace

from ragforge.domain.search import Hit, HitKind
from ragforge.memory.forgotten import Forgotten
from ragforge.memory.recall.results import HitSource, RankedHit, SearchResults, Why


def marked(results: SearchResults, forgotten: Forgotten) -> SearchResults:
    """The results whole, marked where a model is given less of them."""
    if not forgotten:
        return results
    hits = [replace(each.hit, forgotten=forgotten.hit(each.hit) != each.hit) for each in results.found]
    found = (replace(each, hit=hit) for each, hit in zip(results.found, hits, strict=True))
    return replace(results, found=tuple(found))


def reason(found: RankedHit) -> str:
    """Why it matched: `words: parser, bug; meaning 0.81`."""
    parts = [_reason(why, found.hit) for why in found.why if why.source is not HitSource.METADATA]
    return "; ".join(part for part in parts if part)


def _reason(why: Why, hit: Hit) -> str:
    match why.source:
        case HitSource.WORDS:
            return f"words: {words}" if (words := ", ".join(matched(hit))) else "words"
        case HitSource.MEANING:
            return f"meaning {why.score:.2f}"
        case HitSource.GRAPH:
            return "beside what matches" if hit.kind is HitKind.TURN else ""
        case HitSource.METADATA:
            return ""
        case _:
            assert_never(why.source)


def matched(hit: Hit) -> list[str]:
    """The words that matched, as they stand in the excerpt, each once."""
    return list({hit.text[start:end].lower(): None for start, end in hit.marks})


def explained(found: RankedHit) -> list[str]:
    """A line for each source: its rank, its score and its share of the score that decides."""
    return [
        f"{why.source:<8} rank {why.rank:<4} score {why.score:<9.4g} share {why.share:.4f}"
        for why in found.why
    ]


def because(found: RankedHit) -> str:
    """Why it stands in the context block: by which words, how near in meaning, through what."""
    reasons: list[str] = []
    for why in found.why:
        match why.source:
            case HitSource.WORDS:
                reasons.append(matched_words(found.hit))
            case HitSource.MEANING:
                reasons.append(f"near in meaning ({why.score:.2f})")
            case HitSource.GRAPH:
                reasons.append("beside what was found")
            case HitSource.METADATA:
                reasons.append("what is known of it")
    return ", ".join(dict.fromkeys(reasons)) or matched_words(found.hit)


def matched_words(hit: Hit) -> str:
    """`words: database, decide`."""
    words = matched(hit)[:5]
    return f"words: {', '.join(words)}" if words else "words"


def scores_of(found: RankedHit) -> dict[str, float]:
    """What each source said, and all of them together."""
    return {**{str(why.source): why.score for why in found.why}, "score": found.hit.score}
