"""Create the README's recording: docs/images/first-minute.svg. Run by `make recording`.

The installed program runs in a pseudo-terminal with the stand-in model server of tests/, and what the
terminal shows becomes the frames of an animated SVG. A line that several frames share is written once.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from itertools import groupby
from pathlib import Path
from time import monotonic, sleep
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.screenshots import ANSWER, CART, MODEL, NEW, OLD, TESTS  # noqa: E402
from tests.standins.gemini import KEY  # noqa: E402
from tests.terminal.screen import COLUMNS, COMMAND, CTRL_D, ENTER, ROWS, Desk, Screen, stand_in  # noqa: E402

FILE = ROOT / "docs" / "images" / "first-minute.svg"
BYTES_MAX = 1_000_000
FRAME_S = 0.1
KEY_S = 0.045
ARMED_S = 0.8  # an approval accepts no key before the user can have seen it
CELL_WIDTH, LINE_HEIGHT, FONT_SIZE = 8.4, 18, 14
FOREGROUND, BACKGROUND = "#d8d8d8", "#121212"
COLOURS = {
    "black": "#1e1e1e",
    "red": "#d75f5f",
    "green": "#87af5f",
    "brown": "#d7af5f",
    "blue": "#5f87d7",
    "magenta": "#af87d7",
    "cyan": "#5fafaf",
    "white": "#d8d8d8",
}
REMEMBERED = "That a discount larger than the sum costs **nothing**: `total` never goes below zero."
SCRIPT = {
    "replies": [
        {"calls": [{"name": "read", "args": {"path": "cart.py"}}]},
        {"calls": [{"name": "edit", "args": {"path": "cart.py", "old": OLD, "new": NEW}}]},
        {"calls": [{"name": "shell", "args": {"command": "python -m unittest -q"}}]},
        {"text": ANSWER.splitlines(keepends=True)},
        {"text": [REMEMBERED]},
    ]
}

Line = tuple[tuple[Any, ...], ...]


class Recording:
    """What a screen showed, and for how long."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.frames: list[tuple[list[Line], float]] = []

    def hold(self, seconds: float) -> None:
        """Record the screen as it is for this long."""
        lines = _lines(self._screen)
        if self.frames and self.frames[-1][0] == lines:
            seconds += self.frames.pop()[1]
        self.frames.append((lines, seconds))

    def watch(self, words: str, *, then_s: float) -> None:
        """Record the screen until it shows the words."""
        deadline_s = monotonic() + 60
        while words not in self._screen.text:
            if monotonic() > deadline_s:
                raise AssertionError(f"still not: {words!r}\n{self._screen.text}")
            self.hold(FRAME_S)
            sleep(FRAME_S)
        sleep(ARMED_S)
        self.hold(then_s)

    def say(self, text: str) -> None:
        """Type it as a person would, and send it."""
        for end in range(1, len(text) + 1):
            self._screen.press(text[end - 1].encode())
            self._screen.wait_for(text[:end].rstrip())
            self.hold(KEY_S)
        self.hold(0.4)
        self._screen.press(ENTER)

    def press(self, key: bytes) -> None:
        self._screen.press(key)


def _lines(screen: Screen) -> list[Line]:
    """Return the rows of the screen, each as runs of cells that look alike: column, text and style."""
    cells = screen._emulator._screen
    return [_runs([cells.buffer[row][column] for column in range(COLUMNS)]) for row in range(ROWS)]


def _runs(row: list[Any]) -> Line:
    found, column = [], 0
    for style, alike in groupby(row, key=_style):
        text = "".join(cell.data for cell in alike)
        if text.strip() or style[1] != BACKGROUND:
            found.append((column, text, style))
        column += len(text)
    return tuple(found)


def _style(cell: Any) -> tuple[str, str, bool, bool]:
    front, back = _colour(cell.fg, FOREGROUND), _colour(cell.bg, BACKGROUND)
    return (*((back, front) if cell.reverse else (front, back)), cell.bold, cell.italics)


def _colour(name: str, default: str) -> str:
    if name == "default":
        return default
    return COLOURS.get(name.removeprefix("bright"), f"#{name}")


