"""Hints in a real terminal: offered, applied, put off, and told by the next run."""

import json
from pathlib import Path

import pytest

from tests.flow.running import MODEL
from tests.standins.gemini import KEY
from tests.terminal.screen import CTRL_D, ENTER, OPEN, Desk, stand_in

F8 = b"\x1b[19~"
LIMIT = "Add rate limiting to the login endpoint"


@pytest.mark.long
def test_a_hint_is_applied_and_what_was_put_off_is_told_by_the_next_run(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    answer = "The login endpoint has no rate limiting yet."
    script.write_text(json.dumps({"when": [{"contains": "login", "reply": {"text": [answer]}}]}))
    with stand_in(script) as url:
        desk = Desk(tmp_path, model=MODEL, env={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url})
        first = desk.start()
        first.wait_for(OPEN)
        first.send(f"/remember todo: {LIMIT}")
        first.wait_for("Remembered as a todo")
        first.send("How is the login endpoint protected?")
        first.wait_for("· 1 hint")
        first.press(F8)
        first.wait_for("Enter: put it in the prompt")
        first.press(ENTER)
        first.wait_for(lambda screen: f"│ {LIMIT}" in screen and "1 hint" not in screen)
        first.press(b"\x03")
        first.send("/new")
        first.wait_for(f"Left open here: {LIMIT}")
        first.send("Is the login endpoint safe?")
        first.wait_for("· 1 hint")
        first.press(F8)
        first.wait_for("Enter applies")
        first.press(b"l")
        first.wait_for(lambda screen: "1 hint" not in screen)
        first.press(CTRL_D)
        assert first.ended() == 0

        second = desk.start("--new")
        screen = second.wait_for("· 1 hint")
        assert f"Left open here: {LIMIT} (/hints)" in screen
        second.press(CTRL_D)
        assert second.ended() == 0
        desk.close()
