"""Runs a program: registers, stack, jumps, loops and parallel blocks."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import cast

import msgspec
from msgspec import Struct, field

from ragforge.domain.errors import RagforgeError, StoreError
from ragforge.domain.ids import now
from ragforge.workflow.check import SpuProgram
from ragforge.workflow.language import OPERATIONS
from ragforge.workflow.operation import (
    InputEnded,
    Operation,
    ProgramFault,
    ProgramHost,
    RunningPlace,
    RunOver,
    Value,
    as_count,
    find_operations,
    is_version,
    place_that_runs,
    plain,
    type_words,
)
from ragforge.workflow.reference import reference
from ragforge.workflow.syntax import (
    Constant,
    FunctionCall,
    Instruction,
    LabelName,
    ListOperand,
    ObjectOperand,
    Operand,
    RegisterPath,
    calls_function,
    registers_in,
)

DEPTH_MAX = 64
STACK_MAX = 1_000
VALUE_BYTES_MAX = 1_000_000
KEEPS, LOADS, LEARNS = "save_to_database", "load_from_database", "learn_from_session"
CALLED_BY_MACHINE = (KEEPS, LOADS, LEARNS)
"""Labels that the machine calls: after each round and at the end; when a session is resumed; at the end of a
run that made a version."""
PARALLEL_MAX = 8
FLOW = frozenset(
    {"CMP", "JE", "JNE", "JMP", "CALL", "RET", "LOOP", "POP", "HALT", "PARALLEL_START", "PARALLEL_END"}
)
"""The operations of the machine itself."""
_LEADING = FLOW - {"PARALLEL_START"}
"""Those that wait for nothing."""
_GIVEN = ("USER", "SPU_STATE")
"""Registers that only the machine sets."""


class Prepared(Struct, frozen=True):
    """Look-ups that are not repeated each time an instruction runs.

    read: the operands whose values the operation receives. target: where its result goes; None for nowhere.
    is_lenient: whether a field of a text is null.
    """

    operation: Operation
    read: tuple[Operand, ...]
    target: RegisterPath | None
    reads_patterns: bool
    is_lenient: bool


class LoopFrame(Struct):
    """A running LOOP: its block, how often that still runs, and how deep in calls it is."""

    first: int
    last: int
    left: int
    depth: int


class RunState(Struct):
    """Everything that a run needs to continue, as stored.

    at: the next instruction. waited_at: the last WAIT_INPUT, to which a failed operation returns.
    """

    at: int = 0
    is_equal: bool = False
    registers: dict[str, Value] = field(default_factory=dict[str, Value])
    calls: list[int] = field(default_factory=list[int])
    loops: list[LoopFrame] = field(default_factory=list[LoopFrame])
    stack: list[Value] = field(default_factory=list[Value])
    steps: int = 0
    waited_at: int | None = None
    finished: list[int] = field(default_factory=list[int])
    """The finished lines of the running parallel block."""
    block_began_at: datetime | None = None
    """When that block started, in any process; None outside one."""
    is_done: bool = False
    has_shown: bool = False
    """Whether anything was shown since the last WAIT_INPUT."""
    is_kept: bool = False
    """Whether `save_to_database` ran since the last WAIT_INPUT."""
    has_learned: bool = False
    made_version: bool = False
    session_id: str = ""
    resuming: str = ""
    """The session's id while it is being loaded."""


Save = Callable[[RunState], Awaitable[None]]


async def _keep_nothing(state: RunState) -> None: ...


