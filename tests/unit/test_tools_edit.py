from pathlib import Path

import pytest

from ragforge.domain.approvals import ChangeFile
from ragforge.tools import edit, read
from ragforge.tools.base import ToolContext, ToolResult
from ragforge.tools.edit import EditArgs
from ragforge.tools.read import ReadArgs
from tests.tool_context import make_context


async def edit_file(
    folder: Path, content: str | bytes, old: str, new: str, *, replace_all: bool = False
) -> tuple[ToolResult, bytes]:
    """Write, read, edit; what the tool said and what lies there then."""
    file = folder / "file.txt"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    ctx = make_context(folder)
    await read.run(ReadArgs("file.txt"), ctx)
    args = EditArgs("file.txt", old, new, replace_all)
    preview = await edit.preview(args, ctx)
    result = await edit.run(args, ctx)
    assert bool(preview.refused) == result.failed
    if isinstance(preview.proposal, ChangeFile) and b"\r" not in file.read_bytes():
        assert preview.proposal.diff == result.diff
    assert isinstance(preview.proposal, ChangeFile) != result.failed
    assert preview.paths == (file.resolve(),)
    return result, file.read_bytes()


async def test_the_old_text_is_replaced_and_the_diff_shows_it(tmp_path: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 21))
    result, after = await edit_file(tmp_path, text, "line 10\n", "zehn\nund mehr\n")
    assert after.decode() == text.replace("line 10\n", "zehn\nund mehr\n")
    assert result.text.startswith("Edited file.txt at line 10 (")
    assert result.diff == (
        "--- a/file.txt\n+++ b/file.txt\n@@ -7,7 +7,8 @@\n line 7\n line 8\n line 9\n-line 10\n+zehn\n"
        "+und mehr\n line 11\n line 12\n line 13\n"
    )


async def test_a_text_that_is_there_twice_is_refused_with_the_lines(tmp_path: Path) -> None:
    result, after = await edit_file(tmp_path, "x\ny\nx\n", "x", "z")
    assert result.failed
    assert "2 times (lines 1, 3)" in result.text
    assert after == b"x\ny\nx\n"


async def test_replace_all_replaces_every_place(tmp_path: Path) -> None:
    result, after = await edit_file(tmp_path, "x\ny\nx\n", "x", "xx", replace_all=True)
    assert after == b"xx\ny\nxx\n"
    assert "at 2 places" in result.text


async def test_a_text_that_is_not_there_says_what_is_closest(tmp_path: Path) -> None:
    text = "def one():\n    return 1\n\ndef two():\n    a = 2\n    return a\n"
    result, after = await edit_file(tmp_path, text, "def two():\n    b = 2\n    return a\n", "x")
    assert result.failed
    assert "Closest: lines 4-6, where 2 of its 3 lines are; line 5 is 'a = 2', not 'b = 2'." in result.text
    assert after.decode() == text
    alike, _ = await edit_file(tmp_path, text, "def two(x):", "x")
    assert "Closest: line 4, which is 'def two():'" in alike.text
    nothing, _ = await edit_file(tmp_path, text, "%%%%", "x")
    assert "No line is like it" in nothing.text


@pytest.mark.parametrize(("old", "new", "words"), [("", "x", "use write"), ("one", "one", "the same")])
async def test_edits_without_sense_are_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    result, _ = await edit_file(tmp_path, "one\n", old, new)
    assert result.failed
    assert words in result.text


async def test_other_indentation_is_found_said_and_kept(tmp_path: Path) -> None:
    text = "class A:\n    def f(self):\n        return 1   \n\n    def g(self): ...\n"
    old = "def f(self):\n    return 1\n"
    result, after = await edit_file(tmp_path, text, old, "def f(self):\n    if x:\n        return 2\n")
    assert after.decode() == (
        "class A:\n    def f(self):\n        if x:\n            return 2\n\n    def g(self): ...\n"
    )
    assert "only with different indentation or trailing white space" in result.text
    assert "+            return 2" in result.diff


async def test_spaces_for_tabs_are_put_back_as_tabs(tmp_path: Path) -> None:
    text = "if a:\n\tif b:\n\t\tc()\n"
    _, after = await edit_file(tmp_path, text, "if b:\n    c()", "if b:\n    d()\n    e()")
    assert after == b"if a:\n\tif b:\n\t\td()\n\t\te()\n"


async def test_an_indentation_that_would_have_to_be_guessed_is_refused(tmp_path: Path) -> None:
    text = "if a:\n\tif b:\n\t\tc()\n"
    result, after = await edit_file(tmp_path, text, "if b:\n    c()", "if b:\n    if d:\n        e()")
    assert result.failed
    assert "lines 2-3" in result.text
    assert "indentation" in result.text
    assert after.decode() == text


