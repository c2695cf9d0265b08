"""Enter sends, whatever writes to the terminal, and a paste does not."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.flow.running import MODEL
from tests.standins.gemini import KEY
from tests.terminal.screen import COMMAND, CTRL_D, ENTER, OPEN, Desk, stand_in


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"when": [{"contains": "how wide", "reply": {"text": ["Four."]}}]}))
    with stand_in(script) as url:
        desk = Desk(tmp_path, model=MODEL, env={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url})
        yield desk
        desk.close()


def test_a_line_and_its_enter_written_at_once_are_sent(desk: Desk) -> None:
    run = desk.start()
    run.wait_for(OPEN)
    run.press(b"how wide" + ENTER)
    run.wait_for("Four.")
    run.press(CTRL_D)
    assert run.ended() == 0


def test_lines_written_at_once_are_a_paste_where_the_terminal_does_not_mark_them(desk: Desk) -> None:
    run = desk.start(brackets_pastes=False)
    run.wait_for(OPEN)
    run.press(b"how wide" + ENTER + b"is a tab?" + ENTER)
    run.wait_for("is a tab?")
    sleep(0.3)  # so long a pause ends what is taken for a paste
    assert "Four." not in run.text
    run.press(ENTER)
    run.wait_for("Four.")
    run.press(CTRL_D)
    assert run.ended() == 0


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_tmux_sends_a_line_and_its_enter(desk: Desk, tmp_path: Path) -> None:
    tmux = ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null"]

    def run(*args: str) -> str:
        return subprocess.run([*tmux, *args], env=desk.env, check=True, capture_output=True, text=True).stdout

    def wait_for(words: str) -> None:
        deadline_s = monotonic() + 60
        while words not in run("capture-pane", "-p", "-t", "r"):
            assert monotonic() < deadline_s, run("capture-pane", "-p", "-t", "r")
            sleep(0.05)

    run("new-session", "-d", "-s", "r", "-x", "100", "-y", "30", "-c", str(desk.project), COMMAND)
    try:
        wait_for(OPEN)
        run("send-keys", "-t", "r", "how wide", "Enter")
        wait_for("Four.")
    finally:
        run("kill-server")


@pytest.mark.parametrize("after_s", [0.2, 0.4])
def test_what_is_typed_while_it_starts_is_sent_by_a_terminal_that_answers_nothing(
    desk: Desk, after_s: float
) -> None:
    """The machine is busy then, and what was typed one by one is read at once."""
    run = desk.start(is_silent=True)
    sleep(after_s)
    run.press(*(bytes([key]) for key in b"how wide" + ENTER), pause_s=0.03)
    run.wait_for("Four.")
    run.press(CTRL_D)
    assert run.ended() == 0
