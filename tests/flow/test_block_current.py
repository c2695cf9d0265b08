"""What is put before a message is current, fits it, and is said once; what holds always is always there."""

from datetime import timedelta
from functools import partial
from pathlib import Path

from ragforge.domain.context import ContextBlock
from ragforge.domain.derivations import Underived
from ragforge.domain.events import ContextBuilt
from ragforge.domain.memories import Association, AssociationKind, MemorySource, MemoryType
from ragforge.domain.search import HitKind
from ragforge.domain.summaries import SummaryMethod
from ragforge.domain.vectors import Owner, OwnerKind
from ragforge.memory.context import text_tokens
from ragforge.memory.recall.replacements import REPLACING_TURN, ReplacingTurn, replacing_turns
from ragforge.memory.recall.sources import instructions, resumption
from ragforge.memory.recall.sources import turns as past_turns
from ragforge.session.moves import undo
from ragforge.session.open import close_session, new_session
from ragforge.session.state import Session
from tests.flow.beside import beside, done
from tests.flow.recalling import LONG_AGO, embedded, remembered, said_before, summarised
from tests.flow.running import environ, of_type, say
from tests.standins.gemini import GeminiStandIn, Text

SEEDLINGS = [
    ("the seedlings are watered every 40 minutes", "`WATERING_MIN = 40` is in `garden/settings.py`."),
    ("the label printer jams when the paper is wet", "I dry the roll before each print now."),
    ("way too wet for the seedlings. 25", "`WATERING_MIN` is now 25 in `garden/settings.py`."),
    ("which port does the greenhouse api have?", "It listens on port 7117."),
    ("the meter is on that port, use 7220 instead of 7117", "Changed to 7220 in `compose.yml`."),
    ("forget terraform, let's do plain ansible for the sensors", "I removed terraform and wrote a playbook."),
    ("ok back to terraform, the sensors need its state", "I brought back terraform from git."),
]
PLANTS = ("ferns", "cacti", "orchids", "lilies", "vines", "mosses", "figs", "olives", "aloes", "agaves")
PLANTS += (
    "bananas",
    "dates",
    "ginger",
    "papyrus",
    "bamboo",
    "coffee",
    "cocoa",
    "vanilla",
    "pepper",
    "cotton",
)


async def block_for(session: Session, gemini: GeminiStandIn, message: str) -> ContextBlock:
    """What is put before the message in a session of its own."""
    other = await new_session(session.workspace)
    gemini.script(Text("Yes."))
    built = of_type(await say(other, message), ContextBuilt)
    await close_session(other)
    return built[0].block if built else ContextBlock()


def lines(block: ContextBlock, section: str) -> list[str]:
    return [item.text for item in block.items if item.section == section]


async def test_a_statement_that_was_replaced_says_so_and_by_what(
    session: Session, gemini: GeminiStandIn
) -> None:
    await said_before(session, SEEDLINGS)
    for message, old, new in (
        ("How often are the seedlings watered?", "40", "25"),
        ("Which port does the greenhouse api have now?", "7117", "7220"),
        ("Are the sensors set up by terraform or by ansible?", "plain ansible", "back to terraform"),
    ):
        shown = lines(await block_for(session, gemini, message), past_turns.SECTION.heading)
        assert any(new in line and "(replaced" not in line for line in shown), shown
        assert all("(replaced 4 Mar: " in line for line in shown if old in line and "instead of" not in line)


