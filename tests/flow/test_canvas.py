"""`examples/canvas` as a user runs it: what its model is given, what is painted, and the figures."""

import asyncio
import base64
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from examples.canvas.__main__ import main
from examples.canvas.painting import CELL, VOID
from examples.canvas.picture import SCALE
from tests.flow.gemini_asking import FLASH
from tests.standins.gemini import GeminiStandIn, JsonText, Recorded, Text

RED: list[dict[str, Any]] = [{"x": x, "y": 0, "hex_color": "#ff0000"} for x in range(10)]
GREEN: list[dict[str, Any]] = [{"x": x, "y": 1, "hex_color": "00FF00"} for x in range(20)]
UNPAINTABLE: list[dict[str, Any]] = [
    {"x": CELL, "y": 0, "hex_color": "#ffffff"},
    {"x": 0, "y": 0, "hex_color": "white"},
    {"x": 1},
]
AFTER = ("black", "a red line", "two lines")
"""What is said of the state before each iteration."""
GRID = ((0, 0), (1, 0), (0, 1), (1, 1))


def iteration_of(request: Recorded) -> int:
    found = re.search(r"MEMORY CONTEXT \(iteration (-?\d+)\)", request.last_text)
    assert found
    return int(found[1]) + 1


def agent_of(request: Recorded) -> tuple[int, int]:
    found = re.search(r"Grid \[(\d),(\d)\]", request.body["systemInstruction"]["parts"][0]["text"])
    assert found
    return int(found[1]), int(found[2])


def painted_by(request: Recorded) -> Text:
    at = iteration_of(request)
    descriptions = {
        "individual_before_description": AFTER[at],
        "collective_before_description": f"everywhere {AFTER[at]}",
        "predictability_individual": 7,
        "predictability_collective": "7/10",
        "collective_after_prediction": f"the canvas foreseen at {at}",
        "individual_after_prediction": f"the cell foreseen at {at}",
    }
    return JsonText({"descriptions": descriptions, "pixels": [*(RED, GREEN, [])[at], *UNPAINTABLE]})


def pixels_in(png: bytes, side: int) -> dict[tuple[int, int], str]:
    """The colours of all pixels but black ones, of a square image."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = dict[bytes, bytes](), 8
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", png, at + 8 + size) == (zlib.crc32(kind + data),)
        chunks[kind], at = data, at + 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", chunks[b"IHDR"]) == (side * SCALE, side * SCALE, 8, 2, 0, 0, 0)
    dots, row = zlib.decompress(chunks[b"IDAT"]), 1 + 3 * side * SCALE
    assert len(dots) == side * SCALE * row
    starts = {(x, y): y * SCALE * row + 1 + 3 * x * SCALE for x in range(side) for y in range(side)}
    colours = {place: dots[start : start + 3].hex() for place, start in starts.items()}
    return {place: colour for place, colour in colours.items() if colour != "000000"}


def images_of(request: Recorded) -> list[bytes]:
    parts: list[dict[str, Any]] = [part for content in request.body["contents"] for part in content["parts"]]
    return [base64.b64decode(part["inlineData"]["data"]) for part in parts if "inlineData" in part]


def state_after(iteration: int) -> dict[tuple[int, int], str]:
    """What a cell shows."""
    shown = [*(RED if iteration >= 0 else ()), *(GREEN if iteration >= 1 else ())]
    return {(each["x"], each["y"]): each["hex_color"].lstrip("#").lower() for each in shown}


def everywhere(cell: dict[tuple[int, int], str]) -> dict[tuple[int, int], str]:
    return {
        (left * CELL + x, top * CELL + y): colour for left, top in GRID for (x, y), colour in cell.items()
    }


async def run(server: GeminiStandIn, picture: Path, *options: str) -> int:
    environ = {"GEMINI_API_KEY": server.key, "GOOGLE_GEMINI_BASE_URL": server.url}
    return await asyncio.to_thread(main, [f"gemini:{FLASH}", "--out", str(picture), *options], environ)


async def test_each_agent_is_shown_the_state_before_and_has_figures(
    tmp_path: Path, gemini: GeminiStandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    gemini.always_structured(painted_by)
    assert await run(gemini, tmp_path / "canvas.png", "--grid", "2x2", "--iterations", "3") == 0
    asked = gemini.structured()
    assert len(asked) == 12
    assert sorted(map(agent_of, asked)) == sorted(GRID * 3)
    for request in asked:
        at = iteration_of(request)
        local, whole = images_of(request)
        assert pixels_in(local, CELL) == state_after(at - 1), "black first, then what i-1 left"
        assert pixels_in(whole, 2 * CELL) == everywhere(state_after(at - 1))
        assert request.last_text.count(VOID) == (2 if at == 0 else 0)
        foreseen = re.findall(r"the (?:cell|canvas) foreseen at (\d)", request.last_text)
        assert foreseen == [str(at - 1)] * 2 if at else not foreseen
    assert pixels_in((tmp_path / "canvas.png").read_bytes(), 2 * CELL) == everywhere(state_after(1))

    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    # Ten pixels, 33 bits each, told in 10 characters. What iteration 1 painted does not count.
    assert printed.count(["0", "330", "80", "250", "7", "1320", "168", "1152", "-"]) == 4
    assert printed.count(["1", "990", "72", "918", "7", "3960", "160", "3800", "-"]) == 4
    assert not [line for line in printed if line[:2] == ["2", "990"]], "nobody has described it yet"


async def test_an_answer_that_cannot_be_used_ends_it_with_what_was_painted(
    tmp_path: Path, gemini: GeminiStandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    last = (1, (1, 1))
    gemini.always_structured(
        lambda request: (
            Text("Sorry.") if (iteration_of(request), agent_of(request)) == last else painted_by(request)
        )
    )
    assert await run(gemini, tmp_path / "canvas.png") == 3
    assert pixels_in((tmp_path / "canvas.png").read_bytes(), 2 * CELL) == everywhere(state_after(0))
    assert "cannot be read" in capsys.readouterr().err
