"""The creator in a world of scripted models: its conversations, its gate, and its change of itself."""

from typing import Any

import pytest
from msgspec import field

from ragforge.domain.ids import short_id
from ragforge.session.program_files import SHIPPED
from ragforge.workflow.check import assemble
from ragforge.workflow.edits import EditFault, apply_edits
from ragforge.workflow.gate import faults_of_program
from ragforge.workflow.library import in_words
from ragforge.workflow.machine import Machine
from ragforge.workflow.operation import ProgramFault
from ragforge.workflow.rehearsal import Rehearsal, ScriptedAnswer
from tests.program_answers import CREATING, GREETING, MAILS, WHOLE

CREATOR = (SHIPPED / "creator.spu").read_text()


Answers = tuple[ScriptedAnswer, ...]


def edit(old: str, new: str) -> dict[str, object]:
    return {"edits": [{"where": "", "old": old, "new": new}]}


async def talk(*inputs: str, answers: Answers = CREATING, code: str = CREATOR) -> Rehearsal:
    world = Rehearsal("creator", inputs, answers)
    program = assemble(code.encode()).program
    assert program is not None
    await Machine(program, world).run()
    return world


async def test_a_conversation_makes_the_tree_and_a_log_in_which_from_and_to_differ() -> None:
    world = await talk(
        *("sort my mail", "show alternatives", "add a greeting", "undo", "redo", "explain", "what time is it")
    )
    first, second = world.library.versions.values()
    assert (first["parent"], second["parent"]) == (None, first["id"])
    assert [each["id"] for each in await world.library.children(first["id"])] == [second["id"]]
    assert second["code"] == first["code"].replace("    DISPLAY 'whole'", GREETING[0]["new"])
    assert world.library.moves == [(second["id"], first["id"]), (first["id"], second["id"])]
    assert world.library.heads == {"mails": second["id"]}

    shown = "\n".join(world.displayed)
    assert [text for text in ("comprehensive", "optimized", "performance") if text in world.displayed]
    assert '"score": 0.9' in shown
    assert "It reads the mail and shows it." in world.displayed
    assert "It understands: create_new, modify_existing, undo" in world.displayed[-1]

    documents = [each["type"] for each in world.library.kept_documents.values()]
    assert documents.count("creation_session") == documents.count("learnings") == 1
    assert "pattern" in documents
    session = next(iter(world.library.sessions.values()))
    kept = await world.library.messages([each["message"] for each in session["conversation"]])
    assert {each["type"] for each in kept} == {
        *("user_prompt", "spu_understanding", "code_generation", "code_modification", "user_action")
    }


async def test_what_there_is_none_of_is_said() -> None:
    world = await talk("add a greeting", "undo", "redo", "show alternatives", "explain")
    assert "There is no program to change yet" in world.displayed[0]
    assert world.displayed[1:3] == [
        "There is nothing to undo: this is the first version.",
        "There is nothing to redo: no version follows this one.",
    ]
    assert "has no output" in world.displayed[3]
    assert world.displayed[4].startswith("Failed. std.spu, LLM_EXEC: There is no program yet")
    assert not world.library.versions


@pytest.mark.parametrize(
    ("task", "answer", "words"),
    [
        ("modify_code", "Certainly! I changed it.", "The answer is not a JSON object"),
        (
            "modify_code",
            edit("nowhere", ""),
            "'nowhere' is not in the text",
        ),
        ("modify_code", edit("DISPLAY", ""), "more than once"),
        ("diff_analysis", '{"changes": [', "The answer is not a JSON object"),
        ("validate_changes", {"holds": False, "reasons": ["It never greets."]}, "It never greets."),
        (
            "modify_code",
            edit("start:", "x:\n    JMP x\nstart:"),
            "never ends",
        ),
        (
            "modify_code",
            edit("DISPLAY 'whole'", "SHOW 1"),
            "operation SHOW",
        ),
    ],
)
async def test_what_does_not_pass_is_said_and_nothing_is_kept(task: str, answer: object, words: str) -> None:
    others = tuple(each for each in CREATING if each.task != task)
    world = await talk("sort my mail", "add a greeting", answers=(*others, ScriptedAnswer(task, answer)))
    assert len(world.library.versions) == 1
    assert any("Failed." in each and words in each for each in world.displayed)


class Counting(Rehearsal):
    """Also tells which tasks were asked."""

    asked: list[str] = field(default_factory=list[str])

    async def ask_model(
        self,
        role: str,
        instructions: str,
        message: str,
        *,
        task: str = "",
        schema: dict[str, Any] | None = None,
    ) -> str:
        self.asked.append(task)
        return await super().ask_model(role, instructions, message, task=task, schema=schema)


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ({"edits": []}, "No new version was made: the text is the same as that of mails.spu."),
        (edit("DISPLAY 'whole'", "DISPLAY 'whole'"), "No new version was made"),
        (edit("nowhere", ""), "'nowhere' is not in the text"),
    ],
)
async def test_a_change_of_nothing_is_no_version_and_nobody_is_paid_to_validate_it(
    edits: dict[str, object], words: str
) -> None:
    others = tuple(each for each in CREATING if each.task != "modify_code")
    answers = (*others, ScriptedAnswer("modify_code", edits))
    world = Counting("creator", ("sort my mail", "add a greeting"), answers)
    program = assemble(CREATOR.encode()).program
    assert program is not None
    await Machine(program, world).run()
    [only] = world.library.versions
    assert world.library.heads == {"mails": only}
    assert world.asked.count("modify_code") == 1
    assert "validate_changes" not in world.asked
    assert any("Failed." in each and words in each for each in world.displayed)


