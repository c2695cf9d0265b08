"""The sums of all soaks on this machine, in the user's cache folder: each run adds to them."""

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

FOLDER_VARIABLE = "RAGFORGE_SOAK_DIR"


@dataclass
class Tally:
    """Trials of one kind. inside: kills after the first step of a restore was taken."""

    tried: int = 0
    held: int = 0
    lost: int = 0
    inside: int = 0

    def add(self, *, wrong: bool, inside: bool = False) -> None:
        self.tried += 1
        self.held += not wrong
        self.lost += wrong
        self.inside += inside

    def sentence(self, what: str) -> str:
        """The same for every kind."""
        inside = f"; {self.inside:,} after the first step of a restore" if self.inside else ""
        return f"{what}: tried {self.tried:,}, held {self.held:,}, lost {self.lost:,}{inside}"


@dataclass
class Sums:
    """What was tried so far, kept after each trial. Several runs at once are not meant."""

    path: Path
    tallies: dict[str, Tally] = field(default_factory=dict)
    places: Counter[str] = field(default_factory=Counter)
    """Where the next run goes on, by what it goes through."""

    def tally(self, what: str) -> Tally:
        return self.tallies.setdefault(what, Tally())

    def tell_lost(self, what: str, wrong: list[str]) -> None:
        """Print what was lost, and keep it."""
        print(f"LOST in {what}: {wrong}", flush=True)
        with self.path.with_name("lost.txt").open("a") as file:
            file.write(json.dumps([what, wrong]) + "\n")

    def save(self) -> None:
        values: dict[str, Any] = {
            "tallies": {what: vars(tally) for what, tally in self.tallies.items()},
            "places": self.places,
        }
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(values, indent=1))
        beside.replace(self.path)


def open_sums() -> Sums:
    """The sums of the runs before."""
    named = os.environ.get(FOLDER_VARIABLE)
    folder = Path(named) if named else user_cache_path("ragforge") / "soak"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "sums.json"
    if not path.exists():
        return Sums(path)
    values = json.loads(path.read_text())
    tallies = {what: Tally(**tally) for what, tally in values["tallies"].items()}
    return Sums(path, tallies, Counter(values["places"]))
