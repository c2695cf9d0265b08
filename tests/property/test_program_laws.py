"""Laws of programs: printed and parsed, killed and resumed, parallel and serial."""

import asyncio
import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import field

from ragforge.domain.errors import ModelError
from ragforge.session.program_files import SHIPPED
from ragforge.workflow.check import SpuProgram, assemble
from ragforge.workflow.machine import Machine, RunState
from ragforge.workflow.operation import ProgramFault
from ragforge.workflow.optimizer import optimized
from ragforge.workflow.parse import parse, read_text
from ragforge.workflow.quick_parse import quick_statements
from ragforge.workflow.rehearsal import Rehearsal
from ragforge.workflow.syntax import (
    Constant,
    Directive,
    FunctionCall,
    Instruction,
    LabelLine,
    LabelName,
    ListOperand,
    ObjectOperand,
    Operand,
    RegisterPath,
    Statement,
)

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True)
LABELS = NAMES.filter(lambda name: name not in ("null", "true", "false"))
CAPITALS = st.from_regex(r"[A-Z][A-Z0-9_]{0,6}", fullmatch=True)
TEXTS = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\r\0"), max_size=12)
LEAVES: st.SearchStrategy[Operand] = st.one_of(
    st.builds(Constant, TEXTS | st.integers(-1000, 1000) | st.none() | st.booleans()),
    st.builds(Constant, st.floats(allow_nan=False, allow_infinity=False, width=32)),
    st.builds(RegisterPath, CAPITALS, st.lists(NAMES, max_size=2).map(tuple)),
    st.builds(LabelName, LABELS),
    st.builds(FunctionCall, CAPITALS),
)


def _nested(inner: st.SearchStrategy[Operand]) -> st.SearchStrategy[Operand]:
    entries = st.dictionaries(NAMES, inner, max_size=3).map(lambda found: tuple(found.items()))
    return st.builds(ObjectOperand, entries) | st.builds(ListOperand, st.lists(inner, max_size=3).map(tuple))


OPERANDS = st.recursive(LEAVES, _nested, max_leaves=6)
VALUES = st.from_regex(r"[A-Za-z0-9$][A-Za-z0-9 $.,]{0,8}[a-z]", fullmatch=True)
STATEMENTS: st.SearchStrategy[Statement] = st.one_of(
    st.builds(Directive, st.from_regex(r"[a-z]{1,8}", fullmatch=True), VALUES),
    st.builds(LabelLine, NAMES),
    st.builds(Instruction, CAPITALS, st.lists(OPERANDS, max_size=3).map(tuple)),
)


def without_places(statements: tuple[Statement, ...]) -> Any:
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return {key: plain(each) for key, each in fields.items() if key != "at"}
        return (
            [plain(each) for each in cast("list[Any]", value)] if isinstance(value, list | tuple) else value
        )

    return plain([(type(each).__name__, msgspec.to_builtins(each)) for each in statements])


def alike(one: tuple[Statement, ...], other: tuple[Statement, ...]) -> bool:
    """Whether they are the same statements at the same places; the places of operands do not count."""
    is_same = without_places(one) == without_places(other)
    return is_same and [each.at for each in one] == [each.at for each in other]


@given(st.lists(STATEMENTS, max_size=6).map(tuple))
def test_printing_and_parsing_is_the_identity(statements: tuple[Statement, ...]) -> None:
    text = "".join(f"{each}\n" for each in statements)
    parsed, faults = parse(text)
    assert faults == []
    assert without_places(parsed) == without_places(statements)
    if quick := quick_statements(text):
        assert alike(quick, parsed)
    else:  # four operands and brackets in two others are for `parse`
        assert any("[" in str(each) or "{" in str(each) for each in statements) or not statements


@given(st.binary(max_size=200) | TEXTS.map(str.encode) | st.text("A $'{}[],:.;\n\tab1-\\").map(str.encode))
def test_any_bytes_assemble_or_say_why(content: bytes) -> None:
    found = assemble(content)
    assert (found.program is None) == bool(found.faults)
    text, faults = read_text(content)
    if not faults and (quick := quick_statements(text)) is not None:
        statements, faults = parse(text)
        assert faults == []
        assert alike(quick, statements)


def test_the_quick_reading_is_that_of_the_whole_parser() -> None:
    files = sorted(SHIPPED.parent.rglob("*.spu"))
    assert files
    for text in (path.read_text() for path in files):
        quick = quick_statements(text)
        assert quick is not None
        assert alike(quick, parse(text)[0])


PROGRAM = """
.program laws
start:
    WAIT_INPUT $NAME
    EXTRACT $NO, $NAME.field
    PARALLEL_START
        LLM_EXEC $A, 'one', {prompt: $NAME}
        LLM_EXEC $B, 'two', {prompt: $A, no: $NO}
        LLM_EXEC $C, 'fails', 'x'
        LLM_EXEC $D, 'three', 'y'
        APPEND $ALL, $A
    PARALLEL_END
    APPEND $ALL, $B
    APPEND $ALL, $C.error
    LOOP $ALL.length, each
each:
    CALL show
    JMP each
    CMP $NAME, 'last'
    JNE start
    HALT
show:
    LOOP 2, inner
inner:
    APPEND $COUNT, $COUNT.length
    JMP inner
    LLM_EXEC $E, 'shown', $COUNT
    DISPLAY [$E, $ALL]
    RET
"""


class Killed(BaseException):
    """The process ends."""