async def test_faults_go_back_to_the_model_and_what_it_repairs_is_kept() -> None:
    broken = [{**GREETING[0], "new": GREETING[0]["new"].replace("DISPLAY 'hello'", "DISPLEY 'hello'")}]
    repair = ScriptedAnswer(
        "repair_code",
        edit("DISPLEY", "DISPLAY"),
        "Unknown operation DISPLEY",
    )
    others = tuple(each for each in CREATING if each.task != "modify_code")
    answers = (*others, ScriptedAnswer("modify_code", {"edits": broken}), repair)
    world = await talk("sort my mail", "add a greeting", answers=answers)
    [_, repaired] = world.library.versions.values()
    assert "    DISPLAY 'hello'\n    DISPLAY 'whole'" in repaired["code"]


async def test_answers_that_cannot_be_used_are_left_out() -> None:
    without = tuple(each for each in CREATING if each.task != "generate_program")
    one = ScriptedAnswer("generate_program", f"```\n{WHOLE}```", "optimized")
    world = await talk("sort my mail", answers=(*without, one))
    [kept] = world.library.versions.values()
    assert WHOLE.rstrip("\n") in kept["code"]
    none = await talk("sort my mail", answers=without)
    assert "No answer can be used: No example answers the task generate_program." in none.displayed[0]


def test_edits_leave_the_rest_byte_for_byte() -> None:
    text = "a\r\n\tb  \nb\nc"
    edited = apply_edits(
        text, [{"where": "a", "old": "", "new": "x"}, {"where": "b  ", "old": "b\nc", "new": "d"}]
    )
    assert edited == "a\r\nx\n\tb  \nd"
    assert apply_edits(text, []) == text
    for wrong in ([1], [{"where": "", "old": 1, "new": ""}], [{"where": "zz", "old": "", "new": "x"}]):
        with pytest.raises(EditFault):
            apply_edits(text, wrong)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("", "The text is empty."),
        ("HALT", "It has no .program NAME"),
        (".program a\na:\nJMP a", "line 3: this loop never ends"),
        (".program a\na:\nCALL b\nJMP a\nb:\nRET", "this loop never ends"),
        (".program a\na:\nCMP 1, 2\nJE b\nb:\nJMP a", "this loop never ends"),
        (".program a\nTOOL_EXEC $X, 'shell', {command: 'rm -rf .'}", "needs the directive: .needs tools"),
        (MAILS, ""),
        (CREATOR, ""),
        (".program a\na:\nLOOP 3, b\nb:\nJMP b\nWAIT_INPUT $X\nJMP a", ""),
    ],
)
def test_the_gate(code: str, words: str) -> None:
    faults = faults_of_program(code)
    assert words in "\n".join(faults) if words else not faults


def test_what_a_message_contains_is_shown_in_words() -> None:
    version = "01234567-89ab-7def-8123-456789abcdef"
    assert in_words({"version": version, "program": "mails"}) == f"mails, version {short_id(version)}"
    understood = {"intent": "sort", "steps": ["read", "show"], "goal": None}
    assert in_words(understood) == "intent: sort; steps: read, show"
    assert in_words("sort my mail") == "sort my mail"


@pytest.mark.parametrize("merged", [False, True])
async def test_what_is_made_of_one_program_replaces_no_other(merged: bool) -> None:
    fields = "parent: $OLD" + (", mergedFrom: [$OLD, $OLD]" if merged else "")
    code = (
        ".program saver\n.input $OLD a version\n.input $CODE a text\n"
        f"VERSION_CREATE $V, {{code: $CODE, {fields}}}\nVERSION_SAVE $S, $V\n"
    )
    program = assemble(code.encode()).program
    assert program is not None
    world = Rehearsal("saver", [])
    for name in ("mails", "letters"):
        old = {"id": name, "program": name, "parent": None, "code": f".program {name}\n", "alternatives": []}
        await world.library.add_version(old, program=name, description="")
    for name, is_kept in (("letters", False), ("post", not merged), ("mails", True)):
        machine = Machine(program, world)
        machine.state.registers |= {"OLD": "mails", "CODE": f".program {name}\nDISPLAY '{name}'\n"}
        if is_kept:
            await machine.run()
        else:
            with pytest.raises(ProgramFault, match=f"keep its name: .program mails, not {name}"):
                await machine.run()
    assert world.library.heads["letters"] == "letters"


async def test_a_new_program_replaces_no_other_unless_its_session_is_about_it() -> None:
    code = (
        ".program saver\n.input $CODE a text\n.input $SESSION a session\n"
        "VERSION_CREATE $V, {code: $CODE, parent: null}\nVERSION_SAVE $SESSION, $V\n"
    )
    program = assemble(code.encode()).program
    assert program is not None
    world = Rehearsal("saver", [])
    old = {"id": "old", "program": "letters", "parent": None, "code": ".program letters\n"}
    await world.library.add_version(old, program="letters", description="")

    async def save(name: str, target: str) -> None:
        machine = Machine(program, world)
        session = await world.library.session("saver", target)
        machine.state.registers |= {"CODE": f".program {name}\nDISPLAY 'new'\n", "SESSION": session}
        await machine.run()

    for target in ("", "post"):
        with pytest.raises(ProgramFault, match="There is already a program letters"):
            await save("letters", target)
    assert world.library.heads == {"letters": "old"}
    await save("post", "")
    await save("letters", "letters")
    assert set(world.library.heads) == {"letters", "post"}
    assert world.library.heads["letters"] != "old"
