"""Programs in the SPU language: read, checked, and all that is wrong said at once."""

from pathlib import Path

import pytest

from ragforge.domain.errors import UsageError
from ragforge.session.program_files import SHIPPED
from ragforge.workflow.check import Assembly, assemble
from ragforge.workflow.execution import assembled
from ragforge.workflow.language import OPERATIONS
from ragforge.workflow.machine import built_operations
from ragforge.workflow.parse import BYTES_MAX
from ragforge.workflow.prompts import load_prompt, tasks
from ragforge.workflow.reference import reference

CREATOR = (SHIPPED / "creator.spu").read_bytes()
BAD = b"""\
.program x
.limits_ calls 5
a:
a:
  DISPLAYS $X
  DISPLAY 'abc
  LLM_EXEC $X, 'm', {prompt: $Y,
  DISPLAY $Z
  JMP aa
  LOOP -1, a
  LOOP 'x', a
  DISPLAY hello
  PARALLEL_START
  JMP a
  PARALLEL_START
  PARALLEL_END
  PARALLEL_END
  lower $X
  DISPLAY $x
  DISPLAY {a: [1, 2}
  DISPLAY {a: NOPE()}
  TOOL_EXEC $X, 'read', {}
  DISPLAY 'a' 'b'
  CMP 1
"""
FAULTS = """\
2:1 Unknown directive .limits_. Did you mean limit?
4:1 The label a is already on line 3.
5:3 Unknown operation DISPLAYS. Did you mean DISPLAY?
6:11 This quote is never closed.
7:21 This '{' is never closed.
9:7 There is no label aa. Did you mean a?
10:8 LOOP takes a number from 0 on, not -1.
11:8 LOOP takes a number from 0 on, not 'x'.
12:11 DISPLAY takes a value here, not hello.
14:3 JMP cannot be in a PARALLEL block
15:3 A PARALLEL block cannot hold another one.
18:3 Operations are written in capitals
19:11 '$x' is not a register
20:20 Expected ']', not '}'.
21:15 Unknown function NOPE().
22:3 TOOL_EXEC needs the directive: .needs tools
23:15 The line should end here
24:3 CMP takes 2 operands, not 1: a value; a value."""


def told(assembly: Assembly) -> list[str]:
    return [f"{fault.at.line}:{fault.at.column} {fault.message}" for fault in assembly.faults]


def test_the_creator_assembles() -> None:
    found = assemble(CREATOR)
    program = found.program
    assert program is not None
    assert (found.faults, len(found.warnings), len(found.notices)) == ([], 3, 1)
    assert all("never reached" in warning.message for warning in found.warnings)
    own = program.code[: program.own_length]
    assert (len(own), len({each.operation for each in own})) == (109, 40)
    assert len(set(program.labels) - set(program.standard)) == 12
    assert set(program.standard) == {"no_undo_available", "no_redo_available", "explain_code"}


def test_every_operation_of_the_language_can_run() -> None:
    assert built_operations() == set(OPERATIONS)
    faults = assemble(CREATOR, built={"CMP"}).faults
    refused = [fault.message.split()[0] for fault in faults if "cannot run it" in fault.message]
    assert len(refused) == len(set(refused)) == 39


def test_a_file_that_is_too_large_is_named_without_a_line() -> None:
    with pytest.raises(UsageError) as raised:
        assembled(b";" * (BYTES_MAX + 1), "big.spu")
    assert str(raised.value).splitlines()[1:] == [
        "big.spu: A program has at most 1,000,000 bytes; this has more."
    ]


def test_all_that_is_wrong_is_said_at_once() -> None:
    found = told(assemble(BAD))
    expected = FAULTS.splitlines()
    assert [line[: len(want)] for line, want in zip(found, expected, strict=True)] == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "1:1 The program has no operations."),
        (b"\0", "1:1 This is a binary file."),
        (b"HALT\n\xff", "2:1 This is not UTF-8 text."),
        (b";" * (BYTES_MAX + 1), "0:0 A program has at most 1,000,000 bytes; this has more."),
        (b"DISPLAY [1, 2\nDISPLAY $X", "1:9 This '[' is never closed."),
        (b"DISPLAY {a: 1, b: 2\n.limit calls 2", "1:9 This '{' is never closed."),
        (b"DISPLAY " + b"[" * 1000, "1:41 Brackets can be nested 32 deep."),
        (b"DISPLAY '\\x'", "1:9 \\x is not a valid escape"),
        (
            b"JE explain_code",
            "1:4 explain_code of std.spu jumps to conversation_loop, which is not a label here.",
        ),
        (b"HALT\n.program late", "2:1 .program belongs before the first label and line."),
        (b"PARALLEL_START\nHALT", "1:1 PARALLEL_START has no PARALLEL_END."),
        (b"HALT\na: HALT", "2:4 The label a must be on its own line."),
        (b"POP", "1:1 POP takes 1 operand, not 0: "),
        (b"FROBNICATE $X", "1:1 Unknown operation FROBNICATE. /program language lists the operations."),
        (
            b"LLM_EXEC $A, 'r', {task: 'plan_chang'}",
            "1:26 There is no task 'plan_chang'. Did you mean plan_change?",
        ),
        (
            b".needs agents\nAGENT_EXEC $A, {task: 'zzz'}",
            "2:23 There is no task 'zzz'. /program language lists",
        ),
        (b"a:\nLOOP 2, a", "2:1 No JMP a ends the block that LOOP repeats."),
    ],
)
def test_bad_input_is_a_sentence(content: bytes, expected: str) -> None:
    assert any(line.startswith(expected) for line in told(assemble(content)))


def test_line_ends_tabs_and_a_byte_order_mark_change_nothing() -> None:
    plain = assemble(CREATOR).program
    other = assemble(b"\xef\xbb\xbf" + CREATOR.replace(b"\n", b"\r\n").replace(b"    ", b"\t")).program
    assert plain is not None
    assert other is not None
    assert [str(each) for each in plain.code] == [str(each) for each in other.code]


def test_the_reference_is_in_the_docs_and_names_every_operation() -> None:
    text = reference()
    assert text in (Path(__file__).parents[2] / "docs" / "programs.md").read_text(encoding="utf-8")
    assert [name for name in OPERATIONS if f"`{name}" not in text] == []
    assert [name for name in tasks() if f"`{name}`" not in text] == []


def test_every_task_has_its_prompt() -> None:
    assert tasks()
    assert all(load_prompt(task) for task in tasks())
    assert load_prompt("../secrets") is None