class Machine:
    """A program in its state.

    save: stores the state; called before and after each durable operation. watch: receives which durable
    instructions run now. pause: awaited before each operation.
    """

    def __init__(
        self,
        program: SpuProgram,
        host: ProgramHost,
        state: RunState | None = None,
        *,
        steps_max: int = 100_000,
        save: Save = _keep_nothing,
        watch: Callable[[tuple[int, ...]], None] = lambda _: None,
        pause: Callable[[Instruction], Awaitable[None]] | None = None,
        run_id: str = "",
    ) -> None:
        self.run_id, self._pause = run_id, pause
        self.program, self.state = program, state or RunState()
        self._host, self._save, self._watch = host, save, watch
        self._steps_max = int(min(steps_max, program.limits.get("steps", steps_max)))
        self._operations = find_operations()
        self._parallel = asyncio.Semaphore(PARALLEL_MAX)
        self._patterns: Value = []
        self._prepared = [
            None if each.operation in FLOW else _prepared(each, self._operations[each.operation])
            for each in program.code
        ]
        self._tell_host()
        self._called = frozenset(CALLED_BY_MACHINE).intersection(program.labels)

    async def run(self) -> None:
        """Run to the end; a program that waits for input continues there after a fault.

        Raises ProgramFault with the line if one does not.
        """
        state = self.state
        while True:
            await self._run_on()
            # What is called at the end ends too, and then nothing is left to call.
            if not self._call_at_end():
                break
        state.is_done = True
        await self._save(state)

    async def _run_on(self) -> None:
        """Run until the program ends; the labels of its end are not called yet."""
        state, code = self.state, self.program.code
        while not state.is_done and state.at < len(code):
            at = state.at
            try:
                if self._pause:
                    await self._pause(code[at])
                state.steps += 1
                if state.steps > self._steps_max:
                    raise ProgramFault(f"The program ran {self._steps_max:,} operations and was stopped.")
                if prepared := self._prepared[at]:
                    await self._operate(at, prepared)
                elif code[at].operation in _LEADING:
                    self._flow(code[at])
                else:
                    await self._run_block(at + 1, self.program.ends[at])
            except InputEnded:
                state.calls, state.loops = [], []
                break
            except (StoreError, RunOver):
                raise
            except RagforgeError as error:
                message = f"{self._where(at)}: {error}"
                if state.waited_at in (None, at):
                    raise ProgramFault(message) from error
                await self._show(f"Failed. {message}")
                state.at = state.waited_at or 0
                state.calls, state.loops, state.steps = [], [], 0
                self._leave_block()

    def _call_at_end(self) -> bool:
        """Go to the label that is due at the end of the program; return whether there is one."""
        state = self.state
        due = ""
        if KEEPS in self._called and not state.is_kept and state.waited_at is not None:
            due, state.is_kept = KEEPS, True
        elif LEARNS in self._called and state.made_version and not state.has_learned:
            due, state.has_learned = LEARNS, True
        if not due:
            return False
        state.calls, state.loops, state.is_done = [], [], False
        state.at = self.program.labels[due]
        return True

    async def _show(self, text: str) -> None:
        self.state.has_shown = True
        await self._host.display(text)

    def _flow(self, instruction: Instruction) -> None:
        """Execute a jump, without waiting for anything."""
        state, operands = self.state, instruction.operands
        match instruction.operation:
            case "CMP":
                state.is_equal = _same(self.value(operands[0]), self.value(operands[1]))
                state.at += 1
            case "JE" if not state.is_equal:
                state.at += 1
            case "JNE" if state.is_equal:
                state.at += 1
            case "JMP" if self._repeats():
                pass
            case "JE" | "JNE" | "JMP":
                self._jump(self._place(operands[0]))
            case "CALL":
                if len(state.calls) >= DEPTH_MAX:
                    raise ProgramFault(f"Calls are more than {DEPTH_MAX} deep.")
                state.calls.append(state.at + 1)
                state.at = self._place(operands[0])
            case "RET":
                self._return()
            case "LOOP":
                self._begin_loop(as_count(self.value(operands[0]), "LOOP"))
            case "POP":
                (target,) = operands
                assert isinstance(target, RegisterPath)  # the assembler checked it
                self._write(target, state.stack.pop() if state.stack else None)
                state.at += 1
            case "HALT":
                state.is_done = True
            case _:  # PARALLEL_END
                state.at += 1

    async def _operate(self, at: int, prepared: Prepared) -> None:
        state, operation, instruction = self.state, prepared.operation, self.program.code[at]
        if not operation.is_durable:
            await self._do(prepared)
            if operation.name == "ALTERNATIVES_GET":
                state.stack += reversed(self.value(instruction.operands[0]))
                del state.stack[:-STACK_MAX]
            state.at += 1
            return
        if operation.name == "WAIT_INPUT" and await self._ends_round():
            return
        self._watch((at,))
        await self._save(state)
        place_that_runs.set(RunningPlace(instruction.at.line))
        await self._do(prepared)
        state.at += 1
        match operation.name:
            case "WAIT_INPUT":
                state.has_shown = state.is_kept = False
                state.resuming = ""
                self._tell_host()
            case "SESSION_INIT":
                self._begin_session(instruction)
            case "VERSION_SAVE":
                state.made_version = True
            case _:
                pass
        await self._save(state)

    async def _ends_round(self) -> bool:
        """Whether something else is due before the program waits: then that runs first, and returns."""
        state = self.state
        if state.waited_at is not None and not state.is_kept:
            if not state.has_shown and state.waited_at == state.at:
                await self._show(self._what_can_be_asked())
            state.is_kept = True
            if KEEPS in self._called:
                state.calls.append(state.at)
                state.at = self.program.labels[KEEPS]
                return True
        state.waited_at, state.steps, state.is_kept = state.at, 0, True
        return False

    def _what_can_be_asked(self) -> str:
        known = [
            operand.value
            for instruction in self.program.code
            if instruction.operation == "CMP"
            for operand in instruction.operands
            if isinstance(operand, Constant) and isinstance(operand.value, str)
        ]
        hint = f" It understands: {', '.join(dict.fromkeys(known))}." if known else ""
        return f"{self.program.name} has no output for that.{hint}"

    def _begin_session(self, instruction: Instruction) -> None:
        """Let the program load its stored data, if its session existed before."""
        session = cast("dict[str, Value]", self.value(instruction.operands[0]))
        state = self.state
        state.session_id = session["id"]
        if session.get("resumed") and LOADS in self._called:
            state.resuming = session["id"]
            state.calls.append(state.at)
            state.at = self.program.labels[LOADS]
        self._tell_host()

    def _tell_host(self) -> None:
        self._host.session_id, self._host.resuming = self.state.session_id, self.state.resuming

    async def _do(self, prepared: Prepared) -> None:
        operation = prepared.operation
        if prepared.reads_patterns:
            self._patterns = await self._host.load_patterns()
        if prepared.is_lenient:
            values = tuple([self.value(each, lenient=True) for each in prepared.read])
        else:
            values = tuple(map(self.value, prepared.read))
        if operation.name == "DISPLAY":
            self.state.has_shown = True
        result = await operation.run(self._host, values)
        if operation.name == "VERSION_SAVE":
            self.state.has_shown = True
        if prepared.target:
            self._write(prepared.target, result)

    async def _run_block(self, first: int, end: int) -> None:
        """Run the lines in parallel; each waits for earlier ones that share a register with it."""
        block = self.program.code[first:end]
        done = [asyncio.Event() for _ in block]
        shared = [uses(each) for each in block]
        running = set[int]()
        began_at = self.state.block_began_at = self.state.block_began_at or now()
        await self._save(self.state)

        async def one(index: int) -> None:
            reads, writes = shared[index]
            for before in range(index):
                earlier_reads, earlier_writes = shared[before]
                if earlier_writes & (reads | writes) or earlier_reads & writes:
                    await done[before].wait()
            if index not in self.state.finished:
                async with self._parallel:
                    running.add(first + index)
                    self._watch(tuple(sorted(running)))
                    place_that_runs.set(RunningPlace(block[index].at.line, began_at))
                    await self._do_or_note(first + index)
                    running.discard(first + index)
                    self._watch(tuple(sorted(running)))
                self.state.finished.append(index)
                if self._operations[block[index].operation].is_durable:
                    await self._save(self.state)
            done[index].set()

        try:
            async with asyncio.TaskGroup() as group:
                for index in range(len(block)):
                    group.create_task(one(index))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        self.state.steps += len(block)
        self.state.at = end + 1
        self._leave_block()
        await self._save(self.state)

    def _leave_block(self) -> None:
        self.state.finished, self.state.block_began_at = [], None

    async def _do_or_note(self, at: int) -> None:
        prepared = self._prepared[at]
        assert prepared is not None  # the assembler allows no jump into a block
        try:
            await self._do(prepared)
        except (StoreError, RunOver):
            raise
        except RagforgeError as error:
            if prepared.target:
                self._write(prepared.target, {"error": str(error)})

    def value(self, operand: Operand, *, lenient: bool = False) -> Value:
        """Return the value of the operand. lenient: a field of a text is null. Raises ProgramFault."""
        if isinstance(operand, RegisterPath):  # these two are most of them
            return self._field_of(operand, lenient=lenient)
        if isinstance(operand, Constant):
            return operand.value
        match operand:
            case ObjectOperand(entries):
                return {key: self.value(each) for key, each in entries}
            case ListOperand(items):
                return [self.value(each) for each in items]
            case FunctionCall("TIME_NOW"):
                return now().isoformat()
            case FunctionCall("LOAD_PATTERNS"):
                return self._patterns
            case FunctionCall():
                return reference()
            case LabelName(name):
                return name

    def _field_of(self, path: RegisterPath, *, lenient: bool) -> Value:
        name = path.name
        value = self._given(name) if name in _GIVEN else self.state.registers.get(name)
        for name in path.fields:
            if value is None:
                return None
            fields = cast("dict[str, Value] | None", value if isinstance(value, dict) else None)
            if fields is not None and (name in fields or name != "length"):
                value = fields.get(name)
            elif name == "length" and isinstance(value, str | list | dict):
                value = len(cast("str", value))
            elif lenient:
                return None
            else:
                raise ProgramFault(f"{path} cannot be read: {type_words(value)} has no field {name}.")
        return value

    def _given(self, name: str) -> Value:
        if name == "USER":
            return {"id": self._host.user_id}
        state = self.state
        return {
            "run": self.run_id,
            "registers": dict(state.registers),
            "stack": list(state.stack),
            "steps": state.steps,
        }

    def _write(self, operand: RegisterPath, value: Value) -> None:
        if isinstance(value, str | list | dict):
            size = len(msgspec.json.encode(value))
            if size > VALUE_BYTES_MAX:
                raise ProgramFault(
                    f"${operand.name} can hold {VALUE_BYTES_MAX:,} bytes, and this value has {size:,}."
                )
        if operand.name == "SPU_STATE":
            # RESTORE: saved registers that have no value now; never the position or the call stack.
            saved = cast("dict[str, Value]", value if isinstance(value, dict) else {})
            registers = cast("dict[str, Value]", saved.get("registers") or {})
            for name, each in registers.items():
                self.state.registers.setdefault(name, each)
            return
        self.state.registers[operand.name] = value

    def _place(self, label: Operand) -> int:
        assert isinstance(label, LabelName)
        return self.program.labels[label.name]

    def _begin_loop(self, count: int) -> None:
        state = self.state
        last = self.program.closings[state.at]
        if count == 0:
            self._jump(last + 1)
            return
        if len(state.loops) >= DEPTH_MAX:
            raise ProgramFault(f"Loops are more than {DEPTH_MAX} deep.")
        first = self._place(self.program.code[state.at].operands[1])
        state.loops.append(LoopFrame(first, last, count - 1, len(state.calls)))
        state.at = first

    def _repeats(self) -> bool:
        """Whether this JMP ends the innermost loop's block; goes to its next round, or after it."""
        state = self.state
        loop = state.loops[-1] if state.loops else None
        if loop is None or loop.last != state.at or loop.depth != len(state.calls):
            return False
        if loop.left:
            loop.left -= 1
            state.at = loop.first
        else:
            state.loops.pop()
            state.at += 1
        return True

    def _jump(self, to: int) -> None:
        """Go there; a jump out of a loop's block ends the loop."""
        state = self.state
        while state.loops and state.loops[-1].depth == len(state.calls):
            if state.loops[-1].first <= to <= state.loops[-1].last:
                break
            state.loops.pop()
        state.at = to

    def _return(self) -> None:
        state = self.state
        if not state.calls:
            state.is_done = True
            return
        state.at = state.calls.pop()
        while state.loops and state.loops[-1].depth > len(state.calls):
            state.loops.pop()

    def _where(self, at: int) -> str:
        instruction = self.program.code[at]
        is_standard = at >= self.program.own_length  # its lines have no numbers here
        return f"{'std.spu' if is_standard else f'line {instruction.at.line}'}, {instruction.operation}"


