"""The examples of a program, `NAME.spu.test`: conversations with their answers, and what must be shown."""

import msgspec
from msgspec import Struct

from ragforge.domain.errors import RagforgeError
from ragforge.workflow.check import assemble
from ragforge.workflow.machine import Machine
from ragforge.workflow.rehearsal import Rehearsal, ScriptedAnswer

EXAMPLES_MAX = 100
STEPS_MAX = 20_000


class Example(Struct, frozen=True):
    """One conversation. display: words that must be shown."""

    inputs: list[str] = []
    answers: list[ScriptedAnswer] = []
    display: list[str] = []


async def failed_examples(code: str, text: str) -> list[str]:
    """What the program does not show of what its examples say, a line each."""
    faults: list[str] = []
    lines = [line for line in text.splitlines() if line.strip()][:EXAMPLES_MAX]
    for number, line in enumerate(lines, 1):
        try:
            example = msgspec.json.decode(line, type=Example)
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            faults.append(f"Example {number} cannot be read: {error}")
            continue
        shown, fault = await run_example(code, example)
        missing = [words for words in example.display if not any(words in each for each in shown)]
        faults += [f"Example {number}: {words!r} was not shown.{fault}" for words in missing]
    return faults


async def run_example(code: str, example: Example) -> tuple[list[str], str]:
    """What the program shows in the example, and how it failed."""
    program = assemble(code.encode()).program
    if program is None:
        return [], " The program does not assemble."
    host = Rehearsal(program.name, example.inputs, example.answers)
    registers = dict(zip(program.inputs, example.inputs, strict=False))
    machine = Machine(program, host, steps_max=STEPS_MAX)
    machine.state.registers.update(registers)
    try:
        await machine.run()
    except RagforgeError as error:
        return host.displayed, f" It failed: {error}"
    return host.displayed, ""
