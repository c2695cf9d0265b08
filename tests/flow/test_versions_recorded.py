"""Whole turns against the stand-in: what they do to the files is kept as versions."""

import hashlib
import os
import subprocess

import pytest

from ragforge.domain.errors import UsageError
from ragforge.session.state import Session
from ragforge.session.storage import clean_up
from ragforge.versions.path_nodes import lay_at
from ragforge.versions.tree import summed
from tests.flow.recorded import (
    a_day_passes,
    assert_head_is_disk,
    contents,
    edit,
    kinds,
    line,
    line_now,
    read,
    shell,
    version_of,
    write,
)
from tests.flow.running import MODEL, say
from tests.standins.gemini import GeminiStandIn, Text


async def test_a_turn_that_changed_nothing_has_a_version_too(session: Session, gemini: GeminiStandIn) -> None:
    (session.cwd / "a.txt").write_text("there from the beginning")
    gemini.script(Text("hello"), Text("again"))
    first = await version_of(session, await say(session, "hi"))
    second = await version_of(session, await say(session, "hi again"))
    assert (first.changes, first.parents, first.title, first.by) == ((), (), "hi", MODEL)
    assert (second.changes, second.parents) == ((), (first.id,))
    assert first.session_id == session.id
    assert await line(session) == [second, first]
    assert second.usage.input_tokens > 0
    assert [version.turn_id for version in await line(session)] == [
        turn.id for turn in reversed(await session.workspace.store.turns.path(session.live.record.head))
    ]


async def test_what_a_tool_changes_is_kept_with_its_content_before_and_after(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "a.txt").write_text("one\n")
    (session.cwd / "a.txt").chmod(0o755)
    gemini.script(read("a.txt"), edit("a.txt", "one", "two"), write("new/b.txt", "made"), Text("ok"))
    version = await version_of(session, await say(session, "go"))
    assert kinds(version) == {"a.txt": ("changed", "tool"), "new/b.txt": ("added", "tool")}
    changed, added = version.changes
    assert await contents(session, changed) == (b"one\n", b"two\n")
    assert await contents(session, added) == (None, b"made")
    assert changed.before is not None
    assert changed.after is not None
    assert (changed.before.mode, changed.after.mode) == (0o755, 0o755)
    assert (version.lines_added, version.lines_removed) == (2, 1)
    await assert_head_is_disk(session)