def _prepared(instruction: Instruction, operation: Operation) -> Prepared:
    kinds, operands = OPERATIONS[operation.name], instruction.operands
    target = operands[0] if kinds and kinds[0] in ("out", "reg") else None
    assert target is None or isinstance(target, RegisterPath)  # the assembler checked it
    return Prepared(
        operation,
        operands[1:] if kinds[:1] == ("out",) else operands,
        target,
        any(calls_function(operand, "LOAD_PATTERNS") for operand in operands),
        operation.name == "EXTRACT",
    )


def uses(instruction: Instruction) -> tuple[set[str], set[str]]:
    """Return the registers that it reads, and those that it writes."""
    kinds = OPERATIONS[instruction.operation]
    reads: set[str] = set()
    writes: set[str] = set()
    for kind, operand in zip(kinds, instruction.operands, strict=True):
        names = registers_in(operand)
        if kind != "out":
            reads |= names
        if kind in ("out", "reg"):
            writes |= names
    return reads, writes


def _same(one: Value, other: Value) -> bool:
    """Whether they are equal: true is not 1, null only null, and a version is as its code."""
    if is_version(one) or is_version(other):
        one, other = plain(one), plain(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def built_operations() -> frozenset[str]:
    """Return the operations that can run: the machine's, and those with a file."""
    return FLOW | frozenset(find_operations())
