"""A file that nobody but the user ever touched, overwritten by hand before a session looks at it."""

from pathlib import Path

from ragforge.domain.versions import USER
from tests.flow.recorded import line_now, version_of
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
        assert newest.by == USER
        [change] = newest.changes
        assert change.path == "own.txt"
        assert change.before is not None
        assert await session.workspace.blobs.get(change.before.digest) == b"first"


async def test_a_folder_that_is_taken_for_another_project_begins_a_new_line(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini)
    async with opened(tmp_path, env) as session:
        gemini.script(Text("One."))
        before = await version_of(session, await say(session, "hello"))
    for path in (tmp_path / "data").glob("local.db*"):
        path.unlink()  # which says whose the folder is; another store does not know it
    store = f"sqlite://{tmp_path}/other/ragforge.db"
    async with opened(tmp_path, env, flags={"store": store}) as session:
        assert session.workspace.project.id != before.project_id
        gemini.script(Text("Two."))
        version = await version_of(session, await say(session, "hello again"))
        assert (version.project_id, version.parents) == (session.workspace.project.id, ())
        assert await line_now(session) == [version]