class World(Rehearsal):
    """Models that answer by what they are asked, and a user; all of it survives a kill."""

    inputs: Sequence[str] = ("first", "last")
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    kept: list[bytes] = field(default_factory=list[bytes])
    delays: bool = False
    is_dead: bool = False

    async def ask_model(
        self, role: str, instructions: str, message: str, *, task: str = "", schema: Any = None
    ) -> str:
        if role == "fails":
            raise ModelError("It is away.")
        for _ in range(5 * (role == "one") * self.delays):
            await asyncio.sleep(0)
        if self.is_dead:
            raise Killed
        self.asked.append((role, message))
        return f"{role}: {len(message)}"

    async def save(self, state: RunState) -> None:
        self.kept.append(msgspec.json.encode(state))


def program_of(text: str) -> SpuProgram:
    program = assemble(text.encode()).program
    assert program is not None
    return program


async def run_whole(world: World, text: str = PROGRAM) -> RunState:
    machine = Machine(program_of(text), world, save=world.save)
    await machine.run()
    return machine.state


async def test_killed_at_any_durable_point_and_resumed_is_as_not_killed() -> None:
    whole = World()
    end = await run_whole(whole)
    assert len(whole.kept) > 20
    for point in range(1, len(whole.kept)):
        world = World()

        async def save(state: RunState, world: World = world, point: int = point) -> None:
            if world.is_dead:
                raise Killed
            await world.save(state)
            if len(world.kept) == point:
                world.is_dead = True
                raise Killed

        with pytest.raises((Killed, BaseExceptionGroup)):
            await Machine(program_of(PROGRAM), world, save=save).run()
        world.is_dead = False
        state = msgspec.json.decode(world.kept[point - 1], type=RunState)
        resumed = Machine(program_of(PROGRAM), world, state, save=world.save)
        await resumed.run()
        assert resumed.state.registers == end.registers
        assert sorted(world.asked) == sorted(whole.asked), point  # and no finished call was asked twice
        assert world.displayed == whole.displayed


async def test_parallel_is_as_serial() -> None:
    parallel = await run_whole(World(delays=True))
    serial = await run_whole(World(), re.sub(r"PARALLEL_\w+|LLM_EXEC \$C.*", "", PROGRAM))
    for state in (parallel, serial):
        state.registers.pop("C", None)
    assert parallel.registers["A"] == serial.registers["A"]
    assert parallel.registers["B"] == serial.registers["B"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:\nJMP a", "line 2, JMP: The program ran 50 operations and was stopped."),
        ("a:\nCALL a", "line 2, CALL: The program ran 50 operations and was stopped."),
        ("EXTRACT $X, 'abc'\nDISPLAY $X.y", "line 2, DISPLAY: $X.y cannot be read: a text has no field y."),
        (
            "EXTRACT $X, 'b'\nLOOP $X, a\na:\nJMP a",
            "line 2, LOOP: LOOP takes a whole number from 0 on, not 'b'.",
        ),
        ("LIMIT $X, -1", "line 1, LIMIT: LIMIT takes a whole number from 0 on, not -1."),
        (
            "EXTRACT $T, 'none'\nLLM_EXEC $X, 'm', {task: $T}",
            "line 2, LLM_EXEC: There is no task 'none'",
        ),
    ],
)
async def test_a_fault_names_its_line(text: str, expected: str) -> None:
    with pytest.raises(ProgramFault, match=re.escape(expected)):
        await Machine(program_of(text), World(), steps_max=50).run()


async def test_small_operations() -> None:
    world = World(inputs=("fine",))
    text = """
    CMP $NONE, null
    JNE wrong
    CMP 1, true
    JE wrong
    LOOP 0, wrong
wrong:
    EXTRACT $WRONG, 'reached'
    JMP wrong
    APPEND $LIST, {n: 2, at: {deep: 'x'}}
    APPEND $LIST, {n: 3}
    APPEND $LIST, {m: 1}
    SORT $LIST, 'n', 'desc'
    EXTRACT $COPY, $LIST
    LIMIT $COPY, 1
    POP $POPPED
    WAIT_SECONDS 0
    WAIT_INPUT $X
    DISPLAY $X.oops
    """
    await Machine(program_of(text), world).run()
    # The fault led back to WAIT_INPUT, and there was no more input.
    assert [line for line in world.displayed if "Failed. line 19" in line]
    state = await run_whole(World(inputs=()), text)
    registers = deepcopy(state.registers)
    assert "WRONG" not in registers
    assert [item.get("n") for item in registers["LIST"]] == [3, 2, None]
    assert (registers["COPY"], registers["POPPED"]) == ([{"n": 3}], None)


LINES = st.sampled_from(
    (
        "LLM_EXEC $A, 'one', $B",
        "LLM_EXEC $B, 'two', {prompt: $A}",
        "LLM_EXEC $C, 'three', 'x'",
        "EXTRACT $D, $A",
        "EXTRACT $UNREAD, 'y'",
        "APPEND $L, $D",
        "DISPLAY $L",
        "DISPLAY [$A, $B, $C]",
        "CMP $A, null",
        "JE there",
        "JMP there",
        "CALL unused",
        "; a comment",
    )
)
OTHER = (
    "JMP end\nunused:\n    DISPLAY 'unused'\n    RET\nnever:\n    DISPLAY 'never'\n    RET\nend:\n    HALT\n"
)


@given(st.lists(LINES, max_size=10), st.lists(LINES, max_size=4))
async def test_optimizing_changes_no_result(before: list[str], after: list[str]) -> None:
    lines = [*before, "there:", *(each for each in after if "there" not in each), OTHER]
    text = "\n".join([".program law", *lines])
    changed = optimized(text)
    assert "never" not in changed
    one, other = World(), World()
    first, second = await run_whole(one, text), await run_whole(other, changed)
    assert one.displayed == other.displayed
    assert sorted(one.asked) == sorted(other.asked)
    assert second.registers == {name: first.registers[name] for name in second.registers}
    assert optimized(changed) == changed
