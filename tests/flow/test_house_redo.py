"""How many files of the versions a redo of one edited file passes through."""

from pathlib import Path

from ragforge.commands.base import run_command
from ragforge.session.moves import undo
from tests.flow.moving import root_of, turn, write
from tests.flow.running import environ, opened
from tests.house import RECORDED, VERSIONS, watched_files
from tests.standins.gemini import GeminiStandIn


async def test_a_redo_passes_through_no_more_files_than_before(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        await turn(session, gemini, "write it", write("a.txt", "one\n"))
        await turn(session, gemini, "edit it", write("a.txt", "two\n"))
        await undo(session)
        await run_command(session, "redo", "")  # what is loaded now is not counted
        await undo(session)
        with watched_files(VERSIONS) as passed:
            await run_command(session, "redo", "")
        assert (root_of(session) / "a.txt").read_text() == "two\n"
    files = sorted(each.partition("versions/")[2] for each in passed)
    assert len(files) <= RECORDED["files of versions that /redo of one file passes"], files
