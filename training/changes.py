"""Which statements of a project hold no longer since which turn, and the weights that tell it.

    python -m training.changes          weights from all projects, and how they do on each left out
    python -m training.changes --dry    without writing them

A file of `training/changes` is one project: its turns in their order, then for each statement that a later
turn made untrue `{"outdated": turn, "text", "by": turn, "clear"}`; `text` stands word for word in its turn.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ragforge.memory.own_words import own_words
from ragforge.memory.recall.likely_changes import LIKELY, WEIGHTS, later_turn, signals
from ragforge.memory.terms import with_digits

HERE = Path(__file__).parent / "changes"
POSITIVE = 4.0
"""How much more a statement that is outdated counts: there are few."""
DECAY = 3.0
STEPS = 12
FIGURES = 3
SHOWN = (0.5, 0.6, LIKELY, 0.8, 0.9)
Floats = NDArray[np.float64]


class Pair(Struct, frozen=True):
    """A statement and a later turn."""

    statement: tuple[int, str]
    features: dict[str, float]
    ends: bool | None
    """Whether the later turn makes it untrue; None where it was untrue already."""
    is_outdated: bool
    """Whether any turn of the project does."""


def pairs_of(path: Path) -> list[Pair]:
    """All pairs of a project that have anything in common."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    turns = [row for row in rows if "turn" in row]
    ended = [row for row in rows if "outdated" in row]
    return list(_pairs(turns, ended))


def _pairs(turns: Sequence[dict[str, Any]], ended: Sequence[dict[str, Any]]) -> Iterator[Pair]:
    later = [later_turn(own_words(row["user"]), row["assistant"]) for row in turns]
    for at, row in enumerate(turns):
        for place, statement in enumerate(later[at].sentences):
            by = {
                each["by"]
                for each in ended
                if each["outdated"] == row["turn"] and _same(each["text"], statement)
            }
            for behind in range(at + 1, len(turns)):
                if found := signals(
                    statement, later[behind], of_user=place < later[at].of_user, is_next=behind == at + 1
                ):
                    number = turns[behind]["turn"]
                    ends = number in by if not by or number <= min(by) else (True if number in by else None)
                    yield Pair((row["turn"], statement), found[0], ends, bool(by))


def _same(text: str, statement: str) -> bool:
    digits = with_digits(text)
    return digits in statement or statement in digits


def weights_of(pairs: Sequence[Pair]) -> dict[str, float]:
    """Weights of a logistic regression, by Newton's method; `""` is the constant."""
    known = [each for each in pairs if each.ends is not None]
    names = list(known[0].features)
    raw = np.array([[each.features[name] for name in names] for each in known], dtype=np.float64)
    wanted = np.array([bool(each.ends) for each in known], dtype=np.float64)
    mean, spread = raw.mean(0), raw.std(0) + 1e-6
    rows = np.c_[(raw - mean) / spread, np.ones(len(raw))]
    counts = np.where(wanted == 1, POSITIVE, 1.0)
    decay = np.r_[np.full(len(names), DECAY), 1e-6]
    weights: Floats = np.zeros(len(names) + 1)
    for _ in range(STEPS):
        share = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        slope = rows.T @ (counts * (share - wanted)) + decay * weights
        curve = (rows * (counts * share * (1 - share))[:, None]).T @ rows + np.diag(decay)
        weights -= np.linalg.solve(curve, slope)
    plain: list[float] = (weights[:-1] / spread).tolist()
    constant = float(weights[-1]) - sum(
        weight * each for weight, each in zip(plain, mean.tolist(), strict=True)
    )
    found = dict(zip(names, plain, strict=True)) | {"": constant}
    return {name: round(value, FIGURES) for name, value in found.items()}


def scored(pairs: Sequence[Pair], weights: dict[str, float]) -> dict[tuple[int, str], float]:
    """By statement, the greatest probability of any later turn."""
    found: dict[tuple[int, str], float] = {}
    for each in pairs:
        score = weights[""] + sum(weights[name] * value for name, value in each.features.items())
        found[each.statement] = max(found.get(each.statement, 0.0), 1 / (1 + np.exp(-score)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.changes")
    parser.add_argument("--dry", action="store_true", help="write no weights")
    options = parser.parse_args()
    projects = {path.stem: pairs_of(path) for path in sorted(HERE.glob("*.jsonl"))}
    sums = {bar: np.zeros(3, dtype=int) for bar in SHOWN}
    for name, pairs in projects.items():
        weights = weights_of([pair for other, each in projects.items() if other != name for pair in each])
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
    if not options.dry:
        weights = weights_of([pair for pairs in projects.values() for pair in pairs])
        WEIGHTS.write_text(json.dumps(weights, indent=1, sort_keys=True) + "\n", "utf-8")
        print(f"{len(weights)} weights in {WEIGHTS.name}")


if __name__ == "__main__":
    main()
