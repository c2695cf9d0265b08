"""What was tried before: similar tasks with what they came to."""

from collections.abc import Callable
from pathlib import Path

from ragforge.cli.headless import deny
from ragforge.commands.base import Report, run_command
from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest
from ragforge.domain.ids import now, short_id
from ragforge.domain.lessons import Lesson, LessonKind
from ragforge.domain.memories import MemoryFilter
from ragforge.domain.messages import TextPart
from ragforge.memory.recall.lessons import read_lessons
from ragforge.session.moves import undo
from ragforge.session.next_call import next_call
from ragforge.session.open import new_session
from ragforge.session.state import Session
from tests.flow.beside import an_answer, beside, done, until
from tests.flow.recalling import block_of, chats
from tests.flow.recorded import shell, write
from tests.flow.running import User, environ, opened, say, says_no
from tests.standins.gemini import Failure, GeminiStandIn, JsonText, Recorded, Text


def a_failing_check(project: Path) -> None:
    check = project / "pytest"
    check.write_text("#!/bin/sh\necho 'E   AssertionError: deadlock in export'; echo '1 failed'; exit 1\n")
    check.chmod(0o755)


async def similar(session: Session, text: str = "") -> str:
    await done(session)
    return await reported(session, "similar", text)


async def reported(session: Session, command: str, text: str = "") -> str:
    found = await run_command(session, command, text)
    assert isinstance(found, Report)
    return found.shown


async def test_similar_tasks_are_listed_with_what_they_came_to(tmp_path: Path, gemini: GeminiStandIn) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")
    (tmp_path / "project").mkdir()
    a_failing_check(tmp_path / "project")
    async with opened(tmp_path, env) as session:
        gemini.script(Text("Put the export into a pool of threads."), Text("The export has a progress bar."))
        await say(session, "Make the export of reports faster with threads.")
        await undo(session)
        await say(session, "Make the export of reports faster.")
        gemini.script(Text("The export reports each row."))
        await say(session, "No, use one query for the export of reports.")
        gemini.script(shell("bower install fast-export"), Text("Well."))
        await say(session, "Install a package for a faster export of reports.", says_no("No packages here."))
        gemini.script(write("export.py", "x = 1\n"), shell("./pytest -q"), Text("It fails."))
        await say(session, "Export the reports in parallel, faster.")
        gemini.script(Failure(400, "INVALID_ARGUMENT", "No."))
        await say(session, "Export the reports in a better way.")
        gemini.script(Text("It is blue."))
        await say(session, "Which colour has the sea?")
        shown = await similar(session, "The export of reports must be faster.")
        stats = str(await run_command(session, "stats", ""))
        assert "implied satisfaction 0.44" in stats, "0 undone, 0.3 asked again, 0.3 denied, 0.8 for two"
        assert "success 0.36, mean of the 5 newest tasks" in stats
        for outcome in ("turn 1, undone", "turn 1, kept", "turn 3, denied", "turn 4, check failed"):
            assert outcome in shown
        assert "Why: `No packages here.`" in shown
        assert "Why: `AssertionError: deadlock in export`" in shown
        assert f"ragforge -r {session.id} --at 2" in shown
        assert shown.count("reports") > shown.count("turn")
        assert "sea" not in shown
        assert "by static:minilm-256-2" in shown
        assert "session" not in shown.replace(session.id, "")
        assert "No earlier task is similar" in await similar(session)
        assert "No earlier task is similar" in await similar(session, "Translate the help page to Spanish.")
    async with opened(tmp_path, env) as session:
        assert "4 similar tasks: " in await similar(session, "The export of reports must be faster.")


async def lessons(session: Session) -> list[Lesson]:
    await done(session)
    return await read_lessons(session.workspace.store, session.workspace.project.id)


async def tried_before(session: Session, message: str) -> list[str]:
    """What stands under that heading before the message, in another session."""
    other = await new_session(session.workspace)
    block = (await next_call(other, (TextPart(message),))).block
    return [item.text for item in block.items if item.section == "Tried before"]


