"""The examples of a program, `NAME.spu.test`: conversations with their answers, and the expected output."""

import asyncio
from pathlib import Path

import msgspec
from msgspec import Struct

from ragforge.domain.errors import RagforgeError, UsageError
from ragforge.files.diffs import unified
from ragforge.session.program_files import EXAMPLES_SUFFIX
from ragforge.workflow.check import assemble
from ragforge.workflow.machine import Machine
from ragforge.workflow.rehearsal import Rehearsal, ScriptedAnswer
from ragforge.workflow.tree import content_of, write_file

EXAMPLES_MAX = 100
STEPS_MAX = 20_000


class Example(Struct, frozen=True):
    """One conversation. display: words that must be shown."""

    inputs: list[str] = []
    answers: list[ScriptedAnswer] = []
    display: list[str] = []


class ExampleFile:
    """`NAME.spu.test` beside the program's file, with one more example."""

    def __init__(self, program: Path) -> None:
        self.path = program.with_name(f"{program.stem}{EXAMPLES_SUFFIX}")
        self._text = ""

    async def with_example(self, code: str, line: str) -> str:
        """Add the example; return the change of the file, empty if it has it. Raises UsageError.

        code: the program, which must show in the example what it showed in the run.
        """
        found = await asyncio.to_thread(content_of, self.path)
        before = None if found is None else found.decode("utf-8", "replace")
        if line in (before or "").splitlines():
            return ""
        if faults := await failed_examples(code, line):
            raise UsageError(
                "The last run cannot be an example: without files, tools and the store the program shows "
                f"something else. {faults[0].removeprefix('Example 1: ')}"
            )
        gap = "\n" if before and not before.endswith("\n") else ""
        self._text = f"{before or ''}{gap}{line}\n"
        return unified(before, self._text, self.path.name)

    async def write(self) -> None:
        """Write the file as it was shown. Raises UsageError."""
        await asyncio.to_thread(write_file, self.path, self._text.encode())


async def failed_examples(code: str, text: str) -> list[str]:
    """Return what the program does not show of what its examples say, a line each."""
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
    """Return what the program shows in the example, and how it failed."""
    program = assemble(code.encode()).program
    if program is None:
        return [], " The program does not assemble."
    host = Rehearsal(program.name, example.inputs[len(program.inputs) :], example.answers)
    registers = dict(zip(program.inputs, example.inputs, strict=False))
    machine = Machine(program, host, steps_max=STEPS_MAX)
    machine.state.registers.update(registers)
    try:
        await machine.run()
    except RagforgeError as error:
        return host.displayed, f" It failed: {error}"
    return host.displayed, ""
