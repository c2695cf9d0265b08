"""How long it takes to hold a call against many rules."""

from __future__ import annotations

import random
import string
import time
from collections.abc import Callable

from msgspec.structs import replace

from ragforge.agent.call_effects import effects_of
from ragforge.agent.constraint_hits import hits_of
from ragforge.domain.approvals import ChangeFile, Constraint, RunCommand
from ragforge.files.diffs import unified
from ragforge.memory.prohibitions import prohibitions_in
from ragforge.tools.base import Effect, Preview
from tests.constraints.history import KEPT
from tests.constraints.measure import ROOT, constraints_from

ROUNDS = 200
LINES = 50


def measure_speed(count: int) -> list[str]:
    """Milliseconds of processor time for an edit of 50 lines and for a command, the best of 200 each."""
    held = rules(count)
    line = "    return value + other * {0} - len('some text here')  # what it does {0}"
    new = "\n".join(line.format(number) for number in range(LINES)) + "\n"
    edit = Preview(ChangeFile("src/app.py", unified("x = 1\n", new, "src/app.py")), (ROOT / "src/app.py",))
    command = Preview(RunCommand("cd src && uv run pytest -q tests | tee out.txt"))
    return [
        f"an edit of {LINES} lines held against {count} rules  {_ms(held, Effect.WRITE, edit):.2f} ms",
        f"a command held against {count} rules  {_ms(held, Effect.SHELL, command):.2f} ms",
    ]


def rules(count: int) -> list[Constraint]:
    """The rules that were kept, and others about words that nothing names."""
    kept = [each for rule in KEPT for each in constraints_from(rule)][:count]
    chance = random.Random(count)
    for number in range(len(kept), count):
        word = "".join(chance.choices(string.ascii_lowercase, k=7))
        text = f"never use {word} here"
        kept.append(replace(kept[0], id=str(number), text=text, prohibitions=prohibitions_in(text)))
    return kept


def _ms(held: list[Constraint], effect: Effect, preview: Preview) -> float:
    return 1000 * best_s(lambda: hits_of(held, effects_of(effect, preview, root=ROOT, cwd=ROOT)))


def best_s(run: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The least processor time of so many rounds, after one that makes ready."""
    run()
    took: list[float] = []
    for _ in range(rounds):
        began = time.process_time()
        run()
        took.append(time.process_time() - began)
    return min(took)