async def test_what_a_turn_writes_and_overwrites_itself_can_be_had_again(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(
        write("a.txt", "one"), edit("a.txt", "one", "two"), shell("printf three > a.txt"), Text("ok")
    )
    version = await version_of(session, await say(session, "go"))
    await a_day_passes(session)
    await clean_up(session.workspace, keep_days=0, dry_run=False)
    assert [await contents(session, change) for change in version.changes] == [
        (None, b"one"),
        (b"one", b"two"),
        (b"two", b"three"),
    ]
    lay = await lay_at(session.worktree, version.id, "a.txt")
    assert [await session.workspace.blobs.get(node.digest) for node in lay] == [b"one", b"two", b"three"]
    with pytest.raises(UsageError, match="did not change"):
        await lay_at(session.worktree, version.id, "b.txt")
    # For who reads of it, it is one change.
    [change] = summed(version.changes)
    assert (str(change.kind), str(change.provenance)) == ("added", "during-shell")
    assert (version.lines_added, version.lines_removed) == (1, 0)
    [row] = await session.workspace.store.versions.rows(session.workspace.project.id)
    assert row.files == 1


async def test_what_a_turn_makes_and_takes_away_again_is_no_change_but_can_be_had(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(write("a.txt", "one"), shell("rm a.txt"), Text("ok"))
    version = await version_of(session, await say(session, "go"))
    assert [await contents(session, change) for change in version.changes] == [(None, b"one"), (b"one", None)]
    assert summed(version.changes) == []
    [row] = await session.workspace.store.versions.rows(session.workspace.project.id)
    assert row.files == 0


async def test_what_lay_there_at_the_first_look_can_be_had_whatever_comes_next(session: Session) -> None:
    contents_then = {"a.txt": b"a", "b/c.bin": b"\0" * 2_000_000, "empty": b""}
    for name, content in contents_then.items():
        (session.cwd / name).parent.mkdir(exist_ok=True)
        (session.cwd / name).write_bytes(content)
    async with session.worktree.recorder.ledger(session.workspace.files) as ledger:
        await ledger.take_in()
    for name in contents_then:
        (session.cwd / name).write_bytes(b"overwritten by hand")
    [outside] = await line_now(session)
    assert {change.path: (await contents(session, change))[0] for change in outside.changes} == contents_then


async def test_who_looks_ahead_keeps_what_is_overwritten_before_the_first_turn(
    session: Session, gemini: GeminiStandIn
) -> None:
    file, workspace = session.cwd / "a.txt", session.workspace
    file.write_text("there when it was opened")
    session.worktree.recorder.look_ahead(workspace.files)
    async with session.worktree.recorder.ledger(workspace.files) as ledger:
        assert ledger.manifest is None, "nothing is accounted for before the first turn"
    file.write_text("there when the first turn began")
    gemini.script(read("a.txt"), write("a.txt", "by the turn"), Text("ok"))
    version = await version_of(session, await say(session, "go"))
    [change] = version.changes
    assert await contents(session, change) == (b"there when the first turn began", b"by the turn")
    assert await line(session) == [version]
    seen = hashlib.sha256(b"there when it was opened").hexdigest()
    assert await workspace.blobs.get(seen) == b"there when it was opened"


async def test_what_rm_and_sed_destroy_can_be_had_again(session: Session, gemini: GeminiStandIn) -> None:
    (session.cwd / "removed.bin").write_bytes(b"\0never read by anybody\xff")
    (session.cwd / "edited.txt").write_text("old words\r\nmore\r\n")
    (session.cwd / "folder").mkdir()
    (session.cwd / "folder" / "link").symlink_to("../edited.txt")
    gemini.script(shell("rm -r removed.bin folder; sed -i s/old/new/ edited.txt"), Text("ok"))
    version = await version_of(session, await say(session, "destroy"))
    assert kinds(version) == {
        "edited.txt": ("changed", "during-shell"),
        "folder/link": ("removed", "during-shell"),
        "removed.bin": ("removed", "during-shell"),
    }
    edited, link, removed = version.changes
    assert await contents(session, edited) == (b"old words\r\nmore\r\n", b"new words\r\nmore\r\n")
    assert await contents(session, link) == (b"../edited.txt", None)
    assert await contents(session, removed) == (b"\0never read by anybody\xff", None)
    assert not any(change.shared for change in version.changes)
    await assert_head_is_disk(session)


async def test_a_renamed_file_is_told_from_a_removed_and_a_new_one(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "old.txt").write_text("some content that is long enough to be told from others\n" * 5)
    gemini.script(shell("mv old.txt new.txt"), Text("ok"))
    version = await version_of(session, await say(session, "rename"))
    assert kinds(version)["new.txt"] == ("renamed", "during-shell")
    assert [change.renamed_from for change in version.changes if change.after] == ["old.txt"]


async def test_names_that_are_no_text_modes_and_empty_folders_are_recorded(
    session: Session, gemini: GeminiStandIn
) -> None:
    (session.cwd / "run.sh").write_text("true")
    command = "touch $'odd\\xff\\n\\xe2\\x80\\xae'; mkdir -p 空/empty; chmod +x run.sh; ln -s nowhere link"
    gemini.script(shell(command), Text("ok"), Text("ok"))
    version = await version_of(session, await say(session, "odd"))
    odd = os.fsdecode(b"odd\xff\n\xe2\x80\xae")
    assert set(kinds(version)) == {odd, "空/empty", "run.sh", "link"}
    await assert_head_is_disk(session)
    (session.cwd / odd).write_text("by hand")
    await say(session, "on")
    _, outside, _ = await line(session)
    assert list(kinds(outside)) == [odd]
    assert outside.title.isprintable()


async def test_git_is_left_alone_and_unstaged_work_stays(session: Session, gemini: GeminiStandIn) -> None:
    """opencode#13558: undo destroyed unstaged work. Recording touches no index, ref or stash."""
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x"]
    file = session.cwd / "a.txt"
    file.write_text("committed\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], cwd=session.cwd, check=True)
    file.write_text("staged\n")
    subprocess.run([*git, "add", "a.txt"], cwd=session.cwd, check=True)
    file.write_text("unstaged\n")
    before = {path: path.read_bytes() for path in (session.cwd / ".git").rglob("*") if path.is_file()}
    gemini.script(shell("printf 'by the command\\n' > a.txt"), Text("ok"))
    version = await version_of(session, await say(session, "go"))
    after = {path: path.read_bytes() for path in (session.cwd / ".git").rglob("*") if path.is_file()}
    assert before == after
    assert await contents(session, version.changes[0]) == (b"unstaged\n", b"by the command\n")


async def test_a_file_that_was_only_read_is_no_change(session: Session, gemini: GeminiStandIn) -> None:
    """opencode#46783: undo deleted a file that the agent only tried to read."""
    (session.cwd / "a.txt").write_text("mine")
    gemini.script(
        read("a.txt"),
        read("not there.txt"),
        edit("a.txt", "never in it", "x"),
        shell("cat a.txt"),
        Text("ok"),
    )
    assert (await version_of(session, await say(session, "look"))).changes == ()


async def test_what_lay_there_a_moment_ago_is_what_comes_before(
    session: Session, gemini: GeminiStandIn
) -> None:
    """opencode#10287: undo restored files of weeks ago, because that was what had been kept last."""
    file = session.cwd / "a.txt"
    file.write_text("weeks ago")
    gemini.script(Text("hi"), read("a.txt"), edit("a.txt", "today", "now"), Text("ok"))
    await say(session, "first")
    file.write_text("of today")
    version = await version_of(session, await say(session, "second"))
    assert await contents(session, version.changes[0]) == (b"of today", b"of now")
