"""The creator changes itself: three generations, each made by the one before, and each still works."""

from typing import Any

from ragforge.workflow.check import assemble
from ragforge.workflow.examples import failed_examples
from ragforge.workflow.machine import Machine
from ragforge.workflow.rehearsal import Rehearsal, ScriptedAnswer
from ragforge.workflow.trace import AnsweredCall, RunTrace
from tests.program_answers import CREATING, GREETING, understood
from tests.unit.test_creator import CREATOR, talk

ROUTE = "    CMP $INTENT, 'explain'\n    JE explain_code\n"
GREET_ROUTE = "    CMP $INTENT, 'greet'\n    JE greet_user\n"
GREET_LABEL = (
    "; Says hello.\ngreet_user:\n    DISPLAY 'Hello from the creator.'\n    JMP conversation_loop\n\n"
)
SAVING = "; Called by the machine after every round.\n"
THIRD = """\
    LLM_EXEC $GEN3, 'code-llama', {
        context: $FULL_CONTEXT,
        focus: 'performance'
    }
"""
CHANGES = {
    "add an intent": [("", ROUTE, ROUTE + GREET_ROUTE), ("", SAVING, GREET_LABEL + SAVING)],
    "ask two models": [
        ("", THIRD, ""),
        ("", "SELECT_BEST $PRIMARY, [$GEN1, $GEN2, $GEN3]", "SELECT_BEST $PRIMARY, [$GEN1, $GEN2]"),
        ("", "alternatives: [$GEN1, $GEN2, $GEN3]", "alternatives: [$GEN1, $GEN2]"),
    ],
    "drop the intent": [("", GREET_ROUTE, ""), ("", GREET_LABEL, "")],
    "change nothing": [],
    "break it": [("", "JMP conversation_loop\n\n; Says what", "JMP nowhere\n\n; Says what")],
}


def edits(words: str) -> dict[str, object]:
    return {"edits": [dict(zip(("where", "old", "new"), each, strict=True)) for each in CHANGES[words]]}


def answers(words: str) -> tuple[ScriptedAnswer, ...]:
    others = tuple(each for each in CREATING if each.task not in ("modify_code", "intent_classification"))
    return (
        *others,
        ScriptedAnswer("modify_code", edits(words)),
        understood("modify_existing", words),
    )


async def changed(code: str, words: str) -> tuple[str, Rehearsal]:
    """What the creator with this code makes of the creator with this code."""
    world = Rehearsal("creator", [words], answers(words), target="creator")
    first: dict[str, Any] = {
        "id": "first",
        "program": "creator",
        "parent": None,
        "code": code,
        "alternatives": [],
    }
    await world.library.add_version(first, program="creator", description="")
    program = assemble(code.encode()).program
    assert program is not None
    await Machine(program, world).run()
    head = await world.library.version(world.library.heads["creator"])
    assert head is not None
    return head["code"], world


CONVERSATIONS = (
    ("sort my mail",),
    ("sort my mail", "undo"),
    ("sort my mail", "redo"),
    ("sort my mail", "show alternatives"),
    ("sort my mail", "explain"),
    ("sort my mail", "add a greeting"),
    ("sort my mail", "add a greeting", "undo"),
    ("sort my mail", "add a greeting", "undo", "redo"),
    ("sort my mail", "add a greeting", "undo", "explain"),
    ("sort my mail", "what time is it"),
    ("add a greeting",),
    ("undo", "redo"),
)


async def outcomes(code: str) -> list[tuple[list[str], list[str]]]:
    """Of each conversation the codes that were kept, and the first line of what was shown."""
    found: list[tuple[list[str], list[str]]] = []
    for inputs in CONVERSATIONS:
        world = await talk(*inputs, code=code)
        kept = [each["code"] for each in world.library.versions.values()]
        found.append((kept, [each.split(", version")[0] for each in world.displayed]))
    return found


async def test_three_generations_each_made_by_the_one_before() -> None:
    assert (await changed(CREATOR, "change nothing"))[0] == CREATOR
    before = await outcomes(CREATOR)
    assert any(GREETING[0]["new"] in code for kept, _ in before for code in kept)

    first, _ = await changed(CREATOR, "add an intent")
    greeting = (*CREATING, understood("greet", "say hello"))
    assert "Hello from the creator." in (await talk("say hello", answers=greeting, code=first)).displayed
    assert [kept for kept, _ in await outcomes(first)] == [kept for kept, _ in before]

    second, _ = await changed(first, "ask two models")
    kept = [kept for kept, _ in await outcomes(second)]
    assert kept == [kept for kept, _ in before]
    shown = (await talk("sort my mail", "show alternatives", code=second)).displayed
    assert "performance" not in shown
    assert "optimized" in shown

    third, _ = await changed(second, "drop the intent")
    assert third == CREATOR.replace(THIRD, "").replace("[$GEN1, $GEN2, $GEN3]", "[$GEN1, $GEN2]")
    assert [kept for kept, _ in await outcomes(third)] == [kept for kept, _ in before]


async def test_a_broken_creator_is_refused_with_its_faults_and_the_old_one_stays() -> None:
    code, world = await changed(CREATOR, "break it")
    assert code == CREATOR
    assert any("There is no label nowhere." in each for each in world.displayed)


async def test_examples_of_a_program_are_run() -> None:
    lines = (
        '{"inputs": ["undo"], "display": ["There is nothing to undo"]}\n'
        '{"inputs": ["explain"], "display": ["Never said"]}\nnot JSON\n'
    )
    first, second = await failed_examples(CREATOR, lines)
    assert first == "Example 2: 'Never said' was not shown."
    assert second.startswith("Example 3 cannot be read")


async def test_a_run_is_an_example_that_a_wrong_version_does_not_pass() -> None:
    code = ".program ask\n.input $WHO somebody\nWAIT_INPUT $X\nLLM_EXEC $A, 'm', {who: $WHO, x: $X}\n"
    code += "LLM_EXEC $B, 'm', {x: $A}\nDISPLAY $B"
    calls = [AnsweredCall("", "## who\nAnn\n\n## x\nyes", "one"), AnsweredCall("", "## x\none", "two")]
    trace = RunTrace(["yes"], calls, ["two"])
    line = trace.example(["Ann"])
    assert '"inputs":["Ann","yes"]' in line
    assert await failed_examples(code, line) == []
    assert await failed_examples(code.replace("DISPLAY $B", "DISPLAY $A"), line) == [
        "Example 1: 'two' was not shown."
    ]
    assert RunTrace(["yes"], calls, []).example([]) == ""
