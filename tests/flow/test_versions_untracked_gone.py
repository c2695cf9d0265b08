"""What is not tracked and is removed cannot be had back: it is named at the turn, and at its undo."""

import subprocess
from pathlib import Path

from ragforge.session.moves import redo, undo
from ragforge.session.state import Session
from tests.flow.recorded import shell, told, version_of
from tests.flow.running import environ, opened, say
from tests.standins.gemini import GeminiStandIn, Text


def repository(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)


async def run(session: Session, gemini: GeminiStandIn, command: str) -> tuple[dict[str, str], str]:
    """What the version of a turn with this command says is not tracked, and what the user heard."""
    gemini.script(shell(command), Text("ok"))
    events = await say(session, "go")
    version = await version_of(session, events)
    return {each.path: each.why for each in version.untracked}, told(events)


async def test_what_is_removed_without_being_tracked_is_named(tmp_path: Path, gemini: GeminiStandIn) -> None:
    async with opened(tmp_path, environ(tmp_path, gemini, RAGFORGE_HISTORY_FILE_MB_MAX="0.001")) as session:
        root = session.cwd
        repository(root)
        repository(root / "sub")
        (root / ".gitignore").write_text(".env\ncache/\n")
        (root / ".env").write_text("S=1")
        (root / "cache").mkdir()
        (root / "cache" / "x").write_text("x")
        (root / "big.bin").write_bytes(b"b" * 2000)
        (root / "sub" / "s.txt").write_text("s")
        (root / "a.txt").write_text("a")
        found, heard = await run(session, gemini, "rm -rf .env big.bin cache sub; echo b > a.txt")
        assert set(found) == {".env", "big.bin", "cache", "sub/.git"}
        assert all(why.endswith(", removed") for why in found.values())
        for path in found:
            assert f"{path} (" in heard
        moved = await undo(session)
        assert set(moved.restored) == {"a.txt", "sub/s.txt"}
        [note] = moved.notes
        assert note.startswith("Not restored")
        for path in found:
            assert f"{path} (" in note
        found, heard = await run(session, gemini, "rm -rf .git")
        assert set(found) == {".git"}
        assert ".git (version control's own, removed)" in heard
        assert ".git" in "".join((await undo(session)).notes)


async def test_of_many_the_first_are_named_and_how_many_more(session: Session, gemini: GeminiStandIn) -> None:
    (session.cwd / ".gitignore").write_text("*.log\n")
    for number in range(20):
        (session.cwd / f"{number:02}.log").write_text("x")
    found, heard = await run(session, gemini, "rm *.log")
    assert len(found) == 20
    assert "00.log (ignored by git, removed)" in heard
    assert "and 15 more" in heard
    assert "and 15 more" in "".join((await undo(session)).notes)
    assert (await run(session, gemini, "echo on > a.txt"))[0] == {}, "it is said once"


async def test_what_stays_is_not_named(session: Session, gemini: GeminiStandIn) -> None:
    repository(session.cwd)
    (session.cwd / ".gitignore").write_text("*.log\n")
    (session.cwd / "a.log").write_text("x")
    repository(session.cwd / "sub")
    found, heard = await run(session, gemini, "touch b.txt sub/s.txt")
    assert (found, heard) == ({}, "")
    assert (await undo(session)).notes == ()


async def test_a_repository_that_a_command_made_stays_and_is_named(
    session: Session, gemini: GeminiStandIn
) -> None:
    repository(session.cwd)
    found, heard = await run(session, gemini, "git init -q new; touch new/b.txt")
    assert found == {"new/.git": "version control's own"}
    assert "Not tracked, so it cannot be undone: new/.git (version control's own)." in heard
    moved = await undo(session)
    assert not (session.cwd / "new" / "b.txt").exists()
    assert moved.notes == ("Left as it is, because it is not tracked: new/.git (version control's own).",)
    assert (session.cwd / "new" / ".git" / "HEAD").exists()
    assert (await run(session, gemini, "touch new/c.txt"))[0] == {}, "it is said once"


async def test_what_is_tracked_from_now_on_is_not_gone(session: Session, gemini: GeminiStandIn) -> None:
    (session.cwd / ".gitignore").write_text("*.log\n")
    (session.cwd / "a.log").write_text("x")
    found, _ = await run(session, gemini, "printf '' > .gitignore")
    assert found == {}


async def test_what_is_ignored_from_now_on_is_not_gone(session: Session, gemini: GeminiStandIn) -> None:
    (session.cwd / "folder").mkdir()
    repository(session.cwd / "folder")
    found, _ = await run(session, gemini, "echo folder/ > .gitignore")
    assert not any(why.endswith(", removed") for why in found.values())


async def test_a_pipe_in_place_of_a_file_holds_up_no_undo(session: Session, gemini: GeminiStandIn) -> None:
    for name in ("a.txt", "b.txt"):
        (session.cwd / name).write_text(name)
    await run(session, gemini, "rm a.txt; mkfifo a.txt; echo c > b.txt")
    moved = await undo(session)
    assert set(moved.restored) == {"b.txt"}
    assert (session.cwd / "a.txt").is_fifo()
    assert [each.path for each in moved.skipped] == ["a.txt"]
    assert await session.workspace.history.journal(session.cwd) is None
    (session.cwd / "a.txt").unlink()
    await redo(session)
    assert (session.cwd / "b.txt").read_text() == "c\n"
    assert set((await undo(session)).restored) == {"a.txt", "b.txt"}, "now that there is room"
    assert (session.cwd / "a.txt").read_text() == "a.txt"
