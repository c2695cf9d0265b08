"""Assemble statements into a program: all names are resolved, and all faults are reported at once."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain.programs import PROGRAM_NAME
from ragforge.domain.words import counted
from ragforge.workflow.language import (
    DIRECTIVES,
    FUNCTIONS,
    JUMPS,
    KINDS,
    LIMITS,
    NEEDS,
    OPERATIONS,
    nearest,
)
from ragforge.workflow.parse import parse, read_text
from ragforge.workflow.prompts import tasks
from ragforge.workflow.quick_parse import quick_statements
from ragforge.workflow.syntax import (
    Constant,
    Directive,
    Fault,
    FunctionCall,
    Instruction,
    LabelLine,
    LabelName,
    ListOperand,
    ObjectOperand,
    Operand,
    RegisterPath,
    Spot,
    Statement,
)

_NEEDED_BY = {operation: need for need, operation in NEEDS.items()}
_LEADING = JUMPS | {"HALT"}
"""Operations that may continue elsewhere than at the next one."""
_FLOW = _LEADING | {"PARALLEL_START", "PARALLEL_END", "WAIT_INPUT", "POP", "CMP"}
_COUNTS = frozenset({"LOOP", "WAIT_SECONDS"})
_ASKING = frozenset({"LLM_EXEC", "AGENT_EXEC"})
"""Operations that take an object which may name a task."""
_VALUES = (RegisterPath, Constant)
_PLAIN: dict[type, tuple[str, ...]] = {
    RegisterPath: ("any", "object", "out", "reg"),
    Constant: ("any",),
    LabelName: ("label",),
    ObjectOperand: ("any", "object"),
    ListOperand: ("any",),
}
_HOLDING = (ObjectOperand, ListOperand)
"""Operands that are valid for these kinds whatever their values, if a register to write has no path."""
STANDARD = Path(__file__).with_name("std.spu")


class SpuProgram(Struct, frozen=True):
    """A runnable program.

    labels: the position of each in the code. closings: for each LOOP the JMP that ends its block. ends: for
    each PARALLEL_START its PARALLEL_END. own_length: from here on the code is the standard library's.
    """

    name: str
    description: str
    inputs: Mapping[str, str]
    limits: Mapping[str, float]
    needs: frozenset[str]
    code: tuple[Instruction, ...]
    labels: Mapping[str, int]
    closings: Mapping[int, int]
    ends: Mapping[int, int]
    own_length: int
    standard: tuple[str, ...] = ()


class Assembly(Struct):
    """The result of assembling a text. program: None if there are faults."""

    program: SpuProgram | None = None
    faults: list[Fault] = field(default_factory=list[Fault])
    warnings: list[Fault] = field(default_factory=list[Fault])
    notices: list[Fault] = field(default_factory=list[Fault])


def assemble(content: bytes, *, built: Collection[str] | None = None) -> Assembly:
    """Assemble the text of a file. built: the operations that can run; None for the whole language."""
    text, faults = read_text(content)
    if faults:
        return Assembly(faults=faults)
    quick = quick_statements(text)
    if quick is not None and not (found := _Assembler(quick, [], built).assembly()).faults:
        return found
    # Something is wrong: this parser knows where.
    statements, faults = parse(text)
    return _Assembler(statements, faults, built).assembly()


class _Assembler:
    def __init__(
        self, statements: Sequence[Statement], faults: list[Fault], built: Collection[str] | None
    ) -> None:
        self._statements = statements
        self._found = Assembly(faults=faults)
        self._built = None if built is None else frozenset(built)
        self._flow: list[int] = []
        """Positions of operations that jump, or cannot be in a parallel block."""
        self._refused: set[str] = set()
        """Operations that cannot run and were reported already."""
        self._right: dict[tuple[object, ...], tuple[int, ...]] = {}
        """Operations with valid kinds of operands, if the first one is no path and the values at these
        positions are."""
        self._directives: list[Directive] = []
        self._code: list[Instruction] = []
        self._labels: dict[str, LabelLine] = {}
        self._places: dict[str, int] = {}
        self._inputs: dict[str, str] = {}
        self._limits: dict[str, float] = {}
        self._needs: set[str] = set()

    def assembly(self) -> Assembly:
        """Return the program, or its faults, in the order of the text."""
        self._sort_statements()
        own = len(self._code)
        for directive in self._directives:
            self._read_directive(directive)
        for instruction in self._code:
            operands = instruction.operands
            shape = (instruction.operation, *map(type, operands))
            places = self._right.get(shape)
            if places is None or getattr(operands[0], "fields", ()):
                self._check_instruction(instruction, shape)
            else:
                for place in places:
                    self._check_value(operands[place])
        self._check_tasks()
        standard = self._link()
        closings = dict(self._closings())
        ends = self._parallel_blocks()
        found = self._found
        found.faults.sort(key=lambda fault: (fault.at.line, fault.at.column))
        if found.faults:
            return found
        named = {directive.name: directive.value for directive in self._directives}
        code, places = tuple(self._code), self._places
        found.program = SpuProgram(
            *(named.get("program", ""), named.get("description", "")),
            *(self._inputs, self._limits, frozenset(self._needs)),
            *(code, places, closings, ends, own, standard),
        )
        self._warn_of_unreached(found.program)
        return found

    def _fault(self, at: Spot, message: str) -> None:
        self._found.faults.append(Fault(at, message))

    def _sort_statements(self) -> None:
        for statement in self._statements:
            if isinstance(statement, Instruction):
                self._code.append(statement)
            elif isinstance(statement, Directive):
                if self._code or self._labels:
                    self._fault(statement.at, f".{statement.name} belongs before the first label and line.")
                self._directives.append(statement)
            elif first := self._labels.get(name := statement.name):
                self._fault(statement.at, f"The label {name} is already on line {first.at.line}.")
            else:
                self._labels[name] = statement
                self._places[name] = len(self._code)
        self._flow = [at for at, each in enumerate(self._code) if each.operation in _FLOW]
        if not self._code and not self._found.faults:
            self._fault(Spot(1, 1), "The program has no operations.")

    def _read_directive(self, directive: Directive) -> None:
        name, value, at = directive.name, directive.value, directive.at
        words = value.split(maxsplit=1)
        if name not in DIRECTIVES:
            known = ", ".join(f".{each}" for each in DIRECTIVES)
            self._fault(at, f"Unknown directive .{name}.{nearest(name, DIRECTIVES)} There are {known}.")
        elif not value:
            self._fault(at, f".{name} needs a value.")
        elif name not in ("input", "limit", "needs") and self._is_repeated(directive):
            self._fault(at, f".{name} can be given once.")
        elif name == "program" and not PROGRAM_NAME.fullmatch(value):
            self._fault(
                at,
                f"{value!r} is not a valid name. Use lowercase letters, digits, - and _, "
                "starting with a letter.",
            )
        elif name == "persistence":
            notice = f".persistence {value}: the program's state is kept in the store that is open."
            self._found.notices.append(Fault(at, notice))
        elif name == "input":
            self._read_input(at, words)
        elif name == "limit":
            self._read_limit(at, value.split())
        elif name == "needs":
            self._read_needs(at, value.replace(",", " ").split())

    def _is_repeated(self, directive: Directive) -> bool:
        first = next(each for each in self._directives if each.name == directive.name)
        return first is not directive

    def _read_input(self, at: Spot, words: list[str]) -> None:
        register = words[0]
        name = register[1:]
        if not register.startswith("$") or not name.isidentifier() or name != name.upper():
            self._fault(
                at,
                ".input takes a register and a description, as in .input $NAME description, not "
                f"{register!r}.",
            )
        elif name in self._inputs:
            self._fault(at, f".input {register} is declared twice.")
        else:
            self._inputs[name] = words[1] if len(words) > 1 else ""

    def _read_limit(self, at: Spot, words: list[str]) -> None:
        if len(words) != 2 or words[0] not in LIMITS:
            self._fault(at, f".limit takes one of {', '.join(LIMITS)} and a number.")
            return
        try:
            number = float(words[1])
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            self._fault(at, f".limit {words[0]} takes a number from 0 on, not {words[1]!r}.")
        else:
            self._limits[words[0]] = min(number, self._limits.get(words[0], number))

    def _read_needs(self, at: Spot, words: list[str]) -> None:
        for word in words:
            if word not in NEEDS:
                self._fault(at, f".needs names {', '.join(NEEDS)}, not {word!r}.{nearest(word, NEEDS)}")
            self._needs.add(word)

    def _check_instruction(self, instruction: Instruction, shape: tuple[object, ...]) -> None:
        name, operands, at = instruction.operation, instruction.operands, instruction.at
        kinds = OPERATIONS.get(name)
        if kinds is None:
            hint = nearest(name, OPERATIONS) or " /program language lists the operations."
            self._fault(at, f"Unknown operation {name}.{hint}")
            return
        if self._built is not None and name not in self._built and name not in self._refused:
            self._refused.add(name)
            self._fault(at, f"{name} is part of the language, but this version of ragforge cannot run it.")
        if name in _NEEDED_BY and _NEEDED_BY[name] not in self._needs:
            self._fault(at, f"{name} needs the directive: .needs {_NEEDED_BY[name]}")
        if len(operands) != len(kinds):
            takes = "; ".join(KINDS[kind] for kind in kinds) or "nothing"
            self._fault(at, f"{name} takes {counted(len(kinds), 'operand')}, not {len(operands)}: {takes}.")
            return
        for kind, operand in zip(kinds, operands, strict=True):
            self._check_operand(name, kind, operand)
        are_plain = (kind in _PLAIN.get(type(each), ()) for kind, each in zip(kinds, operands, strict=True))
        if shape and operands and name not in _COUNTS and all(are_plain):
            holding = (place for place, each in enumerate(operands) if type(each) in _HOLDING)
            self._right[shape] = tuple(holding)

    def _check_operand(self, operation: str, kind: str, operand: Operand) -> None:
        if not _fits(kind, operand):
            self._fault(operand.at, f"{operation} takes {KINDS[kind]} here, not {operand}.")
        elif kind in ("any", "object"):
            self._check_value(operand)
        if operation in _COUNTS and isinstance(operand, Constant) and not _is_count(operand):
            self._fault(operand.at, f"{operation} takes a number from 0 on, not {operand}.")

    def _check_value(self, operand: Operand) -> None:
        match operand:
            case ObjectOperand(entries):
                for _, value in entries:
                    if type(value) not in _VALUES:
                        self._check_value(value)
            case LabelName(name, at):
                self._fault(at, f"{name!r} is a label. Put text in quotes: '{name}'.")
            case FunctionCall(name, at) if name not in FUNCTIONS:
                known = ", ".join(f"{each}()" for each in FUNCTIONS)
                self._fault(at, f"Unknown function {name}().{nearest(name, FUNCTIONS)} There are {known}.")
            case ListOperand(items):
                for value in items:
                    self._check_value(value)
            case _:
                pass

    def _check_tasks(self) -> None:
        """Check that a task named as a text exists: a run only finds out when it gets there."""
        for instruction in self._code:
            if instruction.operation not in _ASKING:
                continue
            for operand in instruction.operands:
                for key, value in operand.entries if isinstance(operand, ObjectOperand) else ():
                    if key == "task" and isinstance(value, Constant) and value.value is not None:
                        self._check_task(value)

    def _check_task(self, task: Constant) -> None:
        name = str(task.value)
        if name not in tasks():
            hint = nearest(name, tasks()) or " /program language lists the tasks."
            self._fault(task.at, f"There is no task {task}.{hint} To write your own prompt, leave it out.")

    def _link(self) -> tuple[str, ...]:
        """Append the used blocks of the standard library; targets of jumps must exist."""
        standard, used = standard_blocks(), list[str]()
        waiting: list[tuple[int, LabelName | None]] = [(at, None) for at in self._flow]
        """Positions in the code, and the operand that they were linked for."""
        for at, source in waiting:  # it grows
            instruction = self._code[at]
            for operand in instruction.operands if instruction.operation in JUMPS else ():
                if not isinstance(operand, LabelName) or operand.name in self._places:
                    continue
                if block := standard.get(operand.name):
                    used.append(operand.name)
                    begin = self._places[operand.name] = len(self._code)
                    linked = replace(operand, at=source.at) if source else operand
                    waiting += [(begin + number, linked) for number in range(len(block))]
                    self._code += block
                    for each in block:
                        self._check_instruction(each, ())
                elif source:
                    why = f"{source.name} of std.spu jumps to {operand.name}, which is not a label here."
                    self._fault(source.at, why)
                else:
                    hint = nearest(operand.name, [*self._places, *standard])
                    self._fault(operand.at, f"There is no label {operand.name}.{hint}")
        return tuple(used)

    def _closings(self) -> Iterator[tuple[int, int]]:
        for at in self._flow:  # the standard library has no LOOP
            instruction = self._code[at]
            if instruction.operation != "LOOP" or len(instruction.operands) != 2:
                continue
            label = instruction.operands[1]
            if not isinstance(label, LabelName) or label.name not in self._places:
                continue
            for end in range(self._places[label.name], len(self._code)):
                if self._code[end].operation == "JMP" and str(self._code[end].operands[0]) == label.name:
                    yield at, end
                    break
            else:
                self._fault(instruction.at, f"No JMP {label.name} ends the block that LOOP repeats.")

    def _parallel_blocks(self) -> dict[int, int]:
        ends: dict[int, int] = {}
        start: int | None = None
        inner = 0
        """Check blocks that are open in another one."""
        for at in self._flow:
            instruction = self._code[at]
            name = instruction.operation
            if name == "PARALLEL_START":
                if start is not None:
                    self._fault(instruction.at, "A PARALLEL block cannot hold another one.")
                    inner += 1
                else:
                    start = at
            elif name == "PARALLEL_END" and inner:
                inner -= 1
            elif name == "PARALLEL_END":
                if start is None:
                    self._fault(instruction.at, "PARALLEL_END has no PARALLEL_START before it.")
                else:
                    ends[start] = at
                start = None
            elif start is not None:
                why = ": it has no jumps" if name in JUMPS else ""
                self._fault(instruction.at, f"{name} cannot be in a PARALLEL block{why}.")
        if start is not None:
            self._fault(self._code[start].at, "PARALLEL_START has no PARALLEL_END.")
        for name, place in self._places.items():
            if name in self._labels and any(first < place <= last for first, last in ends.items()):
                self._fault(self._labels[name].at, "A label cannot be in a PARALLEL block: it has no jumps.")
        return ends

    def _warn_of_unreached(self, program: SpuProgram) -> None:
        seen = reached(program, [0])
        for name, label in self._labels.items():
            place = program.labels[name]
            if place < len(program.code) and place not in seen:
                self._found.warnings.append(Fault(label.at, f"The label {name} is never reached."))


def _fits(kind: str, operand: Operand) -> bool:
    match kind:
        case "out" | "reg":
            return isinstance(operand, RegisterPath) and not operand.fields
        case "label":
            return isinstance(operand, LabelName)
        case "text":
            return isinstance(operand, Constant) and isinstance(operand.value, str)
        case "object":
            return isinstance(operand, ObjectOperand | RegisterPath)
        case _:
            return not isinstance(operand, LabelName)


def _is_count(operand: Constant) -> bool:
    value = operand.value
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and value >= 0)


def reached(program: SpuProgram, starts: Iterable[int]) -> set[int]:
    """Return the positions in the code that a run from one of these can reach."""
    seen: set[int] = set()
    waiting, length = list(starts), len(program.code)
    jumps = [at for at, each in enumerate(program.code) if each.operation in _LEADING]
    while waiting:
        at = waiting.pop()
        if at in seen or at >= length:
            continue
        following = bisect_left(jumps, at)
        end = jumps[following] if following < len(jumps) else length - 1
        if end not in seen and following < len(jumps):
            waiting += next_places(program, end)
        seen.update(range(at, end + 1))
    return seen


def next_places(program: SpuProgram, at: int) -> list[int]:
    """Return where a run can be after the instruction: after it, and at its jump target."""
    instruction = program.code[at]
    places = [
        program.labels[operand.name] for operand in instruction.operands if isinstance(operand, LabelName)
    ]
    if instruction.operation not in ("RET", "HALT", "JMP") or at in program.closings.values():
        places.append(at + 1)
    if at in program.closings:
        places.append(program.closings[at] + 1)
    return places


@cache
def standard_blocks() -> Mapping[str, tuple[Instruction, ...]]:
    """Return the labels of `std.spu`, each with its instructions."""
    statements, faults = parse(STANDARD.read_text(encoding="utf-8"))
    assert not faults, faults
    blocks: dict[str, list[Instruction]] = {}
    for statement in statements:
        if isinstance(statement, LabelLine):
            blocks[statement.name] = []
        elif isinstance(statement, Instruction):
            # Its position is in no text that the user has.
            blocks[next(reversed(blocks))].append(replace(statement, at=Spot()))
    return {name: tuple(block) for name, block in blocks.items()}
