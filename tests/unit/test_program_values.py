"""Operations with values of every shape: what they cannot take is told, and ends no program unexpectedly."""

from collections.abc import Iterator
from itertools import product

import pytest

from ragforge.domain.errors import RagforgeError
from ragforge.workflow.check import assemble
from ragforge.workflow.language import OPERATIONS
from ragforge.workflow.machine import Machine
from ragforge.workflow.operation import ProgramFault, find_operations
from ragforge.workflow.rehearsal import Rehearsal
from tests.program_answers import CREATING

VALUES = (
    *("null", "true", "-1", "1.5", "'word'", "[]", "{}", "[1, null, 'a']", "[{a: 1}]", "[[1]]"),
    *("{a: {b: null}}", "{error: 'x'}", "{id: 3}", "{type: 1}", "{type: 'program_version', code: 1}"),
    *("{message: 1}", "[{message: 'gone'}]", "[{text: 'x'}]", "{mistakes: [1]}"),
    *("{id: 'x', conversation: 5}", "{version: 1, diff: 2, check: 3}", "{prompt: 3, similarity: [1]}"),
)
SHAPES = {
    "any": VALUES,
    "reg": VALUES,
    "text": ("'pattern'", "'user_prompt'"),
    "object": [each for each in VALUES if each.startswith("{")],
}
ASKS = ("WAIT_INPUT", "WAIT_SECONDS", "CHECK")


def programs(operation: str) -> Iterator[str]:
    """One for each combination of values that the operation may be given."""
    kinds = [kind for kind in OPERATIONS[operation] if kind != "out"]
    for values in product(*(SHAPES[kind] for kind in kinds)):
        into = ["$OUT"] if "out" in OPERATIONS[operation] else []
        set_up, operands = "", into
        for place, (kind, value) in enumerate(zip(kinds, values, strict=True)):
            if kind == "reg":
                set_up += f"EXTRACT $R{place}, {value}\n"
            operands = [*operands, f"$R{place}" if kind == "reg" else value]
        yield f"{set_up}{operation} {', '.join(operands)}\n"


async def run(code: str) -> Rehearsal:
    program = assemble(f".program x\n.needs tools\n.needs agents\n{code}".encode()).program
    assert program is not None, code
    world = Rehearsal("x", [], CREATING)
    await Machine(program, world).run()
    return world


@pytest.mark.parametrize("operation", sorted(find_operations().keys() - set(ASKS)))
async def test_a_value_of_the_wrong_shape_is_told_and_no_more(operation: str) -> None:
    for code in programs(operation):
        try:
            await run(code)
        except RagforgeError:
            pass
        except Exception as error:
            raise AssertionError(code) from error


@pytest.mark.parametrize(
    "code",
    [
        "SESSION_INIT $S\nSESSION_UPDATE $S, 'conversation', 5\n",
        "SESSION_INIT $S\nSESSION_UPDATE $S, 'current_version', {a: 1}\n",
        "CONV_SAVE $S, 'words', 'user_prompt'\n",
        "DOC_UPDATE $D, 'text', 'x'\nDOC_STORE $D\n",
        "VERSION_CREATE $V, {code: '.program q', title: 5}\n",
        "VERSION_CREATE $V, {code: '.program q', mergedFrom: [[1]]}\n",
        "VERSION_CREATE $V, {code: '.program q', diff: 7}\n",
        "PATTERN_UPDATE $P, null\nEXTRACT $P, [1]\nPATTERN_UPDATE $P, null\n",
    ],
)
async def test_what_would_be_kept_in_the_wrong_shape_is_refused(code: str) -> None:
    with pytest.raises(ProgramFault, match="takes a"):
        await run(code)
