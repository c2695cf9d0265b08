"""Images from the clipboard: pasted by Ctrl+V, sent, shown with their size, undone and resumed."""

import base64
import json
import os
import struct
import zlib
from pathlib import Path

import pytest
from textual import events

from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.tui import clipboard_image
from ragforge.tui.clipboard_image import read_image
from tests.processes import write_program
from tests.standins.gemini import Text
from tests.tui.chat_app import Lab


def png(width: int, height: int) -> bytes:
    """A whole image, black."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes((width + 7) // 8)) * height
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


SHOT = png(640, 480)
WAYLAND = {"WAYLAND_DISPLAY": "wayland-0"}
OFFERS_PNG = """
import sys
if "--list-types" in sys.argv or "TARGETS" in sys.argv:
    print("TARGETS\\ntext/html\\nimage/png")
elif "image/png" in sys.argv:
    sys.stdout.buffer.write(open(sys.argv[0] + ".png", "rb").read())
else:
    sys.exit("another type")
"""


def clipboard(folder: Path, name: str, body: str = OFFERS_PNG) -> dict[str, str]:
    """A clipboard program, and the PATH with nothing else in it."""
    folder.mkdir(exist_ok=True)
    write_program(folder / name, body)
    (folder / f"{name}.png").write_bytes(SHOT)
    return {"PATH": str(folder)}


async def test_a_pasted_image_is_sent_shown_undone_and_resumed(lab: Lab) -> None:
    for name, value in {**WAYLAND, **clipboard(lab.tmp_path / "bin", "wl-paste")}.items():
        lab.monkeypatch.setenv(name, value)
    lab.gemini.script((Text("A black picture."),))
    line = f"640×480 · {len(SHOT)} bytes"
    async with lab.chat() as chat:
        await chat.type("what is ")
        await chat.pilot.press("ctrl+v")
        await chat.until(lambda: "@clipboard-" in chat.draft, "the image is in the prompt")
        draft = chat.draft
        await chat.until(lambda: line in chat.notices(), "its size is told")
        await chat.enter()
        await chat.sees("A black picture.")
        await chat.turn_ended()
        [request] = lab.gemini.asked("streamGenerateContent")
        assert base64.b64encode(SHOT).decode() in json.dumps(request.body)
        await chat.sees(line)
        assert chat.words().count("clipboard-") == 2, "the words as typed, and the line"
        assert "$" in chat.status
        await chat.say("/undo")
        await chat.until(lambda: chat.draft.strip() == draft.strip(), "the message returns as it was typed")
        await chat.say("/redo")
        await chat.sees("A black picture.")
    async with lab.chat(continue_newest=True) as chat:
        await chat.sees("A black picture.")
        assert line in chat.words()


async def test_a_dropped_image_goes_with_one_undo(lab: Lab) -> None:
    shot = lab.tmp_path / "my shot.png"
    shot.write_bytes(SHOT)
    async with lab.chat() as chat:
        chat.screen.prompt.post_message(events.Paste(f"'{shot}'"))
        await chat.until(lambda: chat.draft == f'@"{shot}" ', "a mention")
        await chat.until(lambda: "my shot.png · 640×480" in chat.notices(), "its size is told")
        await chat.pilot.press("ctrl+underscore")
        await chat.until(lambda: chat.draft == "", "it is gone")


async def test_without_an_image_ctrl_v_says_so(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.pilot.press("ctrl+v")
        await chat.until(lambda: clipboard_image.NO_DISPLAY in chat.notices(), "a sentence")
        assert chat.draft == ""


@pytest.mark.parametrize(
    ("name", "env", "platform"),
    [
        ("wl-paste", WAYLAND, "linux"),
        ("xclip", {"DISPLAY": ":0"}, "linux"),
        ("xclip", {"DISPLAY": ":0", **WAYLAND}, "linux"),
        ("pngpaste", {}, "darwin"),
        ("osascript", {}, "darwin"),
    ],
)
def test_each_desktop_has_its_program(tmp_path: Path, name: str, env: dict[str, str], platform: str) -> None:
    told = f"print('«data PNGf{SHOT.hex().upper()}»')"
    writes = f"import sys; sys.stdout.buffer.write(bytes.fromhex('{SHOT.hex()}'))"
    body = {"osascript": told, "pngpaste": writes}.get(name, OFFERS_PNG)
    assert read_image({**env, **clipboard(tmp_path / "bin", name, body)}, platform=platform) == SHOT


@pytest.mark.parametrize(
    "body",
    [
        "print('text/html')",
        "import sys; sys.exit('No selection')",
        "print('image/png')",
        "print('image/bmp')",
    ],
    ids=["only text", "empty", "what is called an image and is none", "another kind"],
)
def test_a_clipboard_without_an_image_has_none(tmp_path: Path, body: str) -> None:
    assert read_image({**WAYLAND, **clipboard(tmp_path / "bin", "wl-paste", body)}, platform="linux") == b""


@pytest.mark.parametrize(
    ("env", "platform", "told"),
    [(WAYLAND, "linux", "Install wl-clipboard"), ({}, "linux", "no desktop"), ({}, "darwin", "pngpaste")],
)
def test_without_a_program_it_is_told_what_to_do(
    tmp_path: Path, env: dict[str, str], platform: str, told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        read_image({**env, "PATH": str(tmp_path)}, platform=platform)


def test_a_clipboard_that_hangs_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "CLIPBOARD_S_MAX", 0.1)
    env = {**WAYLAND, **clipboard(tmp_path / "bin", "wl-paste", "import time; time.sleep(60)")}
    with pytest.raises(UsageError, match="did not answer"):
        read_image(env, platform="linux")


def test_images_that_were_not_sent_for_a_month_go(tmp_path: Path) -> None:
    old = tmp_path / "pasted" / "clipboard-0.png"
    mention = clipboard_image.keep_image(SHOT, old.parent)
    old.write_bytes(SHOT)
    os.utime(old, (0, 0))
    assert clipboard_image.keep_image(SHOT, old.parent) == mention
    assert [path.name for path in old.parent.iterdir()] == [mention.removeprefix("@")]
