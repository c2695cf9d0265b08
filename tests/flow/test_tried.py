"""What was tried before: similar tasks with what they came to."""

from pathlib import Path

from ragforge.commands.base import Report, run_command
from ragforge.session.moves import undo
from ragforge.session.state import Session
from tests.flow.beside import done
from tests.flow.recorded import shell, write
from tests.flow.running import environ, opened, say, says_no
from tests.standins.gemini import GeminiStandIn, Text


async def similar(session: Session, text: str = "") -> str:
    await done(session)
    found = await run_command(session, "similar", text)
    assert isinstance(found, Report)
    return found.shown


async def test_similar_tasks_are_listed_with_what_they_came_to(tmp_path: Path, gemini: GeminiStandIn) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")
    check = tmp_path / "project" / "pytest"
    check.parent.mkdir()
    check.write_text("#!/bin/sh\necho 'E   AssertionError: deadlock in export'; echo '1 failed'; exit 1\n")
    check.chmod(0o755)
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
        gemini.script(Text("It is blue."))
        await say(session, "Which colour has the sea?")
        shown = await similar(session, "The export of reports must be faster.")
        for outcome in ("turn 1, undone", "turn 1, kept", "turn 3, denied", "turn 4, check failed"):
            assert outcome in shown
        assert "Why: No packages here." in shown
        assert "Why: AssertionError: deadlock in export" in shown
        assert f"ragforge -r {session.id} --at 2" in shown
        assert shown.count("reports") > shown.count("turn")
        assert "sea" not in shown
        assert "by static:minilm-256-2" in shown
        assert "session" not in shown.replace(session.id, "")
        assert "Nothing similar" in await similar(session)
        assert "Nothing similar" in await similar(session, "Translate the help page to Spanish.")
    async with opened(tmp_path, env) as session:
        assert "4 similar tasks: " in await similar(session, "The export of reports must be faster.")
