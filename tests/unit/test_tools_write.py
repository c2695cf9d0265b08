import asyncio
import contextlib
import os
import resource
import stat
from pathlib import Path

import pytest

from ragforge.files.atomic import ChangedOnDisk, hash_of, write_atomic
from ragforge.tools import read, write
from ragforge.tools.base import ToolContext, ToolResult
from ragforge.tools.read import ReadArgs
from ragforge.tools.write import WriteArgs
from tests.tool_context import folder_of_nobody, make_context


async def read_before(ctx: ToolContext, path: str) -> None:
    """As in a step before."""
    await read.run(ReadArgs(path), ctx)
    ctx.read_files.answered()


async def read_then_write(ctx: ToolContext, path: str, content: str) -> ToolResult:
    await read_before(ctx, path)
    return await write.run(WriteArgs(path, content), ctx)


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


async def test_a_new_file_comes_with_its_folders_and_a_diff(tmp_path: Path) -> None:
    result = await write.run(WriteArgs("a/b/c.txt", "one\ntwo"), make_context(tmp_path))
    assert (tmp_path / "a/b/c.txt").read_text() == "one\ntwo"
    assert result.text == "Created a/b/c.txt (7 bytes)."
    assert result.diff == (
        "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n"
    )
    assert names(tmp_path) == ["a", "a/b", "a/b/c.txt"]