async def test_what_replaces_a_statement_is_known_whatever_the_message_finds(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    words = [("the boiler of the palm house starts below 18 degrees", "`BOILER_MIN = 18` is in `heat.py`.")]
    words += [(f"the palm house needs a sign for {each}", "It hangs there.") for each in PLANTS]
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")) as session:
        for turn in await said_before(session, words):
            session.workspace.background.turn_ended(session, turn.id)
        await done(session)
        gemini.script(Text("`BOILER_MIN` is 15."))
        await say(session, "no idea, whatever Ada wants")
        await done(session)
        message = "When does the boiler of the palm house start?"
        shown = lines(await block_for(session, gemini, message), past_turns.SECTION.heading)
        assert any("18 degrees (replaced " in line for line in shown), shown
        assert any("`BOILER_MIN` is 15" in line for line in shown), shown
        await undo(session)
        message = "Below how many degrees does the boiler start?"
        shown = lines(await block_for(session, gemini, message), past_turns.SECTION.heading)
        assert any("18 degrees" in line and "(replaced" not in line for line in shown), shown


async def test_an_instruction_that_is_lifted_in_passing_says_so_however_far_away_it_was_given(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    words = [("never restart the kiln on a Sunday", "Noted.")]
    words += [(f"the palm house needs a sign for {each}", "It hangs there.") for each in PLANTS]
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")) as session:
        for turn in await said_before(session, words):
            session.workspace.background.turn_ended(session, turn.id)
        await done(session)
        gemini.script(Text("The sign for the palm house is red."))
        await say(
            session,
            "make the sign of the palm house red, all the plants have one now. "
            "since the new thermostat, Sunday afternoons are fine by me",
        )
        await done(session)
        shown = lines(await block_for(session, gemini, "hello"), instructions.SECTION.heading)
        assert any("kiln on a Sunday (replaced " in line and " in part: " in line for line in shown), shown


async def test_of_a_reversal_that_is_undone_what_it_had_reversed_holds_again(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")) as session:
        for words in (
            "we keep the readings of the meters in MySQL",
            "use DuckDB instead of MySQL for the readings of the meters",
            "back to MySQL for the readings of the meters",
        ):
            gemini.script(Text("Done."))
            await say(session, words)
            await done(session)
        message = "Where do we keep the readings of the meters?"
        for holds, gone in (("MySQL", "DuckDB"), ("DuckDB", "in MySQL")):
            shown = [item.text for item in (await block_for(session, gemini, message)).items]
            assert any(holds in line and "(replaced" not in line for line in shown), shown
            assert all("(replaced" in line or holds in line for line in shown if gone in line), shown
            await undo(session)


async def test_of_a_deleted_turn_its_memory_is_left_and_nothing_else(
    session: Session, gemini: GeminiStandIn
) -> None:
    (turn,) = await said_before(session, [("we keep the readings in DuckDB, on the disk of Ada", "Noted.")])
    memory = await remembered(session, "we keep the readings in DuckDB", turns=[turn.id])
    other = await new_session(session.workspace)
    await session.workspace.store.sessions.delete(session.id)
    gemini.script(Text("Yes."))
    built = of_type(await say(other, "where do we keep the readings?"), ContextBuilt)
    await close_session(other)
    assert [(item.id, item.text) for item in built[0].block.items] == [
        (memory.id, "[decision] we keep the readings in DuckDB")
    ]


async def test_what_replaced_a_statement_is_marked_where_it_was_replaced_itself(session: Session) -> None:
    store, project = session.workspace.store, session.workspace.project.id
    turns = await said_before(session, [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")])
    for old, new in ((0, 1), (1, 2), (2, 0), (2, 3)):
        of = Underived(turns[old].id, project, LONG_AGO)
        await store.derivations.save(
            REPLACING_TURN.record(of, ReplacingTurn(turns[new].id), name=turns[new].id)
        )
    links = await replacing_turns(store, [turns[0].id])
    assert len(links) == len(set(links)) == 4
    assert {link.new for link in links} == {turn.id for turn in turns}


async def test_what_the_memories_know_to_be_replaced_says_so_though_nothing_found_tells(
    session: Session, gemini: GeminiStandIn
) -> None:
    words = [("we keep the readings of the meter in mysql", "Noted."), ("do as Ada says", "Done.")]
    said, changed = await said_before(session, words)
    old = await remembered(session, "We keep the readings of the meter in MySQL.", turns=(said.id,))
    between = await remembered(session, "We keep the readings of the meter in DuckDB.", turns=(changed.id,))
    now = await remembered(session, "We keep the readings of the meter in PostgreSQL.", turns=(changed.id,))
    store, day = session.workspace.store, timedelta(days=1)
    for number, (new, gone) in enumerate(((between, old), (now, between))):
        link = Association(AssociationKind.UPDATES, new.id, gone.id, LONG_AGO + day * number, changed.id)
        await store.memories.associate([link])
    shown = lines(
        await block_for(session, gemini, "Where are the readings kept?"), past_turns.SECTION.heading
    )
    assert "mysql (replaced 5 Mar: We keep the readings of the meter in PostgreSQL" in shown[0]


async def test_what_has_nothing_to_do_with_anything_gets_what_holds_always_and_no_more(
    session: Session, gemini: GeminiStandIn
) -> None:
    await said_before(session, SEEDLINGS)
    rule = await remembered(session, "Never push to main.", MemoryType.PREFERENCE)
    await remembered(session, "The greenhouse keeps its readings in DuckDB.")
    for message in ("hello", "merci !", "what is the capital of Australia?", "ok, great, thanks"):
        block = await block_for(session, gemini, message)
        assert [item.id for item in block.items] == [rule.id]
        assert block.tokens <= 200


async def test_an_answer_of_few_words_stands_with_its_question_and_what_does_not_fit_stays_out(
    session: Session, gemini: GeminiStandIn
) -> None:
    panel = [
        ("the panel of the sprinklers needs keys", "It has eight. May two valves be on the same key?"),
        ("no", "The panel refuses a key that is taken."),
    ]
    asked, answered, *_ = await said_before(session, [*panel, *SEEDLINGS])
    block = await block_for(session, gemini, "Can the sprinkler panel have two valves on a key?")
    shown = {item.turn_id: item.text for item in block.items}
    assert shown.keys() == {asked.id, answered.id}, shown
    assert "May two valves be on the same key? no -> " in shown[answered.id]


async def test_standing_instructions_that_bind_come_first_and_what_has_no_room_is_counted(
    session: Session, gemini: GeminiStandIn
) -> None:
    for number in range(40):
        await remembered(session, f"I like the {number}th way to name a helper best.", MemoryType.PREFERENCE)
    fitting = await remembered(session, "I prefer short titles for reports.", MemoryType.PREFERENCE)
    bound = await remembered(
        session, "Never delete a reading.", MemoryType.PREFERENCE, at=LONG_AGO - timedelta(days=300)
    )
    await remembered(session, "I've never watered at night.", MemoryType.PREFERENCE)
    block = await block_for(session, gemini, "Write a title for the weekly report.")
    shown = [item for item in block.items if item.section == instructions.SECTION.heading]
    assert [item.id for item in shown[:2]] == [bound.id, fitting.id]
    assert shown[0].reason.startswith("you made this a rule on ")
    assert len(shown) + len(block.unshown) == 43
    last = block.text.splitlines()[-2]
    assert last == f"- {len(block.unshown)} more did not fit here"
    section = block.text[block.text.index("\n## ") : block.text.index("\n</")]
    assert text_tokens(section) <= 150
    assert block.tokens > 200
    greeted = await block_for(session, gemini, "hello")
    assert bound.id in {item.id for item in greeted.items}
    assert greeted.tokens <= 200


async def test_all_standing_instructions_are_counted_though_only_the_most_important_are_read(
    session: Session, gemini: GeminiStandIn
) -> None:
    for number in range(instructions.LISTED_MAX + 30):
        await remembered(session, f"I like the {number}th way to name a helper best.", MemoryType.PREFERENCE)
    block = await block_for(session, gemini, "Write a title for the weekly report.")
    shown = [item for item in block.items if item.section == instructions.SECTION.heading]
    more = instructions.LISTED_MAX + 30 - len(shown)
    assert block.text.splitlines()[-2] == f"- {more} more did not fit here"
    assert block.left_out == more


async def test_a_rule_with_a_condition_comes_first_only_where_that_fits_the_message(
    session: Session, gemini: GeminiStandIn
) -> None:
    rules = ("When you write SQL, never use SELECT *.", "In the greenhouse scripts never open a valve.")
    of_sql, of_valves = [await remembered(session, each, MemoryType.PREFERENCE) for each in rules]
    bound = await remembered(session, "Never delete a reading.", MemoryType.PREFERENCE)
    fitting = await remembered(session, "I prefer short titles for reports.", MemoryType.PREFERENCE)
    other = await remembered(session, "I like blue lamps best.", MemoryType.PREFERENCE)
    for message, first, last in (
        ("Write the SQL that counts the readings.", {of_sql.id, bound.id}, of_valves.id),
        ("Choose a title for the report.", {bound.id}, of_sql.id),
    ):
        block = await block_for(session, gemini, message)
        shown = [item.id for item in block.items if item.section == instructions.SECTION.heading]
        assert set(shown[: len(first)]) == first
        assert last in shown[len(first) :]
        assert shown[-1] == other.id, "a rule for something else goes before what fits no better"
    assert shown[1] == fitting.id


async def test_where_were_we_is_the_end_of_the_session_before_and_what_is_still_to_do(
    session: Session, gemini: GeminiStandIn
) -> None:
    todo = "todo for later: a chart of the humidity, an alarm for frost"
    await said_before(
        session,
        [
            (todo, "Written down."),
            ("do the chart of the humidity now", "`chart.py` draws the humidity. It is ticked off."),
            ("note where we are: the valve test still fails on leap days", "I noted that."),
        ],
    )
    await remembered(session, todo, MemoryType.TODO)
    for message in ("where were we?", "let's go on with what was left open"):
        block = await block_for(session, gemini, message)
        (ended, *_) = lines(block, resumption.SECTION.heading)
        assert ended.startswith("note where we are: the valve test still fails on leap days")
        assert sum(item.text.endswith("todo for later: an alarm for frost") for item in block.items) == 1


async def test_what_was_due_is_still_to_do_until_it_is_done(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")) as session:
        await said_before(session, [("the hoses of the palm house leak", "I wrapped them.")])
        told = "order new hoses for the palm house by 11 March 2026"
        await remembered(session, told, MemoryType.TODO)
        await remembered(session, "watch the hoses until 10 March 2026", MemoryType.TODO)
        due = f"[todo] {told} (was due 11 Mar)"
        for message in ("where were we?", "which hoses does the palm house need?"):
            shown = [each.text for each in (await block_for(session, gemini, message)).items]
            assert due in shown, shown
            assert not any("watch the hoses" in each for each in shown)
        gemini.script(Text("Good."))
        await say(session, "the new hoses of the palm house are ordered, that's done")
        await done(session)
        for message in ("where were we?", "which hoses does the palm house need?"):
            shown = [each.text for each in (await block_for(session, gemini, message)).items]
            assert due not in shown, shown


async def test_what_is_hardly_a_wish_has_to_fit_the_message(session: Session, gemini: GeminiStandIn) -> None:
    wish = partial(remembered, session, type=MemoryType.PREFERENCE, source=MemorySource.BACKGROUND)
    sure = await wish("Keep the titles of charts short.", confidence=0.9)
    doubtful = await wish("The greenhouse door must stay shut in winter.", confidence=0.55)
    for message, expected in (("hello", [sure]), ("Is the greenhouse door shut?", [doubtful, sure])):
        block = await block_for(session, gemini, message)
        shown = [item.id for item in block.items if item.section == instructions.SECTION.heading]
        assert sorted(shown) == sorted(each.id for each in expected)


async def test_what_the_product_must_do_has_to_fit_the_message_unless_the_user_put_it_there(
    session: Session, gemini: GeminiStandIn
) -> None:
    wish = partial(remembered, session, type=MemoryType.PREFERENCE, source=MemorySource.BACKGROUND)
    rule = await wish("Commit messages must be in English.")
    demand = await wish("The greenhouse door must stay shut in winter.")
    for message, expected in (("hello", [rule]), ("Is the greenhouse door shut?", [demand, rule])):
        block = await block_for(session, gemini, message)
        shown = [item.id for item in block.items if item.section == instructions.SECTION.heading]
        assert sorted(shown) == sorted(each.id for each in expected)
    said = await remembered(session, "The roof must stay dry.", MemoryType.PREFERENCE)
    assert said.id in {item.id for item in (await block_for(session, gemini, "hello")).items}


async def test_of_what_the_product_must_do_only_what_holds_is_shown(
    session: Session, gemini: GeminiStandIn
) -> None:
    wish = partial(remembered, session, type=MemoryType.PREFERENCE, source=MemorySource.BACKGROUND)
    said = "the pump of the pond must stop after 40 minutes"
    (old, _) = await said_before(
        session,
        [(said, "`POND_PUMP_MAX = 40`."), ("the pump of the pond must stop after 25 minutes", "Yes.")],
    )
    await wish(said, turns=[old.id])
    block = await block_for(session, gemini, "when does the pump of the pond stop?")
    assert lines(block, instructions.SECTION.heading) == []
    assert any("25 minutes" in line for line in lines(block, past_turns.SECTION.heading))


async def test_a_rule_says_what_was_allowed_since(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")) as session:
        for words in (
            "Never open a valve of the palm house.",
            "You may open a valve of the palm house for the yearly test.",
            "Never feed the fish.",
        ):
            gemini.script(Text("Understood."))
            await say(session, words)
            await done(session)
        block = await block_for(session, gemini, "hello")
        rules = lines(block, instructions.SECTION.heading)
        assert sorted(each.partition(" (replaced ")[0] for each in rules) == [
            "Never feed the fish.",
            "Never open a valve of the palm house.",
        ]
        assert [" in part: You may open a valve of the palm house" in each for each in sorted(rules)] == [
            False,
            True,
        ]
        await undo(session)
        await undo(session)
        (rule,) = lines(await block_for(session, gemini, "hello"), instructions.SECTION.heading)
        assert rule == "Never open a valve of the palm house."


async def test_a_summary_by_rules_stands_for_its_turns_which_speak_for_themselves(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    text = "A drip hose along the wall waters the seedlings often."
    # No model may write one of them anew.
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")) as session:
        said = [turn.id for turn in await said_before(session, SEEDLINGS)]
        each = [(await summarised(session, 1, [turn], "Said.")).id for turn in said]
        by_rules = await summarised(session, 2, each[:3], text, method=SummaryMethod.EXTRACTIVE)
        by_model = await summarised(session, 2, each[3:], "The seedlings are watered less often than before.")
        for one in (by_rules, by_model):
            await embedded(session, Owner(OwnerKind.SUMMARY, one.id), one.text)
        block = await block_for(session, gemini, "How often are the seedlings watered?")
        assert [item.id for item in block.items if item.kind is HitKind.SUMMARY] == [by_model.id]


async def test_a_memory_that_fits_far_less_than_a_turn_stays_out(
    session: Session, gemini: GeminiStandIn
) -> None:
    near = [("the roof vents of the palm house open at 24 degrees", "`ROOF_VENTS = 24`.")]
    (turn,) = await said_before(session, near)
    far = await remembered(
        session, "The palms of the entrance are open to visitors on Sundays.", importance=0.9
    )
    alone = await block_for(session, gemini, "Which palms are open to visitors on Sundays?")
    assert far.id in {item.id for item in alone.items}
    block = await block_for(session, gemini, "at how many degrees do the roof vents of the palm house open?")
    assert [item.id for item in block.items] == [turn.id]


async def test_the_same_question_asked_before_keeps_no_answer_out(
    session: Session, gemini: GeminiStandIn
) -> None:
    question = "which dusty cellar are the readings of the meters kept in at night?"
    (told, _) = await said_before(
        session, [("we keep the meter readings in DuckDB", "All right."), (question, "I do not know.")]
    )
    block = await block_for(session, gemini, question)
    assert told.id in {item.turn_id for item in block.items}, block.text


async def test_a_question_whose_answer_holds_no_more_is_no_line_of_its_own(
    session: Session, gemini: GeminiStandIn
) -> None:
    await said_before(
        session,
        [
            ("what port did u pick", "The lock server listens on port 7070."),
            ("the lock server listens on port 7443 from now on", "Changed."),
            ("which port does the lock server listen on", "7443."),
        ],
    )
    block = await block_for(session, gemini, "which port does the lock server listen on?")
    said = lines(block, past_turns.SECTION.heading)
    assert any("7443" in line for line in said), block.text
    assert all("7443" in line or "(replaced" in line for line in said), block.text
    assert not any(line.endswith("listen on") for line in said), block.text


async def test_what_announces_a_list_is_not_shown_as_an_answer(
    session: Session, gemini: GeminiStandIn
) -> None:
    await said_before(
        session,
        [
            (
                "where could the lock server keep its locks?",
                "There are two ways for the lock server:\n1. a SQLite file",
            )
        ],
    )
    block = await block_for(session, gemini, "what do we know about the lock server?")
    assert "two ways for the lock server:" not in block.text, block.text


async def test_one_statement_is_one_line(session: Session, gemini: GeminiStandIn) -> None:
    (turn,) = await said_before(session, [("we keep the readings in DuckDB", "`readings.duckdb` it is.")])
    await remembered(session, "we keep the readings in DuckDB", turns=[turn.id])
    block = await block_for(session, gemini, "where do we keep the readings?")
    assert [item.turn_id for item in block.items] == [turn.id]


async def test_a_memory_with_the_date_of_its_day_is_told_by_its_turn(
    session: Session, gemini: GeminiStandIn
) -> None:
    words = "enough for now, tomorrow the page of the tides"
    (turn,) = await said_before(session, [(words, "Noted.")])
    dated = "tomorrow (2026-03-05) the page of the tides"
    await remembered(session, dated, MemoryType.OBSERVATION, turns=[turn.id], importance=0.9)
    block = await block_for(session, gemini, "write the page of the tides")
    assert [item.turn_id for item in block.items] == [turn.id]


async def test_a_line_of_code_that_names_what_is_asked_for_is_a_statement(
    session: Session, gemini: GeminiStandIn
) -> None:
    code = "Here it is:\n\n```python\nVALVE_RAMP_MAX = 12\nFROST_LIMIT = 3\n```\n"
    await said_before(session, [("how the pumps start is up to you", code)])
    block = await block_for(session, gemini, "what is the valve ramp set to at most?")
    assert [item.text.endswith("-> VALVE_RAMP_MAX = 12") for item in block.items] == [True]


async def test_of_a_list_to_do_what_was_answered_to_it_is_marked_where_that_fits(
    session: Session, gemini: GeminiStandIn
) -> None:
    await said_before(
        session,
        [
            ("todo for later: shrink the atlas, a chart", "The pollen atlas weighs 48 MB today."),
            ("now shrink the atlas", "The pollen atlas went from 48 MB to 19 MB. It is ticked off."),
        ],
    )
    shown = lines(
        await block_for(session, gemini, "what does the pollen atlas weigh?"), past_turns.SECTION.heading
    )
    assert any("weighs 48 MB today. (replaced " in line for line in shown), shown
