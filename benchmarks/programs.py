"""How fast programs are assembled and run, as ratios within one run.

    python benchmarks/programs.py [--profile]

assemble: a program of 1,000 lines, in multiples of splitting them into words. operations: 10,000 operations
between two durable points, in multiples of as many look-ups in a dictionary by a Python loop. parallel: eight
calls that take one second each, in multiples of one.
"""

import argparse
import asyncio
import cProfile
import statistics
import time
from collections.abc import Callable

from ragforge.workflow.check import SpuProgram, assemble
from ragforge.workflow.machine import Machine
from ragforge.workflow.operation import Fields
from ragforge.workflow.rehearsal import Rehearsal

LINES, OPERATIONS, CALLS, ROUNDS = 1_000, 10_000, 8, 15
BOUNDS = {"assemble": 20.0, "operations": 50.0, "parallel": 1.3}
BLOCK = """\
label{n}:
    EXTRACT $A{n}, $INPUT.field
    CMP $A{n}, 'a text'
    JE label{n}
    LLM_EXEC $B{n}, 'reader', {{prompt: $A{n}, task: 'explain_code'}}
"""
COUNTING = """\
.program counting
    LOOP 2500, step
step:
    EXTRACT $A, $B
    CMP $A, null
    JNE step
    JMP step
"""
TOGETHER = "PARALLEL_START\n{}\nPARALLEL_END\n"


class Slow(Rehearsal):
    """A model that takes a second."""

    async def ask_model(
        self, role: str, instructions: str, message: str, *, task: str = "", schema: Fields | None = None
    ) -> str:
        await asyncio.sleep(1)
        return "done"


def main() -> None:
    options = argparse.ArgumentParser(description="How fast programs are assembled and run.")
    options.add_argument("--profile", action="store_true", help="show where the time goes")
    args = options.parse_args()
    text = ".program long\n" + "".join(BLOCK.format(n=n) for n in range(LINES // 5))
    lines = text.splitlines()
    counting = program_of(COUNTING)
    if args.profile:
        cProfile.runctx("assemble(text.encode())", globals(), {"text": text}, sort="tottime")
        cProfile.runctx("run(counting)", globals(), {"counting": counting}, sort="tottime")
        return
    told("assemble", lambda: assemble(text.encode()), lambda: [line.split() for line in lines])
    told("operations", lambda: run(counting), look_ups)
    one, eight = seconds_of(1), seconds_of(CALLS)
    times = f"{one * 1e3:.0f} ms, {eight * 1e3:.0f} ms"
    print(f"parallel: {eight / one:.2f} (bound {BOUNDS['parallel']:g}); {times}")


def told(name: str, work: Callable[[], object], against: Callable[[], object]) -> None:
    """Print the median of the ratios of pairs, by processor time."""
    pairs = [(spent(work), spent(against)) for _ in range(ROUNDS)]
    ratio = statistics.median(one / other for one, other in pairs)
    one, other = (statistics.median(side) * 1e3 for side in zip(*pairs, strict=True))
    print(f"{name}: {ratio:.1f} (bound {BOUNDS[name]:g}); {one:.2f} ms, {other:.2f} ms")


def spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def look_ups() -> None:
    registers = {"A": None, "B": None}
    for _ in range(OPERATIONS):
        registers["A"]


def run(program: SpuProgram) -> None:
    machine = Machine(program, Rehearsal())
    asyncio.run(machine.run())
    assert machine.state.steps >= OPERATIONS


def seconds_of(calls: int) -> float:
    lines = "\n".join(f"LLM_EXEC $A{n}, 'reader', 'x'" for n in range(calls))
    program = program_of(TOGETHER.format(lines))
    began = time.monotonic()
    asyncio.run(Machine(program, Slow()).run())
    return time.monotonic() - began


def program_of(text: str) -> SpuProgram:
    program = assemble(text.encode()).program
    assert program is not None
    return program


if __name__ == "__main__":
    main()