async def test_a_new_file_gets_the_mode_that_the_umask_leaves(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        await write.run(WriteArgs("a", "x"), make_context(tmp_path))
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


async def test_a_file_that_was_not_read_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    ctx = make_context(tmp_path)
    result = await write.run(WriteArgs("a", "new"), ctx)
    assert result.failed
    assert "Read it first" in result.text
    assert (await write.preview(WriteArgs("a", "new"), ctx)).refused in result.text
    assert (tmp_path / "a").read_text() == "old"


async def test_a_file_that_changed_since_it_was_read_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    ctx = make_context(tmp_path)
    await read_before(ctx, "a")
    assert not (await write.preview(WriteArgs("a", "new"), ctx)).refused
    (tmp_path / "a").write_text("by someone else, between preview and run")
    result = await write.run(WriteArgs("a", "new"), ctx)
    assert result.failed
    assert "has changed since it was read" in result.text
    assert (tmp_path / "a").read_text() == "by someone else, between preview and run"


@pytest.mark.parametrize("expected", [None, hash_of(b"what was read")])
def test_a_file_that_changed_at_the_last_moment_stays_as_it_is(tmp_path: Path, expected: str | None) -> None:
    (tmp_path / "a").write_text("someone else's")
    with pytest.raises(ChangedOnDisk):
        write_atomic(tmp_path / "a", b"ours", expected=expected)
    assert (tmp_path / "a").read_text() == "someone else's"
    assert names(tmp_path) == ["a"]


async def test_a_file_that_appeared_after_the_preview_is_not_overwritten(tmp_path: Path) -> None:
    ctx = make_context(tmp_path)
    assert not (await write.preview(WriteArgs("a", "new"), ctx)).refused
    (tmp_path / "a").write_text("someone else's")
    assert (await write.run(WriteArgs("a", "new"), ctx)).failed
    assert (tmp_path / "a").read_text() == "someone else's"


async def test_what_was_written_may_be_written_again_without_reading(tmp_path: Path) -> None:
    ctx = make_context(tmp_path)
    await write.run(WriteArgs("a", "one"), ctx)
    assert not (await write.run(WriteArgs("a", "two"), ctx)).failed
    same = await write.run(WriteArgs("a", "two"), ctx)
    assert same.text == "a already has this content."


async def test_mode_and_owner_stay(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("old")
    file.chmod(0o751)
    if os.geteuid() == 0:
        os.chown(file, 12345, 54321)
    before = file.stat()
    await read_then_write(make_context(tmp_path), "a", "new")
    after = file.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert file.read_text() == "new"


async def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    await read_then_write(make_context(tmp_path), "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "c\nd\n", b"c\r\nd\r\n"),
        (b"a\nb\n", "c\r\nd\r\n", b"c\nd\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
        ("ä\r\n".encode("utf-16"), "ö\n", "ö\r\n".encode("utf-16")),
        ("größe und straße\n".encode("cp1252"), "länge\n", "länge\n".encode("cp1252")),
    ],
)
async def test_encoding_mark_and_line_endings_stay(
    tmp_path: Path, before: bytes, content: str, after: bytes
) -> None:
    (tmp_path / "a").write_bytes(before)
    await read_then_write(make_context(tmp_path), "a", content)
    assert (tmp_path / "a").read_bytes() == after


async def test_characters_that_the_encoding_lacks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("größe und straße\n".encode("cp1252"))
    result = await read_then_write(make_context(tmp_path), "a", "日本\n")
    assert result.failed
    assert "cp1252, which cannot hold" in result.text
    assert "U+65E5" in result.text
    surrogate = await write.run(WriteArgs("b", "half \ud83d"), make_context(tmp_path))
    assert surrogate.failed
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("path", ["folder", "file/below", "pipe"])
async def test_what_cannot_be_a_file_is_refused_and_nothing_changes(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    before = names(tmp_path)
    ctx = make_context(tmp_path)
    assert (await write.run(WriteArgs(path, "x"), ctx)).failed
    assert (await write.preview(WriteArgs(path, "x"), ctx)).refused
    assert names(tmp_path) == before


async def test_a_binary_file_is_not_replaced_by_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\0\1\2")
    result = await read_then_write(make_context(tmp_path), "a", "x")
    assert result.failed
    assert (tmp_path / "a").read_bytes() == b"\0\1\2"


async def test_a_read_only_folder_fails_in_words_and_stays_as_it_was() -> None:
    with folder_of_nobody() as folder:
        (folder / "closed").mkdir()
        (folder / "closed" / "a").write_text("old")
        (folder / "closed").chmod(0o555)
        ctx = make_context(folder)
        for path in ["closed/new", "closed/sub/new", "closed/a"]:
            result = await read_then_write(ctx, path, "new")
            assert result.failed
            assert "permission denied" in result.text
        (folder / "closed").chmod(0o755)
        assert names(folder) == ["closed", "closed/a"]
        assert (folder / "closed" / "a").read_text() == "old"


async def test_a_read_only_file_is_not_replaced() -> None:
    with folder_of_nobody() as folder:
        (folder / "a").write_text("old")
        (folder / "a").chmod(0o444)
        result = await read_then_write(make_context(folder), "a", "new")
        assert result.failed
        assert "permission denied" in result.text
        assert (folder / "a").read_text() == "old"


async def test_a_disk_that_takes_no_more_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    # The limit on the size of files stops the write halfway, on the same path as a full disk.
    (tmp_path / "a").write_text("old")
    ctx = make_context(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        old = await read_then_write(ctx, "a", "x" * 200_000)
        new = await write.run(WriteArgs("b/c/d", "x" * 200_000), ctx)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for result in (old, new):
        assert result.failed
        assert "larger than this system allows" in result.text
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"


async def test_a_cancelled_write_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    old, new = "old\n" * 100_000, "new\n" * 100_000
    for steps in range(0, 40, 4):
        (tmp_path / "a").write_text(old)
        ctx = make_context(tmp_path)
        await read_before(ctx, "a")
        task = asyncio.create_task(write.run(WriteArgs("a", new), ctx))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        content = (tmp_path / "a").read_text()
        assert content in {old, new}
        assert ctx.read_files.hashes[(tmp_path / "a").resolve()] == hash_of(content.encode())
        assert names(tmp_path) == ["a"]


async def test_a_secret_that_was_hidden_is_not_replaced_by_its_stand_in(tmp_path: Path) -> None:
    ctx = make_context(tmp_path)
    path = tmp_path / "env"
    path.write_text("key=very-secret\n")
    ctx.read_files.hashes[path] = hash_of(path.read_bytes())
    result = await write.run(WriteArgs("env", "key=[redacted]\nmore=1\n"), ctx)
    assert result.failed
    assert path.read_text() == "key=very-secret\n"
