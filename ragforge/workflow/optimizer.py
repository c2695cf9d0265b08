"""Shorten a program: unreachable labels, registers that nobody reads, consecutive calls.

Remaining lines stay byte for byte. A text that does not assemble is unchanged.
"""

from collections.abc import Callable, Iterator, Sequence

from ragforge.workflow.check import SpuProgram, assemble, reached
from ragforge.workflow.machine import CALLED_BY_MACHINE, PARALLEL_MAX, uses
from ragforge.workflow.parse import parse
from ragforge.workflow.syntax import Constant, Instruction, LabelLine, RegisterPath, Statement, registers_in

STATE = "SPU_STATE"


def optimized(text: str) -> str:
    """Return the program without what it does not need."""
    before = ""
    while before != text:  # what was removed may have been the only reader of something else
        before = text
        for change in (_without_unreached, _without_unread):
            text = _changed(text, change)
    return _changed(text, _side_by_side)


def _changed(text: str, change: Callable[[str, SpuProgram], str]) -> str:
    """Return the changed text, if it is a program before and after."""
    program = assemble(text.encode()).program
    changed = change(text, program) if program else text
    return changed if assemble(changed.encode()).program else text


def _without_unreached(text: str, program: SpuProgram) -> str:
    called = [program.labels[name] for name in CALLED_BY_MACHINE if name in program.labels]
    seen = reached(program, [0, *called])
    return _without(text, program, lambda at: at not in seen)


def _without_unread(text: str, program: SpuProgram) -> str:
    read = {name for instruction in program.code for name in _read_by(instruction)}
    if STATE in read:
        return text

    def is_dead(at: int) -> bool:
        instruction = program.code[at]
        if instruction.operation != "EXTRACT":
            return False
        target, source = instruction.operands
        return (
            isinstance(target, RegisterPath)
            and target.name not in read
            and isinstance(source, Constant | RegisterPath)
        )

    return _without(text, program, is_dead)


def _read_by(instruction: Instruction) -> set[str]:
    if instruction.operation == "EXTRACT":
        return registers_in(instruction.operands[1])
    return {name for operand in instruction.operands for name in registers_in(operand)}


def _side_by_side(text: str, program: SpuProgram) -> str:
    """Put consecutive calls that share no register into one block, which runs them in parallel."""
    if any(STATE in _read_by(each) for each in program.code):
        return text
    lines, statements = text.split("\n"), list(_placed(text))
    inserted: list[tuple[int, str]] = []
    for run in _independent_calls([each for each, _, _ in statements], program):
        first, last = statements[run[0]], statements[run[-1]]
        indent = lines[first[1] - 1][: first[0].at.column - 1]
        inserted += [(first[1] - 1, f"{indent}PARALLEL_START"), (last[2], f"{indent}PARALLEL_END")]
    for at, line in reversed(inserted):
        lines.insert(at, line)
    return "\n".join(lines)


def _independent_calls(statements: Sequence[Statement], program: SpuProgram) -> Iterator[list[int]]:
    """Return the positions of calls that can run in parallel, at least two each."""
    inside, run, touched = False, list[int](), set[str]()
    for at, statement in enumerate(statements):
        is_call = isinstance(statement, Instruction) and statement.operation == "LLM_EXEC" and not inside
        own: set[str] = set()
        if isinstance(statement, Instruction):
            inside = {"PARALLEL_START": True, "PARALLEL_END": False}.get(statement.operation, inside)
            own = set[str]().union(*uses(statement))
        if run and (not is_call or own & touched or len(run) == PARALLEL_MAX):
            if len(run) > 1:
                yield run
            run, touched = list[int](), set[str]()
        if is_call:
            run.append(at)
            touched |= own
    if len(run) > 1:
        yield run


def _without(text: str, program: SpuProgram, is_out: Callable[[int], bool]) -> str:
    """Return the text without these instructions, and without labels that became empty."""
    lines, statements = text.split("\n"), list(_placed(text))
    out: list[tuple[int, int]] = []
    at = program.own_length
    label_ends_out = False
    for statement, first, last in reversed(statements):
        if isinstance(statement, Instruction):
            at -= 1
            label_ends_out = is_out(at)
            if label_ends_out:
                out.append((first, last))
        elif (
            isinstance(statement, LabelLine)
            and label_ends_out
            and _is_unused(statement.name, program, is_out)
        ):
            out.append((first, last))
    for first, last in out:
        del lines[first - 1 : last]
    return "\n".join(lines)


def _is_unused(label: str, program: SpuProgram, is_out: Callable[[int], bool]) -> bool:
    return not any(
        str(operand) == label
        for at, instruction in enumerate(program.code)
        if at >= program.own_length or not is_out(at)
        for operand in instruction.operands
    )


def _placed(text: str) -> Iterator[tuple[Statement, int, int]]:
    """Return each statement with its first and last line, from 1."""
    statements, _ = parse(text)
    lines = text.split("\n")
    starts = [each.at.line for each in statements]
    for statement, following in zip(statements, [*starts[1:], len(lines) + 1], strict=True):
        last = following - 1
        while last > statement.at.line and _is_blank(lines[last - 1]):
            last -= 1
        yield statement, statement.at.line, last


def _is_blank(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith(";")
