"""The tool that opens a whole result."""

from pathlib import Path

import msgspec
import pytest

from ragforge.tools.read_result import TOOL
from tests.tool_context import Kept, make_context


async def test_the_whole_of_a_cut_result_is_opened_piece_by_piece(tmp_path: Path) -> None:
    kept = Kept()
    reference = await kept.put_blob("\n".join(f"line {n}" for n in range(1, 2_001)).encode())
    ctx = make_context(tmp_path, kept)
    result = await TOOL.run(TOOL.parse({"reference": reference, "offset": 900, "limit": 3}), ctx)
    assert result.text == "[lines 900-902 of 2000; go on with offset=903]\nline 900\nline 901\nline 902"


async def test_what_is_not_kept_is_said(tmp_path: Path) -> None:
    result = await TOOL.run(TOOL.parse({"reference": "0" * 64}), make_context(tmp_path))
    assert result.failed


async def test_only_a_reference_is_taken(tmp_path: Path) -> None:
    with pytest.raises(msgspec.ValidationError):
        TOOL.parse({"reference": "../../etc/passwd"})


async def test_a_line_beyond_the_end_is_said(tmp_path: Path) -> None:
    kept = Kept()
    reference = await kept.put_blob(b"one")
    result = await TOOL.run(TOOL.parse({"reference": reference, "offset": 2}), make_context(tmp_path, kept))
    assert result.failed
    assert "1 lines" in result.text
