"""A file that nobody but the person ever touched, overwritten by hand before a session looks at it."""

from pathlib import Path

from ragforge.domain.versions import PERSON
from tests.flow.recorded import line_now
from tests.flow.running import environ, opened, say
from tests.standins.gemini import GeminiStandIn, Text


async def test_what_an_earlier_session_saw_comes_back_whoever_overwrote_it_since(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini)
    async with opened(tmp_path, env) as session:
        (session.cwd / "own.txt").write_text("first")
        gemini.script(Text("A word, and no tool."))
        await say(session, "hello")
    (tmp_path / "project" / "own.txt").write_text("second")
    async with opened(tmp_path, env) as session:
        newest = (await line_now(session))[0]
        assert newest.by == PERSON
        [change] = newest.changes
        assert change.path == "own.txt"
        assert change.before is not None
        assert await session.workspace.blobs.get(change.before.digest) == b"first"