def animated(frames: list[tuple[list[Line], float]]) -> str:
    """Return the frames side by side, moved past a window in steps."""
    width, height = round(COLUMNS * CELL_WIDTH), ROWS * LINE_HEIGHT
    names: dict[Line, str] = {}
    for lines, _ in frames:
        for line in lines:
            names.setdefault(line, f"l{len(names)}")
    shown = "".join(_frame(lines, names, number * width) for number, (lines, _) in enumerate(frames))
    whole_s = sum(seconds for _, seconds in frames)
    steps, at_s = [], 0.0
    for number, (_, seconds) in enumerate(frames):
        steps.append(f"{100 * at_s / whole_s:.3f}%{{transform:translateX(-{number * width}px)}}")
        at_s += seconds
    kept = "".join(f'<g id="{name}">{_drawn(line)}</g>' for line, name in names.items() if line)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 24} {height + 24}" '
        'font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" '
        f'font-size="{FONT_SIZE}" fill="{FOREGROUND}">'
        f"<style>text{{white-space:pre}}#film{{animation:film {whole_s:.1f}s steps(1,end) "
        f"infinite}}@keyframes film{{{''.join(steps)}}}</style><defs>{kept}</defs>"
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>'
        f'<svg x="12" y="12" width="{width}" height="{height}"><g id="film">{shown}</g></svg></svg>\n'
    )


def _frame(lines: list[Line], names: dict[Line, str], left: int) -> str:
    used = (f'<use href="#{names[line]}" y="{row * LINE_HEIGHT}"/>' for row, line in enumerate(lines) if line)
    return f'<g transform="translate({left})">{"".join(used)}</g>'


def _drawn(line: Line) -> str:
    parts = []
    for column, text, (front, back, bold, italics) in line:
        x, wide = f"{column * CELL_WIDTH:.1f}", f"{len(text) * CELL_WIDTH:.1f}"
        if back != BACKGROUND:
            parts.append(f'<rect x="{x}" width="{wide}" height="{LINE_HEIGHT}" fill="{back}"/>')
        if text.strip():
            look = f' fill="{front}"' * (front != FOREGROUND) + ' font-weight="bold"' * bold
            look += ' font-style="italic"' * italics
            parts.append(
                f'<text x="{x}" y="13.5" textLength="{wide}"{look}>{escape(text, quote=False)}</text>'
            )
    return "".join(parts)


@contextmanager
def a_desk(folder: Path) -> Iterator[Desk]:
    script = folder / "script.json"
    script.write_text(json.dumps(SCRIPT))
    with stand_in(script) as url:
        desk = Desk(folder, model=MODEL, env={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url})
        desk.env |= {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "COLORTERM": "truecolor"}
        desk.env["PYTHONDONTWRITEBYTECODE"] = "1"
        desk.project = folder / "home" / "shop"  # shown as ~/shop
        desk.project.mkdir(parents=True)
        desk.configure('[memory]\nmodel = "local"\n')
        (desk.project / "cart.py").write_text(CART)
        (desk.project / "test_cart.py").write_text(TESTS)
        try:
            yield desk
        finally:
            desk.close()


def record(screen: Screen) -> list[tuple[list[Line], float]]:
    """Record the first minute: a change is requested, approved and undone, then recalled in a new session."""
    film = Recording(screen)
    film.watch("Type a message", then_s=1)
    film.say("A discount larger than the cart makes the total negative. Please fix it.")
    film.watch("max(sum(", then_s=3)
    film.press(b"1")
    film.watch("$ python -m unittest", then_s=2)
    film.press(b"1")
    film.watch("The test passes.", then_s=3.5)
    film.say("/undo")
    film.watch("ndone", then_s=2.5)
    film.say("/redo")
    film.watch("edone", then_s=2)
    film.say("/new")
    film.watch("previous session", then_s=1)
    film.say("What did we decide about discounts?")
    film.watch("never goes below zero", then_s=4)
    film.press(CTRL_D)
    return film.frames


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="ragforge-recording-") as folder, a_desk(Path(folder)) as desk:
        frames = record(desk.start(argv=[COMMAND, "--trust-project"]))
    drawn = animated(frames)
    if len(drawn.encode()) > BYTES_MAX:
        raise SystemExit(
            f"The recording has {len(drawn) // 1000} KB; at most {BYTES_MAX // 1000} are wanted."
        )
    FILE.write_text(drawn, encoding="utf-8")
    print(f"{FILE.relative_to(ROOT)}  {len(drawn) // 1024} KB, {len(frames)} frames")


if __name__ == "__main__":
    main()
