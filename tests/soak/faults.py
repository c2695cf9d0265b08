"""Every write, sync and rename of a turn and of a move in turn: it fails, is interrupted or is cut short."""

import errno
from collections.abc import Callable
from pathlib import Path

from tests.faults.children import Children
from tests.faults.shim import Action, Fault, Kind
from tests.faults.trials import Ground
from tests.soak.sums import Sums

TURNS_A_GROUND = 30
STEPS = Kind.WRITE | Kind.SYNC | Kind.RENAME

FAULTS: dict[str, dict[str, int | bool]] = {
    "EIO": {"action": Action.FAIL, "error": errno.EIO, "kinds": STEPS},
    "EIO from then on": {"action": Action.FAIL, "error": errno.EIO, "kinds": STEPS, "lasts": True},
    "ENOSPC": {"action": Action.FAIL, "error": errno.ENOSPC, "kinds": STEPS},
    "ENOSPC from then on": {
        "action": Action.FAIL,
        "error": errno.ENOSPC,
        "kinds": Kind.WRITE | Kind.RENAME,
        "lasts": True,
    },
    "EINTR": {"action": Action.FAIL, "error": errno.EINTR, "kinds": Kind.WRITE | Kind.SYNC},
    "short writes": {"action": Action.SHORT, "kinds": Kind.WRITE},
    "short writes from then on": {"action": Action.SHORT, "kinds": Kind.WRITE, "lasts": True},
}

Enough = Callable[[], bool]


def fault_turns(children: Children, base: Path, sums: Sums, enough: Enough) -> None:
    """Go on where the last run ended, each kind of fault at its next call."""
    ground, count = None, 0
    while not enough():
        for name, fault in FAULTS.items():
            if enough():
                return
            if ground is None or ground.number >= TURNS_A_GROUND:
                ground = Ground(children, base / f"faulty{count}").begin()
                count += 1
            place = f"turn: {name}"
            sums.places[place] += 1
            nth = sums.places[place]
            verdict = ground.turn(Fault(str(ground.folder), nth, **fault))  # type: ignore[arg-type]
            if not verdict.met:
                sums.places[place] = 0  # all were tried: from the first on again
                continue
            sums.tally(f"{name} in a turn").add(wrong=bool(verdict.wrong))
            if verdict.wrong:
                sums.tell_lost(f"{name} at call {nth}, {verdict.calls[nth - 1]}", verdict.wrong)
                ground = None
            sums.save()


def fault_moves(children: Children, base: Path, sums: Sums, enough: Enough) -> None:
    """The same for undo and redo."""
    ground, count = None, 0
    while not enough():
        for name, fault in FAULTS.items():
            if enough():
                return
            if ground is None:
                ground = Ground(children, base / f"moved{count}").begin()
                ends = ground.ends()
                count += 1
            place = f"move: {name}"
            sums.places[place] += 1
            nth = sums.places[place]
            # Back and forth, so that each call is tried in both directions.
            verdict = ground.move(Fault(str(ground.folder), (nth + 1) // 2, **fault), ends)  # type: ignore[arg-type]
            if not verdict.met:
                sums.places[place] = 0
                continue
            sums.tally(f"{name} in undo and redo").add(wrong=bool(verdict.wrong))
            if verdict.wrong:
                sums.tell_lost(f"{name} at call {nth}, {verdict.calls[(nth - 1) // 2]}", verdict.wrong)
                ground = None
            sums.save()
