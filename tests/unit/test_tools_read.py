import contextlib
import os
import socket
from pathlib import Path

import msgspec
import pytest

from ragforge.files.atomic import hash_of
from ragforge.files.open import TEXT_BYTES_MAX
from ragforge.tools import read
from ragforge.tools.base import ToolResult
from ragforge.tools.limits import LINE_CHARS_MAX, READ_BYTES_MAX, READ_LINES_MAX
from ragforge.tools.read import ReadArgs
from tests.tool_context import Kept, folder_of_nobody, make_context

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


async def read_file(folder: Path, path: str, *, offset: int = 1, limit: int = READ_LINES_MAX) -> ToolResult:
    return await read.run(ReadArgs(path, offset, limit), make_context(folder))


async def test_lines_come_with_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    result = await read_file(tmp_path, "a.txt")
    assert result.text == "     1\tone\n     2\ttwo"
    assert not result.failed


async def test_a_part_is_read_and_the_rest_is_announced(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    result = await read_file(tmp_path, "a.txt", offset=3, limit=2)
    assert result.text == "     3\tline 3\n     4\tline 4\n[lines 3-4 of 10; go on with offset=5]"


async def test_the_hash_of_the_whole_file_is_kept_though_a_part_was_read(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n")
    ctx = make_context(tmp_path)
    await read.run(ReadArgs("a.txt", 2, 1), ctx)
    assert ctx.read_files.hashes == {file.resolve(): hash_of(b"one\ntwo\n")}


async def test_an_offset_behind_the_end_says_how_many_lines_there_are(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    result = await read_file(tmp_path, "a.txt", offset=3)
    assert result.failed
    assert "2 lines" in result.text


async def test_a_long_file_stops_at_the_line_limit_and_a_wide_one_at_the_byte_limit(tmp_path: Path) -> None:
    (tmp_path / "long").write_text("x\n" * 5000)
    (tmp_path / "wide").write_text(("ü" * 1000 + "\n") * 100)
    long = await read_file(tmp_path, "long")
    assert long.text.endswith(f"[lines 1-{READ_LINES_MAX} of 5000; go on with offset={READ_LINES_MAX + 1}]")
    wide = await read_file(tmp_path, "wide")
    assert len(wide.text.encode()) < READ_BYTES_MAX + 100
    assert "[lines 1-24 of 100; go on with offset=25]" in wide.text


async def test_a_long_line_is_cut_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 10_000 + "\nend\n")
    result = await read_file(tmp_path, "a.txt")
    assert "x" * LINE_CHARS_MAX + " [... line cut" in result.text
    assert result.text.endswith("     2\tend")


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("größe\n".encode(), ""),
        ("größe\n".encode("utf-8-sig"), "[UTF-8 with byte order mark]"),
        ("größe\n".encode("utf-16"), "[utf-16-le]"),
        ("größe\r\n".encode("utf-16"), "[utf-16-le, CRLF line endings]"),
        ("größe\n".encode("cp1252"), "[cp1252]"),
    ],
)
async def test_text_in_other_encodings_is_text(tmp_path: Path, content: bytes, note: str) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    result = await read_file(tmp_path, "a.txt")
    assert result.text == "\n".join(["     1\tgröße", note] if note else ["     1\tgröße"])


async def test_a_binary_file_is_named_by_kind_and_size(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\n\0\xff\xfe" * 100)
    result = await read_file(tmp_path, "a.pdf")
    assert result.failed
    assert result.text == "Not text: PDF document, 1.2 KB."


async def test_an_image_is_handed_over_by_its_hash(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(PNG)
    kept = Kept()
    result = await read.run(ReadArgs("a.bin"), make_context(tmp_path, kept))
    (image,) = result.images
    assert (image.mime, image.name, kept.blobs[image.blob]) == ("image/png", "a.bin", PNG)


async def test_an_empty_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert (await read_file(tmp_path, "a")).text == "[the file is empty]"


async def test_a_missing_file_suggests_what_was_meant(tmp_path: Path) -> None:
    (tmp_path / "README.md").touch()
    (tmp_path / "setup.py").touch()
    result = await read_file(tmp_path, "readme.txt")
    assert result.failed
    assert result.text == "Cannot read readme.txt: it does not exist. Did you mean README.md?"
    assert "folder does not exist" in (await read_file(tmp_path, "no/where.txt")).text


async def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    with contextlib.chdir(tmp_path):  # the path of a socket must be short
        listener.bind("sock")
    with listener:
        for name, kind in [
            ("pipe", "named pipe"),
            ("sock", "socket"),
            (".", "folder"),
            ("/dev/zero", "device"),
        ]:
            result = await read_file(tmp_path, name)
            assert result.failed
            assert kind in result.text


async def test_a_file_that_may_not_be_read_says_so() -> None:
    with folder_of_nobody() as folder:
        (folder / "a").write_text("secret")
        (folder / "a").chmod(0)
        result = await read_file(folder, "a")
        assert result.failed
        assert result.text == "Cannot read a: permission denied."


async def test_a_huge_file_is_read_in_pieces_and_not_marked_as_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.write(b"one\ntwo\n")
        file.seek(TEXT_BYTES_MAX * 4)  # a hole: one line of 128 MB
        file.write(b"\nlast\n")
    (tmp_path / "huge.txt").write_bytes(b"some line\n" * (TEXT_BYTES_MAX // 10 + 1000) + b"last")
    ctx = make_context(tmp_path)
    holes = await read.run(ReadArgs("huge"), ctx)
    assert holes.text.startswith("Not text")
    text = await read.run(ReadArgs("huge.txt", TEXT_BYTES_MAX // 10 + 1000), ctx)
    assert "\tsome line\n" in text.text
    assert "\tlast\n" in text.text
    assert "cannot be edited" in text.text
    assert (await read.run(ReadArgs("huge.txt", 10**8), ctx)).failed
    assert ctx.read_files.hashes == {}


async def test_files_of_the_kernel_without_a_size_are_read() -> None:
    path = Path("/proc/version")
    if not path.exists():
        pytest.skip("no /proc on this system")
    assert "Linux" in (await read_file(Path("/proc"), "version")).text


@pytest.mark.parametrize(
    "path",
    ["", " ", "a\0b", "x" * 300, "a/" * 3000, "~nobody-has-this-name/x", "\ud800"],
    ids=["empty", "blank", "nul", "long-name", "long-path", "no-home", "surrogate"],
)
async def test_impossible_paths_are_refused_in_words(tmp_path: Path, path: str) -> None:
    ctx = make_context(tmp_path)
    result = await read.run(ReadArgs(path), ctx)
    assert result.failed
    assert result.text == (await read.preview(ReadArgs(path), ctx)).refused


async def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert "leads back to itself" in (await read_file(tmp_path, "loop")).text


async def test_the_preview_names_the_file_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "secret").touch()
    (tmp_path / "project" / "innocent").symlink_to(tmp_path / "secret")
    preview = await read.preview(ReadArgs("innocent"), make_context(tmp_path / "project"))
    assert preview.paths == ((tmp_path / "secret").resolve(),)


@pytest.mark.parametrize(
    "args",
    [{}, {"path": 1}, {"path": "a", "offset": 0}, {"path": "a", "lines": 3}, {"path": "a", "limit": "2"}],
)
def test_arguments_that_do_not_fit_the_schema_are_named(args: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        read.TOOL.parse(args)