async def test_the_second_time_the_failed_way_is_in_the_request(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    again, other = "Make the export of reports faster, with threads.", "Translate the help page to Spanish."
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")
    async with opened(tmp_path, env) as session:
        gemini.script(
            write("export.py", "x = 1\n"), Text("Put the export into a pool of threads."), Text("Fine.")
        )
        await say(session, "Make the export of reports faster.")
        await undo(session)
        await say(session, "Make the report export faster. That deadlocks in the tests.")
        [lesson] = await lessons(session)
        assert (lesson.kind, lesson.outcome) == (LessonKind.FAILED_APPROACH, "undone")
        assert (lesson.reason, lesson.success, lesson.support) == ("That deadlocks in the tests.", 0.0, 1)
        [line] = await tried_before(session, again)
        failed = "Put the export into a pool of threads in export.py, undone: That deadlocks in the tests."
        assert line == failed
        await is_listed(session, line)
        assert await tried_before(session, other) == []
        gemini.script(Text("Done."))
        await say(session, again)
        assert f"## Tried before\n- {lesson.at:%Y-%m-%d}: {line}" in block_of(chats(gemini)[-1])
        await run_command(session, "undo", "2")
        assert await tried_before(session, again) == [line], "the undo of the first turn is what counts"
        await run_command(session, "redo", lesson.turns[0])
        assert "No lessons yet." in await reported(session, "lessons")
        assert await tried_before(session, again) == []
        await undo(session)
        assert await tried_before(session, again) == [line]
        gemini.script(Text("Put the export into a pool of threads."))
        await say(session, "Make the export of reports faster.")
        await undo(session)
        gemini.script(Text("Good."))
        await say(session, "Make the report export faster, with one query.")
        assert len(await lessons(session)) == 1, "a rewording teaches nothing"
        await session.workspace.store.sessions.set_archived(session.id, now())
    async with beside(tmp_path, env) as session:

        async def strategy() -> Lesson | None:
            return next((each for each in await lessons(session) if each.kind is LessonKind.STRATEGY), None)

        held = await until(strategy)
        assert (held.tried, held.success, held.against) == ("Good", 0.8, lesson.turns)
        assert set(await tried_before(session, again)) == {line, held.told}, held.told
        await run_command(session, "remember", "Threads deadlock in the tests.")
        [told] = await session.workspace.store.memories.find(MemoryFilter())
        await run_command(session, "forget", told.id)
        assert await tried_before(session, again) == [held.told]
        assert line not in await reported(session, "lessons"), "it is forgotten"


async def test_a_failed_way_in_other_words_is_found_by_what_later_changed_the_same_file(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")
    async with opened(tmp_path, env) as session:
        gemini.script(write("export.py", "x = 1\n"), Text("Put it into a pool of threads."))
        await say(session, "The accountant waits for her numbers.")
        await undo(session)
        gemini.script(Text("Then not."))
        await say(session, "That deadlocks in the tests.")
        gemini.script(write("export.py", "x = 2\n"), Text("One query reads all statements."))
        await say(session, "Make the export of the statements fast.")
        [lesson] = await lessons(session)
        assert lesson.request == "The accountant waits for her numbers."
        assert await tried_before(session, "Why does the export of the statements take minutes?") == [
            lesson.told
        ]
        assert await tried_before(session, "Translate the help page to Spanish.") == []


async def is_listed(session: Session, line: str) -> None:
    """Among the lessons, and as the reason in what is similar: an undo itself has none."""
    [_, reason] = line.rsplit(": ", 1)
    assert f"Why: `{reason}`" in await similar(session, "Make the export of reports faster.")
    shown = await reported(session, "lessons")
    assert line in shown
    assert "failed approach · 1 task · success 0.00" in shown
    assert f"ragforge -r {short_id(session.id)}`\n" in shown, "the evidence, which is on no path"


def teaching(*told: dict[str, object]) -> Callable[[Recorded], JsonText]:
    """A reply to the call about a turn, with these lessons where they are asked for."""

    def reply(request: Recorded) -> JsonText:
        assert request.schema is not None
        answer = an_answer(request.schema, "It was done.")
        asked = request.schema["properties"]["turns"]["items"]["properties"]
        for turn in answer["turns"] if "lessons" in asked else ():
            turn["lessons"] = list(told)
        return JsonText(answer)

    return reply


class Nobody(User):
    """Stands for a run that cannot ask."""

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        return await deny(request)


async def test_what_a_run_cannot_ask_about_is_no_word_of_the_users(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")) as session:
        gemini.script(shell("bower install left-pad"), Text("Well."), Text("Done."))
        await say(session, "Pad the numbers.", Nobody())
        heard = str(gemini.asked("streamGenerateContent")[-1].body["contents"][-1])
        assert "This run cannot ask for approval" in heard
        assert "The user declined" not in heard
        await say(session, "Pad them by hand.")
        assert await lessons(session) == []


async def test_denials_and_checks_teach_in_the_call_about_the_next_turn(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    (tmp_path / "project").mkdir()
    a_failing_check(tmp_path / "project")
    said = {"kind": "mistake", "tried": "a package", "topic": "packages", "keywords": ["dependency"]}
    made_up = {**said, "of": 1, "reason": "the licence of left-pad forbids its use at work"}
    given = {**said, "of": 1, "reason": "no packages, the machine is offline"}
    gemini.always_structured(teaching(made_up, given, {**given, "of": 9}, {"of": "x"}))
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        gemini.script(shell("bower install left-pad"), Text("Well."), shell("./pytest -q"), Text("It fails."))
        await say(session, "Pad the numbers.", says_no("No packages, the machine is offline."))
        assert await lessons(session) == []
        await say(session, "Pad them by hand.")
        [denied] = await lessons(session)
        assert (denied.kind, denied.outcome, denied.topic) == (LessonKind.MISTAKE, "denied", "packages")
        assert (denied.reason, denied.keywords, denied.success) == (given["reason"], ("dependency",), 0.3)
        asked = [each.last_text for each in gemini.structured()]
        assert ["Failed just before this turn:" in text for text in asked] == [False, True]
        assert "1. denied: Pad the numbers." in asked[1]
        gemini.always_structured(teaching())
        gemini.script(Text("Go."))
        await say(session, "Go on.")
        assert await lessons(session) == [denied], "the model saw no reason"
