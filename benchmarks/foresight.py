"""How well foresight works without a model.

    python benchmarks/foresight.py --pairs FILE.jsonl
    python benchmarks/foresight.py DATA.jsonl

With `--pairs`: whether ratings by words and by meaning sort predictions as a reader sorted them: Spearman's
rank correlation with its 95 % interval (Bonett and Wright). Each line is
`{"predicted", "happened", "rating": 0 to 10}`, and may have a `"language"` and a `"scope"`.

With a file of conversations, the lines that `recall.py` reads or a scripted project
(`{"turn", "session", "user", "assistant"}`): the share of turns whose next message is nearer to one of the
three predicted ones than to the nearest of three drawn at random from the same file. Without a model, the
predictions are the things to do that the user has stated and not closed, newest first. For the other turns
there is no prediction.
"""

import argparse
import json
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ragforge.domain.foresight import MESSAGE_CHARS_MAX, MESSAGES_MAX
from ragforge.domain.memories import Memory, MemoryType
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.domain.vectors import Vector
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.extract import memories_in
from ragforge.memory.foresight import rating_by_meaning, rating_by_words
from ragforge.memory.material import Material
from ragforge.memory.sentences import cut_words

DRAWS = 20
"""How many times three messages are drawn for each turn."""
DEVIATIONS = 1.96
"""Standard deviations of a normal distribution, on either side of the mean, that contain 95 % of it."""
START = datetime(2026, 1, 1, tzinfo=UTC)

Rate = Callable[[str, str], int | None]


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Return the lines of the file. Exits if one cannot be read."""
    found: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            if line.strip():
                found.append(dict(json.loads(line)))
        except ValueError as error:
            raise SystemExit(f"{path}, line {number}: {error}. See the top of {__file__}.") from error
    return found


def print_pairs(path: Path) -> None:
    """Print a line per group of pairs, and one of all."""
    pairs = lines_of(path)
    groups: dict[str, list[dict[str, Any]]] = {"all": pairs}
    for field in ("language", "scope"):
        for pair in pairs:
            if field in pair:
                groups.setdefault(str(pair[field]), []).append(pair)
    print(f"{'pairs':<12} {'count':>5}   {'by words':<24}  by meaning")
    for name, group in groups.items():
        ratings = [float(pair["rating"]) for pair in group]
        told = [_correlation(rate, group, ratings) for rate in (rating_by_words, rating_by_meaning)]
        print(f"{name:<12} {len(group):5}   {told[0]:<24}  {told[1]}")


def _correlation(rate: Rate, pairs: Sequence[Mapping[str, Any]], ratings: Sequence[float]) -> str:
    given = [float(rate(str(pair["happened"]), str(pair["predicted"])) or 0) for pair in pairs]
    if len(pairs) < 4 or len(set(given)) < 2 or len(set(ratings)) < 2:
        return "too few"
    rho = statistics.correlation(ranks(given), ranks(ratings))
    low, high = interval(rho, len(pairs))
    return f"{rho:+.3f} ({low:+.3f} to {high:+.3f})"


def ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each among all; equal ones share the mean of theirs."""
    ordered = sorted(values)
    first = {value: ordered.index(value) for value in set(values)}
    return [first[value] + (ordered.count(value) + 1) / 2 for value in values]


def interval(rho: float, count: int) -> tuple[float, float]:
    """Return the interval of the rank correlation with a confidence of 95 %."""
    middle = math.atanh(max(-0.999_999, min(0.999_999, rho)))
    around = DEVIATIONS * math.sqrt((1 + rho * rho / 2) / (count - 3))
    return math.tanh(middle - around), math.tanh(middle + around)


def conversations(items: Iterable[Mapping[str, Any]]) -> list[list[tuple[str, str]]]:
    """Return what the user and the assistant said, turn by turn, in all sessions of a project."""
    found: dict[str, list[tuple[str, str]]] = {}
    for item in items:
        if "turn" in item or item.get("type") == "turn":
            said = (str(item["user"]), str(item.get("assistant", "")))
            found.setdefault(str(item.get("conversation", "")), []).append(said)
    return list(found.values())


def expected(turns: Sequence[tuple[str, str]]) -> Iterator[tuple[list[str], str]]:
    """Yield what was predicted after each turn but the last, and the message that followed."""
    open_todos: list[Memory] = []
    for at, (user, assistant) in enumerate(turns[:-1]):
        before = turns[at - 1][1] if at else ""
        turn = Turn(f"t{at}", "s", None, at, (TextPart(user),), START, TurnStatus.FINISHED, assistant)
        stated, links = memories_in(Material(turn, "p", near=tuple(open_todos), before=before))
        closed = {link.to_id for link in links} | {memory.id for memory in stated}
        todos = [memory for memory in stated if memory.type is MemoryType.TODO]
        open_todos = [*reversed(todos), *(each for each in open_todos if each.id not in closed)]
        three = [cut_words(each.content, MESSAGE_CHARS_MAX) for each in open_todos[:MESSAGES_MAX]]
        yield three, turns[at + 1][0]


def print_messages(path: Path) -> None:
    """Print how often one of three predicted messages was nearer than one of three drawn ones."""
    told = conversations(lines_of(path))
    if not any(len(turns) > 1 for turns in told):
        raise SystemExit(f"{path} has no conversation of two turns. See the top of {__file__}.")
    messages = [user for turns in told for user, _ in turns]
    vectors = dict(zip(messages, StaticEmbedder().vectors(messages), strict=True))

    def nearest(texts: Sequence[str], came: str) -> float:
        missing = [text for text in texts if text not in vectors]
        vectors.update(zip(missing, StaticEmbedder().vectors(missing), strict=True))
        return max(_cosine(vectors[text], vectors[came]) for text in texts)

    chance = random.Random(1)
    cases = [case for turns in told for case in expected(turns)]
    won: list[float] = []
    for three, came in cases:
        others = [message for message in messages if message != came]
        if three and len(others) >= MESSAGES_MAX:
            own = nearest(three, came)
            drawn = [nearest(chance.sample(others, MESSAGES_MAX), came) for _ in range(DRAWS)]
            won.append(sum(own > other for other in drawn) / DRAWS)
    print(f"{len(cases)} turns with a next message, something expected of {len(won)}")
    if won:
        print(f"one of the three is nearer than the nearest of three drawn: {statistics.fmean(won):.3f}")


def _cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?", metavar="DATA.jsonl")
    parser.add_argument("--pairs", type=Path, metavar="FILE.jsonl")
    chosen = parser.parse_args()
    if chosen.pairs:
        print_pairs(chosen.pairs)
    if chosen.data:
        print_messages(chosen.data)


if __name__ == "__main__":
    # `make bench` runs every file here; without data there is nothing to measure.
    if len(sys.argv) > 1:
        main()
