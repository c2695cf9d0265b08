"""Undo and redo bring back exactly what was there: nothing more, nothing less."""

from pathlib import Path

from ragforge.session.moves import checkout, redo, undo
from ragforge.session.state import Session
from tests.flow.moving import beside, head_of, read, root_of, shell, tree, turn, write
from tests.flow.running import environ, opened
from tests.standins.gemini import GeminiStandIn
from tests.tool_context import folder_of_nobody


def put(session: Session, path: str, content: str) -> Path:
    file = root_of(session) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


async def test_undo_and_redo_leave_what_the_user_had_put_back(session: Session, gemini: GeminiStandIn):
    file = put(session, "a.txt", "one")
    await turn(session, gemini, "two", read("a.txt"), write("a.txt", "two"), write("b.txt", "made"))
    assert file.read_text() == "two"
    file.write_text("one")
    await undo(session)
    redone = await redo(session)
    assert (file.read_text(), redone.kept) == ("one", ("a.txt",))
    assert (root_of(session) / "b.txt").read_text() == "made"
    # Who takes the rest back by hand after an undo, and then redoes it, has it again.
    file.write_text("mine")
    await undo(session)
    assert file.read_text() == "mine"
    file.write_text("one")
    await redo(session)
    assert file.read_text() == "two"


async def test_undo_and_redo_of_two_turns_leave_what_the_user_had_put_back(
    session: Session, gemini: GeminiStandIn
):
    file = put(session, "a.txt", "one")
    await turn(session, gemini, "two", read("a.txt"), write("a.txt", "two"))
    await turn(session, gemini, "three", write("a.txt", "three"))
    assert file.read_text() == "three"
    for back in ("two", "one"):
        file.write_text(back)
        await undo(session, 2)
        await redo(session, 2)
        assert file.read_text() == back
        await undo(session)
        await undo(session)
        await redo(session)
        await redo(session)
        assert file.read_text() == back


async def test_modes_of_folders_come_back_with_them(session: Session, gemini: GeminiStandIn):
    root = root_of(session)
    put(session, "open/a.txt", "a")
    before = tree(root)
    made = "mkdir -p secret/inner/deep; echo k > secret/key; echo i > secret/inner/deep/i"
    await turn(session, gemini, "make", shell(f"{made}; chmod 700 secret; chmod 1777 secret/inner"))
    await turn(session, gemini, "close", shell("chmod 750 open"))
    after = tree(root)
    assert (after["secret"][1], after["secret/inner"][1], after["open"][1]) == (0o700, 0o1777, 0o750)
    await undo(session, 2)
    assert tree(root) == before
    await redo(session, 2)
    assert tree(root) == after
    await turn(session, gemini, "destroy", shell("rm -r secret open"))
    await undo(session)
    assert tree(root) == after


async def test_a_folder_that_was_closed_while_something_came_into_it_is_opened_again(
    session: Session, gemini: GeminiStandIn
):
    root = root_of(session)
    put(session, "open/inner/a.txt", "a")
    before = tree(root)
    await turn(session, gemini, "close", shell("echo n > open/inner/new; chmod 700 open/inner open"))
    after = tree(root)
    assert (after["open"][1], after["open/inner"][1]) == (0o700, 0o700)
    undone = await undo(session)
    assert tree(root) == before
    assert (undone.restored, undone.removed, undone.skipped) == (
        ("open", "open/inner"),
        ("open/inner/new",),
        (),
    )
    redone = await redo(session)
    assert tree(root) == after
    assert redone.skipped == ()


async def test_a_folder_that_was_made_closed_stays_so_while_somebody_keeps_a_file_in_it(
    session: Session, gemini: GeminiStandIn
):
    root = root_of(session)
    await turn(session, gemini, "make", shell("mkdir -m 700 secret; echo k > secret/key"))
    put(session, "secret/mine", "my own")
    undone = await undo(session)
    assert tree(root) == {"secret": ("folder", 0o700, b""), "secret/mine": ("file", 0o644, b"my own")}
    assert [each.path for each in undone.skipped] == ["secret"]


async def test_a_redo_leaves_the_empty_folder_that_the_user_had_made(
    session: Session, gemini: GeminiStandIn
) -> None:
    root = root_of(session)
    (root / "x").mkdir()
    (root / "x" / "old").write_text("old\n")
    await turn(session, gemini, "remove it", shell("rm x/old; echo new > x/new"))
    (root / "x" / "new").unlink()  # the folder stays, empty
    before = tree(root)
    await undo(session)
    assert (root / "x" / "old").read_text() == "old\n"
    await redo(session)
    assert tree(root) == before

    # One that the user removed meanwhile does not return.
    await undo(session)
    (root / "x" / "old").unlink()
    (root / "x").rmdir()
    await redo(session)
    assert tree(root) == {path: node for path, node in before.items() if path != "x"}


async def test_a_redo_makes_an_empty_folder_with_the_turn_that_made_it(
    session: Session, gemini: GeminiStandIn
) -> None:
    root = root_of(session)
    (root / "x").mkdir()
    (root / "x" / "old").write_text("old\n")
    await turn(session, gemini, "remove all", shell("rm -r x; echo a > a.txt"))
    between = tree(root)
    await turn(session, gemini, "make it", shell("mkdir x; echo b > b.txt"))
    after = tree(root)
    await undo(session, 2)
    await redo(session)
    assert tree(root) == between
    await redo(session)
    assert tree(root) == after


async def test_a_redo_after_a_checkout_leaves_what_another_session_removed(
    session: Session, gemini: GeminiStandIn
) -> None:
    """What the user removed and a version holds is gone back over, as any edit is."""
    root = root_of(session)
    (root / "start.txt").write_text("start\n")
    await turn(session, gemini, "look", shell("echo one > first.txt"))
    start = await head_of(session)
    await turn(session, gemini, "write", write("theirs.txt", "1\n"), write("mine.txt", "1\n"))
    async with beside(session) as other:
        await turn(other, gemini, "remove", shell("rm theirs.txt"))
        (root / "mine.txt").unlink()
        await turn(other, gemini, "nothing", shell("true"))
    await checkout(session, start.version)
    await redo(session)
    assert not (root / "theirs.txt").exists()
    assert (root / "mine.txt").read_text() == "1\n"


async def test_what_a_redo_could_not_write_is_redone_by_the_next(
    session: Session, gemini: GeminiStandIn
) -> None:
    # Loads what is loaded late: nobody may not be allowed to read it.
    await turn(session, gemini, "before", write("a.txt", "one\n"))
    await undo(session)
    await redo(session)
    with folder_of_nobody() as folder:
        async with opened(folder, environ(folder, gemini)) as bound:
            root = root_of(bound)
            await turn(bound, gemini, "make them", write("d/a.txt", "one\n"), write("b.txt", "one\n"))
            await turn(bound, gemini, "edit them", write("d/a.txt", "two\n"), write("b.txt", "two\n"))
            await undo(bound)
            (root / "d").chmod(0)
            try:
                failed = await redo(bound)
            finally:
                (root / "d").chmod(0o755)
            assert [each.path for each in failed.skipped] == ["d/a.txt"]
            await undo(bound)
            done = await redo(bound)
            assert (done.kept, done.skipped) == ((), ())
            assert (root / "d" / "a.txt").read_text() == (root / "b.txt").read_text() == "two\n"