async def test_a_match_by_white_space_must_be_unique_too(tmp_path: Path) -> None:
    text = "  a\nx\n    a\n"
    result, after = await edit_file(tmp_path, text, "a  ", "b")
    assert result.failed
    assert "2 times (lines 1, 3)" in result.text
    assert after.decode() == text


async def test_lines_are_removed_whole_when_matched_by_white_space(tmp_path: Path) -> None:
    _, after = await edit_file(tmp_path, "a\n  b  \nc\n", "b\n", "")
    assert after == b"a\nc\n"


async def test_similar_words_are_never_a_match(tmp_path: Path) -> None:
    result, _ = await edit_file(tmp_path, "total = 1\n", "totals = 1\n", "x")
    assert result.failed


async def test_a_file_with_crlf_is_edited_with_lf_and_keeps_crlf(tmp_path: Path) -> None:
    _, after = await edit_file(tmp_path, "a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n")
    assert after == b"a\r\nx\r\ny\r\nc\r\n"
    _, after = await edit_file(tmp_path, "a\r\nb\r\n", "a", "1\n2")
    assert after == b"1\r\n2\r\nb\r\n"


async def test_mixed_line_endings_stay_where_they_were(tmp_path: Path) -> None:
    _, after = await edit_file(tmp_path, b"a\r\nb\nc\r\nd\n", "c", "c1\nc2")
    assert after == b"a\r\nb\nc1\r\nc2\r\nd\n"


async def test_line_endings_alone_are_not_edited(tmp_path: Path) -> None:
    result, after = await edit_file(tmp_path, b"a\r\nb\r\n", "a\r\nb", "a\nb")
    assert result.failed
    assert "line endings only" in result.text
    assert after == b"a\r\nb\r\n"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
async def test_the_encoding_stays(tmp_path: Path, encoding: str) -> None:
    _, after = await edit_file(tmp_path, "größe und straße\n".encode(encoding), "größe", "länge")
    assert after == "länge und straße\n".encode(encoding)


async def test_characters_that_the_encoding_lacks_are_refused(tmp_path: Path) -> None:
    before = "größe und straße\n".encode("cp1252")
    result, after = await edit_file(tmp_path, before, "größe", "大きさ")
    assert result.failed
    assert "cannot hold" in result.text
    assert after == before


@pytest.fixture
def ctx(tmp_path: Path) -> ToolContext:
    (tmp_path / "a").write_text("old\n")
    return make_context(tmp_path)


async def test_a_file_that_was_not_read_is_not_edited(ctx: ToolContext) -> None:
    result = await edit.run(EditArgs("a", "old", "new"), ctx)
    assert result.failed
    assert "Read it first" in result.text


async def test_a_file_that_changed_between_preview_and_run_is_not_edited(ctx: ToolContext) -> None:
    await read.run(ReadArgs("a"), ctx)
    assert not (await edit.preview(EditArgs("a", "old", "new"), ctx)).refused
    (ctx.cwd / "a").write_text("old\nand more\n")
    result = await edit.run(EditArgs("a", "old", "new"), ctx)
    assert result.failed
    assert "has changed since it was read" in result.text
    assert (ctx.cwd / "a").read_text() == "old\nand more\n"


async def test_one_edit_after_another_needs_no_reading_between(ctx: ToolContext) -> None:
    await read.run(ReadArgs("a"), ctx)
    await edit.run(EditArgs("a", "old", "new"), ctx)
    assert not (await edit.run(EditArgs("a", "new", "newer"), ctx)).failed
    assert (ctx.cwd / "a").read_text() == "newer\n"


@pytest.mark.parametrize("path", ["missing", ".", "a/b"])
async def test_what_is_no_file_is_refused(ctx: ToolContext, path: str) -> None:
    args = EditArgs(path, "old", "new")
    assert (await edit.run(args, ctx)).failed
    assert (await edit.preview(args, ctx)).refused


async def test_a_small_edit_of_a_long_file_is_quickly_shown(tmp_path: Path) -> None:
    text = "".join(f"{n}\n" for n in range(200_000))
    result, _ = await edit_file(tmp_path, text, "\n150000\n", "\nx\n")
    assert result.diff.count("\n") == 11
    assert "@@ -149998,7 +149998,7 @@" in result.diff


async def test_every_replaced_place_is_counted(tmp_path: Path) -> None:
    result, _ = await edit_file(tmp_path, "x\n" * 3000, "x", "y", replace_all=True)
    assert "at 3000 places" in result.text
