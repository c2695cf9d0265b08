"""A walk with nothing but the mouse, in a real terminal: what it sends are sequences (SGR)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.running import MODEL
from tests.standins.gemini import KEY
from tests.terminal.screen import CTRL_D, OPEN, Desk, stand_in

WRITE = {"calls": [{"name": "write", "args": {"path": "a.txt", "content": "one\n"}}]}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"replies": [WRITE, {"text": ["Written."]}]}))
    with stand_in(script) as url:
        desk = Desk(tmp_path, model=MODEL, env={"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url})
        yield desk
        desk.close()


def test_lists_questions_and_folds_are_used_with_the_mouse_alone(desk: Desk) -> None:
    run = desk.start()
    run.wait_for(OPEN)
    run.send("write it")
    run.wait_for("yes, once")
    run.wait_for(lambda screen: "answers once you pause typing" not in screen)
    run.click("yes, once")
    run.wait_for("Written.")
    assert (desk.project / "a.txt").read_text() == "one\n"
    run.send("/log")
    run.wait_for("Versions")
    run.click("Esc closes")
    run.wait_for(lambda screen: "Versions" not in screen)
    run.send("/help")
    run.wait_for("Commands and keys")
    run.type("rewind")
    run.wait_for("› /rewind")
    run.click("Enter copies it")
    run.wait_for(lambda screen: "Commands and keys" not in screen and "│ /rewind" in screen)
    run.press(b"\x15", CTRL_D)
    assert run.ended() == 0
