"""Which statements of a project hold no longer since which turn, and the weights that tell it: one file of
weights for wishes of the user, one for all else.

    python -m training.changes          weights from all projects, and how they do on each left out
    python -m training.changes --dry    without writing them

A file of `training/changes` is one project: its turns in their order, then for each statement that a later
turn made untrue `{"outdated": turn, "text", "by": turn, "clear"}`; `text` stands word for word in its turn.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from ragforge.memory.own_words import own_words
from ragforge.memory.recall import likely_changes, likely_endings
from ragforge.memory.recall.likely_changes import Later, later_turn, signals
from ragforge.memory.recall.likely_endings import always_stands, ending_signs
from ragforge.memory.terms import with_digits
from training.fit import logistic

HERE = Path(__file__).parent / "changes"
POSITIVE = 4.0
"""How much more a statement that is outdated counts: there are few."""
DECAY = 3.0
DECAY_OF_WISHES = 30.0
"""Few wishes end, and there are many signs."""
ROUNDS = 3
"""How often it is chosen again which sentence of a turn ends a wish."""
SHOWN = (0.5, 0.6, 0.7, 0.8, 0.9)


class Pair(Struct, frozen=True):
    """A statement and a later turn."""

    statement: tuple[int, str]
    features: dict[str, float]
    ends: bool | None
    """Whether the later turn makes it untrue; None where it was untrue already."""
    is_outdated: bool
    """Whether any turn of the project does."""
    by: int
    """The later turn."""
    project: str


class Project(Struct, frozen=True):
    """What is compared in it: the user's wishes with each later sentence of theirs, all else with later
    turns."""

    wishes: list[Pair]
    others: list[Pair]


def read_project(path: Path) -> Project:
    """All pairs of a project that have anything in common."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    turns = [row for row in rows if "turn" in row]
    ended = [row for row in rows if "outdated" in row]
    later = [later_turn(own_words(row["user"]), row["assistant"]) for row in turns]
    found = Project([], [])
    for at, row in enumerate(turns):
        for place, statement in enumerate(later[at].sentences):
            of_user = place < later[at].of_user
            is_wish = of_user and always_stands(statement)
            known = [each for each in ended if each["outdated"] == row["turn"]]
            by = {each["by"] for each in known if _same(each["text"], statement)}
            for behind in range(at + 1, len(turns)):
                number = turns[behind]["turn"]
                ends = number in by if not by or number <= min(by) else (True if number in by else None)
                into = found.wishes if is_wish else found.others
                signs = (
                    _of_wish(statement, later[at], later[behind])
                    if is_wish
                    else _of_other(statement, later[behind], of_user=of_user, is_next=behind == at + 1)
                )
                into += [
                    Pair((row["turn"], statement), each, ends, bool(by), number, path.stem) for each in signs
                ]
    return found


def _of_wish(statement: str, said_in: Later, by: Later) -> Iterator[dict[str, float]]:
    return (signs for _, signs in ending_signs(statement, said_in.answer, by))


def _of_other(statement: str, by: Later, *, of_user: bool, is_next: bool) -> Iterator[dict[str, float]]:
    found = signals(statement, by, of_user=of_user, is_next=is_next)
    return iter([found[0]] if found else [])


def _same(text: str, statement: str) -> bool:
    digits = with_digits(text)
    return digits in statement or statement in digits


def weights_of_wishes(pairs: Sequence[Pair]) -> dict[str, float]:
    """Weights that give to one sentence of each turn that ends a wish a greater probability than to any
    other: which one that is, nobody has marked."""
    ending: dict[tuple[tuple[int, str], int, str], list[Pair]] = {}
    others = [pair for pair in pairs if pair.ends is False]
    for pair in (each for each in pairs if each.ends):
        ending.setdefault((pair.statement, pair.by, pair.project), []).append(pair)
    weights = {"covered": 1.0, "alike": 1.0}
    for _ in range(ROUNDS):
        chosen = [max(each, key=lambda pair: _score(pair, weights)) for each in ending.values()]
        weights = weights_of([*others, *chosen], decay=DECAY_OF_WISHES)
    return weights


def _score(pair: Pair, weights: dict[str, float]) -> float:
    return weights.get("", 0.0) + sum(
        pair.features[name] * weight for name, weight in weights.items() if name
    )


def weights_of(pairs: Sequence[Pair], *, decay: float = DECAY) -> dict[str, float]:
    """Weights of a logistic regression; `""` is the constant."""
    known = [each for each in pairs if each.ends is not None]
    return logistic(
        [each.features for each in known],
        [bool(each.ends) for each in known],
        decay=decay,
        positive=POSITIVE,
    )


def scored(pairs: Sequence[Pair], weights: dict[str, float]) -> dict[tuple[int, str], float]:
    """By statement, the greatest probability of any later turn."""
    found: dict[tuple[int, str], float] = {}
    for each in pairs:
        share = 1 / (1 + np.exp(-_score(each, weights)))
        found[each.statement] = max(found.get(each.statement, 0.0), share)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.changes")
    parser.add_argument("--dry", action="store_true", help="write no weights")
    options = parser.parse_args()
    projects = {path.stem: read_project(path) for path in sorted(HERE.glob("*.jsonl"))}
    wishes = {name: each.wishes for name, each in projects.items()}
    others = {name: each.others for name, each in projects.items()}
    for kind, of_kind, learn, path in (
        ("wishes", wishes, weights_of_wishes, likely_endings.WEIGHTS),
        ("others", others, weights_of, likely_changes.WEIGHTS),
    ):
        print(f"{kind}:")
        _print_left_out(of_kind, learn)
        if not options.dry:
            weights = learn([pair for pairs in of_kind.values() for pair in pairs])
            path.write_text(json.dumps(weights, indent=1, sort_keys=True) + "\n", "utf-8")
            print(f"{len(weights)} weights in {path.name}")


def _print_left_out(
    projects: dict[str, list[Pair]], learn: Callable[[Sequence[Pair]], dict[str, float]]
) -> None:
    """How the weights of all other projects do on each."""
    sums = {bar: np.zeros(3, dtype=int) for bar in SHOWN}
    for name, pairs in projects.items():
        weights = learn([pair for other, each in projects.items() if other != name for pair in each])
        found = scored(pairs, weights)
        outdated = {each.statement for each in pairs if each.is_outdated}
        told: list[str] = []
        for bar in SHOWN:
            marked = {statement for statement, share in found.items() if share >= bar}
            sums[bar] += (len(marked & outdated), len(marked), len(outdated))
            told.append(f"{len(marked & outdated)} of {len(marked)} at {bar}")
        print(f"{name}, left out: {len(outdated)} outdated; marked rightly {', '.join(told)}")
    for bar, (right, marked, outdated) in sums.items():
        print(f"at {bar}: precision {right / marked:.2f}, recall {right / outdated:.2f}")


if __name__ == "__main__":
    main()
